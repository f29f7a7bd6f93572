/* SPDX-License-Identifier: MIT */
/* The offenders of a zone: a fixed table in its file, in sets of ZONE_OFFENDER_WAYS entries. As
 * with slots nobody holds a lock: tag and state change together.
 *
 * A ban, or a level that is not forgotten, is never dropped. A newcomer takes an entry of its set
 * that is free, else of those that only count the one with the fewest refusals; where there is none
 * it is refused like anybody and counted nowhere (ZONE_COUNT_OFFENDERS_FULL). So more keys than a
 * set holds, refused strictly in turn, push each other out before any is banned.
 *
 * A key that is new to two processes at once may get two entries. It is banned if either says so,
 * so a ban may come late by the refusals that the other counted, but never without cause. */
#ifndef WEIR_HTTP_ZONE_OFFENDERS_H
#define WEIR_HTTP_ZONE_OFFENDERS_H

#include "http/offender.h"
#include "http/zone.h"

#define ZONE_OFFENDER_WAYS 8

/* What people are shown of the entry at the same place. May be torn as a slot's label. */
struct zone_offender_detail {
	struct slot_label label;
	uint64_t last_seen_ns;
	uint64_t refused; /* by its bans */
	uint64_t bans;
};
_Static_assert(sizeof(struct zone_offender_detail) == 48, "offender detail size");

/* What is left of a key's ban; 0: not banned. Only reads, and one word where no ban of the zone
 * lasts. Not for a zone opened by zone_file_open_readonly or _writable, whose header is a copy:
 * they have zone_offender_find. */
uint64_t zone_ban_left_ns(const struct zone *zone, uint64_t hash, uint64_t now_ns);

enum zone_offence {
	OFFENCE_COUNTED,  /* or it is banned already */
	OFFENCE_BANNED,   /* by this refusal */
	OFFENCE_NO_PLACE, /* or the race for one was lost too often */
};

/* Counts a refusal against a key. *ret_ban_ns: how long the ban is, of OFFENCE_BANNED. A zone
 * without a table has no place, and does not count that. */
enum zone_offence zone_offend(struct zone *zone, const struct penalty *penalty,
			      const struct zone_key *key, uint64_t now_ns, uint64_t *ret_ban_ns);

/* Counts a request that was refused because its key is banned. */
void zone_count_banned(struct zone *zone, uint64_t hash, uint64_t now_ns);

/* Forgets bans, levels and refusals of a key. Whether there were any. */
bool zone_ban_lift(struct zone *zone, uint64_t hash);

/* level and refusals are of the last refusal: how they fade depends on the penalty. */
struct zone_offender {
	uint64_t hash;
	uint64_t ban_left_ns;
	unsigned int level;
	uint64_t refusals;
	uint64_t refused; /* by its bans */
	uint64_t bans;
	uint64_t last_seen_ns;
	struct slot_label label;
};

/* The entry at a place below zone->offenders_count. False: it is empty. */
bool zone_offender_read(const struct zone *zone, uint64_t at, uint64_t now_ns,
			struct zone_offender *ret);

/* False: nothing is known of the key. */
bool zone_offender_find(const struct zone *zone, uint64_t hash, uint64_t now_ns,
			struct zone_offender *ret);

/* Copies the offenders of a zone to its successor, which has the same secret and is used by nobody
 * yet: bans first, then levels, then those that only count. Returns how many bans and levels found
 * no place; where the successor has no table that is none. */
uint64_t zone_offenders_carry_over(struct zone *to, const struct zone *from, uint64_t now_ns);

#endif
