/* SPDX-License-Identifier: MIT */
/* From rate and capacity to what bucket.h works with, checked exactly in 128 bits. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "bucket.h"
#include "control/limit.h"
#include "random.h"

#define NS_PER_SEC     1000000000ULL
#define NS_PER_DAY     (86400 * NS_PER_SEC)
#define TICK_NS        4000000ULL /* a coarse clock at HZ 250 */
#define RANDOM_ROUNDS  20000
#define ARRAY_SIZE(a)  (sizeof(a) / sizeof((a)[0]))
#define LONGEST_NAMED  "the largest is "
#define MINTED_2_POWER 33 /* minted = ticks * multiplier / 2^33 */

typedef unsigned __int128 wide;

static const struct rate rates[] = {
	{1, NS_PER_YEAR},
	{1, NS_PER_YEAR - 1},
	{1, NS_PER_DAY},
	{1, NS_PER_DAY - 1},
	{5, 60 * NS_PER_SEC},
	{1, NS_PER_SEC},
	{3, 7 * NS_PER_SEC},
	{1, 50000},
	{1, 16},
	{1, 32},
	{1, 17},
	{999999, NS_PER_SEC},
	{99999999, NS_PER_SEC},
	{1, 10},
	/* The largest terms there are. */
	{UINT64_MAX / 10, UINT64_MAX},
	{UINT64_MAX / NS_PER_DAY + 1, UINT64_MAX},
	{UINT64_MAX / NS_PER_YEAR + 1, UINT64_MAX},
};

/* Between 1 and 2^bits, every magnitude as likely as any other. */
static uint64_t random_magnitude(uint64_t *state, unsigned int bits)
{
	unsigned int shift = 64 - bits + (unsigned int)(random_next(state) % bits);

	return (random_next(state) >> shift) + 1;
}

static struct weir_limit limit_of(const struct rate *rate, uint64_t capacity)
{
	struct weir_limit limit;

	assert_int_equal(limit_build(rate, capacity, TICK_NS, &limit, NULL), 0);
	return limit;
}

static void assert_refused(struct rate rate, uint64_t capacity)
{
	struct weir_limit limit, untouched;
	struct failure why = {0};

	memset(&limit, 0x5a, sizeof(limit));
	untouched = limit;
	assert_int_equal(limit_build(&rate, capacity, TICK_NS, &limit, &why), -ERANGE);
	assert_true(why.reason[0]);
	assert_memory_equal(&limit, &untouched, sizeof(limit));
}

static void rates_beyond_one_a_year_and_100M_a_second_are_refused(void **state)
{
	(void)state;
	assert_refused((struct rate){1, NS_PER_YEAR + 1}, 1);
	assert_refused((struct rate){100000001, NS_PER_SEC}, 1);
	assert_refused((struct rate){1, 9}, 1);
	assert_refused((struct rate){1, UINT64_MAX}, 1);
	assert_refused((struct rate){UINT64_MAX, 1}, 1);
	assert_refused((struct rate){UINT64_MAX, UINT64_MAX}, 1);
}

static void a_rate_or_capacity_of_zero_is_refused(void **state)
{
	(void)state;
	assert_refused((struct rate){0, NS_PER_SEC}, 1);
	assert_refused((struct rate){1, 0}, 1);
	assert_refused((struct rate){0, 0}, 1);
	assert_refused((struct rate){1, NS_PER_SEC}, 0);
}

static void a_reason_may_be_left_out(void **state)
{
	struct weir_limit limit;

	(void)state;
	assert_int_equal(limit_build(&rates[0], UINT64_MAX, TICK_NS, &limit, NULL), -ERANGE);
}

static uint64_t longest_named(const struct rate *rate)
{
	struct weir_limit limit;
	struct failure why = {0};
	const char *named;

	assert_int_equal(limit_build(rate, UINT64_MAX, TICK_NS, &limit, &why), -ERANGE);
	named = strstr(why.reason, LONGEST_NAMED);
	assert_non_null(named);
	return strtoull(named + strlen(LONGEST_NAMED), NULL, 10);
}

static void the_largest_capacity_is_named_and_is_the_largest(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rates); i++) {
		uint64_t longest = longest_named(&rates[i]);
		struct weir_limit limit = limit_of(&rates[i], longest);

		assert_refused(rates[i], longest + 1);
		/* 4.5 years, and within what the arithmetic holds. */
		assert_true(((wide)longest + 1) * rates[i].period_ns >
			    (wide)9 * NS_PER_YEAR / 2 * rates[i].count);
		assert_true(limit.capacity_units <= BUCKET_CAPACITY_MAX);
	}
}

/* multiplier <= count * 2^(token_shift + 27) / period < multiplier + 1, exactly. */
static void assert_multiplier_exact(const struct rate *rate, const struct weir_limit *limit)
{
	wide exact = (wide)rate->count << (limit->token_shift + MINTED_2_POWER - BUCKET_TICK_SHIFT);

	assert_true((wide)limit->multiplier * rate->period_ns <= exact);
	assert_true(((wide)limit->multiplier + 1) * rate->period_ns > exact);
	/* With the top bit set one unit of it is at most 2^-31. */
	assert_true(limit->multiplier >> 31);
}

static void the_admitted_rate_is_at_most_2_to_the_minus_31_below_the_asked_one(void **state)
{
	uint64_t random = 88172645463325252ULL;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rates); i++) {
		struct weir_limit limit = limit_of(&rates[i], 1);

		assert_multiplier_exact(&rates[i], &limit);
	}
	for (int i = 0; i < RANDOM_ROUNDS; i++) {
		uint64_t period_ns = random_magnitude(&random, 57);
		uint64_t least = period_ns / NS_PER_DAY + 1;
		struct rate rate = {least + random_next(&random) % (period_ns / 10 + 1), period_ns};
		struct weir_limit limit;

		if (limit_build(&rate, 1, TICK_NS, &limit, NULL))
			continue; /* a little over 100M/s */
		assert_multiplier_exact(&rate, &limit);
	}
}

/* Tokens minted in a year, against the exact number, both times period * 2^shift. */
static void a_year_of_tokens_is_as_many_as_asked(void **state)
{
	(void)state;
	for (size_t i = 0; i < 11; i++) {
		struct weir_limit limit = limit_of(&rates[i], 1);
		uint64_t year_ns = 365 * NS_PER_DAY;
		wide minted = (wide)bucket_minted(bucket_ticks(year_ns), limit.multiplier) *
			      rates[i].period_ns;
		wide exact = ((wide)rates[i].count * year_ns) << limit.token_shift;

		assert_true(minted <= exact);
		assert_true(exact - minted <= (exact >> 31) + 4 * (wide)rates[i].period_ns);
	}
}

static void a_token_is_a_power_of_two_of_units_of_a_16th_to_a_32nd_nanosecond(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rates); i++) {
		struct weir_limit limit = limit_of(&rates[i], 3);
		wide units = (wide)rates[i].count << limit.token_shift;

		assert_true(units >= (wide)16 * rates[i].period_ns);
		assert_true(units < (wide)32 * rates[i].period_ns);
		assert_int_equal(limit.capacity_units, 3 * bucket_cost(&limit, 1));
		/* Below are the epoch's bits. */
		assert_int_equal(bucket_cost(&limit, 1) & BUCKET_EPOCH_MASK, 0);
	}
}

static void a_limit_remembers_what_was_asked(void **state)
{
	struct rate rate = {3, 7 * NS_PER_SEC};
	struct weir_limit limit = limit_of(&rate, 40);

	(void)state;
	assert_int_equal(limit.rate_count, 3);
	assert_int_equal(limit.rate_period_ns, 7 * NS_PER_SEC);
	assert_int_equal(limit.capacity, 40);
	assert_int_equal(limit.epoch, 0);
	assert_int_equal(limit.previous_capacity_units, 0);
}

static int clock_for(uint64_t per_second, uint64_t capacity, uint64_t tick_ns)
{
	struct rate rate = {per_second, NS_PER_SEC};
	struct weir_limit limit;

	assert_int_equal(limit_build(&rate, capacity, tick_ns, &limit, NULL), 0);
	return limit.clock;
}

static void the_coarse_clock_is_taken_where_two_steps_are_a_hundredth_of_the_capacity(void **state)
{
	(void)state;
	/* 8 ms of 1000/s are 8 tokens. */
	assert_int_equal(clock_for(1000, 800, TICK_NS), WEIR_CLOCK_COARSE);
	assert_int_equal(clock_for(1000, 799, TICK_NS), WEIR_CLOCK_PRECISE);
	assert_int_equal(clock_for(1000, 200, TICK_NS / 4), WEIR_CLOCK_COARSE);
	assert_int_equal(clock_for(1000, 199, TICK_NS / 4), WEIR_CLOCK_PRECISE);
	assert_int_equal(clock_for(1, 1, TICK_NS), WEIR_CLOCK_COARSE);
	assert_int_equal(clock_for(100000000, 1, TICK_NS), WEIR_CLOCK_PRECISE);
	assert_int_equal(clock_for(1, 1, UINT64_MAX), WEIR_CLOCK_PRECISE);
}

static struct weir_limit limit_of_units(uint64_t capacity_units)
{
	return (struct weir_limit){.multiplier = 1U << 31, .capacity_units = capacity_units};
}

/* A bucket that lacks debt units of one limit, carried over to another: what it lacks then. */
static uint64_t carried_debt(uint64_t debt, const struct weir_limit *from, struct weir_limit *to,
			     uint64_t now_ticks)
{
	uint64_t word = (bucket_minted(now_ticks, from->multiplier) + debt) | from->epoch;

	limit_succeed(to, from, now_ticks);
	assert_true(bucket_is_older(word, to));
	word = bucket_carry(word, to);
	assert_true(bucket_is_of(word, to));
	return bucket_debt(word, bucket_minted(now_ticks, to->multiplier));
}

/* Never below the exact proportion, never beyond the capacity, and next to nothing above. */
static void assert_carried(uint64_t debt, uint64_t from_units, uint64_t to_units)
{
	struct weir_limit from = limit_of_units(from_units), to = limit_of_units(to_units);
	uint64_t carried = carried_debt(debt, &from, &to, 365 * NS_PER_DAY);
	wide slack = ((wide)to_units >> 30) + 8;

	assert_true(carried <= to_units);
	assert_true((wide)carried * from_units >= (wide)debt * to_units || carried == to_units);
	assert_true((wide)carried * from_units <= (wide)debt * to_units + slack * from_units);
}

static uint64_t random_units(uint64_t *random)
{
	return random_magnitude(random, 60) * 4;
}

static void what_was_missing_is_missing_in_proportion_never_less(void **state)
{
	uint64_t random = 2463534242ULL;

	(void)state;
	for (int i = 0; i < RANDOM_ROUNDS; i++) {
		uint64_t from = random_units(&random), to = random_units(&random);

		assert_carried(random_next(&random) % (from + 1) & ~BUCKET_EPOCH_MASK, from, to);
		assert_carried(from, from, to);
		assert_carried(0, from, to);
	}
}

static void a_proportion_close_to_a_power_of_two_is_carried_all_the_same(void **state)
{
	(void)state;
	for (unsigned int power = 3; power < 61; power++) {
		uint64_t from = 1ULL << power;

		assert_carried(from, from, 2 * from - 4);
		assert_carried(from - 4, from, 2 * from - 4);
		assert_carried(from, from, 2 * from);
		assert_carried(2 * from - 4, 2 * from - 4, from);
		assert_carried(from - 4, from - 4, BUCKET_CAPACITY_MAX);
		assert_carried(from - 4, BUCKET_CAPACITY_MAX, from - 4);
		assert_carried(BUCKET_CAPACITY_MAX, BUCKET_CAPACITY_MAX, from - 4);
	}
}

static void a_source_is_never_given_tokens_by_many_changes(void **state)
{
	uint64_t random = 123456789123ULL, now_ticks = bucket_ticks(NS_PER_DAY);
	struct rate rate = {1000, NS_PER_SEC};
	struct weir_limit limit = limit_of(&rate, 1000);
	uint64_t word = (bucket_minted(now_ticks, limit.multiplier) + limit.capacity_units);

	(void)state;
	for (int i = 0; i < 1000; i++) {
		struct weir_limit next;

		rate.count = random_magnitude(&random, 26);
		next = limit_of(&rate, random_magnitude(&random, 26));
		limit_succeed(&next, &limit, now_ticks);
		word = bucket_carry(word, &next);
		limit = next;
		/* Empty, and the moment of the change has come only now: nothing refilled it. */
		assert_true(limit_tokens(word, &limit, now_ticks) == 0);
	}
}

static void epochs_go_round(void **state)
{
	struct rate rate = {1, NS_PER_SEC};
	struct weir_limit limit = limit_of(&rate, 10);

	(void)state;
	for (unsigned int i = 1; i < 10; i++) {
		struct weir_limit next = limit_of(&rate, 10 + i);

		limit_succeed(&next, &limit, i);
		assert_int_equal(next.epoch, i % 4);
		assert_int_equal(next.changed_at_ticks, i);
		assert_int_equal(next.previous_capacity_units, limit.capacity_units);
		assert_int_equal(next.previous_multiplier, limit.multiplier);
		limit = next;
	}
}

static void a_limit_may_follow_none(void **state)
{
	struct weir_limit none = {0}, limit = limit_of_units(1 << 20);

	(void)state;
	limit_succeed(&limit, &none, bucket_ticks(NS_PER_DAY));
	assert_int_equal(limit.epoch, 1);
	/* Whatever such a word says, the bucket is as good as full. */
	assert_true(bucket_debt(bucket_carry(~3ULL, &limit),
				bucket_minted(bucket_ticks(NS_PER_DAY), limit.multiplier)) <= 4);
}

static void a_cost_beyond_the_capacity_has_no_wait(void **state)
{
	struct weir_limit limit = limit_of(&rates[3], 2);

	(void)state;
	assert_int_equal(limit_wait_ticks(0, &limit, bucket_cost(&limit, 3), 1), UINT64_MAX);
	assert_int_equal(limit_wait_ticks(0, &limit, bucket_cost(&limit, 2), 1), 0);
}

static void a_span_mints_whole_tokens_and_at_least_one(void **state)
{
	static const struct {
		struct rate rate;
		uint64_t span_ns, tokens;
	} cases[] = {
		{{20000, NS_PER_SEC}, 2 * NS_PER_SEC, 40000},
		{{100000000, NS_PER_SEC}, 2 * NS_PER_SEC, 200000000},
		{{5, 3 * NS_PER_SEC}, 2 * NS_PER_SEC, 3},
		{{1, NS_PER_DAY}, 2 * NS_PER_SEC, 1},
		{{0, 0}, 2 * NS_PER_SEC, 1}, /* for limit_build to refuse */
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_int_equal(limit_tokens_in(&cases[i].rate, cases[i].span_ns),
				 cases[i].tokens);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rates_beyond_one_a_year_and_100M_a_second_are_refused),
		cmocka_unit_test(a_rate_or_capacity_of_zero_is_refused),
		cmocka_unit_test(a_reason_may_be_left_out),
		cmocka_unit_test(the_largest_capacity_is_named_and_is_the_largest),
		cmocka_unit_test(
			the_admitted_rate_is_at_most_2_to_the_minus_31_below_the_asked_one),
		cmocka_unit_test(a_year_of_tokens_is_as_many_as_asked),
		cmocka_unit_test(a_token_is_a_power_of_two_of_units_of_a_16th_to_a_32nd_nanosecond),
		cmocka_unit_test(a_limit_remembers_what_was_asked),
		cmocka_unit_test(
			the_coarse_clock_is_taken_where_two_steps_are_a_hundredth_of_the_capacity),
		cmocka_unit_test(what_was_missing_is_missing_in_proportion_never_less),
		cmocka_unit_test(a_proportion_close_to_a_power_of_two_is_carried_all_the_same),
		cmocka_unit_test(a_source_is_never_given_tokens_by_many_changes),
		cmocka_unit_test(epochs_go_round),
		cmocka_unit_test(a_limit_may_follow_none),
		cmocka_unit_test(a_cost_beyond_the_capacity_has_no_wait),
		cmocka_unit_test(a_span_mints_whole_tokens_and_at_least_one),
	};

	return cmocka_run_group_tests_name("limit", tests, NULL, NULL);
}
