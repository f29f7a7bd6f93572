/* SPDX-License-Identifier: MIT */
/* A key starts anew, as an operator wants it: whatever it owed is forgotten. */
#ifndef WEIR_HTTP_ZONE_FORGET_H
#define WEIR_HTTP_ZONE_FORGET_H

#include "http/zone.h"

struct zone_forgotten {
	bool is_known;  /* has a slot */
	uint64_t limit; /* of the rule that the key was charged under last, or of the main one */
	uint64_t owed;  /* units of it; one that is owed in part counts */
};

/* Takes from the key's slot what it owes, while others may charge it: what is charged before is
 * forgotten, what is charged after stays. Counters and label stay. A request in flight that is
 * refunded later may find its charge forgiven twice. A key without a slot owes nothing, or is
 * judged by overflow. -EAGAIN: others charged the key each time, nothing is forgotten. */
int zone_forget(struct zone *zone, uint64_t hash, zone_clock clock, struct zone_forgotten *ret);

/* Whether a request of the key would now be judged by overflow, which is not its own to forget.
 * Charges nothing; zone's memory must be writable. */
bool zone_is_overflowed(struct zone *zone, const struct zone_key *key, zone_clock clock);

#endif
