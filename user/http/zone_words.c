/* SPDX-License-Identifier: MIT */
#include "http/zone_words.h"

#define WORD_TRIES 128

/* What became of a word: after is as it stands now. */
struct word_taken {
	bool admitted;
	uint64_t before;
	uint64_t after;
	uint64_t now_ns;
};

static uint64_t word_read(const uint64_t *word)
{
	return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

static bool word_exchange(uint64_t *word, uint64_t from, uint64_t to)
{
	return __atomic_compare_exchange_n(word, &from, to, false, __ATOMIC_ACQ_REL,
					   __ATOMIC_RELAXED);
}

static struct word_taken word_look(const uint64_t *word, const struct rule *rule, uint64_t cost,
				   zone_clock clock)
{
	struct word_taken ret = {.before = word_read(word)};

	ret.after = ret.before;
	ret.now_ns = clock();
	ret.admitted = rule_take(rule, ret.before, cost, ret.now_ns, TAKE_CHARGE).admitted;
	return ret;
}

static struct word_taken word_take(uint64_t *word, const struct rule *rule, uint64_t cost,
				   zone_clock clock)
{
	struct word_taken ret = {0};

	for (unsigned int tries = 0; tries < WORD_TRIES; tries++) {
		struct taken taken;

		ret.before = ret.after = word_read(word);
		ret.now_ns = clock();
		taken = rule_take(rule, ret.before, cost, ret.now_ns, TAKE_CHARGE);
		ret.admitted = taken.admitted;
		if (!taken.changed)
			return ret;
		if (word_exchange(word, ret.before, taken.state)) {
			ret.after = taken.state;
			return ret;
		}
	}
	ret.admitted = false;
	return ret;
}

/* A prefix's two words; they may be the same one. */
static uint64_t *share_word(const struct zone *zone, uint64_t origin, unsigned int which)
{
	return &zone->shares[origin >> (which * 32) & (ZONE_SHARES - 1)];
}

bool zone_share_take(struct zone *zone, uint64_t origin, zone_clock clock)
{
	uint64_t *first = share_word(zone, origin, 0), *second = share_word(zone, origin, 1);
	bool passed;

	if (!origin)
		return true;
	passed = word_take(first, &zone->share_rule, 1, clock).admitted;
	if (second != first)
		passed |= word_take(second, &zone->share_rule, 1, clock).admitted;
	return passed;
}

bool zone_share_look(const struct zone *zone, uint64_t origin, zone_clock clock)
{
	return !origin ||
	       word_look(share_word(zone, origin, 0), &zone->share_rule, 1, clock).admitted ||
	       word_look(share_word(zone, origin, 1), &zone->share_rule, 1, clock).admitted;
}

/* Told as the word stands that has more room. */
static bool overflow_judged(struct zone_charge *charge, const struct word_taken taken[2])
{
	const struct word_taken *roomier = &taken[taken[1].after < taken[0].after];
	bool passed = taken[0].admitted || taken[1].admitted;

	charge->slot = NULL;
	charge->status = passed ? ZONE_OVERFLOW_PASSED : ZONE_OVERFLOW_REFUSED;
	charge->pair = (struct slot_pair){.state = roomier->after};
	charge->now_ns = roomier->now_ns;
	return passed;
}

bool zone_overflow_take(struct zone_charge *charge, const struct zone_places *places,
			zone_clock clock)
{
	struct zone *zone = charge->zone;
	struct word_taken taken[2];

	for (unsigned int i = 0; i < 2; i++) {
		uint64_t *word = &zone->overflow[places->sets[i]];

		taken[i] = i && places->sets[1] == places->sets[0]
				   ? taken[0]
				   : word_take(word, &zone->overflow_rule, charge->cost, clock);
		charge->overflow_words[2 * i] = taken[i].before;
		charge->overflow_words[2 * i + 1] = taken[i].after;
	}
	return overflow_judged(charge, taken);
}

bool zone_overflow_look(struct zone_charge *charge, const struct zone_places *places,
			zone_clock clock)
{
	struct zone *zone = charge->zone;
	struct word_taken taken[2];

	for (unsigned int i = 0; i < 2; i++)
		taken[i] = word_look(&zone->overflow[places->sets[i]], &zone->overflow_rule,
				     charge->cost, clock);
	return overflow_judged(charge, taken);
}

void zone_overflow_give_back(struct zone_charge *charge, const struct zone_places *places)
{
	for (unsigned int i = 0; i < 2; i++) {
		uint64_t before = charge->overflow_words[2 * i];
		uint64_t after = charge->overflow_words[2 * i + 1];

		if (before != after)
			word_exchange(&charge->zone->overflow[places->sets[i]], after, before);
	}
}
