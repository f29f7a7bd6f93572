/* SPDX-License-Identifier: MIT */
#include "http/zone_forget.h"

#include <errno.h>

#include "http/zone_charge.h"
#include "http/zone_place.h"

/* Each lost race means that the key was charged in the instant between two instructions. */
#define FORGET_TRIES 128

/* The rule stays: nothing owed is state 0 under any. */
static struct slot_pair pair_forgotten(const struct zone *zone, struct slot_pair seen)
{
	seen.state = zone->main.algorithm == ALGORITHM_SLIDING_LOG ? log_forgotten(seen.state) : 0;
	return seen;
}

static struct zone_forgotten owed_of(struct zone *zone, const struct zone_slot *slot,
				     struct slot_pair seen, uint64_t now_ns)
{
	struct answer answer;

	zone_slot_answer(zone, slot, seen, 1, now_ns, &answer);
	return (struct zone_forgotten){
		.is_known = true,
		.limit = answer.limit,
		.owed = answer.limit - answer.remaining,
	};
}

int zone_forget(struct zone *zone, uint64_t hash, zone_clock clock, struct zone_forgotten *ret)
{
	struct zone_places places;

	zone_places_find(zone, hash, &places);
	for (unsigned int tries = 0; tries < FORGET_TRIES; tries++) {
		struct slot_pair seen;
		struct zone_slot *slot = zone_place_find(zone, &places, &seen);
		struct zone_forgotten forgotten = {.limit = zone->main.capacity};

		if (slot)
			forgotten = owed_of(zone, slot, seen, clock());
		if (!slot || slot_exchange(&slot->pair, seen, pair_forgotten(zone, seen))) {
			*ret = forgotten;
			return 0;
		}
	}
	return -EAGAIN;
}

bool zone_is_overflowed(struct zone *zone, const struct zone_key *key, zone_clock clock)
{
	struct zone_charge look = {
		.zone = zone,
		.key = *key,
		.rule = zone->main_rule,
		.cost = 1,
	};

	zone_charge_look(&look, clock);
	return look.status == ZONE_OVERFLOW_PASSED || look.status == ZONE_OVERFLOW_REFUSED;
}
