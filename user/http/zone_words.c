/* SPDX-License-Identifier: MIT */
#include "http/zone_words.h"

#include "bucket.h"

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

/* Read after the word. What is stored where the rules change in between takes the place of a zero
 * word, and is of another epoch for all who come later. */
static bool words_are_ours(const struct zone *zone)
{
	return __atomic_load_n(&zone->header->words_epoch, __ATOMIC_ACQUIRE) == zone->words_epoch;
}

static uint64_t word_empty(const struct rule *rule, uint64_t now_ns)
{
	uint64_t minted = bucket_minted(bucket_ticks(now_ns), rule->limit.multiplier);

	return bucket_empty(&rule->limit, minted);
}

/* As it would be charged. A word of another epoch is in units that nobody knows: nothing is left in
 * it, and it is refilled from now on. Where it is we who do not know, nothing changes. */
static struct word_taken word_judge(const struct zone *zone, const uint64_t *word,
				    const struct rule *rule, uint64_t cost, zone_clock clock)
{
	struct word_taken ret = {.before = word_read(word)};
	uint64_t state = ret.before;
	struct taken taken;

	ret.now_ns = clock();
	if (!words_are_ours(zone)) {
		ret.before = ret.after = word_empty(rule, ret.now_ns);
		return ret;
	}
	if (state && !bucket_is_of(state, &rule->limit))
		state = word_empty(rule, ret.now_ns);
	taken = rule_take(rule, state, cost, ret.now_ns, TAKE_CHARGE);
	ret.admitted = taken.admitted;
	ret.after = taken.state;
	return ret;
}

static struct word_taken word_take(const struct zone *zone, uint64_t *word, const struct rule *rule,
				   uint64_t cost, zone_clock clock)
{
	struct word_taken ret = {0};

	for (unsigned int tries = 0; tries < WORD_TRIES; tries++) {
		ret = word_judge(zone, word, rule, cost, clock);
		if (ret.before == ret.after || word_exchange(word, ret.before, ret.after))
			return ret;
	}
	ret.after = ret.before;
	ret.admitted = false;
	return ret;
}

/* Charges nothing, but stores what a word of another epoch is from now on: who only ever looks
 * would else never see it refilled. */
static struct word_taken word_look(const struct zone *zone, uint64_t *word, const struct rule *rule,
				   uint64_t cost, zone_clock clock)
{
	struct word_taken ret = word_take(zone, word, rule, 0, clock);

	ret.admitted = rule_take(rule, ret.after, cost, ret.now_ns, TAKE_CHARGE).admitted;
	return ret;
}

/* A prefix's two words; they may be the same one. */
static uint64_t *share_word(const struct zone *zone, uint64_t origin, unsigned int which)
{
	return &zone->shares[origin >> (which * 32) & (ZONE_SHARES - 1)];
}

/* Not for those who cannot read the words any more: they leave soon, and a new client is not to be
 * refused because a reload changed the limit. */
static bool share_is_limited(const struct zone *zone, uint64_t origin)
{
	return origin && words_are_ours(zone);
}

bool zone_share_take(struct zone *zone, uint64_t origin, zone_clock clock)
{
	uint64_t *first = share_word(zone, origin, 0), *second = share_word(zone, origin, 1);
	bool passed;

	if (!share_is_limited(zone, origin))
		return true;
	passed = word_take(zone, first, &zone->share_rule, 1, clock).admitted;
	if (second != first)
		passed |= word_take(zone, second, &zone->share_rule, 1, clock).admitted;
	return passed;
}

bool zone_share_look(const struct zone *zone, uint64_t origin, zone_clock clock)
{
	return !share_is_limited(zone, origin) ||
	       word_look(zone, share_word(zone, origin, 0), &zone->share_rule, 1, clock).admitted ||
	       word_look(zone, share_word(zone, origin, 1), &zone->share_rule, 1, clock).admitted;
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
	struct word_taken taken[2] = {0};

	for (unsigned int i = 0; i < 2; i++) {
		uint64_t *word = &zone->overflow[places->sets[i]];

		taken[i] =
			i && places->sets[1] == places->sets[0]
				? taken[0]
				: word_take(zone, word, &zone->overflow_rule, charge->cost, clock);
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
		taken[i] = word_look(zone, &zone->overflow[places->sets[i]], &zone->overflow_rule,
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
