/* SPDX-License-Identifier: (GPL-2.0-only OR MIT) */
/* The token bucket, and the only place that knows its arithmetic. Pure: time, limit and cost are
 * arguments.
 *
 * A bucket is one 64-bit word: the moment at which it will be full again (GCRA), with the low two
 * bits holding its limit's epoch. Moments are measured in units that the limit itself mints: a
 * token is 2^token_shift units, and token_shift is chosen so that a limit mints 16 to 32 units a
 * nanosecond. So a token's cost is an exact power of two for every rate, a refill is read off the
 * absolute clock and no rounding ever adds up; only the multiplier rounds, down, by at most 2^-31.
 *
 *   tokens = capacity - (full_at - minted(now))        zero is a full bucket
 *
 * A tick is 1/64 ns. minted() rounds down to four units, which is at most a quarter of a
 * nanosecond: over any t as a clock of nanoseconds sees it, no more than capacity + rate * (t + 1
 * ns) is granted.
 *
 * No input overflows. minted: with hi, lo, m < 2^32, hi * m + (lo * m >> 32) <= (2^32 - 1)^2 +
 * 2^32 - 1 < 2^64, and halved it is below 2^63. capacity_units <= 2^62 (limit_build refuses more).
 * A debt is a difference of a larger and a smaller number; next = minted + debt + cost <= minted +
 * capacity < 2^63 + 2^62. */
#ifndef WEIR_BUCKET_H
#define WEIR_BUCKET_H

#include <stdbool.h>

#include "weir.h"

#define BUCKET_TICK_SHIFT   6
#define BUCKET_EPOCH_MASK   3ULL
#define BUCKET_CAPACITY_MAX (1ULL << 62)
/* Ticks fill 64 bits after nine years of uptime. */
#define BUCKET_NOW_MAX_NS (1ULL << (64 - BUCKET_TICK_SHIFT))

static inline __u64 bucket_ticks(__u64 now_ns)
{
	return now_ns << BUCKET_TICK_SHIFT;
}

/* floor(ticks * multiplier / 2^33), without its low two bits. */
static inline __u64 bucket_minted(__u64 now_ticks, __u32 multiplier)
{
	__u64 high = (now_ticks >> 32) * multiplier;
	__u64 low = ((now_ticks & 0xffffffff) * multiplier) >> 32;

	return ((high + low) >> 1) & ~BUCKET_EPOCH_MASK;
}

static inline __u64 bucket_cost(const struct weir_limit *limit, __u64 tokens)
{
	return tokens << limit->token_shift;
}

static inline bool bucket_is_of(__u64 word, const struct weir_limit *limit)
{
	return (word & BUCKET_EPOCH_MASK) == limit->epoch;
}

/* Whether the word belongs to the epoch before limit's, so that bucket_carry applies. */
static inline bool bucket_is_older(__u64 word, const struct weir_limit *limit)
{
	return ((word + 1) & BUCKET_EPOCH_MASK) == limit->epoch;
}

/* Whether the word belongs to the epoch after limit's: then limit is out of force. */
static inline bool bucket_is_newer(__u64 word, const struct weir_limit *limit)
{
	return ((word - 1) & BUCKET_EPOCH_MASK) == limit->epoch;
}

/* Units that are missing from a full bucket; may exceed the capacity when another CPU's clock was
 * ahead. */
static inline __u64 bucket_debt(__u64 word, __u64 minted)
{
	__u64 full_at = word & ~BUCKET_EPOCH_MASK;

	return full_at > minted ? full_at - minted : 0;
}

/* Takes cost_units, a multiple of four, if they are there. On success ret_word is the word to
 * store; on refusal there is nothing to store. */
static inline bool bucket_take(__u64 word, const struct weir_limit *limit, __u64 cost_units,
			       __u64 minted, __u64 *ret_word)
{
	__u64 debt = bucket_debt(word, minted);

	if (cost_units > limit->capacity_units || debt > limit->capacity_units - cost_units)
		return false;
	*ret_word = (minted + debt + cost_units) | limit->epoch;
	return true;
}

/* The word of a full bucket. */
static inline __u64 bucket_full(const struct weir_limit *limit)
{
	return limit->epoch;
}

/* Whole tokens in the bucket. */
static inline __u64 bucket_tokens(__u64 word, const struct weir_limit *limit, __u64 minted)
{
	__u64 debt = bucket_debt(word, minted);

	return debt < limit->capacity_units ? (limit->capacity_units - debt) >> limit->token_shift
					    : 0;
}

/* Nothing left at the moment at which minted was read. */
static inline __u64 bucket_empty(const struct weir_limit *limit, __u64 minted)
{
	return (minted + limit->capacity_units) | limit->epoch;
}

/* A word of from as one of to, both limits without a history: as many tokens are missing as were,
 * parts of one too, rounded up; the whole capacity at most. */
static inline __u64 bucket_convert(__u64 word, const struct weir_limit *from,
				   const struct weir_limit *to, __u64 now_ticks)
{
	__u64 debt = bucket_debt(word, bucket_minted(now_ticks, from->multiplier));
	__u64 minted = bucket_minted(now_ticks, to->multiplier);
	int shift = to->token_shift - from->token_shift;

	if (!debt)
		return bucket_full(to);
	if (debt >> from->token_shift >= to->capacity)
		return bucket_empty(to, minted);
	if (shift >= 0)
		debt <<= shift;
	else
		debt = ((debt - 1) >> -shift) + 1;
	debt = (debt + BUCKET_EPOCH_MASK) & ~BUCKET_EPOCH_MASK;
	return (minted + debt) | to->epoch;
}

/* A word of the epoch before, in limit's units: what was missing when the limit changed is missing
 * still, in proportion to the capacities: debt * capacity / previous capacity, which limit_build
 * wrote as 2^carry_left * carry_multiplier / 2^31 / 2^carry_right. Rounds up, to the capacity at
 * most. */
static inline __u64 bucket_carry(__u64 word, const struct weir_limit *limit)
{
	__u64 then = bucket_minted(limit->changed_at_ticks, limit->previous_multiplier);
	__u64 debt = bucket_debt(word, then);
	__u64 high, low;

	if (!debt)
		return bucket_full(limit);
	if (debt > limit->previous_capacity_units)
		debt = limit->previous_capacity_units;
	debt <<= limit->carry_left;
	high = (debt >> 32) * limit->carry_multiplier;
	low = (debt & 0xffffffff) * limit->carry_multiplier;
	debt = ((high << 1) + (low >> 31)) >> limit->carry_right;
	debt = (debt | BUCKET_EPOCH_MASK) + 1;
	if (debt > limit->capacity_units)
		debt = limit->capacity_units;
	return (bucket_minted(limit->changed_at_ticks, limit->multiplier) + debt) | limit->epoch;
}

/* The word in limit's units, which must not be newer. One that two changes passed by is in units
 * that nobody knows any more: its source is not to be refused for ever. */
static inline __u64 bucket_in_force(__u64 word, const struct weir_limit *limit)
{
	if (bucket_is_of(word, limit))
		return word;
	return bucket_is_older(word, limit) ? bucket_carry(word, limit) : bucket_full(limit);
}

#endif
