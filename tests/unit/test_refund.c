/* SPDX-License-Identifier: MIT */
/* Charges given back, beside the world in which they were never made. Logs have no such refund. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "bucket.h"
#include "limited.h"
#include "random.h"

#define SECOND        1000000000ULL
#define START         (1000 * SECOND)
#define ROUNDS        1500
#define RUNS          20
#define RECENT        8 /* charges that may still be refunded */
#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

static struct limited made_of(unsigned int algorithm, uint64_t capacity)
{
	if (algorithm_is_window((enum algorithm)algorithm))
		return limited_of((enum algorithm)algorithm, capacity,
				  (struct rate){capacity, capacity * SECOND});
	return limited_of((enum algorithm)algorithm, capacity, (struct rate){1, SECOND});
}

static uint64_t remaining(struct limited *limited, uint64_t now_ns)
{
	return limited_answer(limited, 1, now_ns).remaining;
}

static void a_charge_alone_is_given_back_whole(void **state)
{
	(void)state;
	for (unsigned int algorithm = 0; algorithm < ALGORITHM_SLIDING_LOG; algorithm++) {
		struct limited limited = made_of(algorithm, 10);

		assert_true(limited_take(&limited, 3, START, TAKE_CHARGE));
		limited_refund(&limited, 3, START, START + SECOND / 4);
		assert_int_equal(remaining(&limited, START + SECOND / 4), 10);
		assert_true(limited_is_full(&limited, START + SECOND / 4));
	}
}

static void a_bucket_has_what_it_had_before_the_charge(void **state)
{
	struct limited limited = made_of(ALGORITHM_TOKEN_BUCKET, 10);

	(void)state;
	limited_take(&limited, 5, START, TAKE_CHARGE);
	limited_take(&limited, 3, START, TAKE_CHARGE);
	assert_int_equal(remaining(&limited, START + SECOND), 3);
	limited_refund(&limited, 3, START, START + SECOND);
	assert_int_equal(remaining(&limited, START + SECOND), 5);
}

static void a_bucket_gives_back_nothing_that_was_refilled(void **state)
{
	struct limited limited = made_of(ALGORITHM_LEAKY_BUCKET, 10);

	(void)state;
	limited_take(&limited, 3, START, TAKE_CHARGE);
	limited_take(&limited, 7, START + 3 * SECOND, TAKE_CHARGE);
	limited_refund(&limited, 3, START, START + 3 * SECOND);
	assert_int_equal(remaining(&limited, START + 3 * SECOND), 3);
}

static void a_window_gives_back_what_the_window_before_counts(void **state)
{
	struct limited limited = made_of(ALGORITHM_SLIDING_WINDOW, 10);

	(void)state;
	limited_take(&limited, 6, START, TAKE_CHARGE);
	limited_take(&limited, 4, START, TAKE_CHARGE);
	limited_take(&limited, 2, START + 12 * SECOND, TAKE_CHARGE);
	assert_int_equal(remaining(&limited, START + 15 * SECOND), 3);
	limited_refund(&limited, 6, START, START + 15 * SECOND);
	assert_int_equal(remaining(&limited, START + 15 * SECOND), 6);
}

static void a_window_that_is_over_gives_back_nothing(void **state)
{
	struct limited fixed = made_of(ALGORITHM_FIXED_WINDOW, 10);
	struct limited sliding = made_of(ALGORITHM_SLIDING_WINDOW, 10);

	(void)state;
	limited_take(&fixed, 6, START, TAKE_CHARGE);
	limited_take(&fixed, 7, START + 10 * SECOND, TAKE_CHARGE);
	limited_refund(&fixed, 6, START, START + 10 * SECOND);
	assert_int_equal(remaining(&fixed, START + 10 * SECOND), 3);

	limited_take(&sliding, 6, START, TAKE_CHARGE);
	limited_take(&sliding, 7, START + 20 * SECOND, TAKE_CHARGE);
	limited_refund(&sliding, 6, START, START + 20 * SECOND);
	assert_int_equal(remaining(&sliding, START + 20 * SECOND), 3);
}

static void a_charge_from_the_future_is_not_given_back(void **state)
{
	(void)state;
	for (unsigned int algorithm = 0; algorithm < ALGORITHM_SLIDING_LOG; algorithm++) {
		struct limited limited = made_of(algorithm, 10);

		limited_take(&limited, 10, START, TAKE_CHARGE);
		limited_refund(&limited, 10, START + 1, START);
		assert_int_equal(remaining(&limited, START), 0);
	}
}

/* Under another rule for a while: a smaller capacity or a faster refill forgives. */
static void no_more_is_given_back_than_is_owed(void **state)
{
	(void)state;
	for (unsigned int algorithm = 0; algorithm < ALGORITHM_SLIDING_LOG; algorithm++) {
		for (uint64_t owed = 0; owed < 3; owed++) {
			struct limited limited = made_of(algorithm, 10);

			limited_take(&limited, owed, START, TAKE_CHARGE);
			limited_refund(&limited, 3, START, START);
			assert_int_equal(remaining(&limited, START), 10);
		}
	}
}

/* How a charge is taken off a state; before is the state that it was charged to. */
typedef uint64_t (*refunding)(const struct rule *rule, uint64_t before, uint64_t state,
			      uint64_t cost, uint64_t charged_ns, uint64_t now_ns);

static uint64_t as_shipped(const struct rule *rule, uint64_t before, uint64_t state, uint64_t cost,
			   uint64_t charged_ns, uint64_t now_ns)
{
	(void)before;
	return rule_refund(rule, state, cost, charged_ns, now_ns);
}

static uint64_t minted_at(const struct rule *rule, uint64_t now_ns)
{
	return bucket_minted(bucket_ticks(now_ns), rule->limit.multiplier);
}

static uint64_t less(const struct rule *rule, uint64_t state, uint64_t units, uint64_t now_ns)
{
	uint64_t debt = bucket_debt(state, minted_at(rule, now_ns));

	return state - (units < debt ? units : debt);
}

static uint64_t by_its_cost(const struct rule *rule, uint64_t before, uint64_t state, uint64_t cost,
			    uint64_t charged_ns, uint64_t now_ns)
{
	(void)before;
	(void)charged_ns;
	return less(rule, state, bucket_cost(&rule->limit, cost), now_ns);
}

/* As if the refill had begun to repay it when what was owed before would have been repaid. */
static uint64_t after_what_was_owed_before(const struct rule *rule, uint64_t before, uint64_t state,
					   uint64_t cost, uint64_t charged_ns, uint64_t now_ns)
{
	uint64_t minted = minted_at(rule, now_ns), from = minted_at(rule, charged_ns);
	uint64_t units = bucket_cost(&rule->limit, cost), idle;

	from = before > from ? before : from;
	idle = minted > from ? minted - from : 0;
	return less(rule, state, units > idle ? units - idle : 0, now_ns);
}

struct charge {
	uint64_t at_ns;
	uint64_t cost;
	uint64_t before;
	bool is_over; /* refunded, or may not be */
	bool was_refunded;
};

struct run {
	struct limited real;
	struct limited without; /* the charges that were refunded */
	struct charge charges[ROUNDS];
	size_t count;
	uint64_t now_ns;
	refunding refunding;
};

/* False where the other world has no room for it. */
static bool run_charge(struct run *run, struct charge charge)
{
	run->charges[run->count++] = charge;
	return !charge.cost || limited_take(&run->without, charge.cost, charge.at_ns, TAKE_CHARGE);
}

static bool run_take(struct run *run, uint64_t cost, enum take_mode mode)
{
	struct charge charge = {
		.at_ns = run->now_ns,
		.cost = cost,
		.before = run->real.slot.pair.state,
		.is_over = !cost,
	};
	uint64_t left = remaining(&run->real, run->now_ns);

	if (!limited_take(&run->real, cost, run->now_ns, mode)) {
		charge.is_over = true;
		charge.cost = mode == TAKE_CHARGE_REFUSED && cost ? left : 0;
	}
	return run_charge(run, charge);
}

/* What has happened, once more, but for what was refunded. */
static bool run_replay(struct run *run)
{
	bool had_room = true;

	run->without = (struct limited){.rule = run->real.rule, .slot.pair.tag = LIMITED_TAG};
	for (size_t i = 0; i < run->count; i++) {
		const struct charge *charge = &run->charges[i];

		if (charge->cost && !charge->was_refunded)
			had_room &= limited_take(&run->without, charge->cost, charge->at_ns,
						 TAKE_CHARGE);
	}
	return had_room;
}

/* All but what the refill of that time comes to: else to give back nothing would do. */
static void assert_given_back(const struct run *run, const struct charge *charge, uint64_t had,
			      uint64_t has)
{
	const struct rule *rule = &run->real.rule;
	uint64_t unit_ns = rule->rate.period_ns / rule->rate.count;
	uint64_t refilled = (run->now_ns - charge->at_ns) / unit_ns + 1;
	uint64_t least = had + charge->cost - (refilled < charge->cost ? refilled : charge->cost);

	assert_true(has >= (least < rule->capacity ? least : rule->capacity));
}

static bool run_refund(struct run *run, struct charge *charge)
{
	uint64_t *state = &run->real.slot.pair.state, had = remaining(&run->real, run->now_ns);

	charge->is_over = true;
	charge->was_refunded = true;
	*state = run->refunding(&run->real.rule, charge->before, *state, charge->cost,
				charge->at_ns, run->now_ns);
	if (!algorithm_is_window(run->real.rule.algorithm) && run->refunding == as_shipped)
		assert_given_back(run, charge, had, remaining(&run->real, run->now_ns));
	return run_replay(run);
}

static bool run_is_right(struct run *run)
{
	struct answer real = limited_answer(&run->real, 1, run->now_ns);
	struct answer without = limited_answer(&run->without, 1, run->now_ns);

	if (!algorithm_is_window(run->real.rule.algorithm))
		return real.remaining <= without.remaining &&
		       real.reset_after_ns >= without.reset_after_ns;
	return !memcmp(&real, &without, sizeof(real));
}

static struct limited random_limited(uint64_t *seed, unsigned int algorithm)
{
	static const uint64_t capacities[] = {1, 2, 5, 10, 40};
	static const struct rate rates[] = {
		{1, 1 << 27},     {5, 1 << 29},     {1, SECOND},
		{5, 60 * SECOND}, {999983, SECOND}, {3, 7 * SECOND},
	};
	uint64_t capacity = capacities[random_next(seed) % ARRAY_SIZE(capacities)];
	struct rate rate = rates[random_next(seed) % ARRAY_SIZE(rates)];

	if (algorithm_is_window((enum algorithm)algorithm))
		rate = (struct rate){capacity, capacity * (rate.period_ns / rate.count + 1000000)};
	return limited_of((enum algorithm)algorithm, capacity, rate);
}

static uint64_t random_step(uint64_t *seed, const struct rule *rule)
{
	uint64_t unit_ns = rule->rate.period_ns / rule->rate.count;

	switch (random_next(seed) % 16) {
	case 0:
		return random_next(seed) % (2 * rule_full_after_ns(rule));
	case 1:
		return random_next(seed) % 3;
	default:
		return random_next(seed) % (unit_ns + 2);
	}
}

static bool run_step(struct run *run, uint64_t *seed)
{
	const struct rule *rule = &run->real.rule;
	size_t age = random_next(seed) % RECENT + 1;
	struct charge *charge = age <= run->count ? &run->charges[run->count - age] : NULL;
	uint64_t cost = random_next(seed) % 4 ? 1 : random_next(seed) % (rule->capacity + 2);
	bool had_room = true;

	run->now_ns += random_next(seed) % 2 ? random_step(seed, rule) : 0;
	if (charge && !charge->is_over && random_next(seed) % 2)
		had_room = run_refund(run, charge);
	return run_take(run, cost, random_next(seed) % 16 ? TAKE_CHARGE : TAKE_CHARGE_REFUSED) &&
	       had_room && run_is_right(run);
}

static bool runs_are_right(unsigned int algorithm, refunding refunding)
{
	static struct run run;
	uint64_t seed = 29;

	for (unsigned int i = 0; i < RUNS; i++) {
		run = (struct run){
			.real = random_limited(&seed, algorithm),
			.now_ns = START + 7,
			.refunding = refunding,
		};
		run.without = run.real;
		while (run.count < ROUNDS) {
			if (!run_step(&run, &seed))
				return false;
		}
	}
	return true;
}

/* A bucket has that much room or less, windows exactly that much. */
static void never_more_room_than_without_the_refunded_charges(void **state)
{
	(void)state;
	for (unsigned int algorithm = 0; algorithm < ALGORITHM_SLIDING_LOG; algorithm++)
		assert_true(runs_are_right(algorithm, as_shipped));
}

static void taking_the_cost_off_a_bucket_makes_more_room(void **state)
{
	(void)state;
	assert_false(runs_are_right(ALGORITHM_TOKEN_BUCKET, by_its_cost));
}

static void what_was_owed_before_a_charge_is_no_bound(void **state)
{
	(void)state;
	assert_false(runs_are_right(ALGORITHM_TOKEN_BUCKET, after_what_was_owed_before));
}

/* The same in small: two charges at once and the first refunded at once; the refill repays the
 * second within a second, and five seconds later five more are charged. Without both, five are owed
 * then. */
static uint64_t room_after_two_refunds(refunding refunding)
{
	struct limited limited = made_of(ALGORITHM_TOKEN_BUCKET, 20);
	const struct rule *rule = &limited.rule;
	uint64_t *word = &limited.slot.pair.state, first = *word, second;

	limited_take(&limited, 10, START, TAKE_CHARGE);
	second = *word;
	limited_take(&limited, 1, START, TAKE_CHARGE);
	*word = refunding(rule, first, *word, 10, START, START);
	limited_take(&limited, 5, START + 5 * SECOND, TAKE_CHARGE);
	*word = refunding(rule, second, *word, 1, START, START + 5 * SECOND);
	return remaining(&limited, START + 5 * SECOND);
}

static void a_refund_moves_the_moment_at_which_a_bucket_is_full(void **state)
{
	(void)state;
	assert_int_equal(room_after_two_refunds(as_shipped), 15);
	assert_int_equal(room_after_two_refunds(after_what_was_owed_before), 16);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_charge_alone_is_given_back_whole),
		cmocka_unit_test(a_bucket_has_what_it_had_before_the_charge),
		cmocka_unit_test(a_bucket_gives_back_nothing_that_was_refilled),
		cmocka_unit_test(a_window_gives_back_what_the_window_before_counts),
		cmocka_unit_test(a_window_that_is_over_gives_back_nothing),
		cmocka_unit_test(a_charge_from_the_future_is_not_given_back),
		cmocka_unit_test(no_more_is_given_back_than_is_owed),
		cmocka_unit_test(never_more_room_than_without_the_refunded_charges),
		cmocka_unit_test(taking_the_cost_off_a_bucket_makes_more_room),
		cmocka_unit_test(what_was_owed_before_a_charge_is_no_bound),
		cmocka_unit_test(a_refund_moves_the_moment_at_which_a_bucket_is_full),
	};

	return cmocka_run_group_tests_name("refund", tests, NULL, NULL);
}
