/* SPDX-License-Identifier: MIT */
#include "http/zone_place.h"

#define RESOLVE_TRIES 64

/* A nonce is a claim's moment, in units of 2^24 ns, above 30 bits that count the zone's claims:
 * there are never so many within one unit. */
#define NONCE_UNIT_SHIFT  24
#define NONCE_COUNT_BITS  30
#define NONCE_COUNT_MASK  ((1ULL << NONCE_COUNT_BITS) - 1)
#define NONCE_STALE_UNITS 60 /* one second */

/* What a scan saw of a key. */
struct scan {
	struct zone_slot *usable;
	struct slot_pair pair; /* of usable */
	unsigned int count;
	struct {
		struct zone_slot *slot;
		struct slot_pair pair;
	} claims[ZONE_PLACES]; /* in the order of places */
};

/* Two of the finalisers that Stafford searched for (2011). */
static uint64_t mix_first(uint64_t key)
{
	key = (key ^ key >> 30) * 0xbf58476d1ce4e5b9ULL;
	key = (key ^ key >> 27) * 0x94d049bb133111ebULL;
	return key ^ key >> 31;
}

static uint64_t mix_second(uint64_t key)
{
	key = (key ^ key >> 33) * 0xff51afd7ed558ccdULL;
	key = (key ^ key >> 33) * 0xc4ceb9fe1a85ec53ULL;
	return key ^ key >> 33;
}

static uint64_t scaled(uint64_t mixed, uint64_t sets)
{
	return (uint64_t)((unsigned __int128)mixed * sets >> 64);
}

void zone_places_find(const struct zone *zone, uint64_t hash, struct zone_places *ret)
{
	uint64_t key = zone_tag_key(hash);

	ret->key = key ? key : SLOT_CLAIMED << 1;
	ret->sets[0] = scaled(mix_first(ret->key), zone->sets);
	ret->sets[1] = ret->sets[0];
	ret->count = zone->sets > 1 ? ZONE_PLACES : ZONE_WAYS;
	if (zone->sets > 1) {
		ret->sets[1] = scaled(mix_second(ret->key), zone->sets - 1);
		ret->sets[1] += ret->sets[1] >= ret->sets[0];
	}
	/* All at once: one after the other they would cost a miss each. */
	for (unsigned int i = 0; i < ret->count; i++)
		__builtin_prefetch(zone_place_slot(zone, ret, i));
}

static uint64_t tag_at(const struct zone_slot *slot)
{
	return __atomic_load_n(&slot->pair.tag, __ATOMIC_ACQUIRE);
}

static bool tag_is_usable_of(uint64_t tag, uint64_t key)
{
	return (tag & ~SLOT_RULE_MASK) == key;
}

static bool tag_is_claim_of(uint64_t tag, uint64_t key)
{
	return (tag & ~SLOT_RULE_MASK) == (key | SLOT_CLAIMED);
}

struct zone_slot *zone_place_find(const struct zone *zone, const struct zone_places *places,
				  struct slot_pair *ret_pair)
{
	for (unsigned int i = 0; i < places->count; i++) {
		struct zone_slot *slot = zone_place_slot(zone, places, i);

		if (!tag_is_usable_of(tag_at(slot), places->key))
			continue;
		*ret_pair = slot_read(slot);
		if (tag_is_usable_of(ret_pair->tag, places->key))
			return slot;
	}
	return NULL;
}

bool zone_place_is_claimed(const struct zone *zone, const struct zone_places *places)
{
	for (unsigned int i = 0; i < places->count; i++) {
		if (tag_is_claim_of(tag_at(zone_place_slot(zone, places, i)), places->key))
			return true;
	}
	return false;
}

/* A claim may be a unit ahead of a clock that was read before it. */
static bool claim_is_stale(uint64_t nonce, uint64_t now_ns)
{
	uint64_t units = (now_ns >> NONCE_UNIT_SHIFT) + 1 - (nonce >> NONCE_COUNT_BITS);

	return (units & (UINT64_MAX >> NONCE_COUNT_BITS)) > NONCE_STALE_UNITS;
}

static bool pair_is_free(struct zone *zone, const struct zone_slot *slot, struct slot_pair pair,
			 uint64_t now_ns)
{
	if (!pair.tag)
		return true;
	if (pair.tag & SLOT_CLAIMED)
		return claim_is_stale(pair.state, now_ns);
	return !zone_slot_owes(zone, slot, pair, now_ns);
}

/* How many of a set's slots are free, and one of them: never used rather than used before, so that
 * what is known of a key is kept as long as may be. */
static unsigned int set_free(struct zone *zone, uint64_t set, uint64_t now_ns,
			     struct zone_slot **ret, struct slot_pair *ret_pair)
{
	unsigned int count = 0;

	for (unsigned int i = 0; i < ZONE_WAYS; i++) {
		struct zone_slot *slot = &zone->slots[set * ZONE_WAYS + i];
		struct slot_pair pair = slot_read(slot);

		if (!pair_is_free(zone, slot, pair, now_ns))
			continue;
		if (!count++ || (ret_pair->tag && !pair.tag)) {
			*ret = slot;
			*ret_pair = pair;
		}
	}
	return count;
}

struct zone_slot *zone_place_free(struct zone *zone, const struct zone_places *places,
				  uint64_t now_ns, struct slot_pair *ret_pair)
{
	struct zone_slot *first = NULL, *second = NULL;
	struct slot_pair first_pair, second_pair;
	unsigned int first_count = set_free(zone, places->sets[0], now_ns, &first, &first_pair);
	unsigned int second_count = set_free(zone, places->sets[1], now_ns, &second, &second_pair);

	if (!first_count && !second_count)
		return NULL;
	*ret_pair = second_count > first_count ? second_pair : first_pair;
	return second_count > first_count ? second : first;
}

bool zone_place_claim(struct zone *zone, const struct zone_places *places, struct zone_slot *slot,
		      struct slot_pair seen, uint64_t now_ns)
{
	uint64_t count = __atomic_add_fetch(&zone->header->claims, 1, __ATOMIC_RELAXED);
	struct slot_pair claim = {
		.tag = places->key | SLOT_CLAIMED,
		.state =
			now_ns >> NONCE_UNIT_SHIFT << NONCE_COUNT_BITS | (count & NONCE_COUNT_MASK),
	};

	return slot_exchange(&slot->pair, seen, claim);
}

static void scan_places(const struct zone *zone, const struct zone_places *places,
			struct scan *scan)
{
	scan->usable = NULL;
	scan->count = 0;
	for (unsigned int i = 0; i < places->count; i++) {
		struct zone_slot *slot = zone_place_slot(zone, places, i);
		struct slot_pair pair = slot_read(slot);

		if (tag_is_usable_of(pair.tag, places->key)) {
			scan->usable = slot;
			scan->pair = pair;
		} else if (tag_is_claim_of(pair.tag, places->key)) {
			scan->claims[scan->count].slot = slot;
			scan->claims[scan->count++].pair = pair;
		}
	}
}

static void withdraw_from(struct scan *scan, unsigned int first)
{
	static const struct slot_pair never_used = {0, 0};

	for (unsigned int i = first; i < scan->count; i++)
		slot_exchange(&scan->claims[i].slot->pair, scan->claims[i].pair, never_used);
}

/* What was counted for the key before. */
static void slot_reset(struct zone_slot *slot)
{
	__atomic_store_n(&slot->passed, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&slot->refused, 0, __ATOMIC_RELAXED);
}

struct zone_slot *zone_place_resolve(struct zone *zone, const struct zone_places *places,
				     unsigned int rule, struct slot_pair *ret_pair)
{
	struct zone_slot *known = NULL;
	uint64_t known_nonce = 0;
	struct scan scan;

	for (unsigned int tries = 0; tries < RESOLVE_TRIES; tries++) {
		scan_places(zone, places, &scan);
		if (scan.usable) {
			withdraw_from(&scan, 0);
			*ret_pair = scan.pair;
			return scan.usable;
		}
		if (!scan.count)
			return NULL;
		if (scan.count == 1 && scan.claims[0].slot == known &&
		    scan.claims[0].pair.state == known_nonce) {
			*ret_pair = (struct slot_pair){places->key | (rule & SLOT_RULE_MASK), 0};
			if (slot_exchange(&known->pair, scan.claims[0].pair, *ret_pair)) {
				slot_reset(known);
				return known;
			}
		}
		withdraw_from(&scan, 1);
		known = scan.claims[0].slot;
		known_nonce = scan.claims[0].pair.state;
	}
	return NULL;
}
