/* SPDX-License-Identifier: MIT */
/* The bucket's arithmetic against what it promises, with exact references in 128 bits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "bucket.h"
#include "control/limit.h"
#include "random.h"

#define NS_PER_SEC    1000000000ULL
#define NS_PER_DAY    (86400 * NS_PER_SEC)
#define YEAR_NS       (365 * NS_PER_DAY)
#define TICK_NS       4000000ULL /* a coarse clock at HZ 250 */
#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

/* Nine years fill 64 bits of ticks: stop well before. */
#define TICKS_MAX (UINT64_MAX / 16 * 15)

typedef unsigned __int128 wide;

static const struct {
	struct rate rate;
	uint64_t capacity;
} limits[] = {
	{{1, NS_PER_DAY}, 1},         {{1, NS_PER_DAY}, 1600},      {{5, 60 * NS_PER_SEC}, 10},
	{{1, NS_PER_SEC}, 1},         {{3, 7 * NS_PER_SEC}, 4},     {{1000, NS_PER_SEC}, 2000},
	{{20000, NS_PER_SEC}, 40000}, {{999999, NS_PER_SEC}, 1},    {{3000000, NS_PER_SEC}, 1000},
	{{99999999, NS_PER_SEC}, 7},  {{100000000, NS_PER_SEC}, 1}, {{1, 10}, 14000000000000000ULL},
};

static struct weir_limit limit_at(size_t i)
{
	struct weir_limit limit;

	assert_int_equal(limit_build(&limits[i].rate, limits[i].capacity, TICK_NS, &limit, NULL),
			 0);
	return limit;
}

static struct weir_limit limit_of(uint64_t per_second, uint64_t capacity)
{
	struct rate rate = {per_second, NS_PER_SEC};
	struct weir_limit limit;

	assert_int_equal(limit_build(&rate, capacity, TICK_NS, &limit, NULL), 0);
	return limit;
}

static bool take_at_ticks(uint64_t *word, const struct weir_limit *limit, uint64_t ticks)
{
	__u64 next;

	if (!bucket_take(*word, limit, bucket_cost(limit, 1),
			 bucket_minted(ticks, limit->multiplier), &next))
		return false;
	*word = next;
	return true;
}

static bool take_at(uint64_t *word, const struct weir_limit *limit, uint64_t now_ns)
{
	return take_at_ticks(word, limit, bucket_ticks(now_ns));
}

static unsigned int take_all_at(uint64_t *word, const struct weir_limit *limit, uint64_t now_ns)
{
	unsigned int taken = 0;

	while (taken <= limit->capacity && take_at(word, limit, now_ns))
		taken++;
	return taken;
}

static void a_burst_up_to_the_capacity_passes_then_nothing(void **state)
{
	struct weir_limit limit = limit_of(1000, 50);
	uint64_t word = bucket_full(&limit);

	(void)state;
	assert_int_equal(take_all_at(&word, &limit, 123 * NS_PER_SEC), 50);
	assert_false(take_at(&word, &limit, 123 * NS_PER_SEC));
}

static void tokens_come_back_one_by_one(void **state)
{
	struct weir_limit limit = limit_of(1, 5);
	uint64_t word = bucket_full(&limit), now = 1000 * NS_PER_SEC;

	(void)state;
	assert_int_equal(take_all_at(&word, &limit, now), 5);
	for (int second = 1; second <= 20; second++) {
		assert_false(take_at(&word, &limit, now + second * NS_PER_SEC - 1000));
		assert_true(take_at(&word, &limit, now + second * NS_PER_SEC + 1000));
		assert_false(take_at(&word, &limit, now + second * NS_PER_SEC + 1001));
	}
}

static void an_idle_bucket_never_holds_more_than_its_capacity(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(limits); i++) {
		struct weir_limit limit = limit_at(i);
		uint64_t word = bucket_full(&limit);

		if (limit.capacity > 100000)
			continue;
		assert_true(take_at(&word, &limit, 0));
		assert_int_equal(take_all_at(&word, &limit, 4 * YEAR_NS), limit.capacity);
		/* The slowest of them takes 4.4 years to fill. */
		assert_int_equal(take_all_at(&word, &limit, 9 * YEAR_NS), limit.capacity);
	}
}

static void a_refused_packet_leaves_the_bucket_as_it_was(void **state)
{
	struct weir_limit limit = limit_of(10, 3);
	__u64 next = 77;
	uint64_t word = bucket_full(&limit);

	(void)state;
	take_all_at(&word, &limit, NS_PER_SEC);
	assert_false(bucket_take(word, &limit, bucket_cost(&limit, 1),
				 bucket_minted(bucket_ticks(NS_PER_SEC), limit.multiplier), &next));
	assert_int_equal(next, 77);
}

static void sources_do_not_share_a_bucket(void **state)
{
	struct weir_limit limit = limit_of(10, 3);
	uint64_t one = bucket_full(&limit), other = bucket_full(&limit);

	(void)state;
	take_all_at(&one, &limit, NS_PER_SEC);
	assert_int_equal(take_all_at(&other, &limit, NS_PER_SEC), 3);
}

static void a_bucket_that_is_full_again_may_be_forgotten(void **state)
{
	uint64_t random = 7;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(limits); i++) {
		struct weir_limit limit = limit_at(i);
		uint64_t word = bucket_full(&limit), fresh = word, ticks = bucket_ticks(NS_PER_DAY);

		take_at_ticks(&word, &limit, ticks);
		ticks += limit_full_ticks(word, &limit, ticks);
		for (int take = 0; take < 5000; take++) {
			ticks += random_next(&random) % (bucket_ticks(NS_PER_SEC) / 1000);
			assert_int_equal(take_at_ticks(&word, &limit, ticks),
					 take_at_ticks(&fresh, &limit, ticks));
		}
		assert_int_equal(word, fresh);
	}
}

static void waiting_what_is_said_is_enough_and_a_tick_less_is_not(void **state)
{
	uint64_t random = 99;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(limits); i++) {
		struct weir_limit limit = limit_at(i);
		uint64_t ticks = bucket_ticks(random_next(&random) % NS_PER_DAY);
		uint64_t word =
			(bucket_minted(ticks, limit.multiplier) + limit.capacity_units) & ~3ULL;

		for (int round = 0; round < 1000; round++) {
			uint64_t wait =
				limit_wait_ticks(word, &limit, bucket_cost(&limit, 1), ticks);
			uint64_t early = word;

			assert_true(wait > 0);
			assert_false(take_at_ticks(&early, &limit, ticks + wait - 1));
			ticks += wait;
			assert_true(take_at_ticks(&word, &limit, ticks));
			if (limit_wait_ticks(word, &limit, bucket_cost(&limit, 1), ticks) == 0)
				word += bucket_cost(&limit, 1);
			ticks += random_next(&random) % 64 * !(round % 3);
			if (!limit_wait_ticks(word, &limit, bucket_cost(&limit, 1), ticks))
				break;
		}
	}
}

static void a_full_bucket_is_full_no_tick_earlier_than_said(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(limits); i++) {
		struct weir_limit limit = limit_at(i);
		uint64_t ticks = bucket_ticks(NS_PER_DAY), word = bucket_full(&limit), wait;

		take_at_ticks(&word, &limit, ticks);
		wait = limit_full_ticks(word, &limit, ticks);
		assert_int_equal(bucket_debt(word, bucket_minted(ticks + wait, limit.multiplier)),
				 0);
		assert_true(bucket_debt(word, bucket_minted(ticks + wait - 1, limit.multiplier)) >
			    0);
	}
}

static void asking_often_earns_every_token(void **state)
{
	struct rate rate = {5, 60 * NS_PER_SEC};
	struct weir_limit limit;
	uint64_t word, now = NS_PER_SEC, taken = 0;

	(void)state;
	assert_int_equal(limit_build(&rate, 2, TICK_NS, &limit, NULL), 0);
	word = bucket_full(&limit);
	for (int millisecond = 0; millisecond <= 600000; millisecond++)
		taken += take_at(&word, &limit, now + millisecond * 1000000ULL);
	assert_int_equal(taken, 2 + 49); /* the 50th is due a rounding after the last */
	assert_true(take_at(&word, &limit, now + 600 * NS_PER_SEC + 1000));
}

/* A bucket without rounding: tokens times scale, refilled by per_tick. */
struct reference {
	wide left;
	wide full;
	wide per_tick;
	uint64_t ticks;
};

static void reference_refill(struct reference *reference, uint64_t ticks)
{
	wide refill = (ticks - reference->ticks) * reference->per_tick;

	reference->ticks = ticks;
	reference->left += refill;
	if (reference->left > reference->full)
		reference->left = reference->full;
}

/* Steps that make a bucket stand now near its end, now near full, whatever its limit. */
static uint64_t random_step(uint64_t *random, const struct weir_limit *limit)
{
	uint64_t token_ticks = ((wide)bucket_cost(limit, 1) << 33) / limit->multiplier;

	switch (random_next(random) % 16) {
	case 0:
		return random_next(random) % (token_ticks * 5 + 1);
	case 1:
		return random_next(random) % (1 << 12);
	case 2:
		return 0;
	default:
		return random_next(random) % (token_ticks + 1) & ~63ULL;
	}
}

/* In no interval t more than capacity + rate * (t + 1 ns): a bucket larger by a nanosecond's refill
 * that pays for whatever is granted never runs dry. And nothing owed is withheld: at each refusal a
 * bucket of the limit's own multiplier, but for the last four units, has no token. */
static void no_interval_gets_more_than_its_limit_nor_less_than_is_owed(void **state)
{
	uint64_t random = 4711;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(limits); i++) {
		struct weir_limit limit = limit_at(i);
		wide token = (wide)limits[i].rate.period_ns * 64;
		struct reference most = {.per_tick = limits[i].rate.count,
					 .full = limit.capacity * token +
						 limits[i].rate.count * 64};
		struct reference least = {.per_tick = limit.multiplier,
					  .full = (wide)limit.capacity_units << 33};
		wide least_token = (wide)bucket_cost(&limit, 1) << 33;
		uint64_t word = bucket_full(&limit), ticks = random_next(&random) >> 16;

		most.left = most.full;
		least.left = least.full;
		most.ticks = least.ticks = ticks;
		for (int take = 0; take < 100000 && ticks < TICKS_MAX; take++) {
			bool granted = take_at_ticks(&word, &limit, ticks);

			reference_refill(&most, ticks);
			reference_refill(&least, ticks);
			if (granted) {
				assert_true(most.left >= token);
				most.left -= token;
				least.left =
					least.left > least_token ? least.left - least_token : 0;
			} else {
				assert_true(least.left < least_token + ((wide)8 << 33));
			}
			ticks += random_step(&random, &limit);
		}
	}
}

/* Within a tenth of a percent for every rate from one a day to 100 million a second. */
static void over_time_the_admitted_rate_is_the_configured_one(void **state)
{
	uint64_t random = 5;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(limits); i++) {
		struct weir_limit limit = limit_at(i);
		uint64_t word =
			(bucket_minted(1 << 20, limit.multiplier) + limit.capacity_units) & ~3ULL;
		uint64_t ticks = 1 << 20, taken = 0;
		wide earned;

		while (taken < 20000) {
			uint64_t wait =
				limit_wait_ticks(word, &limit, bucket_cost(&limit, 1), ticks);

			if (wait > UINT64_MAX / 2 - ticks)
				break; /* one a day: nine years are 3,300 */
			ticks += wait;
			if (limit.capacity > 1)
				ticks += random_next(&random) % 8;
			taken += take_at_ticks(&word, &limit, ticks);
		}
		earned = (wide)(ticks - (1 << 20)) * limits[i].rate.count /
			 limits[i].rate.period_ns / 64;
		assert_true(taken >= 1500);
		assert_true(taken <= earned + 1);
		assert_true(taken + taken / 1000 + 1 >= earned);
	}
}

/* The coarse clock shows the last tick: what it admits early is two ticks' worth at most. */
static void a_lagging_clock_admits_no_more_than_two_ticks_worth_beyond(void **state)
{
	struct weir_limit limit = limit_of(20000, 40000);
	struct reference most = {.per_tick = 20000, .ticks = bucket_ticks(NS_PER_DAY)};
	wide token = (wide)NS_PER_SEC * 64;
	uint64_t word = bucket_full(&limit), random = 31, taken = 0;

	(void)state;
	assert_int_equal(limit.clock, WEIR_CLOCK_COARSE);
	most.full = most.left = 40000 * token + (2 * TICK_NS + 1) * 64 * 20000;
	for (uint64_t now = NS_PER_DAY; now < NS_PER_DAY + 5 * NS_PER_SEC;
	     now += random_next(&random) % 20000) {
		reference_refill(&most, bucket_ticks(now));
		if (!take_at(&word, &limit, now / TICK_NS * TICK_NS))
			continue;
		taken++;
		assert_true(most.left >= token);
		most.left -= token;
	}
	assert_in_range(taken, 139000, 140000);
}

static void no_input_wraps(void **state)
{
	static const uint64_t edges[] = {0,
					 1,
					 2,
					 3,
					 4,
					 1ULL << 31,
					 1ULL << 32,
					 (1ULL << 32) - 1,
					 1ULL << 62,
					 (1ULL << 63) - 1,
					 1ULL << 63,
					 UINT64_MAX - 4,
					 UINT64_MAX - 3,
					 UINT64_MAX - 1,
					 UINT64_MAX};
	static const uint32_t multipliers[] = {0, 1, 1U << 31, UINT32_MAX};
	struct weir_limit limit = {.token_shift = 2};
	__u64 next;

	(void)state;
	for (size_t m = 0; m < ARRAY_SIZE(multipliers); m++)
		for (size_t w = 0; w < ARRAY_SIZE(edges); w++)
			for (size_t t = 0; t < ARRAY_SIZE(edges); t++)
				for (size_t c = 0; c < ARRAY_SIZE(edges); c++) {
					wide exact = (wide)edges[t] * multipliers[m] >> 33;
					uint64_t minted = bucket_minted(edges[t], multipliers[m]);

					assert_true(minted == (uint64_t)(exact & ~(wide)3));
					limit.capacity_units = edges[c] & (BUCKET_CAPACITY_MAX - 1);
					if (!bucket_take(edges[w], &limit, 4, minted, &next))
						continue;
					assert_true(next >= minted + 4);
					assert_true(next - minted <= limit.capacity_units);
				}
}

static void a_cost_beyond_the_capacity_is_never_granted(void **state)
{
	struct weir_limit limit = limit_of(10, 3);
	__u64 next;

	(void)state;
	assert_false(
		bucket_take(bucket_full(&limit), &limit, bucket_cost(&limit, 4), 1 << 20, &next));
	assert_int_equal(limit_wait_ticks(0, &limit, bucket_cost(&limit, 4), 0), UINT64_MAX);
}

/* What was missing is missing still, in proportion; at most two tokens' worth of rounding. */
static void a_changed_limit_keeps_the_tokens_in_proportion(void **state)
{
	uint64_t random = 13;

	(void)state;
	for (size_t from = 0; from < ARRAY_SIZE(limits); from++)
		for (size_t to = 0; to < ARRAY_SIZE(limits); to++) {
			struct weir_limit old = limit_at(from), next = limit_at(to);
			uint64_t ticks = random_next(&random) >> 10;
			double missing =
				(double)(random_next(&random) >> 11) / (double)(1ULL << 53);
			uint64_t debt = random & 3
						? (uint64_t)(missing * (double)old.capacity_units)
						: old.capacity_units;
			uint64_t word = (bucket_minted(ticks, old.multiplier) + debt) & ~3ULL,
				 carried;
			wide exact;

			limit_succeed(&next, &old, ticks);
			assert_true(bucket_is_older(word | old.epoch, &next));
			carried = bucket_carry(word | old.epoch, &next);
			assert_true(bucket_is_of(carried, &next));
			debt = bucket_debt(word, bucket_minted(ticks, old.multiplier));
			exact = (wide)debt * next.capacity_units / old.capacity_units;
			debt = bucket_debt(carried, bucket_minted(ticks, next.multiplier));
			assert_true(debt + (debt >> 30) >= exact);
			assert_true(debt <= exact + (exact >> 29) + 16 ||
				    debt == next.capacity_units);
			assert_true(debt <= next.capacity_units);
		}
}

static void a_full_bucket_stays_full_and_an_empty_one_empty_when_the_limit_changes(void **state)
{
	struct weir_limit old = limit_of(1000, 2000), next = limit_of(500, 100);
	uint64_t word = bucket_full(&old), ticks = bucket_ticks(NS_PER_DAY);

	(void)state;
	limit_succeed(&next, &old, ticks);
	assert_int_equal(bucket_carry(word, &next), bucket_full(&next));
	take_all_at(&word, &old, NS_PER_DAY);
	word = bucket_carry(word, &next);
	assert_false(take_at(&word, &next, NS_PER_DAY));
	assert_true(take_at(&word, &next, NS_PER_DAY + NS_PER_SEC / 500 + 100));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_burst_up_to_the_capacity_passes_then_nothing),
		cmocka_unit_test(tokens_come_back_one_by_one),
		cmocka_unit_test(an_idle_bucket_never_holds_more_than_its_capacity),
		cmocka_unit_test(a_refused_packet_leaves_the_bucket_as_it_was),
		cmocka_unit_test(sources_do_not_share_a_bucket),
		cmocka_unit_test(a_bucket_that_is_full_again_may_be_forgotten),
		cmocka_unit_test(waiting_what_is_said_is_enough_and_a_tick_less_is_not),
		cmocka_unit_test(a_full_bucket_is_full_no_tick_earlier_than_said),
		cmocka_unit_test(asking_often_earns_every_token),
		cmocka_unit_test(no_interval_gets_more_than_its_limit_nor_less_than_is_owed),
		cmocka_unit_test(over_time_the_admitted_rate_is_the_configured_one),
		cmocka_unit_test(a_lagging_clock_admits_no_more_than_two_ticks_worth_beyond),
		cmocka_unit_test(no_input_wraps),
		cmocka_unit_test(a_cost_beyond_the_capacity_is_never_granted),
		cmocka_unit_test(a_changed_limit_keeps_the_tokens_in_proportion),
		cmocka_unit_test(
			a_full_bucket_stays_full_and_an_empty_one_empty_when_the_limit_changes),
	};

	return cmocka_run_group_tests_name("bucket", tests, NULL, NULL);
}
