/* SPDX-License-Identifier: MIT */
#include "control/limit.h"

#include <errno.h>
#include <limits.h>

#include "bucket.h"

#define RATE_MAX_PER_SECOND   100000000ULL
#define FILL_MAX_NS           (1ULL << 57) /* 4.5 years; a unit lasts at least 1/32 ns */
#define COARSE_STEPS          2
#define COARSE_SHARE          100 /* of the capacity, two steps' worth may be one part in */
#define MULTIPLIER_SHIFT      33  /* bucket_minted's */
#define UNITS_PER_NS_MIN_LOG2 4

typedef unsigned __int128 wide;

static bool rate_in_range(const struct rate *rate)
{
	if (!rate->count || !rate->period_ns)
		return false;
	return (wide)rate->count * NS_PER_YEAR >= rate->period_ns &&
	       (wide)rate->count * NS_PER_SECOND <= (wide)RATE_MAX_PER_SECOND * rate->period_ns;
}

/* The shift that makes count << shift / period_ns units a nanosecond lie in [16, 32). */
static unsigned int token_shift_of(const struct rate *rate)
{
	unsigned int shift = 2;

	while (((wide)rate->count << shift) < ((wide)rate->period_ns << UNITS_PER_NS_MIN_LOG2))
		shift++;
	return shift;
}

static wide fill_ns(const struct rate *rate, uint64_t capacity)
{
	return ((wide)capacity * rate->period_ns + rate->count - 1) / rate->count;
}

static bool coarse_is_enough(const struct rate *rate, uint64_t capacity, uint64_t tick_ns)
{
	return (wide)COARSE_STEPS * tick_ns * rate->count * COARSE_SHARE <=
	       (wide)capacity * rate->period_ns;
}

uint64_t limit_tokens_in(const struct rate *rate, uint64_t span_ns)
{
	wide tokens = rate->period_ns ? (wide)rate->count * span_ns / rate->period_ns : 0;

	return tokens ? (uint64_t)tokens : 1;
}

int limit_build(const struct rate *rate, uint64_t capacity, uint64_t clock_tick_ns,
		struct weir_limit *ret, struct failure *why)
{
	struct weir_limit limit = {0};

	if (!rate_in_range(rate))
		return failure_set(why, ERANGE, "the rate must lie between 1/year and 100M/s");
	if (!capacity)
		return failure_set(why, ERANGE, "the capacity must be at least 1");
	if (fill_ns(rate, capacity) > FILL_MAX_NS) {
		wide longest = (wide)FILL_MAX_NS * rate->count / rate->period_ns;

		return failure_set(why, ERANGE,
				   "a capacity of %llu takes over 4.5 years to fill at this rate; "
				   "the largest is %llu",
				   (unsigned long long)capacity, (unsigned long long)longest);
	}
	limit.token_shift = token_shift_of(rate);
	limit.multiplier =
		((wide)rate->count << (limit.token_shift + MULTIPLIER_SHIFT - BUCKET_TICK_SHIFT)) /
		rate->period_ns;
	limit.capacity_units = capacity << limit.token_shift;
	limit.clock = coarse_is_enough(rate, capacity, clock_tick_ns) ? WEIR_CLOCK_COARSE
								      : WEIR_CLOCK_PRECISE;
	limit.rate_count = rate->count;
	limit.rate_period_ns = rate->period_ns;
	limit.capacity = capacity;
	*ret = limit;
	return 0;
}

/* Writes to / from as 2^left * multiplier / 2^31 / 2^right, rounded up, with multiplier in [2^31,
 * 2^32). */
static void carry_ratio(uint64_t to, uint64_t from, struct weir_limit *limit)
{
	unsigned int left = 0, right = 0;
	wide multiplier;

	while (((wide)from << (left + 1)) <= to)
		left++;
	while (((wide)to << right) < from)
		right++;
	multiplier = (((wide)to << (31 + right)) + ((wide)from << left) - 1) / ((wide)from << left);
	if (multiplier >> 32) { /* rounded up to the next power of two */
		multiplier >>= 1;
		if (right)
			right--;
		else
			left++;
	}
	limit->carry_left = left;
	limit->carry_right = right;
	limit->carry_multiplier = (uint32_t)multiplier;
}

void limit_succeed(struct weir_limit *limit, const struct weir_limit *previous, uint64_t now_ticks)
{
	limit->epoch = (previous->epoch + 1) & BUCKET_EPOCH_MASK;
	limit->changed_at_ticks = now_ticks;
	limit->previous_capacity_units = previous->capacity_units;
	limit->previous_multiplier = previous->multiplier;
	/* Without a limit before it there is nothing to carry. */
	if (previous->capacity_units)
		carry_ratio(limit->capacity_units, previous->capacity_units, limit);
}

/* The first tick at which at least units are minted: ceil(units * 2^33 / multiplier). */
static wide minted_by(wide units, const struct weir_limit *limit)
{
	return ((units << MULTIPLIER_SHIFT) + limit->multiplier - 1) / limit->multiplier;
}

static uint64_t ticks_until(wide units, const struct weir_limit *limit, uint64_t now_ticks)
{
	wide at = minted_by(units, limit);

	if (at <= now_ticks)
		return 0;
	return at > UINT64_MAX ? UINT64_MAX : (uint64_t)at - now_ticks;
}

/* As the program takes it: of a forgotten epoch, it counts as full. */
uint64_t limit_wait_ticks(uint64_t word, const struct weir_limit *limit, uint64_t cost_units,
			  uint64_t now_ticks)
{
	wide full_at = bucket_in_force(word, limit) & ~BUCKET_EPOCH_MASK;

	if (cost_units > limit->capacity_units)
		return UINT64_MAX;
	if (full_at + cost_units <= limit->capacity_units)
		return 0;
	return ticks_until(full_at + cost_units - limit->capacity_units, limit, now_ticks);
}

uint64_t limit_full_ticks(uint64_t word, const struct weir_limit *limit, uint64_t now_ticks)
{
	return ticks_until(bucket_in_force(word, limit) & ~BUCKET_EPOCH_MASK, limit, now_ticks);
}

double limit_tokens(uint64_t word, const struct weir_limit *limit, uint64_t now_ticks)
{
	uint64_t minted = bucket_minted(now_ticks, limit->multiplier);
	uint64_t debt = bucket_debt(bucket_in_force(word, limit), minted);

	if (debt > limit->capacity_units)
		debt = limit->capacity_units;
	return (double)(limit->capacity_units - debt) / (double)(1ULL << limit->token_shift);
}
