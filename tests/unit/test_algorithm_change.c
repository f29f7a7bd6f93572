/* SPDX-License-Identifier: MIT */
/* A clock that jumps, a limit that changes, and requests that are held. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "limited.h"
#include "random.h"

#define SECOND        1000000000ULL
#define HOUR          (3600 * SECOND)
#define START         (10 * HOUR + 12345678901)
#define ROUNDS        20000
#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

static const struct rate per_minute = {60, 60 * SECOND};
static const uint64_t used_before[] = {1, 30, 60};

static struct limited limited_used(unsigned int algorithm, uint64_t used)
{
	struct limited limited = limited_of((enum algorithm)algorithm, 60, per_minute);

	assert_true(limited_take(&limited, used, START, TAKE_CHARGE));
	return limited;
}

/* Nothing at once, something within a refill, all after it (of sliding windows, two), and in the
 * refill no more than one. */
static void assert_one_refill_is_lost(struct limited *limited, uint64_t now_ns)
{
	uint64_t period_ns = limited->rule.rate.period_ns, admitted = 0;

	assert_false(limited_take(limited, 1, now_ns, TAKE_CHARGE));
	assert_int_equal(limited_answer(limited, 1, now_ns).remaining, 0);
	assert_true(limited_would_take(limited, 1, now_ns + period_ns + LOG_TICK_NS));
	assert_true(limited_would_take(limited, limited->rule.capacity,
				       now_ns + rule_full_after_ns(&limited->rule)));
	for (uint64_t at_ns = 0; at_ns < period_ns; at_ns += SECOND / 4)
		admitted += limited_drain(limited, now_ns + at_ns);
	assert_in_range(admitted, 0, limited->rule.capacity);
}

static void a_clock_that_jumps_back_costs_one_refill(void **state)
{
	static const uint64_t jumps_ns[] = {HOUR, 10 * HOUR, 3 * 60 * SECOND};

	(void)state;
	for (unsigned int i = 0; i < ALGORITHM_MAX; i++) {
		for (size_t j = 0; j < ARRAY_SIZE(used_before) * ARRAY_SIZE(jumps_ns); j++) {
			struct limited limited =
				limited_used(i, used_before[j % ARRAY_SIZE(used_before)]);

			assert_one_refill_is_lost(&limited,
						  START - jumps_ns[j / ARRAY_SIZE(used_before)]);
		}
	}
}

static void what_is_promised_after_a_jump_is_kept(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < ALGORITHM_MAX; i++) {
		struct limited limited = limited_used(i, 5);
		uint64_t now_ns = START - HOUR, wait_ns;

		limited_take(&limited, 5, now_ns, TAKE_CHARGE);
		wait_ns = limited_answer(&limited, 5, now_ns).retry_after_ns;
		assert_in_range(wait_ns, 1, rule_full_after_ns(&limited.rule));
		assert_false(limited_would_take(&limited, 5, now_ns + wait_ns - 1));
		assert_true(limited_take(&limited, 5, now_ns + wait_ns, TAKE_CHARGE));
	}
}

static void a_jump_is_seen_before_anything_is_taken(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < ALGORITHM_MAX; i++) {
		struct limited limited = limited_used(i, 5);
		struct answer answer = limited_answer(&limited, 1, START - HOUR);

		assert_int_equal(answer.remaining, 0);
		assert_in_range(answer.retry_after_ns, 1, rule_full_after_ns(&limited.rule));
		assert_in_range(answer.reset_after_ns, 1, rule_full_after_ns(&limited.rule));
		assert_false(limited_is_full(&limited, START - HOUR));
	}
}

static void a_clock_that_jumps_forward_admits_the_limit_once(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < ALGORITHM_MAX; i++) {
		struct limited limited = limited_used(i, 60);

		assert_int_equal(limited_drain(&limited, START), 0);
		assert_int_equal(limited_drain(&limited, START + HOUR), 60);
		assert_int_equal(limited_drain(&limited, START + HOUR), 0);
	}
}

/* An hour back and forth again: whatever was admitted in between, at most the limit after it. */
static void there_and_back_admits_the_limit_at_most(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < ALGORITHM_MAX; i++) {
		struct limited limited = limited_used(i, 60);

		assert_int_equal(limited_drain(&limited, START - HOUR), 0);
		assert_in_range(limited_drain(&limited, START + 1), 0, 60);
		assert_int_equal(limited_drain(&limited, START + 1), 0);
	}
}

static struct rule rule_of(unsigned int algorithm, uint64_t capacity, struct rate rate)
{
	return limited_of((enum algorithm)algorithm, capacity, rate).rule;
}

static uint64_t owed(const struct rule *rule, uint64_t word, uint64_t now_ns)
{
	struct answer answer;

	rule_answer(rule, word, 1, now_ns, &answer);
	return rule->capacity - answer.remaining;
}

/* Of each algorithm but the log: a rule that is smaller or larger, slower or faster. */
static struct rule random_rule(uint64_t *seed, unsigned int algorithm)
{
	static const struct rate rates[] = {
		{1, SECOND}, {1000, SECOND}, {1, HOUR}, {7, 3 * SECOND}};
	static const uint64_t periods_ns[] = {SECOND, 60 * SECOND, HOUR};
	uint64_t capacity = random_next(seed) % 300 + 1;

	if (algorithm_is_window((enum algorithm)algorithm))
		return rule_of(algorithm, capacity,
			       (struct rate){capacity, periods_ns[random_next(seed) % 3]});
	return rule_of(algorithm, capacity, rates[random_next(seed) % ARRAY_SIZE(rates)]);
}

static uint64_t smaller_of(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static void what_is_owed_stays_owed_in_units(void **state)
{
	uint64_t seed = 31;

	(void)state;
	for (unsigned int i = 0; i < ROUNDS; i++) {
		struct rule from = random_rule(&seed, i % ALGORITHM_SLIDING_LOG);
		struct rule to = random_rule(&seed, i % ALGORITHM_SLIDING_LOG);
		uint64_t cost = random_next(&seed) % from.capacity + 1;
		uint64_t word = rule_take(&from, 0, cost, START, TAKE_CHARGE).state;

		word = rule_convert(&from, &to, word, START);
		assert_int_equal(owed(&to, word, START), smaller_of(cost, to.capacity));
		assert_true(rule_convert(&from, &to, 0, START) == 0);
	}
}

/* A part of a unit may be rounded up, never down. */
static void what_is_left_of_a_debt_is_never_less_elsewhere(void **state)
{
	uint64_t seed = 37;

	(void)state;
	for (unsigned int i = 0; i < ROUNDS; i++) {
		struct rule from = random_rule(&seed, i % ALGORITHM_SLIDING_LOG);
		struct rule to = random_rule(&seed, i % ALGORITHM_SLIDING_LOG);
		uint64_t later_ns = START + random_next(&seed) % from.rate.period_ns;
		uint64_t word = rule_take(&from, 0, from.capacity, START, TAKE_CHARGE).state;
		uint64_t before = owed(&from, word, later_ns), after;

		after = owed(&to, rule_convert(&from, &to, word, later_ns), later_ns);
		assert_in_range(after, smaller_of(before, to.capacity), before + 1);
		assert_true(after <= to.capacity);
	}
}

static void there_and_back_a_debt_is_the_same_or_a_unit_more(void **state)
{
	uint64_t seed = 41;

	(void)state;
	for (unsigned int i = 0; i < ROUNDS; i++) {
		struct rule rule = random_rule(&seed, i % ALGORITHM_SLIDING_LOG);
		struct rule other = random_rule(&seed, i % ALGORITHM_SLIDING_LOG);
		uint64_t later_ns = START + random_next(&seed) % rule.rate.period_ns;
		uint64_t word = rule_take(&rule, 0, rule.capacity, START, TAKE_CHARGE).state;
		uint64_t before = owed(&rule, word, later_ns), after;

		word = rule_convert(&rule, &other, word, later_ns);
		word = rule_convert(&other, &rule, word, later_ns);
		after = owed(&rule, word, later_ns);
		assert_in_range(after, smaller_of(before, other.capacity), before + 1);
	}
}

static void a_converted_state_from_the_future_owes_its_whole_limit(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < ALGORITHM_SLIDING_LOG; i++) {
		struct rule from = rule_of(i, 10, (struct rate){10, 60 * SECOND});
		struct rule to = rule_of(i, 30, (struct rate){30, 60 * SECOND});
		uint64_t word = rule_take(&from, 0, 1, START + HOUR, TAKE_CHARGE).state;

		word = rule_convert(&from, &to, word, START);
		assert_int_equal(owed(&to, word, START), 10);
		assert_true(rule_is_full(&to, word, START + rule_full_after_ns(&to)));
	}
}

/* limit_req's arithmetic, in nanosecond-tokens: excess above 0 leaks at the rate, each request adds
 * one token, burst is refused beyond, delay passes at once. */
struct limit_req {
	struct rate rate;
	uint64_t burst;
	uint64_t delay;
	int64_t excess; /* tokens * period_ns */
	uint64_t last_ns;
	bool is_known;
};

static bool limit_req_take(struct limit_req *zone, uint64_t now_ns, uint64_t *ret_hold_ns)
{
	int64_t token = (int64_t)zone->rate.period_ns, count = (int64_t)zone->rate.count;
	int64_t excess = 0, held;

	if (zone->is_known)
		excess = zone->excess - count * (int64_t)(now_ns - zone->last_ns) + token;
	if (excess < 0)
		excess = 0;
	if (excess > (int64_t)zone->burst * token)
		return false;
	zone->is_known = true;
	zone->excess = excess;
	zone->last_ns = now_ns;
	held = excess - (int64_t)zone->delay * token;
	*ret_hold_ns = held > 0 ? (uint64_t)((held + count - 1) / count) : 0;
	return true;
}

static void run_beside_limit_req(uint64_t *seed, struct rate rate)
{
	uint64_t burst = random_next(seed) % 30, delay = random_next(seed) % 32;
	struct limit_req zone = {.rate = rate, .burst = burst, .delay = delay};
	struct rule rule = rule_of(ALGORITHM_LEAKY_BUCKET, burst + 1, rate);
	uint64_t now_ns = START, word = 0, expected_ns = 0;
	struct taken taken;

	for (unsigned int i = 0; i < 2000; i++) {
		now_ns += random_next(seed) % (rate.period_ns / rate.count * 2) *
			  (random_next(seed) % 8 != 0);
		taken = rule_take(&rule, word, 1, now_ns, TAKE_CHARGE);
		assert_int_equal(taken.admitted, limit_req_take(&zone, now_ns, &expected_ns));
		if (!taken.admitted)
			continue;
		word = taken.state;
		assert_int_equal(rule_hold_ns(&rule, word, 1, delay, now_ns), expected_ns);
	}
}

/* Rates at which bucket.h rounds nothing. */
static void requests_are_held_as_limit_req_holds_them(void **state)
{
	static const struct rate rates[] = {{1, 1 << 27}, {3, 1 << 25}, {5, 1 << 29}, {7, 1 << 16}};
	uint64_t seed = 43;

	(void)state;
	for (unsigned int i = 0; i < 40; i++)
		run_beside_limit_req(&seed, rates[i % ARRAY_SIZE(rates)]);
}

/* The issue's own: capacity 50, 10 a second, delay=20. */
static void of_fifty_at_once_twenty_one_pass_and_the_rest_leave_ten_a_second(void **state)
{
	struct rule rule = rule_of(ALGORITHM_LEAKY_BUCKET, 50, (struct rate){10, SECOND});
	uint64_t word = 0;

	(void)state;
	for (uint64_t i = 0; i < 50; i++) {
		uint64_t expected_ns = i <= 20 ? 0 : (i - 20) * (SECOND / 10), held_ns;

		word = rule_take(&rule, word, 1, START, TAKE_CHARGE).state;
		held_ns = rule_hold_ns(&rule, word, 1, 20, START);
		assert_in_range(held_ns, expected_ns, expected_ns + 3);
	}
	assert_false(rule_take(&rule, word, 1, START, TAKE_CHARGE).admitted);
}

static void what_passes_at_once_is_not_held(void **state)
{
	struct rule bucket = rule_of(ALGORITHM_TOKEN_BUCKET, 50, (struct rate){10, SECOND});
	struct rule window = rule_of(ALGORITHM_SLIDING_WINDOW, 50, (struct rate){50, SECOND});
	uint64_t word = rule_take(&bucket, 0, 50, START, TAKE_CHARGE).state;

	(void)state;
	assert_int_equal(rule_hold_ns(&bucket, word, 1, 49, START), 0);
	assert_int_equal(rule_hold_ns(&bucket, word, 1, UINT64_MAX, START), 0);
	assert_int_equal(rule_hold_ns(&bucket, word, UINT64_MAX, 1, START), 0);
	assert_int_equal(rule_hold_ns(&bucket, word, 50, 0, START), 0);
	assert_true(rule_hold_ns(&bucket, word, 1, 48, START) > 0);
	word = rule_take(&window, 0, 50, START, TAKE_CHARGE).state;
	assert_int_equal(rule_hold_ns(&window, word, 1, 0, START), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_clock_that_jumps_back_costs_one_refill),
		cmocka_unit_test(what_is_promised_after_a_jump_is_kept),
		cmocka_unit_test(a_jump_is_seen_before_anything_is_taken),
		cmocka_unit_test(a_clock_that_jumps_forward_admits_the_limit_once),
		cmocka_unit_test(there_and_back_admits_the_limit_at_most),
		cmocka_unit_test(what_is_owed_stays_owed_in_units),
		cmocka_unit_test(what_is_left_of_a_debt_is_never_less_elsewhere),
		cmocka_unit_test(there_and_back_a_debt_is_the_same_or_a_unit_more),
		cmocka_unit_test(a_converted_state_from_the_future_owes_its_whole_limit),
		cmocka_unit_test(requests_are_held_as_limit_req_holds_them),
		cmocka_unit_test(of_fifty_at_once_twenty_one_pass_and_the_rest_leave_ten_a_second),
		cmocka_unit_test(what_passes_at_once_is_not_held),
	};

	return cmocka_run_group_tests_name("algorithm_change", tests, NULL, NULL);
}
