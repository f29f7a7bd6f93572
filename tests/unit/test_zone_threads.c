/* SPDX-License-Identifier: MIT */
/* Zones under eight threads, each with a view of its own, as processes have. */
#include "zone_made.h"

#include <pthread.h>

#define THREADS 8
#define ROUNDS  200
#define LIMIT   10

/* Everybody does the same at the same moment. */
static struct {
	pthread_barrier_t start;
	struct zone *zones;
	uint64_t admitted[ROUNDS + 1];
	unsigned int tries;
} crowd;

static void *bring_the_same_keys(void *unused)
{
	struct zone view;

	(void)unused;
	made_view(&view, &crowd.zones[0]);
	for (uint64_t round = 1; round <= ROUNDS; round++) {
		pthread_barrier_wait(&crowd.start);
		for (unsigned int i = 0; i < crowd.tries; i++) {
			if (made_take(&view, round, 1) == ZONE_PASSED)
				__atomic_fetch_add(&crowd.admitted[round], 1, __ATOMIC_RELAXED);
		}
	}
	return NULL;
}

static void crowd_run(void *(*what)(void *))
{
	pthread_t threads[THREADS];

	memset(crowd.admitted, 0, sizeof(crowd.admitted));
	pthread_barrier_init(&crowd.start, NULL, THREADS);
	for (unsigned int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, what, NULL), 0);
	for (unsigned int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	pthread_barrier_destroy(&crowd.start);
}

static void new_keys_at_once_are_admitted_exactly_the_limit(void **state)
{
	(void)state;
	for (int algorithm = 0; algorithm < ALGORITHM_MAX; algorithm++) {
		struct rule rule = made_rule_of((enum algorithm)algorithm, LIMIT);
		struct zone zone;

		made_zone(&zone, 8 * ROUNDS, &rule, 1);
		crowd.zones = &zone;
		crowd.tries = LIMIT;
		crowd_run(bring_the_same_keys);
		for (uint64_t round = 1; round <= ROUNDS; round++) {
			assert_int_equal(crowd.admitted[round], LIMIT);
			assert_int_equal(made_slots(&zone, round, 0), 1);
		}
		made_free(&zone);
	}
}

static void *bring_the_same_pairs(void *unused)
{
	struct zone views[2];

	(void)unused;
	made_view(&views[0], &crowd.zones[0]);
	made_view(&views[1], &crowd.zones[1]);
	for (uint64_t round = 1; round <= ROUNDS; round++) {
		pthread_barrier_wait(&crowd.start);
		for (unsigned int i = 0; i < crowd.tries; i++) {
			struct zone_charge charges[2] = {made_charge(&views[0], round, 1),
							 made_charge(&views[1], round, 1)};

			if (zone_take_all(charges, 2, made_clock))
				__atomic_fetch_add(&crowd.admitted[round], 1, __ATOMIC_RELAXED);
		}
	}
	return NULL;
}

static uint64_t charged_in(struct zone *zone, uint64_t number)
{
	struct zone_charge look = made_charge(zone, number, 0);
	struct answer answer;

	zone_take_all(&look, 1, made_clock);
	zone_answer(&look, &answer);
	return answer.limit - answer.remaining;
}

/* The larger one may keep what a thread that lost the last place of the smaller could not give
 * back: one of each other thread at most. */
static void two_zones_admit_exactly_the_smaller(void **state)
{
	(void)state;
	for (int algorithm = 0; algorithm < ALGORITHM_MAX; algorithm++) {
		struct rule rules[2] = {made_rule_of((enum algorithm)algorithm, 3 * LIMIT),
					made_rule_of((enum algorithm)algorithm, LIMIT)};
		struct zone zones[2];

		made_zone(&zones[0], 8 * ROUNDS, &rules[0], 1);
		made_zone(&zones[1], 8 * ROUNDS, &rules[1], 1);
		crowd.zones = zones;
		crowd.tries = LIMIT;
		crowd_run(bring_the_same_pairs);
		for (uint64_t round = 1; round <= ROUNDS; round++) {
			assert_int_equal(crowd.admitted[round], LIMIT);
			assert_in_range(charged_in(&zones[0], round), LIMIT, LIMIT + THREADS - 1);
		}
		made_free(&zones[0]);
		made_free(&zones[1]);
	}
}

/* More keys than places, and time that passes: what is pushed out and comes back again owes what it
 * owed. */
static void *bring_many_keys(void *unused)
{
	struct zone view;
	uint64_t seed = (uintptr_t)&view;

	(void)unused;
	made_view(&view, &crowd.zones[0]);
	pthread_barrier_wait(&crowd.start);
	for (unsigned int i = 0; i < crowd.tries; i++) {
		uint64_t number = made_hash(seed + i) % 24 + 1;

		if (made_take(&view, number, 1) == ZONE_PASSED)
			__atomic_fetch_add(&crowd.admitted[number], 1, __ATOMIC_RELAXED);
		__atomic_fetch_add(&made_now_ns, NS_PER_SEC / 64, __ATOMIC_RELAXED);
	}
	return NULL;
}

static void full_sets_never_admit_beyond_the_limit(void **state)
{
	static const enum algorithm algorithms[] = {ALGORITHM_TOKEN_BUCKET, ALGORITHM_SLIDING_LOG};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(algorithms); i++) {
		struct rule rule = made_rule_of(algorithms[i], 4);
		uint64_t began = made_now_ns;
		struct zone zone;

		made_zone(&zone, 8, &rule, 1);
		crowd.zones = &zone;
		crowd.tries = 5000;
		crowd_run(bring_many_keys);
		for (uint64_t number = 1; number <= 24; number++) {
			assert_true(crowd.admitted[number] <=
				    4 + (made_now_ns - began) / NS_PER_SEC + 1);
			assert_true(made_slots(&zone, number, 0) <= 1);
		}
		made_free(&zone);
	}
}

static void *add_rules(void *unused)
{
	struct zone view;

	(void)unused;
	made_view(&view, &crowd.zones[0]);
	pthread_barrier_wait(&crowd.start);
	for (uint64_t i = 1; i <= 20; i++) {
		struct rule rule = made_rule(ALGORITHM_TOKEN_BUCKET, 100 + i, 1, NS_PER_SEC);
		struct zone_charge charge = made_charge(&view, i, 61);
		int number = zone_rule_find(&view, &rule);

		/* Twice 61 is too much for each of them: it passes once, whoever reads whose rule.
		 */
		if (number < 0)
			continue;
		charge.rule = (unsigned int)number;
		if (zone_take_all(&charge, 1, made_clock))
			__atomic_fetch_add(&crowd.admitted[i], 1, __ATOMIC_RELAXED);
	}
	return NULL;
}

static void rules_are_added_by_many_at_once(void **state)
{
	struct rule rule = made_rule_of(ALGORITHM_TOKEN_BUCKET, LIMIT);
	struct zone zone;

	(void)state;
	made_zone(&zone, 1024, &rule, 1);
	crowd.zones = &zone;
	crowd_run(add_rules);
	for (uint64_t i = 1; i <= 20; i++)
		assert_int_equal(crowd.admitted[i], 1);
	made_free(&zone);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(new_keys_at_once_are_admitted_exactly_the_limit),
		cmocka_unit_test(two_zones_admit_exactly_the_smaller),
		cmocka_unit_test(full_sets_never_admit_beyond_the_limit),
		cmocka_unit_test(rules_are_added_by_many_at_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
