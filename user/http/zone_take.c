/* SPDX-License-Identifier: MIT */
/* Several zones on one request: all or nothing. */
#include "http/zone_charge.h"

static bool look_at_all(struct zone_charge *charges, size_t count, zone_clock clock)
{
	bool passed = true;

	for (size_t i = 0; i < count; i++)
		passed &= zone_charge_look(&charges[i], clock);
	return passed;
}

/* What is charged for a refused request too, from the first on. */
static void take_refused(struct zone_charge *charges, size_t count, zone_clock clock)
{
	for (size_t i = 0; i < count; i++) {
		if (charges[i].mode == TAKE_CHARGE_REFUSED)
			zone_charge_take(&charges[i], clock);
	}
}

/* In the caller's order: the fewer share the last, the rarer something is to be given back. */
static bool take_each(struct zone_charge *charges, size_t count, zone_clock clock)
{
	for (size_t i = 0; i < count; i++) {
		if (zone_charge_take(&charges[i], clock))
			continue;
		take_refused(&charges[i + 1], count - i - 1, clock);
		while (i--) {
			if (charges[i].mode == TAKE_CHARGE)
				zone_charge_give_back(&charges[i]);
		}
		return false;
	}
	return true;
}

static bool take_together(struct zone_charge *charges, size_t count, zone_clock clock)
{
	if (look_at_all(charges, count, clock))
		return take_each(charges, count, clock);
	take_refused(charges, count, clock);
	return false;
}

static void slot_account(const struct zone_charge *charge)
{
	struct zone_slot *slot = charge->slot;

	/* Every time, since whoever inserted the key may have died before he wrote it. */
	slot_label_keep(&slot->label, &charge->key.label);
	__atomic_store_n(&slot->last_seen_ns, charge->now_ns, __ATOMIC_RELAXED);
	__atomic_fetch_add(charge->status == ZONE_PASSED ? &slot->passed : &slot->refused, 1,
			   __ATOMIC_RELAXED);
}

static const enum zone_count counts[] = {
	[ZONE_PASSED] = ZONE_COUNT_PASSED,
	[ZONE_REFUSED] = ZONE_COUNT_REFUSED,
	[ZONE_OVERFLOW_PASSED] = ZONE_COUNT_OVERFLOW_PASSED,
	[ZONE_OVERFLOW_REFUSED] = ZONE_COUNT_OVERFLOW_REFUSED,
};

/* A zone that would have passed a request which another refused counts nothing. */
static void charge_account(const struct zone_charge *charge, bool all_passed)
{
	bool passed = charge->status == ZONE_PASSED || charge->status == ZONE_OVERFLOW_PASSED;

	if (passed != all_passed)
		return;
	zone_count(charge->zone, counts[charge->status]);
	if (charge->slot)
		slot_account(charge);
}

bool zone_take_all(struct zone_charge *charges, size_t count, zone_clock clock)
{
	bool passed = count == 1 ? zone_charge_take(charges, clock)
				 : take_together(charges, count, clock);

	for (size_t i = 0; i < count; i++)
		charge_account(&charges[i], passed);
	return passed;
}

void zone_refuse(struct zone_charge *charges, size_t count, size_t refusing)
{
	for (size_t i = 0; i < count; i++) {
		struct zone_charge *charge = &charges[i];

		zone_charge_give_back(charge);
		__atomic_fetch_sub(&charge->zone->header->counts[counts[charge->status]], 1,
				   __ATOMIC_RELAXED);
		if (charge->slot)
			__atomic_fetch_sub(&charge->slot->passed, 1, __ATOMIC_RELAXED);
	}
	charges[refusing].status = ZONE_REFUSED;
	charge_account(&charges[refusing], false);
}
