/* SPDX-License-Identifier: MIT */
/* The rules that a zone's states belong to: numbered in the file, built in each process. */
#include "http/zone_rules.h"

#include <errno.h>

#include "bucket.h"

#define FULL_PART 1024

bool zone_rule_read(const struct zone_rule *kept, enum algorithm algorithm, struct rule *ret)
{
	struct rate rate = {.count = kept->rate_count, .period_ns = kept->rate_period_ns};

	return rate.count && rate.period_ns &&
	       !rule_build(algorithm, kept->capacity, &rate, ret, NULL);
}

/* Builds a rule that some process has added since. */
static bool rule_learn(struct zone *zone, unsigned int number)
{
	const struct zone_rule *kept = &zone->header->rules[number];

	if (!zone->known[number] &&
	    __atomic_load_n(&kept->ready, __ATOMIC_ACQUIRE) == RULE_READABLE)
		zone->known[number] =
			zone_rule_read(kept, zone->main.algorithm, &zone->rules[number]);
	return zone->known[number];
}

const struct rule *zone_rule_at(struct zone *zone, unsigned int number)
{
	number &= SLOT_RULE_MASK;
	if (zone->known[number] || rule_learn(zone, number))
		return &zone->rules[number];
	return &zone->rules[0];
}

static bool rule_add(struct zone_rule *kept, const struct rule *rule)
{
	uint32_t ready = RULE_FREE;

	if (!__atomic_compare_exchange_n(&kept->ready, &ready, RULE_BEING_WRITTEN, false,
					 __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
		return false;
	kept->capacity = rule->capacity;
	kept->rate_count = rule->rate.count;
	kept->rate_period_ns = rule->rate.period_ns;
	__atomic_store_n(&kept->ready, RULE_READABLE, __ATOMIC_RELEASE);
	return true;
}

/* The number of a rule that is there; ZONE_RULES_MAX where none is the same. */
static unsigned int rule_seek(struct zone *zone, const struct rule *rule)
{
	for (unsigned int i = 0; i < ZONE_RULES_MAX; i++) {
		if (rule_learn(zone, i) && rule_equals(&zone->rules[i], rule))
			return i;
	}
	return ZONE_RULES_MAX;
}

/* Two that add the same rule at once give it two numbers, and one who dies while he adds leaves a
 * number unused: both are lost places, nothing else. */
static int rule_seek_or_add(struct zone *zone, const struct rule *rule)
{
	unsigned int number = rule_seek(zone, rule);

	if (number < ZONE_RULES_MAX)
		return (int)number;
	for (number = 0; number < ZONE_RULES_MAX; number++) {
		if (!rule_add(&zone->header->rules[number], rule))
			continue;
		zone->rules[number] = *rule;
		zone->known[number] = true;
		return (int)number;
	}
	return -ENOSPC;
}

int zone_rule_find(struct zone *zone, const struct rule *rule)
{
	int number;

	if (rule_equals(&zone->main, rule))
		return (int)zone->main_rule;
	if (zone->known[zone->recent_rule] && rule_equals(&zone->rules[zone->recent_rule], rule))
		return (int)zone->recent_rule;
	number = rule_seek_or_add(zone, rule);
	if (number >= 0)
		zone->recent_rule = (unsigned int)number;
	return number;
}

/* A prefix has its share anew in the time in which the slowest slot becomes free again, so that it
 * holds two shares at most: one at once, and one as the first becomes free. */
int zone_share_build(const struct zone *zone, const struct rule *main, struct rule *ret,
		     struct failure *why)
{
	uint64_t entries = zone->sets * ZONE_WAYS;
	uint64_t capacity = entries > ZONE_SHARE_PART ? entries / ZONE_SHARE_PART : 1;
	uint64_t full_ns = rule_full_after_ns(main);
	/* A little sooner: rounded up, the longest time that a rule may take is beyond it. */
	struct rate rate = {capacity, full_ns - full_ns / FULL_PART};

	if (rate.period_ns / RULE_UNIT_MIN_NS < capacity)
		rate = (struct rate){1, RULE_UNIT_MIN_NS};
	else if (rate.period_ns / RULE_UNIT_MAX_NS >= capacity)
		rate = (struct rate){1, RULE_UNIT_MAX_NS};
	return rule_build(ALGORITHM_TOKEN_BUCKET, capacity, &rate, ret, why);
}

/* Fields are read one by one, and a mixture of two rules is neither. */
bool zone_main_is_in_force(const struct zone *zone)
{
	const struct zone_rule *kept = &zone->header->main;
	const struct rule *main = &zone->main;

	return __atomic_load_n(&kept->capacity, __ATOMIC_RELAXED) == main->capacity &&
	       __atomic_load_n(&kept->rate_count, __ATOMIC_RELAXED) == main->rate.count &&
	       __atomic_load_n(&kept->rate_period_ns, __ATOMIC_RELAXED) == main->rate.period_ns;
}

static int words_attach(struct zone *zone, struct failure *why)
{
	int err = zone_share_build(zone, &zone->main, &zone->share_rule, why);

	zone->share_rule.limit.epoch = zone->words_epoch & BUCKET_EPOCH_MASK;
	zone->overflow_rule.limit.epoch = zone->words_epoch & BUCKET_EPOCH_MASK;
	return err;
}

static int main_attach(struct zone *zone)
{
	int number;

	/* Before anybody looks for a rule by number: what cannot be read counts as main. */
	zone->rules[0] = zone->main;
	rule_learn(zone, 0);
	number = rule_seek_or_add(zone, &zone->main);
	if (number >= 0)
		zone->main_rule = zone->recent_rule = (unsigned int)number;
	return number < 0 ? number : 0;
}

int zone_rules_attach(struct zone *zone, struct failure *why)
{
	const struct zone_header *header = zone->header;
	enum algorithm algorithm = (enum algorithm)header->identity.algorithm;

	zone->words_epoch = __atomic_load_n(&header->words_epoch, __ATOMIC_ACQUIRE);
	if (algorithm >= ALGORITHM_MAX || !zone_rule_read(&header->main, algorithm, &zone->main) ||
	    !zone_rule_read(&header->overflow, ALGORITHM_TOKEN_BUCKET, &zone->overflow_rule))
		return failure_set(why, EINVAL, "its limits cannot be");
	if ((algorithm == ALGORITHM_SLIDING_LOG) != (zone->cells_per_slot != 0))
		return failure_set(why, EINVAL, "its cells do not fit its algorithm");
	if (main_attach(zone))
		return failure_set(why, ENOSPC, "it has no place for another limit");
	return words_attach(zone, why);
}
