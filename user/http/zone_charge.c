/* SPDX-License-Identifier: MIT */
#include "http/zone_charge.h"

#include "http/zone_rules.h"
#include "http/zone_words.h"

/* Each lost race means that somebody else was charged; beyond this many the request is refused. */
#define TAKE_TRIES 128

enum attempt { ATTEMPT_ADMITTED, ATTEMPT_REFUSED, ATTEMPT_MOVED };

static enum attempt attempt_of(bool admitted)
{
	return admitted ? ATTEMPT_ADMITTED : ATTEMPT_REFUSED;
}

static const struct rule *rule_of(const struct zone_charge *charge)
{
	return zone_rule_at(charge->zone, charge->rule);
}

static bool charge_is_of_log(const struct zone_charge *charge)
{
	return charge->zone->main.algorithm == ALGORITHM_SLIDING_LOG;
}

/* The slot as it is under the charge's rule. A log's state is the same under any. */
static struct slot_pair pair_in_force(const struct zone_charge *charge, struct slot_pair seen)
{
	unsigned int number = seen.tag & SLOT_RULE_MASK;
	struct slot_pair pair = {
		.tag = (seen.tag & ~SLOT_RULE_MASK) | charge->rule,
		.state = seen.state,
	};

	if (number != charge->rule && !charge_is_of_log(charge))
		pair.state = rule_convert(zone_rule_at(charge->zone, number), rule_of(charge),
					  seen.state, charge->now_ns);
	return pair;
}

static enum attempt slot_told(struct zone_charge *charge, struct zone_slot *slot,
			      struct slot_pair seen, struct slot_pair next, enum attempt verdict)
{
	charge->slot = slot;
	charge->before = seen;
	charge->pair = next;
	return verdict;
}

/* Stores what the slot is to be, if that is anything new. */
static enum attempt slot_settle(struct zone_charge *charge, struct zone_slot *slot,
				struct slot_pair seen, struct slot_pair next, enum attempt verdict)
{
	if (!slot_pair_equals(seen, next) && !slot_exchange(&slot->pair, seen, next))
		return ATTEMPT_MOVED;
	return slot_told(charge, slot, seen, next, verdict);
}

/* The same of a slot to which nothing is charged. A worker of before a raised capacity knows a debt
 * only up to its own: storing that would forgive the rest. */
static enum attempt slot_settle_uncharged(struct zone_charge *charge, struct zone_slot *slot,
					  struct slot_pair seen, struct slot_pair next,
					  enum attempt verdict)
{
	if (!zone_main_is_in_force(charge->zone))
		return slot_told(charge, slot, seen, next, verdict);
	return slot_settle(charge, slot, seen, next, verdict);
}

static enum attempt attempt_take_log(struct zone_charge *charge, struct zone_slot *slot,
				     struct slot_pair seen)
{
	struct log_ring ring = zone_ring_of(charge->zone, slot);
	struct slot_pair next = pair_in_force(charge, seen);
	enum log_taken taken;

	if (slot_settle(charge, slot, seen, next, ATTEMPT_REFUSED) == ATTEMPT_MOVED)
		return ATTEMPT_MOVED;
	taken = log_take(&ring, rule_of(charge), next, charge->cost, charge->now_ns, charge->mode,
			 &charge->cell);
	if (taken == LOG_MOVED)
		return ATTEMPT_MOVED;
	charge->before = next;
	/* A refusal may have written a cell as well (TAKE_CHARGE_REFUSED). */
	charge->pair = slot_read(slot);
	return attempt_of(taken == LOG_ADMITTED);
}

static enum attempt attempt_take(struct zone_charge *charge, struct zone_slot *slot,
				 struct slot_pair seen, zone_clock clock)
{
	struct slot_pair next;
	struct taken taken;

	charge->now_ns = clock();
	if (charge_is_of_log(charge))
		return attempt_take_log(charge, slot, seen);
	next = pair_in_force(charge, seen);
	taken = rule_take(rule_of(charge), next.state, charge->cost, charge->now_ns, charge->mode);
	next.state = taken.state;
	if (!taken.admitted)
		return slot_settle_uncharged(charge, slot, seen, next, ATTEMPT_REFUSED);
	return slot_settle(charge, slot, seen, next, ATTEMPT_ADMITTED);
}

static enum attempt attempt_look_log(struct zone_charge *charge, struct zone_slot *slot,
				     struct slot_pair seen)
{
	struct log_ring ring = zone_ring_of(charge->zone, slot);
	struct slot_pair next = pair_in_force(charge, seen);
	struct answer answer;
	enum attempt verdict;

	log_answer(&ring, rule_of(charge), next, charge->cost, charge->now_ns, &answer);
	verdict = slot_settle(charge, slot, seen, next, attempt_of(!answer.retry_after_ns));
	/* At no cost, but where the clock went back it marks the moment from which to wait. */
	if (verdict == ATTEMPT_REFUSED && log_take(&ring, rule_of(charge), next, 0, charge->now_ns,
						   TAKE_CHARGE, &charge->cell) == LOG_MOVED)
		return ATTEMPT_MOVED;
	return verdict;
}

/* Charges nothing, but stores what the passing of time and rules made of the slot: a debt that was
 * left under the rule before would be paid at that one's rate. */
static enum attempt attempt_look(struct zone_charge *charge, struct zone_slot *slot,
				 struct slot_pair seen, zone_clock clock)
{
	struct slot_pair next;
	struct taken taken;

	charge->now_ns = clock();
	if (charge_is_of_log(charge))
		return attempt_look_log(charge, slot, seen);
	next = pair_in_force(charge, seen);
	taken = rule_take(rule_of(charge), next.state, charge->cost, charge->now_ns, TAKE_CHARGE);
	if (!taken.admitted)
		next.state = taken.state;
	return slot_settle_uncharged(charge, slot, seen, next, attempt_of(taken.admitted));
}

static bool charge_judged(struct zone_charge *charge, enum attempt attempt)
{
	charge->status = attempt == ATTEMPT_ADMITTED ? ZONE_PASSED : ZONE_REFUSED;
	return attempt == ATTEMPT_ADMITTED;
}

static bool charge_contended(struct zone_charge *charge, zone_clock clock)
{
	zone_count(charge->zone, ZONE_COUNT_CONTENDED);
	charge->now_ns = clock();
	return charge_judged(charge, ATTEMPT_MOVED);
}

/* Without a slot the key owes nothing; whether it would be given one decides who answers. */
static bool look_without_slot(struct zone_charge *charge, const struct zone_places *places,
			      zone_clock clock)
{
	struct zone *zone = charge->zone;
	struct slot_pair pair;

	charge->now_ns = clock();
	if (charge->cost > rule_of(charge)->capacity)
		return charge_judged(charge, ATTEMPT_REFUSED);
	if (zone_place_is_claimed(zone, places) ||
	    (zone_place_free(zone, places, charge->now_ns, &pair) &&
	     zone_share_look(zone, charge->key.origin, clock)))
		return charge_judged(charge, ATTEMPT_ADMITTED);
	return zone_overflow_look(charge, places, clock);
}

/* What an attempt before left. */
static void charge_clear(struct zone_charge *charge)
{
	static const struct slot_pair none = {0, 0};

	charge->slot = NULL;
	charge->pair = charge->before = none;
	charge->cell = 0;
}

bool zone_charge_look(struct zone_charge *charge, zone_clock clock)
{
	struct zone_places places;

	charge_clear(charge);
	zone_places_find(charge->zone, charge->key.hash, &places);
	for (unsigned int tries = 0; tries < TAKE_TRIES; tries++) {
		struct slot_pair seen;
		struct zone_slot *slot = zone_place_find(charge->zone, &places, &seen);
		enum attempt attempt;

		if (!slot)
			return look_without_slot(charge, &places, clock);
		attempt = attempt_look(charge, slot, seen, clock);
		if (attempt != ATTEMPT_MOVED)
			return charge_judged(charge, attempt);
	}
	return charge_contended(charge, clock);
}

enum insertion { INSERTION_DONE, INSERTION_LOST, INSERTION_FULL };

/* Gets the key a slot, once. share_paid: by an attempt before. */
static enum insertion insert(struct zone_charge *charge, const struct zone_places *places,
			     zone_clock clock, bool *share_paid)
{
	struct zone *zone = charge->zone;
	uint64_t now_ns = clock();
	struct slot_pair pair;
	struct zone_slot *slot;

	if (zone_place_resolve(zone, places, charge->rule, &pair))
		return INSERTION_DONE;
	slot = zone_place_free(zone, places, now_ns, &pair);
	if (!slot)
		return INSERTION_FULL;
	if (!*share_paid && !zone_share_take(zone, charge->key.origin, clock)) {
		zone_count(zone, ZONE_COUNT_SHARE_EXCEEDED);
		return INSERTION_FULL;
	}
	*share_paid = true;
	if (!zone_place_claim(zone, places, slot, pair, now_ns))
		return INSERTION_LOST;
	return zone_place_resolve(zone, places, charge->rule, &pair) ? INSERTION_DONE
								     : INSERTION_LOST;
}

bool zone_charge_take(struct zone_charge *charge, zone_clock clock)
{
	uint64_t capacity = rule_of(charge)->capacity;
	struct zone_places places;
	bool share_paid = false;

	charge_clear(charge);
	zone_places_find(charge->zone, charge->key.hash, &places);
	for (unsigned int tries = 0; tries < TAKE_TRIES; tries++) {
		struct slot_pair seen;
		struct zone_slot *slot = zone_place_find(charge->zone, &places, &seen);

		if (slot) {
			enum attempt attempt = attempt_take(charge, slot, seen, clock);

			if (attempt != ATTEMPT_MOVED)
				return charge_judged(charge, attempt);
		} else if (!charge->cost || charge->cost > capacity) {
			return look_without_slot(charge, &places, clock);
		} else if (insert(charge, &places, clock, &share_paid) == INSERTION_FULL) {
			return zone_overflow_take(charge, &places, clock);
		}
	}
	return charge_contended(charge, clock);
}

static void slot_give_back(struct zone_charge *charge)
{
	struct log_ring ring;

	if (charge_is_of_log(charge)) {
		ring = zone_ring_of(charge->zone, charge->slot);
		log_give_back(&ring, charge->before, charge->cell);
	} else if (slot_exchange(&charge->slot->pair, charge->pair, charge->before)) {
		charge->pair = charge->before;
	}
}

void zone_charge_give_back(struct zone_charge *charge)
{
	struct zone_places places;

	if (!charge->cost)
		return;
	if (charge->status == ZONE_PASSED && charge->slot)
		slot_give_back(charge);
	if (charge->status == ZONE_OVERFLOW_PASSED) {
		zone_places_find(charge->zone, charge->key.hash, &places);
		zone_overflow_give_back(charge, &places);
	}
}
