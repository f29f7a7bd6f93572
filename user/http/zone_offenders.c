/* SPDX-License-Identifier: MIT */
#include "http/zone_offenders.h"

#include <string.h>

/* Each race lost is a refusal counted by another, so a key that has its entry is banned before the
 * tries are at an end. */
#define OFFEND_TRIES (2 * PENALTY_REFUSALS_MAX)
#define LIFT_TRIES   OFFEND_TRIES

static uint64_t set_of(const struct zone *zone, uint64_t hash)
{
	uint64_t sets = zone->offenders_count / ZONE_OFFENDER_WAYS;

	return (uint64_t)((unsigned __int128)hash * sets >> 64) * ZONE_OFFENDER_WAYS;
}

static uint64_t tag_at(const struct zone *zone, uint64_t at)
{
	return __atomic_load_n(&zone->offenders[at].tag, __ATOMIC_ACQUIRE);
}

/* The place of the key's entry, and the entry as read. Of two the one that knows more: a state is
 * the greater the higher its level and the later its moment. False: it has none. */
static bool entry_find(const struct zone *zone, uint64_t hash, uint64_t *ret_at,
		       struct slot_pair *ret)
{
	uint64_t first = set_of(zone, hash);
	bool found = false;

	if (!zone->offenders_count)
		return false;
	for (uint64_t at = first; at < first + ZONE_OFFENDER_WAYS; at++) {
		struct slot_pair pair;

		if (tag_at(zone, at) != hash)
			continue;
		pair = slot_pair_read(&zone->offenders[at]);
		if (pair.tag != hash || (found && pair.state <= ret->state))
			continue;
		*ret_at = at;
		*ret = pair;
		found = true;
	}
	return found;
}

/* Of the key's set the entry with the least to lose. False: none may be taken. */
static bool place_find(const struct zone *zone, const struct penalty *penalty, uint64_t hash,
		       uint64_t now_ns, uint64_t *ret_at, struct slot_pair *ret)
{
	uint64_t first = set_of(zone, hash), least = OFFENDER_KEPT;

	for (uint64_t at = first; at < first + ZONE_OFFENDER_WAYS; at++) {
		struct slot_pair pair = slot_pair_read(&zone->offenders[at]);
		uint64_t weight = pair.tag ? offender_weight(penalty, pair.state, now_ns) : 0;

		if (weight >= least)
			continue;
		least = weight;
		*ret_at = at;
		*ret = pair;
	}
	return least != OFFENDER_KEPT;
}

/* Until when any ban lasts. Raised before a ban is made: too late a moment costs a look. */
static void bans_last_until(struct zone *zone, uint64_t until_ns)
{
	uint64_t *last = &zone->header->banned_until_ns;
	uint64_t before = __atomic_load_n(last, __ATOMIC_RELAXED);

	while (before < until_ns &&
	       !__atomic_compare_exchange_n(last, &before, until_ns, false, __ATOMIC_SEQ_CST,
					    __ATOMIC_RELAXED))
		;
}

static void detail_store(struct zone_offender_detail *detail, const struct zone_key *key,
			 bool is_new, uint64_t now_ns, bool is_ban)
{
	/* Every time: who took the place may have died, or lost it again, before he wrote it. */
	slot_label_keep(&detail->label, &key->label);
	if (is_new) {
		__atomic_store_n(&detail->refused, 0, __ATOMIC_RELAXED);
		__atomic_store_n(&detail->bans, 0, __ATOMIC_RELAXED);
	}
	__atomic_store_n(&detail->last_seen_ns, now_ns, __ATOMIC_RELAXED);
	if (is_ban)
		__atomic_fetch_add(&detail->bans, 1, __ATOMIC_RELAXED);
}

/* One try. False: somebody else has changed the entry. */
static bool offend_at(struct zone *zone, const struct zone_key *key, uint64_t at,
		      struct slot_pair seen, const struct offence *offence, uint64_t now_ns)
{
	struct slot_pair next = {key->hash, offence->state};

	if (offence->is_ban)
		bans_last_until(zone, now_ns + offender_ban_left_ns(offence->state, now_ns));
	if (!slot_pair_equals(seen, next) && !slot_exchange(&zone->offenders[at], seen, next))
		return false;
	detail_store(&zone->offender_details[at], key, seen.tag != key->hash, now_ns,
		     offence->is_ban);
	return true;
}

enum zone_offence zone_offend(struct zone *zone, const struct penalty *penalty,
			      const struct zone_key *key, uint64_t now_ns, uint64_t *ret_ban_ns)
{
	struct slot_pair seen;
	uint64_t at;

	if (!zone->offenders_count)
		return OFFENCE_NO_PLACE;
	for (unsigned int tries = 0; tries < OFFEND_TRIES; tries++) {
		bool is_known = entry_find(zone, key->hash, &at, &seen);
		struct offence offence;

		if (!is_known && !place_find(zone, penalty, key->hash, now_ns, &at, &seen))
			break;
		offence = offender_refused(penalty, is_known ? seen.state : 0, now_ns);
		if (!offend_at(zone, key, at, seen, &offence, now_ns))
			continue;
		if (!offence.is_ban)
			return OFFENCE_COUNTED;
		zone_count(zone, ZONE_COUNT_BANS);
		*ret_ban_ns = offence.ban_ns;
		return OFFENCE_BANNED;
	}
	zone_count(zone, ZONE_COUNT_OFFENDERS_FULL);
	return OFFENCE_NO_PLACE;
}

/* The longest of the key's bans: it may have two entries. */
static uint64_t ban_left(const struct zone *zone, uint64_t hash, uint64_t now_ns)
{
	uint64_t first = set_of(zone, hash), longest_ns = 0;

	for (uint64_t at = first; at < first + ZONE_OFFENDER_WAYS; at++) {
		struct slot_pair pair;
		uint64_t left_ns;

		if (tag_at(zone, at) != hash)
			continue;
		pair = slot_pair_read(&zone->offenders[at]);
		left_ns = pair.tag == hash ? offender_ban_left_ns(pair.state, now_ns) : 0;
		if (left_ns > longest_ns)
			longest_ns = left_ns;
	}
	return longest_ns;
}

uint64_t zone_ban_left_ns(const struct zone *zone, uint64_t hash, uint64_t now_ns)
{
	if (!zone->offenders_count ||
	    now_ns >= __atomic_load_n(&zone->header->banned_until_ns, __ATOMIC_RELAXED))
		return 0;
	return ban_left(zone, hash, now_ns);
}

void zone_count_banned(struct zone *zone, uint64_t hash, uint64_t now_ns)
{
	struct slot_pair pair;
	uint64_t at;

	zone_count(zone, ZONE_COUNT_BANNED);
	if (!entry_find(zone, hash, &at, &pair))
		return;
	__atomic_fetch_add(&zone->offender_details[at].refused, 1, __ATOMIC_RELAXED);
	__atomic_store_n(&zone->offender_details[at].last_seen_ns, now_ns, __ATOMIC_RELAXED);
}

bool zone_ban_lift(struct zone *zone, uint64_t hash)
{
	static const struct slot_pair never_used = {0, 0};
	struct slot_pair pair;
	unsigned int tries = 0;
	uint64_t at;

	while (tries < LIFT_TRIES && entry_find(zone, hash, &at, &pair)) {
		slot_exchange(&zone->offenders[at], pair, never_used);
		tries++;
	}
	return tries;
}

static void offender_fill(const struct zone *zone, uint64_t at, struct slot_pair pair,
			  uint64_t now_ns, struct zone_offender *ret)
{
	const struct zone_offender_detail *detail = &zone->offender_details[at];

	*ret = (struct zone_offender){
		.hash = pair.tag,
		.ban_left_ns = offender_ban_left_ns(pair.state, now_ns),
		.level = offender_level(pair.state),
		.refusals = offender_refusals(pair.state),
		.refused = __atomic_load_n(&detail->refused, __ATOMIC_RELAXED),
		.bans = __atomic_load_n(&detail->bans, __ATOMIC_RELAXED),
		.last_seen_ns = __atomic_load_n(&detail->last_seen_ns, __ATOMIC_RELAXED),
		.label = detail->label,
	};
}

bool zone_offender_read(const struct zone *zone, uint64_t at, uint64_t now_ns,
			struct zone_offender *ret)
{
	struct slot_pair pair = slot_pair_read(&zone->offenders[at]);

	if (!pair.tag)
		return false;
	offender_fill(zone, at, pair, now_ns, ret);
	return true;
}

bool zone_offender_find(const struct zone *zone, uint64_t hash, uint64_t now_ns,
			struct zone_offender *ret)
{
	struct slot_pair pair;
	uint64_t at;

	if (!entry_find(zone, hash, &at, &pair))
		return false;
	offender_fill(zone, at, pair, now_ns, ret);
	return true;
}

enum rank { RANK_BANNED, RANK_LEVEL, RANK_COUNTS, RANK_MAX };

static enum rank rank_of(uint64_t state, uint64_t now_ns)
{
	if (offender_ban_left_ns(state, now_ns))
		return RANK_BANNED;
	return offender_level(state) ? RANK_LEVEL : RANK_COUNTS;
}

/* False: the set is full. */
static bool offender_carry(struct zone *to, struct slot_pair pair,
			   const struct zone_offender_detail *detail, uint64_t now_ns)
{
	uint64_t first = set_of(to, pair.tag);

	for (uint64_t at = first; at < first + ZONE_OFFENDER_WAYS; at++) {
		if (to->offenders[at].tag)
			continue;
		bans_last_until(to, now_ns + offender_ban_left_ns(pair.state, now_ns));
		to->offenders[at] = pair;
		to->offender_details[at] = *detail;
		return true;
	}
	return false;
}

static uint64_t rank_carry_over(struct zone *to, const struct zone *from, enum rank rank,
				uint64_t now_ns)
{
	uint64_t lost = 0;

	for (uint64_t at = 0; at < from->offenders_count; at++) {
		struct slot_pair pair = slot_pair_read(&from->offenders[at]);

		if (pair.tag && rank_of(pair.state, now_ns) == rank)
			lost += !offender_carry(to, pair, &from->offender_details[at], now_ns);
	}
	return lost;
}

uint64_t zone_offenders_carry_over(struct zone *to, const struct zone *from, uint64_t now_ns)
{
	uint64_t lost = 0;

	if (!to->offenders_count)
		return 0;
	for (int rank = 0; rank < RANK_MAX; rank++) {
		uint64_t without = rank_carry_over(to, from, (enum rank)rank, now_ns);

		lost += rank == RANK_COUNTS ? 0 : without;
	}
	return lost;
}
