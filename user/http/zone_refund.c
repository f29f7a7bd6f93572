/* SPDX-License-Identifier: MIT */
/* What a request was charged, given back when its outcome is known: others have moved the slot in
 * the meantime. */
#include "http/zone_charge.h"
#include "http/zone_place.h"
#include "http/zone_rules.h"

/* Each lost race means that somebody else was charged or refunded; beyond this many the charge
 * stays. */
#define REFUND_TRIES 128

static void charge_told(struct zone_charge *charge, struct slot_pair pair, uint64_t now_ns)
{
	charge->pair = pair;
	charge->now_ns = now_ns;
}

/* The key has been out of the slot since, and owed nothing when it went. */
static void charge_told_gone(struct zone_charge *charge, uint64_t now_ns)
{
	charge_told(charge, (struct slot_pair){charge->pair.tag, 0}, now_ns);
}

static bool slot_is_anothers(const struct zone_charge *charge, struct slot_pair seen)
{
	return (seen.tag ^ charge->pair.tag) & ~SLOT_RULE_MASK;
}

/* The slot with the charge given back. Under another rule a charge's unit is another, and nobody
 * knows how much of it is left: it stays. */
static struct slot_pair pair_refunded(const struct zone_charge *charge, struct slot_pair seen,
				      uint64_t charged_ns, uint64_t now_ns)
{
	const struct rule *rule = zone_rule_at(charge->zone, charge->rule);

	if (seen.tag == charge->pair.tag)
		seen.state = rule_refund(rule, seen.state, charge->cost, charged_ns, now_ns);
	return seen;
}

static void refund_slot(struct zone_charge *charge, zone_clock clock)
{
	uint64_t charged_ns = charge->now_ns;

	for (unsigned int tries = 0; tries < REFUND_TRIES; tries++) {
		struct slot_pair seen = slot_read(charge->slot), next;
		uint64_t now_ns = clock();

		if (slot_is_anothers(charge, seen)) {
			charge_told_gone(charge, now_ns);
			return;
		}
		next = pair_refunded(charge, seen, charged_ns, now_ns);
		if (slot_pair_equals(seen, next) ||
		    slot_exchange(&charge->slot->pair, seen, next)) {
			charge_told(charge, next, now_ns);
			return;
		}
	}
}

void zone_refund(struct zone_charge *charge, zone_clock clock)
{
	if (!charge->cost)
		return;
	if (charge->status == ZONE_OVERFLOW_PASSED)
		zone_charge_give_back(charge);
	else if (charge->status == ZONE_PASSED && charge->slot)
		refund_slot(charge, clock);
}
