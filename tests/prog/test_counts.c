// SPDX-License-Identifier: MIT
/* What sources passed and dropped, counted on two CPUs. */
#include <math.h>

#include "race_run.h"

#include "race.skel.h"

#define ROUNDS_MAX 30
#define CROWD      100000

RACE_VARIANT(race)

static void assert_sums(const struct race *race, uint32_t sources, uint64_t each)
{
	struct weir_counters counters = program_count(&race->program);
	uint64_t passed = 0, dropped = 0;

	for (uint32_t number = 0; number < sources; number++) {
		struct weir_key key = race_key(number);
		struct weir_entry entry = race_entry(race, number);
		uint64_t drops = entry.dropped + race_pending(race, &key);

		assert_int_equal(entry.passed + drops, each);
		passed += entry.passed;
		dropped += drops;
	}
	assert_int_equal(counters.verdicts[WEIR_PASS].packets, passed);
	assert_int_equal(counters.verdicts[WEIR_DROP_RATE].packets, dropped);
}

static void two_flooders_alternating_on_two_cpus_are_counted_exactly(void **state)
{
	struct race race = race_start(1024, 1, 5);

	(void)state;
	race_run(&race, 2, 2, 1000000);
	assert_sums(&race, 2, 1000000);
	race.stop(race.skeleton);
}

/* So many that they push each other out of the places where drops wait. */
static void crowds_of_flooders_are_counted_exactly(void **state)
{
	struct race race = race_start(20000, 1, 5);

	(void)state;
	race_run(&race, 2, 3000, 3000 * 100);
	assert_int_equal(program_count(&race.program).verdicts[WEIR_PASS].packets, 3000 * 5);
	for (uint32_t number = 0; number < 3000; number += 100) {
		struct weir_key key = race_key(number);
		struct weir_entry entry = race_entry(&race, number);

		assert_int_equal(entry.passed, 5);
		assert_int_equal(entry.dropped + race_pending(&race, &key), 195);
	}
	race.stop(race.skeleton);
}

/* What makes two CPUs twice as fast as one: a refused packet leaves no trace outside its CPU. */
static void a_refusal_writes_nothing_in_the_entry(void **state)
{
	struct race race = race_start(1024, 1, 5);
	struct weir_entry before, after;

	(void)state;
	race_run(&race, 2, 2, 1000);
	before = race_entry(&race, 0);
	*race.now_ns += 1000;
	race_run(&race, 2, 2, 1000);
	after = race_entry(&race, 0);
	assert_memory_equal(&before, &after, sizeof(before));
	race.stop(race.skeleton);
}

/* A packet's cost on two CPUs, in processor time of the slower one and the best of some rounds, as
 * other processes only ever add to it. */
static void two_flooders_alternating_cost_within_a_tenth_of_one(void **state)
{
	struct race race = race_start(1024, 1, 5);
	double one_ns = INFINITY, two_ns = INFINITY;

	(void)state;
	for (int round = 0; round < ROUNDS_MAX && (round < 3 || two_ns > 1.1 * one_ns); round++) {
		one_ns = fmin(one_ns, race_run(&race, 2, 1, 1000000));
		two_ns = fmin(two_ns, race_run(&race, 2, 2, 1000000));
	}
	print_message("# one flooder %.1f ns, two %.1f ns\n", one_ns, two_ns);
	assert_true(two_ns <= 1.1 * one_ns);
	race.stop(race.skeleton);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(two_flooders_alternating_on_two_cpus_are_counted_exactly),
		cmocka_unit_test(crowds_of_flooders_are_counted_exactly),
		cmocka_unit_test(a_refusal_writes_nothing_in_the_entry),
		cmocka_unit_test(two_flooders_alternating_cost_within_a_tenth_of_one),
	};

	return cmocka_run_group_tests_name("counts", tests, NULL, NULL);
}
