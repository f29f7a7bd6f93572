/* SPDX-License-Identifier: MIT */
/* Charges given back in a zone, where others have been in the meantime: of all but logs. */
#include "zone_made.h"

#include <pthread.h>

#include "zone_refund_hooked.h"

#define LIMIT       10
#define THREADS     8
#define TURNS       4000
#define KEPT_ONE_OF 8

static struct zone_charge taken(struct zone *zone, uint64_t number, uint64_t cost)
{
	struct zone_charge charge = made_charge(zone, number, cost);

	assert_true(zone_take_all(&charge, 1, made_clock));
	return charge;
}

static uint64_t told_remaining(const struct zone_charge *charge)
{
	struct answer answer;

	zone_answer(charge, &answer);
	return answer.remaining;
}

static void a_refund_leaves_room_for_another(void **state)
{
	(void)state;
	for (int algorithm = 0; algorithm < ALGORITHM_SLIDING_LOG; algorithm++) {
		struct rule rule = made_rule_of((enum algorithm)algorithm, LIMIT);
		struct zone_charge charge;
		struct zone zone;

		made_zone(&zone, 64, &rule, 1);
		charge = taken(&zone, 1, 3);
		assert_int_equal(made_take_all(&zone, 1, LIMIT), LIMIT - 3);
		zone_refund(&charge, made_clock);
		assert_int_equal(told_remaining(&charge), 3);
		assert_int_equal(made_remaining(&zone, 1), 3);
		assert_int_equal(made_take_all(&zone, 1, LIMIT), 3);
		made_free(&zone);
	}
}

static void a_refunded_request_stays_counted_as_passed(void **state)
{
	struct rule rule = made_rule_of(ALGORITHM_TOKEN_BUCKET, LIMIT);
	struct zone_charge charge;
	struct zone zone;

	(void)state;
	made_zone(&zone, 64, &rule, 1);
	charge = taken(&zone, 1, 1);
	zone_refund(&charge, made_clock);
	assert_int_equal(made_count(&zone, ZONE_COUNT_PASSED), 1);
	assert_int_equal(charge.slot->passed, 1);
	made_free(&zone);
}

static void a_request_charged_later_keeps_its_charge(void **state)
{
	(void)state;
	for (int algorithm = 0; algorithm < ALGORITHM_SLIDING_LOG; algorithm++) {
		struct rule rule = made_rule_of((enum algorithm)algorithm, LIMIT);
		struct zone_charge first, second;
		struct zone zone;

		made_zone(&zone, 64, &rule, 1);
		first = taken(&zone, 1, 2);
		second = taken(&zone, 1, 5);
		zone_refund(&first, made_clock);
		assert_int_equal(made_remaining(&zone, 1), LIMIT - 5);
		zone_refund(&second, made_clock);
		assert_int_equal(made_remaining(&zone, 1), LIMIT);
		made_free(&zone);
	}
}

static void a_refund_is_told_as_of_its_own_moment(void **state)
{
	struct rule rule = made_rule_of(ALGORITHM_FIXED_WINDOW, LIMIT);
	struct zone_charge charge;
	struct answer answer;
	struct zone zone;

	(void)state;
	made_zone(&zone, 64, &rule, 1);
	taken(&zone, 1, 1);
	charge = taken(&zone, 1, 2);
	made_now_ns += NS_PER_SEC;
	zone_refund(&charge, made_clock);
	zone_answer(&charge, &answer);
	assert_int_equal(answer.remaining, LIMIT - 1);
	assert_int_equal(answer.reset_after_ns, (LIMIT - 1) * NS_PER_SEC);
	made_now_ns += LIMIT * NS_PER_SEC;
	made_free(&zone);
}

static void what_was_not_charged_changes_nothing(void **state)
{
	(void)state;
	for (int algorithm = 0; algorithm < ALGORITHM_SLIDING_LOG; algorithm++) {
		struct rule rule = made_rule_of((enum algorithm)algorithm, LIMIT);
		struct zone_charge look, refused;
		struct slot_pair pair;
		struct zone zone;

		made_zone(&zone, 64, &rule, 1);
		taken(&zone, 1, 6);
		look = taken(&zone, 1, 0);
		refused = made_charge(&zone, 1, 5);
		assert_false(zone_take_all(&refused, 1, made_clock));
		pair = slot_read(look.slot);
		made_now_ns += LIMIT * NS_PER_SEC;
		zone_refund(&look, made_clock);
		zone_refund(&refused, made_clock);
		assert_true(slot_pair_equals(slot_read(look.slot), pair));
		made_free(&zone);
	}
}

/* A limit that is the request's own: the same algorithm, twice as much. */
static struct zone_charge charge_under_another_rule(struct zone *zone, uint64_t number)
{
	struct zone_charge charge = made_charge(zone, number, 1);
	struct rule rule = made_rule_of(zone->main.algorithm, 2 * LIMIT);
	int found = zone_rule_find(zone, &rule);

	assert_true(found > 0);
	charge.rule = (unsigned int)found;
	return charge;
}

static void under_another_rule_a_charge_stays(void **state)
{
	(void)state;
	for (int algorithm = 0; algorithm < ALGORITHM_SLIDING_LOG; algorithm++) {
		struct rule rule = made_rule_of((enum algorithm)algorithm, LIMIT);
		struct zone_charge charge, other;
		struct zone zone;

		made_zone(&zone, 64, &rule, 1);
		charge = taken(&zone, 1, 3);
		other = charge_under_another_rule(&zone, 1);
		assert_true(zone_take_all(&other, 1, made_clock));
		zone_refund(&charge, made_clock);
		assert_int_equal(told_remaining(&charge), 2 * LIMIT - 4);
		made_free(&zone);
	}
}

/* One place for all: sets of four slots, all but one of them in debt for long. */
static void fill_all_places_but_one(struct zone *zone)
{
	for (uint64_t number = 101; number <= 103; number++)
		assert_int_equal(made_take(zone, number, LIMIT), ZONE_PASSED);
}

static void another_key_in_the_slot_keeps_its_charges(void **state)
{
	(void)state;
	for (int algorithm = 0; algorithm < ALGORITHM_SLIDING_LOG; algorithm++) {
		struct rule rule = made_rule_of((enum algorithm)algorithm, LIMIT);
		struct zone_charge charge, other;
		struct zone zone;

		made_zone(&zone, 4, &rule, 1);
		charge = taken(&zone, 1, 3);
		made_now_ns += 3 * LIMIT * NS_PER_SEC;
		fill_all_places_but_one(&zone);
		other = taken(&zone, 2, 7);
		assert_ptr_equal(other.slot, charge.slot);
		zone_refund(&charge, made_clock);
		assert_int_equal(made_remaining(&zone, 2), LIMIT - 7);
		assert_int_equal(told_remaining(&charge), LIMIT);
		made_free(&zone);
	}
}

/* What it owed when it went was nothing, so there is nothing of the charge in what it owes now. */
static void a_key_that_came_back_to_its_slot_keeps_its_charges(void **state)
{
	(void)state;
	for (int algorithm = 0; algorithm < ALGORITHM_SLIDING_LOG; algorithm++) {
		struct rule rule = made_rule_of((enum algorithm)algorithm, LIMIT);
		struct zone_charge charge, other;
		struct zone zone;

		made_zone(&zone, 4, &rule, 1);
		charge = taken(&zone, 1, 3);
		made_now_ns += 3 * LIMIT * NS_PER_SEC;
		fill_all_places_but_one(&zone);
		taken(&zone, 2, 1);
		made_now_ns += 3 * LIMIT * NS_PER_SEC;
		fill_all_places_but_one(&zone);
		other = taken(&zone, 1, 7);
		assert_ptr_equal(other.slot, charge.slot);
		zone_refund(&charge, made_clock);
		assert_int_equal(made_remaining(&zone, 1), LIMIT - 7);
		made_free(&zone);
	}
}

static void an_overflow_charge_is_given_back_where_nobody_was_charged_since(void **state)
{
	struct rule rule = made_rule_of(ALGORITHM_TOKEN_BUCKET, LIMIT);
	struct zone_charge charge;
	struct zone zone;

	(void)state;
	made_zone(&zone, 4, &rule, 2);
	fill_all_places_but_one(&zone);
	taken(&zone, 104, LIMIT);
	charge = taken(&zone, 1, 2);
	assert_int_equal(charge.status, ZONE_OVERFLOW_PASSED);
	assert_int_equal(made_take(&zone, 1, 1), ZONE_OVERFLOW_REFUSED);
	zone_refund(&charge, made_clock);
	assert_int_equal(made_take(&zone, 1, 2), ZONE_OVERFLOW_PASSED);
	made_free(&zone);
}

static void an_overflow_charge_that_others_came_after_stays(void **state)
{
	struct rule rule = made_rule_of(ALGORITHM_TOKEN_BUCKET, LIMIT);
	struct zone_charge charge;
	struct zone zone;

	(void)state;
	made_zone(&zone, 4, &rule, 2);
	fill_all_places_but_one(&zone);
	taken(&zone, 104, LIMIT);
	charge = taken(&zone, 1, 1);
	assert_int_equal(made_take(&zone, 2, 1), ZONE_OVERFLOW_PASSED);
	zone_refund(&charge, made_clock);
	assert_int_equal(made_take(&zone, 1, 1), ZONE_OVERFLOW_REFUSED);
	made_free(&zone);
}

static struct zone *crossed; /* by somebody who takes in the middle of a refund */

static void take_one(void)
{
	assert_int_equal(made_take(crossed, 1, 1), ZONE_PASSED);
}

static void take_one_whenever_the_clock_is_read(void)
{
	take_one();
	made_hook = take_one_whenever_the_clock_is_read;
	made_hook_skip = 0;
}

static uint64_t remaining_after_a_crossed_refund(enum algorithm algorithm,
						 void (*refund)(struct zone_charge *, zone_clock))
{
	struct rule rule = made_rule_of(algorithm, LIMIT);
	struct zone_charge charge;
	struct zone zone;
	uint64_t remaining;

	made_zone(&zone, 64, &rule, 1);
	charge = taken(&zone, 1, 3);
	crossed = &zone;
	made_hook = take_one;
	made_hook_skip = 0;
	refund(&charge, made_clock);
	assert_null(made_hook);
	remaining = made_remaining(&zone, 1);
	made_free(&zone);
	return remaining;
}

static void a_charge_in_the_middle_of_a_refund_is_not_lost(void **state)
{
	(void)state;
	for (int algorithm = 0; algorithm < ALGORITHM_SLIDING_LOG; algorithm++)
		assert_int_equal(remaining_after_a_crossed_refund(algorithm, zone_refund),
				 LIMIT - 1);
	/* It is, where the slot is stored to without a look. */
	assert_int_equal(
		remaining_after_a_crossed_refund(ALGORITHM_TOKEN_BUCKET, hooked_zone_refund),
		LIMIT);
}

static void a_refund_that_always_loses_the_race_gives_up(void **state)
{
	struct rule rule = made_rule_of(ALGORITHM_FIXED_WINDOW, 1000);
	struct zone_charge charge;
	struct zone zone;

	(void)state;
	made_zone(&zone, 64, &rule, 1);
	charge = taken(&zone, 1, 500);
	crossed = &zone;
	made_hook = take_one_whenever_the_clock_is_read;
	made_hook_skip = 0;
	zone_refund(&charge, made_clock);
	made_hook = NULL;
	assert_in_range(made_remaining(&zone, 1), 500 - REFUND_TRIES - 1, 500 - 1);
	made_free(&zone);
}

static struct {
	pthread_barrier_t start;
	struct zone *zone;
	uint64_t step_ns;
	uint64_t kept;
} crowd;

/* Keeps one of KEPT_ONE_OF, refunds the others after it has taken the next. */
static void *take_and_refund(void *unused)
{
	struct zone_charge held = {.cost = 0}, charge;
	struct zone view;

	(void)unused;
	made_view(&view, crowd.zone);
	pthread_barrier_wait(&crowd.start);
	for (unsigned int i = 0; i < TURNS; i++) {
		__atomic_fetch_add(&made_now_ns, crowd.step_ns, __ATOMIC_RELAXED);
		charge = made_charge(&view, 1, 1);
		if (!zone_take_all(&charge, 1, made_clock))
			continue;
		if (i % KEPT_ONE_OF == 0) {
			__atomic_fetch_add(&crowd.kept, 1, __ATOMIC_RELAXED);
			continue;
		}
		zone_refund(&held, made_clock);
		held = charge;
	}
	zone_refund(&held, made_clock);
	return NULL;
}

static void crowd_run(struct zone *zone, uint64_t step_ns)
{
	pthread_t threads[THREADS];

	crowd.zone = zone;
	crowd.step_ns = step_ns;
	crowd.kept = 0;
	pthread_barrier_init(&crowd.start, NULL, THREADS);
	for (unsigned int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, take_and_refund, NULL), 0);
	for (unsigned int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	pthread_barrier_destroy(&crowd.start);
}

static void threads_that_refund_leave_owed_what_they_kept(void **state)
{
	(void)state;
	for (int algorithm = 0; algorithm < ALGORITHM_SLIDING_LOG; algorithm++) {
		struct rule rule = made_rule_of((enum algorithm)algorithm, 2 * THREADS);
		struct zone zone;

		made_zone(&zone, 64, &rule, 1);
		crowd_run(&zone, 0);
		assert_in_range(crowd.kept, THREADS, 2 * THREADS);
		assert_int_equal(made_remaining(&zone, 1), 2 * THREADS - crowd.kept);
		made_free(&zone);
	}
}

static void threads_that_refund_never_admit_more_than_the_refill(void **state)
{
	struct rule rule = made_rule_of(ALGORITHM_TOKEN_BUCKET, 2 * THREADS);
	uint64_t began = made_now_ns;
	struct zone zone;

	(void)state;
	made_zone(&zone, 64, &rule, 1);
	crowd_run(&zone, NS_PER_SEC / 64);
	assert_in_range(crowd.kept, 1, 2 * THREADS + (made_now_ns - began) / NS_PER_SEC + 1);
	made_free(&zone);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_refund_leaves_room_for_another),
		cmocka_unit_test(a_refunded_request_stays_counted_as_passed),
		cmocka_unit_test(a_request_charged_later_keeps_its_charge),
		cmocka_unit_test(a_refund_is_told_as_of_its_own_moment),
		cmocka_unit_test(what_was_not_charged_changes_nothing),
		cmocka_unit_test(under_another_rule_a_charge_stays),
		cmocka_unit_test(another_key_in_the_slot_keeps_its_charges),
		cmocka_unit_test(a_key_that_came_back_to_its_slot_keeps_its_charges),
		cmocka_unit_test(an_overflow_charge_is_given_back_where_nobody_was_charged_since),
		cmocka_unit_test(an_overflow_charge_that_others_came_after_stays),
		cmocka_unit_test(a_charge_in_the_middle_of_a_refund_is_not_lost),
		cmocka_unit_test(a_refund_that_always_loses_the_race_gives_up),
		cmocka_unit_test(threads_that_refund_leave_owed_what_they_kept),
		cmocka_unit_test(threads_that_refund_never_admit_more_than_the_refill),
	};

	return cmocka_run_group_tests_name("zone_refund", tests, NULL, NULL);
}
