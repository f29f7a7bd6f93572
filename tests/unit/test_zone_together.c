/* SPDX-License-Identifier: MIT */
/* Several zones on one request: all or nothing. */
#include "zone_made.h"

/* Two zones, the second one the smaller, and one charge in each. */
struct pair_of_zones {
	struct zone zones[2];
	struct zone_charge charges[2];
};

static void pair_make(struct pair_of_zones *pair, enum algorithm algorithm, uint64_t first,
		      uint64_t second)
{
	struct rule rules[2] = {made_rule_of(algorithm, first), made_rule_of(algorithm, second)};

	for (unsigned int i = 0; i < 2; i++) {
		made_zone(&pair->zones[i], 64, &rules[i], 1);
		pair->charges[i] = made_charge(&pair->zones[i], i + 1, 1);
	}
}

static void pair_free(struct pair_of_zones *pair)
{
	made_free(&pair->zones[0]);
	made_free(&pair->zones[1]);
}

static void a_refusal_by_one_charges_none(void **state)
{
	(void)state;
	for (int algorithm = 0; algorithm < ALGORITHM_MAX; algorithm++) {
		struct pair_of_zones pair;
		unsigned int passed = 0;

		pair_make(&pair, (enum algorithm)algorithm, 10, 3);
		for (unsigned int i = 0; i < 20; i++)
			passed += zone_take_all(pair.charges, 2, made_clock);
		assert_int_equal(passed, 3);
		assert_int_equal(pair.charges[0].status, ZONE_PASSED);
		assert_int_equal(pair.charges[1].status, ZONE_REFUSED);
		assert_int_equal(made_count(&pair.zones[0], ZONE_COUNT_PASSED), 3);
		assert_int_equal(made_remaining(&pair.zones[0], 1), 7);
		assert_int_equal(made_count(&pair.zones[0], ZONE_COUNT_REFUSED), 0);
		assert_int_equal(made_count(&pair.zones[1], ZONE_COUNT_REFUSED), 17);
		pair_free(&pair);
	}
}

static void each_zone_answers_as_it_stands_when_another_refuses(void **state)
{
	(void)state;
	for (int algorithm = 0; algorithm < ALGORITHM_MAX; algorithm++) {
		struct pair_of_zones pair;
		struct answer answer;

		pair_make(&pair, (enum algorithm)algorithm, 10, 3);
		made_take(&pair.zones[1], 2, 3);
		assert_false(zone_take_all(pair.charges, 2, made_clock));
		zone_answer(&pair.charges[0], &answer);
		assert_int_equal(answer.remaining, 10);
		assert_int_equal(answer.retry_after_ns, 0);
		zone_answer(&pair.charges[1], &answer);
		assert_int_equal(answer.remaining, 0);
		assert_true(answer.retry_after_ns > 0);
		assert_int_equal(made_slots_used(&pair.zones[0]), 0);
		pair_free(&pair);
	}
}

static void count_refused_charges_its_own_zone_even_then(void **state)
{
	(void)state;
	for (int algorithm = 0; algorithm < ALGORITHM_MAX; algorithm++) {
		struct pair_of_zones pair;

		pair_make(&pair, (enum algorithm)algorithm, 10, 3);
		pair.charges[0].mode = TAKE_CHARGE_REFUSED;
		pair.charges[0].cost = 4;
		made_take(&pair.zones[1], 2, 3);
		assert_false(zone_take_all(pair.charges, 2, made_clock));
		assert_int_equal(made_remaining(&pair.zones[0], 1), 6);
		assert_false(zone_take_all(pair.charges, 2, made_clock));
		assert_false(zone_take_all(pair.charges, 2, made_clock));
		assert_int_equal(made_remaining(&pair.zones[0], 1), 0);
		assert_int_equal(pair.charges[0].status, ZONE_REFUSED);
		pair_free(&pair);
	}
}

static struct pair_of_zones *raced;

static void somebody_empties_the_second(void)
{
	made_take(&raced->zones[1], 2, 3);
}

static void somebody_empties_the_second_and_charges_the_first(void)
{
	made_take(&raced->zones[1], 2, 3);
	made_take(&raced->zones[0], 1, 2);
}

/* The clock is read once in each look and once in each take: both looks pass, the first zone is
 * charged, and then somebody else comes. */
static void race(struct pair_of_zones *pair, void (*hook)(void))
{
	made_take(&pair->zones[0], 1, 1);
	made_take(&pair->zones[1], 2, 1);
	raced = pair;
	made_hook = hook;
	made_hook_skip = 3;
	assert_false(zone_take_all(pair->charges, 2, made_clock));
	assert_null(made_hook);
	assert_int_equal(pair->charges[0].status, ZONE_PASSED);
	assert_int_equal(pair->charges[1].status, ZONE_REFUSED);
}

static void a_lost_race_gives_back_what_was_charged_before(void **state)
{
	(void)state;
	for (int algorithm = 0; algorithm < ALGORITHM_MAX; algorithm++) {
		struct pair_of_zones pair;
		struct answer answer;

		pair_make(&pair, (enum algorithm)algorithm, 10, 4);
		race(&pair, somebody_empties_the_second);
		assert_int_equal(made_remaining(&pair.zones[0], 1), 9);
		zone_answer(&pair.charges[0], &answer);
		assert_int_equal(answer.remaining, 9);
		pair_free(&pair);
	}
}

static void somebody_empties_the_first(void)
{
	made_take(&raced->zones[0], 1, 3);
}

/* In front of the one that lost its race, and behind it. */
static void a_lost_race_keeps_what_counts_refused(void **state)
{
	(void)state;
	for (int algorithm = 0; algorithm < ALGORITHM_MAX; algorithm++) {
		struct pair_of_zones pair;

		pair_make(&pair, (enum algorithm)algorithm, 10, 4);
		pair.charges[0].mode = TAKE_CHARGE_REFUSED;
		race(&pair, somebody_empties_the_second);
		assert_int_equal(made_remaining(&pair.zones[0], 1), 8);
		pair_free(&pair);

		pair_make(&pair, (enum algorithm)algorithm, 4, 10);
		made_take(&pair.zones[0], 1, 1);
		made_take(&pair.zones[1], 2, 1);
		pair.charges[1].mode = TAKE_CHARGE_REFUSED;
		raced = &pair;
		made_hook = somebody_empties_the_first;
		made_hook_skip = 2;
		assert_false(zone_take_all(pair.charges, 2, made_clock));
		assert_int_equal(pair.charges[0].status, ZONE_REFUSED);
		assert_int_equal(made_remaining(&pair.zones[1], 2), 8);
		pair_free(&pair);
	}
}

/* One refused too many, never one admitted; a log's cells can be given back singly. */
static void what_somebody_moved_since_is_not_given_back(void **state)
{
	(void)state;
	for (int algorithm = 0; algorithm < ALGORITHM_MAX; algorithm++) {
		bool is_log = algorithm == ALGORITHM_SLIDING_LOG;
		struct pair_of_zones pair;

		pair_make(&pair, (enum algorithm)algorithm, 10, 4);
		race(&pair, somebody_empties_the_second_and_charges_the_first);
		assert_int_equal(made_remaining(&pair.zones[0], 1), is_log ? 7 : 6);
		pair_free(&pair);
	}
}

static void fill(struct zone *zone)
{
	for (uint64_t number = 1000; made_slots_used(zone) < zone->sets * ZONE_WAYS; number++)
		made_take(zone, number, zone->main.capacity);
}

static void an_overflow_that_refuses_charges_none(void **state)
{
	struct pair_of_zones pair;

	(void)state;
	pair_make(&pair, ALGORITHM_TOKEN_BUCKET, 10, 1000);
	fill(&pair.zones[1]);
	assert_true(zone_take_all(pair.charges, 2, made_clock));
	assert_int_equal(pair.charges[1].status, ZONE_OVERFLOW_PASSED);
	assert_false(zone_take_all(pair.charges, 2, made_clock));
	assert_int_equal(pair.charges[1].status, ZONE_OVERFLOW_REFUSED);
	assert_int_equal(made_remaining(&pair.zones[0], 1), 9);
	pair_free(&pair);
}

static void an_overflow_is_given_back(void **state)
{
	struct pair_of_zones pair;

	(void)state;
	pair_make(&pair, ALGORITHM_TOKEN_BUCKET, 1000, 3);
	fill(&pair.zones[0]);
	raced = &pair;
	made_hook = somebody_empties_the_second;
	/* Without a slot the first zone reads it three times in a look and in a take: once for
	 * places, and once for each word. */
	made_hook_skip = 7;
	assert_false(zone_take_all(pair.charges, 2, made_clock));
	assert_null(made_hook);
	assert_int_equal(pair.charges[0].status, ZONE_OVERFLOW_PASSED);
	assert_int_equal(pair.charges[1].status, ZONE_REFUSED);
	for (uint64_t set = 0; set < pair.zones[0].sets; set++)
		assert_int_equal(pair.zones[0].overflow[set], 0);
	pair_free(&pair);
}

static void what_passed_can_be_refused_all_the_same(void **state)
{
	static const enum algorithm algorithms[] = {
		ALGORITHM_TOKEN_BUCKET, ALGORITHM_SLIDING_WINDOW, ALGORITHM_SLIDING_LOG};

	(void)state;
	for (size_t i = 0; i < sizeof(algorithms) / sizeof(algorithms[0]); i++) {
		struct pair_of_zones pair;

		pair_make(&pair, algorithms[i], 10, 3);
		assert_true(zone_take_all(pair.charges, 2, made_clock));
		assert_int_equal(made_count(&pair.zones[1], ZONE_COUNT_PASSED), 1);
		zone_refuse(pair.charges, 2, 1);
		assert_int_equal(made_count(&pair.zones[0], ZONE_COUNT_PASSED), 0);
		assert_int_equal(made_count(&pair.zones[0], ZONE_COUNT_REFUSED), 0);
		assert_int_equal(made_count(&pair.zones[1], ZONE_COUNT_PASSED), 0);
		assert_int_equal(made_count(&pair.zones[1], ZONE_COUNT_REFUSED), 1);
		assert_int_equal(pair.charges[1].slot->passed, 0);
		assert_int_equal(pair.charges[1].slot->refused, 1);
		assert_int_equal(made_remaining(&pair.zones[0], 1), 10);
		assert_int_equal(made_remaining(&pair.zones[1], 2), 3);
		pair_free(&pair);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_refusal_by_one_charges_none),
		cmocka_unit_test(each_zone_answers_as_it_stands_when_another_refuses),
		cmocka_unit_test(count_refused_charges_its_own_zone_even_then),
		cmocka_unit_test(a_lost_race_gives_back_what_was_charged_before),
		cmocka_unit_test(a_lost_race_keeps_what_counts_refused),
		cmocka_unit_test(what_somebody_moved_since_is_not_given_back),
		cmocka_unit_test(an_overflow_that_refuses_charges_none),
		cmocka_unit_test(an_overflow_is_given_back),
		cmocka_unit_test(what_passed_can_be_refused_all_the_same),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
