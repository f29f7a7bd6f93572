/* SPDX-License-Identifier: MIT */
/* A zone in shared memory, without a file, and a clock that the test moves. */
#ifndef WEIR_ZONE_MADE_H
#define WEIR_ZONE_MADE_H

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "http/zone.h"

#define NS_PER_SEC    1000000000ULL
#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

static uint64_t made_now_ns = 1000 * NS_PER_SEC;
/* Runs once, in the middle of whatever reads the clock next but made_hook_skip times. */
static void (*made_hook)(void);
static unsigned int made_hook_skip;
/* Entries of the offenders' table in zones made from now on. */
static uint64_t made_offenders;

static inline uint64_t made_clock(void)
{
	void (*hook)(void) = made_hook;

	if (hook && !made_hook_skip--) {
		made_hook = NULL;
		hook();
	}
	return __atomic_load_n(&made_now_ns, __ATOMIC_RELAXED);
}

static inline struct rule made_rule(enum algorithm algorithm, uint64_t capacity, uint64_t count,
				    uint64_t period_ns)
{
	struct rate rate = {count, period_ns};
	struct rule rule;

	assert_int_equal(rule_build(algorithm, capacity, &rate, &rule, NULL), 0);
	return rule;
}

/* capacity, and one more each second; of windows, capacity each capacity seconds. */
static inline struct rule made_rule_of(enum algorithm algorithm, uint64_t capacity)
{
	if (algorithm_is_window(algorithm))
		return made_rule(algorithm, capacity, capacity, capacity * NS_PER_SEC);
	return made_rule(algorithm, capacity, 1, NS_PER_SEC);
}

static inline struct zone_rule made_kept(const struct rule *rule)
{
	return (struct zone_rule){
		.capacity = rule->capacity,
		.rate_count = rule->rate.count,
		.rate_period_ns = rule->rate.period_ns,
		.ready = RULE_READABLE,
	};
}

/* The overflow passes capacity requests, and one more each ten seconds. */
static inline void *made_memory(uint64_t entries, const struct rule *rule, uint64_t overflow)
{
	uint64_t cells = rule->algorithm == ALGORITHM_SLIDING_LOG ? rule->capacity : 0;
	struct rule spare = made_rule(ALGORITHM_TOKEN_BUCKET, overflow, 1, 10 * NS_PER_SEC);
	uint64_t size = zone_size(entries, cells, made_offenders);
	struct zone_header *header;

	header = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(header, MAP_FAILED);
	header->file_size = size;
	header->identity.algorithm = rule->algorithm;
	header->sets = (entries + ZONE_WAYS - 1) / ZONE_WAYS;
	header->cells_per_slot = cells;
	header->offenders = made_offenders;
	header->main = made_kept(rule);
	header->overflow = made_kept(&spare);
	return header;
}

static inline void made_zone(struct zone *zone, uint64_t entries, const struct rule *rule,
			     uint64_t overflow)
{
	assert_int_equal(zone_attach(zone, made_memory(entries, rule, overflow), NULL), 0);
}

/* Another process' view of the same zone. */
static inline void made_view(struct zone *view, const struct zone *zone)
{
	assert_int_equal(zone_attach(view, zone->header, NULL), 0);
}

static inline void made_free(struct zone *zone)
{
	munmap(zone->header, zone->header->file_size);
}

/* Hashes of keys, numbered from 1. */
static inline uint64_t made_hash(uint64_t number)
{
	number *= 0x9e3779b97f4a7c15ULL;
	return (number ^ number >> 29) * 0xbf58476d1ce4e5b9ULL;
}

static inline struct zone_charge made_charge(struct zone *zone, uint64_t number, uint64_t cost)
{
	struct zone_charge charge = {
		.zone = zone,
		.key = {.hash = made_hash(number)},
		.rule = zone->main_rule,
		.cost = cost,
	};

	charge.key.label.kind = LABEL_HASH;
	memcpy(charge.key.label.value, &number, sizeof(number));
	return charge;
}

static inline enum zone_status made_take(struct zone *zone, uint64_t number, uint64_t cost)
{
	struct zone_charge charge = made_charge(zone, number, cost);

	zone_take_all(&charge, 1, made_clock);
	return charge.status;
}

/* By a look, which counts as a pass. */
static inline uint64_t made_remaining(struct zone *zone, uint64_t number)
{
	struct zone_charge look = made_charge(zone, number, 0);
	struct answer answer;

	zone_take_all(&look, 1, made_clock);
	zone_answer(&look, &answer);
	return answer.remaining;
}

static inline unsigned int made_take_all(struct zone *zone, uint64_t number, unsigned int tries)
{
	unsigned int passed = 0;

	while (tries--)
		passed += made_take(zone, number, 1) == ZONE_PASSED;
	return passed;
}

static inline uint64_t made_count(const struct zone *zone, enum zone_count which)
{
	return __atomic_load_n(&zone->header->counts[which], __ATOMIC_RELAXED);
}

/* Slots that hold a key's tag: usable ones, and claims. */
static inline unsigned int made_slots(const struct zone *zone, uint64_t number, uint64_t claimed)
{
	uint64_t tag = (made_hash(number) & SLOT_KEY_MASK) | claimed;
	unsigned int count = 0;

	for (uint64_t i = 0; i < zone->sets * ZONE_WAYS; i++)
		count += (slot_read(&zone->slots[i]).tag & ~SLOT_RULE_MASK) == tag;
	return count;
}

static inline unsigned int made_slots_used(const struct zone *zone)
{
	unsigned int count = 0;

	for (uint64_t i = 0; i < zone->sets * ZONE_WAYS; i++)
		count += slot_read(&zone->slots[i]).tag != 0;
	return count;
}

#endif
