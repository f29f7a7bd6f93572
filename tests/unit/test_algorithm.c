/* SPDX-License-Identifier: MIT */
/* Rules and their bounds, and what one take of each algorithm does. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "bucket.h"
#include "limited.h"
#include "random.h"

#define MS            1000000ULL
#define SECOND        1000000000ULL
#define DAY           (86400 * SECOND)
#define YEAR          (365 * DAY)
#define START         (1000 * SECOND)
#define LONGEST_NAMED "the largest is "
#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

static void every_algorithm_is_known_by_its_name(void **state)
{
	enum algorithm algorithm;

	(void)state;
	for (unsigned int i = 0; i < ALGORITHM_MAX; i++) {
		assert_true(algorithm_parse(algorithm_name((enum algorithm)i), &algorithm));
		assert_int_equal(algorithm, i);
	}
	assert_null(algorithm_name(ALGORITHM_MAX));
	algorithm = ALGORITHM_MAX;
	assert_false(algorithm_parse("token-buckets", &algorithm));
	assert_false(algorithm_parse("token", &algorithm));
	assert_false(algorithm_parse("", &algorithm));
	assert_int_equal(algorithm, ALGORITHM_MAX);
	assert_string_equal(algorithm_name(ALGORITHM_TOKEN_BUCKET), "token-bucket");
	assert_string_equal(algorithm_name(ALGORITHM_LEAKY_BUCKET), "leaky-bucket");
	assert_string_equal(algorithm_name(ALGORITHM_FIXED_WINDOW), "fixed-window");
	assert_string_equal(algorithm_name(ALGORITHM_SLIDING_WINDOW), "sliding-window");
	assert_string_equal(algorithm_name(ALGORITHM_SLIDING_LOG), "sliding-log");
}

static void buckets_are_no_windows(void **state)
{
	(void)state;
	assert_false(algorithm_is_window(ALGORITHM_TOKEN_BUCKET));
	assert_false(algorithm_is_window(ALGORITHM_LEAKY_BUCKET));
	assert_true(algorithm_is_window(ALGORITHM_FIXED_WINDOW));
	assert_true(algorithm_is_window(ALGORITHM_SLIDING_WINDOW));
	assert_true(algorithm_is_window(ALGORITHM_SLIDING_LOG));
	assert_false(algorithm_is_window(ALGORITHM_MAX));
}

struct asked {
	enum algorithm algorithm;
	uint64_t capacity;
	struct rate rate;
	const char *reason;
};

static const struct asked refused[] = {
	{ALGORITHM_MAX, 1, {1, SECOND}, "no such algorithm"},
	{ALGORITHM_TOKEN_BUCKET, 0, {1, SECOND}, "the capacity must be at least 1"},
	{ALGORITHM_FIXED_WINDOW, 0, {0, SECOND}, "the limit must be at least 1"},
	{ALGORITHM_TOKEN_BUCKET, 1, {0, SECOND}, "between 1/year and 1M/s"},
	{ALGORITHM_TOKEN_BUCKET, 1, {1, 0}, "between 1/year and 1M/s"},
	{ALGORITHM_TOKEN_BUCKET, 1, {1, YEAR + 1}, "between 1/year and 1M/s"},
	{ALGORITHM_LEAKY_BUCKET, 1, {1000001, SECOND}, "between 1/year and 1M/s"},
	{ALGORITHM_LEAKY_BUCKET, 1, {1, 999}, "between 1/year and 1M/s"},
	{ALGORITHM_TOKEN_BUCKET, 1, {UINT64_MAX, 1}, "between 1/year and 1M/s"},
	{ALGORITHM_TOKEN_BUCKET, 1, {1, UINT64_MAX}, "between 1/year and 1M/s"},
	{ALGORITHM_TOKEN_BUCKET, 5, {1, YEAR}, "over 4.5 years"},
	{ALGORITHM_TOKEN_BUCKET, UINT64_MAX, {1, 1000}, "over 4.5 years"},
	{ALGORITHM_FIXED_WINDOW, 1, {1, MS - 1}, "between 1ms and 1 year"},
	{ALGORITHM_SLIDING_WINDOW, 1, {1, YEAR + 1}, "between 1ms and 1 year"},
	{ALGORITHM_SLIDING_LOG, 1, {1, 0}, "between 1ms and 1 year"},
	{ALGORITHM_SLIDING_LOG, 1, {1, UINT64_MAX}, "between 1ms and 1 year"},
	{ALGORITHM_FIXED_WINDOW, 1001, {1001, MS}, "between 1/year and 1M/s"},
	{ALGORITHM_FIXED_WINDOW, UINT64_MAX, {UINT64_MAX, YEAR}, "between 1/year and 1M/s"},
	{ALGORITHM_FIXED_WINDOW, 2, {1, SECOND}, "must be its limit"},
	{ALGORITHM_SLIDING_LOG, 32768, {32768, 60 * SECOND}, "the largest is 32767"},
	{ALGORITHM_SLIDING_WINDOW, 131072, {131072, SECOND}, "the largest is 131071"},
	{ALGORITHM_SLIDING_WINDOW, 1048576, {1048576, 60 * SECOND}, "the largest is 1048575"},
};

static void what_is_out_of_bounds_is_refused_with_the_bound(void **state)
{
	struct rule rule, untouched;

	(void)state;
	memset(&rule, 0x5a, sizeof(rule));
	untouched = rule;
	for (size_t i = 0; i < ARRAY_SIZE(refused); i++) {
		const struct asked *asked = &refused[i];
		struct failure why = {0};

		assert_int_equal(
			rule_build(asked->algorithm, asked->capacity, &asked->rate, &rule, &why),
			-ERANGE);
		if (!strstr(why.reason, asked->reason))
			fail_msg("'%s' lacks '%s'", why.reason, asked->reason);
		assert_memory_equal(&rule, &untouched, sizeof(rule));
	}
}

static const struct asked accepted[] = {
	{ALGORITHM_TOKEN_BUCKET, 1, {1, YEAR}, NULL},
	{ALGORITHM_TOKEN_BUCKET, 4, {1, YEAR}, NULL},
	{ALGORITHM_TOKEN_BUCKET, 1, {1000000, SECOND}, NULL},
	{ALGORITHM_LEAKY_BUCKET, 1, {1, 1000}, NULL},
	{ALGORITHM_LEAKY_BUCKET, 1ULL << 47, {1, 1000}, NULL},
	{ALGORITHM_TOKEN_BUCKET, 1, {UINT64_MAX / 1000, UINT64_MAX}, NULL},
	{ALGORITHM_FIXED_WINDOW, 1, {1, MS}, NULL},
	{ALGORITHM_FIXED_WINDOW, 1000, {1000, MS}, NULL},
	{ALGORITHM_FIXED_WINDOW, 1, {1, YEAR}, NULL},
	{ALGORITHM_FIXED_WINDOW, 31536000000000, {31536000000000, YEAR}, NULL},
	{ALGORITHM_SLIDING_WINDOW, 1, {1, YEAR}, NULL},
	{ALGORITHM_SLIDING_WINDOW, 1000, {1000, MS}, NULL},
	{ALGORITHM_SLIDING_WINDOW, 131071, {131071, SECOND}, NULL},
	{ALGORITHM_SLIDING_WINDOW, 1048575, {1048575, 60 * SECOND}, NULL},
	{ALGORITHM_SLIDING_WINDOW, (1ULL << 30) - 1, {(1ULL << 30) - 1, YEAR}, NULL},
};

/* All that there is at once, and nothing in the same nanosecond, on the last day of the clock too.
 */
static void assert_holds_its_limit(const struct rule *rule, uint64_t now_ns)
{
	struct taken taken = rule_take(rule, 0, rule->capacity, now_ns, TAKE_CHARGE);
	struct answer answer;

	assert_true(taken.admitted);
	assert_false(rule_take(rule, taken.state, 1, now_ns, TAKE_CHARGE).admitted);
	rule_answer(rule, taken.state, 1, now_ns, &answer);
	assert_int_equal(answer.limit, rule->capacity);
	assert_int_equal(answer.remaining, 0);
	assert_in_range(answer.reset_after_ns, 1, rule_full_after_ns(rule));
	assert_in_range(answer.retry_after_ns, 1, answer.reset_after_ns);
	assert_true(rule_is_full(rule, 0, now_ns));
	assert_false(rule_is_full(rule, taken.state, now_ns));
}

static void what_is_accepted_never_overflows(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(accepted); i++) {
		const struct asked *asked = &accepted[i];
		struct rule rule;

		assert_int_equal(
			rule_build(asked->algorithm, asked->capacity, &asked->rate, &rule, NULL),
			0);
		assert_holds_its_limit(&rule, 0);
		assert_holds_its_limit(&rule, START);
		assert_holds_its_limit(&rule, BUCKET_NOW_MAX_NS / 2);
	}
}

/* The window that begins last has a number, and another after it in counts that are full. */
static void a_window_is_counted_to_the_end_of_the_clock(void **state)
{
	uint64_t now_ns = BUCKET_NOW_MAX_NS - 1;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(accepted); i++) {
		const struct asked *asked = &accepted[i];
		struct rule rule;
		uint64_t word;

		if (!algorithm_is_window(asked->algorithm))
			continue;
		rule_build(asked->algorithm, asked->capacity, &asked->rate, &rule, NULL);
		word = rule_take(&rule, 0, rule.capacity, now_ns - rule.rate.period_ns, TAKE_CHARGE)
			       .state;
		assert_holds_its_limit(&rule, now_ns);
		assert_int_equal(
			rule_take(&rule, word, rule.capacity, now_ns, TAKE_CHARGE).admitted,
			rule.algorithm == ALGORITHM_FIXED_WINDOW);
	}
}

static void the_largest_limit_is_named_and_is_the_largest(void **state)
{
	static const uint64_t periods_ns[] = {MS,          3 * MS,  SECOND,   7 * SECOND,
					      60 * SECOND, 2 * DAY, YEAR / 3, YEAR};
	const char *named;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(periods_ns); i++) {
		struct rate rate = {periods_ns[i] / 1000, periods_ns[i]};
		struct failure why = {0};
		struct rule rule;

		if (!rule_build(ALGORITHM_SLIDING_WINDOW, rate.count, &rate, &rule, &why))
			continue; /* a million a second fits */
		named = strstr(why.reason, LONGEST_NAMED);
		assert_non_null(named);
		rate.count = strtoull(named + strlen(LONGEST_NAMED), NULL, 10);
		assert_int_equal(
			rule_build(ALGORITHM_SLIDING_WINDOW, rate.count, &rate, &rule, NULL), 0);
		rate.count++;
		assert_int_equal(
			rule_build(ALGORITHM_SLIDING_WINDOW, rate.count, &rate, &rule, NULL),
			-ERANGE);
	}
}

static struct limited limited_of_ten(unsigned int algorithm)
{
	return limited_of((enum algorithm)algorithm, 10, (struct rate){10, 10 * SECOND});
}

static void a_cost_is_taken_whole_or_not_at_all(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < ALGORITHM_MAX; i++) {
		struct limited limited = limited_of_ten(i);

		assert_true(limited_take(&limited, 7, START, TAKE_CHARGE));
		assert_false(limited_take(&limited, 4, START, TAKE_CHARGE));
		assert_int_equal(limited_answer(&limited, 4, START).remaining, 3);
		assert_true(limited_take(&limited, 3, START, TAKE_CHARGE));
		assert_false(limited_take(&limited, 1, START, TAKE_CHARGE));
	}
}

static void a_refusal_charges_nothing_unless_it_is_to(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < ALGORITHM_MAX; i++) {
		struct limited limited = limited_of_ten(i);

		limited_take(&limited, 7, START, TAKE_CHARGE);
		assert_false(limited_take(&limited, 4, START, TAKE_CHARGE));
		assert_int_equal(limited_answer(&limited, 1, START).remaining, 3);
		assert_false(limited_take(&limited, 4, START, TAKE_CHARGE_REFUSED));
		assert_int_equal(limited_answer(&limited, 1, START).remaining, 0);
	}
}

static void a_refusal_changes_nothing(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < ALGORITHM_SLIDING_LOG; i++) {
		struct limited limited = limited_of_ten(i);
		struct taken taken;

		limited_take(&limited, 10, START, TAKE_CHARGE);
		taken = rule_take(&limited.rule, limited.slot.pair.state, 10, START + SECOND / 2,
				  TAKE_CHARGE);
		assert_false(taken.admitted);
		assert_int_equal(taken.state, limited.slot.pair.state);
	}
}

static void a_cost_of_zero_only_looks(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < ALGORITHM_MAX; i++) {
		struct limited limited = limited_of_ten(i), before = limited;

		assert_true(limited_take(&limited, 0, START, TAKE_CHARGE));
		assert_memory_equal(&limited, &before, sizeof(limited));
		limited_take(&limited, 10, START, TAKE_CHARGE);
		before = limited;
		assert_false(limited_take(&limited, 0, START, TAKE_CHARGE_REFUSED));
		assert_memory_equal(&limited, &before, sizeof(limited));
		assert_int_equal(limited_answer(&limited, 0, START).retry_after_ns,
				 limited_answer(&limited, 1, START).retry_after_ns);
	}
}

static void a_cost_above_the_limit_is_refused_without_a_promise(void **state)
{
	static const uint64_t costs[] = {11, 1ULL << 32, 1ULL << 60, UINT64_MAX};

	(void)state;
	for (unsigned int i = 0; i < ALGORITHM_MAX; i++) {
		for (size_t j = 0; j < ARRAY_SIZE(costs); j++) {
			struct limited limited = limited_of_ten(i);

			assert_false(limited_take(&limited, costs[j], START, TAKE_CHARGE));
			assert_true(limited_answer(&limited, costs[j], START).retry_after_ns ==
				    RULE_NEVER_NS);
			assert_true(limited_is_full(&limited, START));
		}
	}
}

static void rules_are_equal_when_they_admit_the_same(void **state)
{
	struct limited a = limited_of(ALGORITHM_TOKEN_BUCKET, 5, (struct rate){1, SECOND});
	struct limited b = limited_of(ALGORITHM_TOKEN_BUCKET, 5, (struct rate){60, 60 * SECOND});
	struct limited c = limited_of(ALGORITHM_TOKEN_BUCKET, 6, (struct rate){1, SECOND});
	struct limited d = limited_of(ALGORITHM_LEAKY_BUCKET, 5, (struct rate){1, SECOND});
	struct limited e = limited_of(ALGORITHM_FIXED_WINDOW, 5, (struct rate){5, 5 * SECOND});
	struct limited f = limited_of(ALGORITHM_FIXED_WINDOW, 5, (struct rate){5, 6 * SECOND});
	struct limited g = limited_of(ALGORITHM_TOKEN_BUCKET, 5, (struct rate){2, SECOND});

	(void)state;
	assert_true(rule_equals(&a.rule, &b.rule));
	assert_true(rule_equals(&e.rule, &e.rule));
	assert_false(rule_equals(&a.rule, &c.rule));
	assert_false(rule_equals(&a.rule, &d.rule));
	assert_false(rule_equals(&a.rule, &g.rule));
	assert_false(rule_equals(&e.rule, &f.rule));
}

static void any_word_is_a_state(void **state)
{
	uint64_t seed = 11;

	(void)state;
	for (size_t i = 0; i < 20000; i++) {
		const struct asked *asked = &accepted[i % ARRAY_SIZE(accepted)];
		uint64_t word = random_next(&seed) >> random_next(&seed) % 64;
		uint64_t now_ns = random_next(&seed) >> (7 + random_next(&seed) % 40);
		struct answer answer;
		struct rule rule;

		rule_build(asked->algorithm, asked->capacity, &asked->rate, &rule, NULL);
		rule_answer(&rule, word, 1, now_ns, &answer);
		assert_true(answer.remaining <= rule.capacity);
		assert_true(answer.reset_after_ns <= rule_full_after_ns(&rule));
		assert_true(answer.retry_after_ns <= answer.reset_after_ns);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_algorithm_is_known_by_its_name),
		cmocka_unit_test(buckets_are_no_windows),
		cmocka_unit_test(what_is_out_of_bounds_is_refused_with_the_bound),
		cmocka_unit_test(what_is_accepted_never_overflows),
		cmocka_unit_test(a_window_is_counted_to_the_end_of_the_clock),
		cmocka_unit_test(the_largest_limit_is_named_and_is_the_largest),
		cmocka_unit_test(a_cost_is_taken_whole_or_not_at_all),
		cmocka_unit_test(a_refusal_charges_nothing_unless_it_is_to),
		cmocka_unit_test(a_refusal_changes_nothing),
		cmocka_unit_test(a_cost_of_zero_only_looks),
		cmocka_unit_test(a_cost_above_the_limit_is_refused_without_a_promise),
		cmocka_unit_test(rules_are_equal_when_they_admit_the_same),
		cmocka_unit_test(any_word_is_a_state),
	};

	return cmocka_run_group_tests_name("algorithm", tests, NULL, NULL);
}
