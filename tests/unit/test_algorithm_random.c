/* SPDX-License-Identifier: MIT */
/* Every algorithm against a model that keeps a plain list of what was admitted, and every wait that
 * is promised against what happens after it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "limited.h"
#include "random.h"

#define SECOND        1000000000ULL
#define START         (1000 * SECOND + 7)
#define ROUNDS        3000
#define RUNS          12
#define WAIT_ROUNDS   1500
#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

typedef unsigned __int128 wide;

struct charge {
	uint64_t at_ns;
	uint64_t cost;
};

/* What was charged, and what a bucket holds in parts: period_ns parts are a token, count are
 * minted in a nanosecond. */
struct model {
	struct charge charges[ROUNDS];
	size_t count;
	wide parts;
	uint64_t parts_at_ns;
};

/* Rates whose units a nanosecond are whole and divisible by four: there bucket.h rounds nothing. */
static const struct rate bucket_rates[] = {
	{1, 1 << 10}, {1, 1 << 27}, {3, 1 << 20}, {5, 1 << 29}, {7, 1 << 13},
};
static const uint64_t capacities[] = {1, 2, 10, 99, 200};
static const uint64_t periods_ns[] = {1000000, 1234567, 10 * SECOND, 60 * SECOND};

static uint64_t windows_charged(const struct model *model, uint64_t number, uint64_t period_ns)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < model->count; i++) {
		if (model->charges[i].at_ns / period_ns == number)
			sum += model->charges[i].cost;
	}
	return sum;
}

static uint64_t model_left_fixed(const struct model *model, const struct rule *rule,
				 uint64_t now_ns)
{
	uint64_t period_ns = rule->rate.period_ns;

	return rule->rate.count - windows_charged(model, now_ns / period_ns, period_ns);
}

/* The largest number that fits, by trying. */
static uint64_t model_left_sliding(const struct model *model, const struct rule *rule,
				   uint64_t now_ns)
{
	uint64_t period_ns = rule->rate.period_ns, number = now_ns / period_ns, left = 0;
	uint64_t before = windows_charged(model, number - 1, period_ns);
	uint64_t current = windows_charged(model, number, period_ns);
	wide weight = (wide)before * ((number + 1) * period_ns - now_ns);

	while (weight + (wide)(current + left + 1) * period_ns <=
	       (wide)rule->rate.count * period_ns)
		left++;
	return left;
}

static uint64_t model_left_log(const struct model *model, const struct rule *rule, uint64_t now_ns)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < model->count; i++) {
		uint64_t at_us = (model->charges[i].at_ns + 999) / 1000;

		if (at_us * 1000 + rule->rate.period_ns > now_ns)
			sum += model->charges[i].cost;
	}
	return rule->rate.count - sum;
}

static uint64_t model_left_bucket(struct model *model, const struct rule *rule, uint64_t now_ns)
{
	wide full = (wide)rule->capacity * rule->rate.period_ns;

	model->parts += (wide)(now_ns - model->parts_at_ns) * rule->rate.count;
	model->parts_at_ns = now_ns;
	if (model->parts > full)
		model->parts = full;
	return (uint64_t)(model->parts / rule->rate.period_ns);
}

static uint64_t model_left(struct model *model, const struct rule *rule, uint64_t now_ns)
{
	switch (rule->algorithm) {
	case ALGORITHM_FIXED_WINDOW:
		return model_left_fixed(model, rule, now_ns);
	case ALGORITHM_SLIDING_WINDOW:
		return model_left_sliding(model, rule, now_ns);
	case ALGORITHM_SLIDING_LOG:
		return model_left_log(model, rule, now_ns);
	default:
		return model_left_bucket(model, rule, now_ns);
	}
}

static void model_charge(struct model *model, const struct rule *rule, uint64_t cost,
			 uint64_t now_ns)
{
	model->charges[model->count++] = (struct charge){now_ns, cost};
	model->parts -= (wide)cost * rule->rate.period_ns;
}

/* A refused request that is counted empties a bucket to the last part. */
static void model_exhaust(struct model *model, const struct rule *rule, uint64_t left,
			  uint64_t now_ns)
{
	model_charge(model, rule, left, now_ns);
	if (!algorithm_is_window(rule->algorithm))
		model->parts = 0;
}

static bool model_take(struct model *model, const struct rule *rule, uint64_t cost, uint64_t now_ns,
		       enum take_mode mode)
{
	uint64_t left = model_left(model, rule, now_ns);
	bool admitted = left >= (cost ? cost : 1);

	if (admitted)
		model_charge(model, rule, cost, now_ns);
	else if (cost && mode == TAKE_CHARGE_REFUSED)
		model_exhaust(model, rule, left, now_ns);
	return admitted;
}

static struct limited random_limited(uint64_t *seed, unsigned int algorithm)
{
	uint64_t capacity = capacities[random_next(seed) % ARRAY_SIZE(capacities)];
	struct rate rate = bucket_rates[random_next(seed) % ARRAY_SIZE(bucket_rates)];

	if (algorithm_is_window((enum algorithm)algorithm))
		rate = (struct rate){capacity,
				     periods_ns[random_next(seed) % ARRAY_SIZE(periods_ns)]};
	return limited_of((enum algorithm)algorithm, capacity, rate);
}

/* From nothing at all to more than a refill, most often about what a unit takes. */
static uint64_t random_step(uint64_t *seed, const struct rule *rule)
{
	uint64_t unit_ns = rule->rate.period_ns / rule->rate.count;

	switch (random_next(seed) % 8) {
	case 0:
		return random_next(seed) % (2 * rule_full_after_ns(rule));
	case 1:
		return random_next(seed) % 3;
	case 2:
		return rule->rate.period_ns - random_next(seed) % 3;
	case 3:
		return 0;
	default:
		return random_next(seed) % (2 * unit_ns + 2);
	}
}

static uint64_t random_cost(uint64_t *seed, const struct rule *rule)
{
	if (random_next(seed) % 4)
		return random_next(seed) % 3;
	return random_next(seed) % (rule->capacity + 2);
}

static enum take_mode random_mode(uint64_t *seed)
{
	return random_next(seed) % 16 ? TAKE_CHARGE : TAKE_CHARGE_REFUSED;
}

static void run_beside_model(uint64_t *seed, unsigned int algorithm)
{
	struct limited limited = random_limited(seed, algorithm);
	struct model model = {.parts_at_ns = START};
	const struct rule *rule = &limited.rule;
	uint64_t now_ns = START;

	model.parts = (wide)rule->capacity * rule->rate.period_ns;
	for (size_t i = 0; i < ROUNDS; i++) {
		uint64_t cost = random_cost(seed, rule);
		enum take_mode mode = random_mode(seed);

		now_ns += random_step(seed, rule);
		assert_int_equal(limited_answer(&limited, 1, now_ns).remaining,
				 model_left(&model, rule, now_ns));
		assert_int_equal(limited_take(&limited, cost, now_ns, mode),
				 model_take(&model, rule, cost, now_ns, mode));
	}
}

static void each_admits_what_its_model_admits(void **state)
{
	uint64_t seed = 3;

	(void)state;
	for (unsigned int algorithm = 0; algorithm < ALGORITHM_MAX; algorithm++) {
		for (unsigned int run = 0; run < RUNS; run++)
			run_beside_model(&seed, algorithm);
	}
}

/* A rate at which bucket.h does round, and uneven windows. */
static struct limited uneven_limited(uint64_t *seed, unsigned int algorithm)
{
	static const struct rate rates[] = {
		{1, SECOND},      {3, 7 * SECOND},     {100, 60 * SECOND},
		{999983, SECOND}, {1, 86400 * SECOND},
	};
	uint64_t capacity = capacities[random_next(seed) % ARRAY_SIZE(capacities)];

	if (algorithm_is_window((enum algorithm)algorithm))
		return random_limited(seed, algorithm);
	return limited_of((enum algorithm)algorithm, capacity,
			  rates[random_next(seed) % ARRAY_SIZE(rates)]);
}

static void assert_retry_is_right(struct limited *limited, uint64_t cost, uint64_t now_ns)
{
	uint64_t wait_ns = limited_answer(limited, cost, now_ns).retry_after_ns;

	assert_true(limited_would_take(limited, cost, now_ns + wait_ns));
	assert_int_equal(limited_would_take(limited, cost, now_ns), wait_ns == 0);
	if (wait_ns)
		assert_false(limited_would_take(limited, cost, now_ns + wait_ns - 1));
}

static void assert_next_is_right(struct limited *limited, uint64_t now_ns)
{
	struct answer now = limited_answer(limited, 1, now_ns);

	if (now.remaining == now.limit) {
		assert_int_equal(now.next_after_ns, 0);
		return;
	}
	assert_true(now.next_after_ns > 0);
	assert_true(limited_answer(limited, 1, now_ns + now.next_after_ns).remaining >
		    now.remaining);
	assert_int_equal(limited_answer(limited, 1, now_ns + now.next_after_ns - 1).remaining,
			 now.remaining);
}

static void assert_reset_is_right(struct limited *limited, uint64_t now_ns)
{
	uint64_t wait_ns = limited_answer(limited, 1, now_ns).reset_after_ns;

	assert_true(wait_ns <= rule_full_after_ns(&limited->rule));
	assert_true(limited_is_full(limited, now_ns + wait_ns));
	assert_int_equal(limited_answer(limited, 1, now_ns + wait_ns).remaining,
			 limited->rule.capacity);
	assert_int_equal(limited_is_full(limited, now_ns), wait_ns == 0);
	if (wait_ns)
		assert_false(limited_is_full(limited, now_ns + wait_ns - 1));
}

static void check_waits(uint64_t *seed, unsigned int algorithm, enum take_mode mode)
{
	struct limited limited = uneven_limited(seed, algorithm);
	const struct rule *rule = &limited.rule;
	uint64_t now_ns = START;

	for (unsigned int i = 0; i < WAIT_ROUNDS / RUNS; i++) {
		now_ns += random_step(seed, rule);
		limited_take(&limited, random_cost(seed, rule), now_ns, mode);
		assert_retry_is_right(&limited, 0, now_ns);
		assert_retry_is_right(&limited, 1, now_ns);
		assert_retry_is_right(&limited, random_next(seed) % rule->capacity + 1, now_ns);
		assert_retry_is_right(&limited, rule->capacity, now_ns);
		assert_next_is_right(&limited, now_ns);
		assert_reset_is_right(&limited, now_ns);
	}
}

static void every_wait_is_enough_and_one_nanosecond_less_is_not(void **state)
{
	uint64_t seed = 17;

	(void)state;
	for (unsigned int algorithm = 0; algorithm < ALGORITHM_MAX; algorithm++) {
		for (unsigned int run = 0; run < RUNS; run++) {
			check_waits(&seed, algorithm, TAKE_CHARGE);
			check_waits(&seed, algorithm, TAKE_CHARGE_REFUSED);
		}
	}
}

/* A rule is only as good as the longest wait it states: zones are sized by it. */
static void the_longest_wait_is_reached(void **state)
{
	uint64_t seed = 23;

	(void)state;
	for (unsigned int algorithm = 0; algorithm < ALGORITHM_MAX; algorithm++) {
		struct limited limited = uneven_limited(&seed, algorithm);
		uint64_t longest_ns = rule_full_after_ns(&limited.rule), slack_ns;
		/* A window's begin, and a nanosecond that a log rounds up most. */
		uint64_t now_ns = START / limited.rule.rate.period_ns * limited.rule.rate.period_ns;

		if (algorithm == ALGORITHM_SLIDING_LOG)
			now_ns = now_ns / 1000 * 1000 + 1;
		slack_ns = algorithm_is_window((enum algorithm)algorithm) ? 0 : 1;
		limited_take(&limited, limited.rule.capacity, now_ns, TAKE_CHARGE);
		assert_in_range(limited_answer(&limited, 1, now_ns).reset_after_ns,
				longest_ns - slack_ns, longest_ns);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_admits_what_its_model_admits),
		cmocka_unit_test(every_wait_is_enough_and_one_nanosecond_less_is_not),
		cmocka_unit_test(the_longest_wait_is_reached),
	};

	return cmocka_run_group_tests_name("algorithm_random", tests, NULL, NULL);
}
