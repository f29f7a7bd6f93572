/* SPDX-License-Identifier: MIT */
/* A key that starts anew while others charge it. */
#include "zone_made.h"

#include <pthread.h>

#include "http/zone_forget.h"
#include "http/zone_place.h"
#include "log_hooked.h"

#define LIMIT   7
#define CHARGES 3

static struct zone_forgotten forget(struct zone *zone, uint64_t number)
{
	struct zone_forgotten forgotten;

	assert_int_equal(zone_forget(zone, made_hash(number), made_clock, &forgotten), 0);
	return forgotten;
}

static void a_forgotten_key_has_its_limit_again_and_no_more(void **state)
{
	(void)state;
	for (int algorithm = 0; algorithm < ALGORITHM_MAX; algorithm++) {
		struct rule rule = made_rule_of((enum algorithm)algorithm, LIMIT);
		struct zone_forgotten forgotten;
		struct zone zone;

		made_zone(&zone, 64, &rule, 1);
		for (unsigned int round = 0; round < 5; round++) {
			assert_int_equal(made_take_all(&zone, 1, 2 * LIMIT), LIMIT);
			forgotten = forget(&zone, 1);
			assert_true(forgotten.is_known);
			assert_int_equal(forgotten.owed, LIMIT);
			assert_int_equal(made_remaining(&zone, 1), LIMIT);
		}
		assert_int_equal(made_slots(&zone, 1, 0), 1);
		made_free(&zone);
	}
}

/* Charges of before and after are told apart, however often and early the key is forgotten. */
static void what_is_charged_afterwards_is_owed(void **state)
{
	(void)state;
	for (int algorithm = 0; algorithm < ALGORITHM_MAX; algorithm++) {
		struct rule rule = made_rule_of((enum algorithm)algorithm, LIMIT);
		struct zone zone;

		made_zone(&zone, 64, &rule, 1);
		for (unsigned int round = 0; round < 20; round++) {
			unsigned int charges = round % LIMIT;

			made_take_all(&zone, 1, charges);
			assert_int_equal(made_remaining(&zone, 1), LIMIT - charges);
			assert_int_equal(forget(&zone, 1).owed, charges);
		}
		made_free(&zone);
	}
}

static void a_key_that_is_not_known_owed_nothing_and_stays_unknown(void **state)
{
	struct rule rule = made_rule_of(ALGORITHM_TOKEN_BUCKET, LIMIT);
	struct zone_forgotten forgotten;
	struct zone zone;

	(void)state;
	made_zone(&zone, 64, &rule, 1);
	forgotten = forget(&zone, 1);
	assert_int_equal(forgotten.limit, LIMIT);
	assert_false(forgotten.is_known);
	assert_int_equal(forgotten.owed, 0);
	assert_int_equal(made_slots_used(&zone), 0);
	made_free(&zone);
}

static void others_owe_what_they_did(void **state)
{
	struct rule rule = made_rule_of(ALGORITHM_TOKEN_BUCKET, LIMIT);
	struct zone zone;

	(void)state;
	made_zone(&zone, 4, &rule, 1);
	made_take_all(&zone, 1, CHARGES);
	made_take_all(&zone, 2, CHARGES);
	forget(&zone, 1);
	assert_int_equal(made_remaining(&zone, 2), LIMIT - CHARGES);
	made_free(&zone);
}

static void the_limit_is_that_of_the_rule_charged_under(void **state)
{
	struct rule rule = made_rule_of(ALGORITHM_TOKEN_BUCKET, LIMIT);
	struct rule other = made_rule_of(ALGORITHM_TOKEN_BUCKET, 100);
	struct zone_forgotten forgotten;
	struct zone_charge charge;
	struct zone zone;

	(void)state;
	made_zone(&zone, 64, &rule, 1);
	charge = made_charge(&zone, 1, 40);
	charge.rule = (unsigned int)zone_rule_find(&zone, &other);
	assert_true(zone_take_all(&charge, 1, made_clock));
	forgotten = forget(&zone, 1);
	assert_int_equal(forgotten.limit, 100);
	assert_int_equal(forgotten.owed, 40);
	assert_int_equal(made_remaining(&zone, 1), LIMIT);
	made_free(&zone);
}

static struct zone *hooked_zone;

/* In the middle of what reads the clock next. */
static void hook(struct zone *zone, void (*act)(void))
{
	hooked_zone = zone;
	made_hook_skip = 0;
	made_hook = act;
}

static void hook_take(void)
{
	made_take(hooked_zone, 1, 1);
}

static void hook_forget(void)
{
	forget(hooked_zone, 1);
}

static void a_charge_while_forgetting_is_forgotten_too(void **state)
{
	(void)state;
	for (int algorithm = 0; algorithm < ALGORITHM_MAX; algorithm++) {
		struct rule rule = made_rule_of((enum algorithm)algorithm, LIMIT);
		struct zone zone;

		made_zone(&zone, 64, &rule, 1);
		made_take_all(&zone, 1, CHARGES);
		hook(&zone, hook_take);
		assert_int_equal(forget(&zone, 1).owed, CHARGES + 1);
		assert_int_equal(made_remaining(&zone, 1), LIMIT);
		made_free(&zone);
	}
}

static void forgetting_while_charging_leaves_that_charge(void **state)
{
	(void)state;
	for (int algorithm = 0; algorithm < ALGORITHM_MAX; algorithm++) {
		struct rule rule = made_rule_of((enum algorithm)algorithm, LIMIT);
		struct zone zone;

		made_zone(&zone, 64, &rule, 1);
		made_take_all(&zone, 1, LIMIT - 1);
		hook(&zone, hook_forget);
		assert_int_equal(made_take(&zone, 1, 1), ZONE_PASSED);
		assert_int_equal(made_remaining(&zone, 1), LIMIT - 1);
		made_free(&zone);
	}
}

static void hook_take_again(void)
{
	made_take(hooked_zone, 1, 1);
	hook(hooked_zone, hook_take_again);
}

static void who_loses_every_race_says_so_and_changes_nothing(void **state)
{
	struct rule rule = made_rule_of(ALGORITHM_TOKEN_BUCKET, 1000);
	struct zone_forgotten forgotten = {.limit = 1};
	struct zone zone;

	(void)state;
	made_zone(&zone, 64, &rule, 1);
	made_take(&zone, 1, 1);
	hook(&zone, hook_take_again);
	assert_int_equal(zone_forget(&zone, made_hash(1), made_clock, &forgotten), -EAGAIN);
	made_hook = NULL;
	assert_int_equal(forgotten.limit, 1);
	assert_true(made_remaining(&zone, 1) < 999);
	made_free(&zone);
}

/* Ways to forget a log of which a charge is in flight. */
static void forget_as_shipped(void)
{
	forget(hooked_zone, 1);
}

static void state_add(uint64_t more)
{
	struct slot_pair pair;
	struct zone_slot *slot = (struct zone_slot *)zone_find(hooked_zone, made_hash(1), &pair);

	assert_true(
		slot_exchange(&slot->pair, pair, (struct slot_pair){pair.tag, pair.state + more}));
}

static void forget_by_the_next_number(void)
{
	state_add(1);
}

static void (*in_flight)(void);

/* Just before a cell is written, once. */
static bool exchange_later(struct slot_pair *at, struct slot_pair from, struct slot_pair to)
{
	void (*act)(void) = in_flight;
	bool is_cell = (void *)at >= (void *)hooked_zone->cells;

	if (act && is_cell) {
		in_flight = NULL;
		act();
	}
	return slot_exchange(at, from, to);
}

/* What a key has left that owed all but one when its last charge was overtaken. */
static uint64_t left_after(void (*overtaking)(void))
{
	struct rule rule = made_rule_of(ALGORITHM_SLIDING_LOG, LIMIT);
	struct slot_pair seen;
	struct log_ring ring;
	struct zone zone;
	uint64_t cell, left;

	made_zone(&zone, 64, &rule, 1);
	made_take_all(&zone, 1, LIMIT - 1);
	hooked_zone = &zone;
	hooked_exchange = exchange_later;
	in_flight = overtaking;
	ring = zone_ring_of(&zone, zone_find(&zone, made_hash(1), &seen));
	assert_int_equal(
		hooked_log_take(&ring, &zone.main, seen, 1, made_now_ns, TAKE_CHARGE, &cell),
		LOG_ADMITTED);
	assert_null(in_flight);
	left = made_remaining(&zone, 1);
	made_free(&zone);
	return left;
}

static void a_logs_charge_in_flight_brings_nothing_back(void **state)
{
	(void)state;
	assert_int_equal(left_after(forget_as_shipped), LIMIT);
	assert_int_equal(left_after(forget_by_the_next_number), 0);
}

/* A log that began again at 0 would find the cells of before where it writes its own. */
static void a_log_does_not_begin_again_at_0(void **state)
{
	struct rule rule = made_rule_of(ALGORITHM_SLIDING_LOG, LIMIT);
	struct slot_pair pair;
	struct zone zone;

	(void)state;
	made_zone(&zone, 64, &rule, 1);
	made_take_all(&zone, 1, LIMIT - 1);
	hooked_zone = &zone;
	zone_find(&zone, made_hash(1), &pair);
	state_add(-pair.state);
	assert_true(made_take_all(&zone, 1, LIMIT) < LIMIT);
	forget(&zone, 1);
	assert_int_equal(made_take_all(&zone, 1, 2 * LIMIT), LIMIT);
	made_free(&zone);
}

static void zone_fill(struct zone *zone, uint64_t origin)
{
	for (uint64_t number = 1000; number < 2000; number++) {
		struct zone_charge charge = made_charge(zone, number, zone->main.capacity);

		charge.key.origin = origin;
		zone_take_all(&charge, 1, made_clock);
	}
}

static bool is_overflowed(struct zone *zone, uint64_t number, uint64_t origin)
{
	struct zone_key key = {.hash = made_hash(number), .origin = origin};

	return zone_is_overflowed(zone, &key, made_clock);
}

static void who_finds_no_slot_is_told_apart(void **state)
{
	struct rule rule = made_rule_of(ALGORITHM_TOKEN_BUCKET, 1000);
	struct zone zone;

	(void)state;
	made_zone(&zone, 64, &rule, 3);
	made_take(&zone, 1, 1);
	assert_false(is_overflowed(&zone, 2, 0));
	zone_fill(&zone, 0);
	assert_false(is_overflowed(&zone, 1, 0));
	assert_true(is_overflowed(&zone, 2, 0));
	assert_int_equal(made_slots(&zone, 2, 0), 0);
	made_free(&zone);
}

static void so_is_who_comes_from_a_prefix_that_had_its_share(void **state)
{
	struct rule rule = made_rule_of(ALGORITHM_TOKEN_BUCKET, 1000);
	struct zone zone;

	(void)state;
	made_zone(&zone, 64, &rule, 3);
	zone_fill(&zone, 12345);
	assert_true(made_slots_used(&zone) < 64);
	assert_true(is_overflowed(&zone, 2, 12345));
	assert_false(is_overflowed(&zone, 2, 0));
	made_free(&zone);
}

#define WORKERS      3
#define ADMITTED_MIN 20000

static struct {
	struct zone *zone;
	uint64_t admitted;
	bool over;
} crowd;

static void *work(void *arg)
{
	struct zone view;

	(void)arg;
	made_view(&view, crowd.zone);
	while (!__atomic_load_n(&crowd.over, __ATOMIC_RELAXED)) {
		if (made_take(&view, 1, 1) == ZONE_PASSED)
			__atomic_fetch_add(&crowd.admitted, 1, __ATOMIC_RELAXED);
	}
	return NULL;
}

/* The clock stands: between two that are forgotten a key has its limit and nothing more. */
static void each_time_a_key_is_forgotten_grants_its_limit_once(void **state)
{
	(void)state;
	for (int algorithm = 0; algorithm < ALGORITHM_MAX; algorithm++) {
		struct rule rule = made_rule_of((enum algorithm)algorithm, LIMIT);
		pthread_t workers[WORKERS];
		uint64_t forgets = 0, forgotten = 0;
		struct zone zone;

		made_zone(&zone, 64, &rule, 1);
		memset(&crowd, 0, sizeof(crowd));
		crowd.zone = &zone;
		for (unsigned int i = 0; i < WORKERS; i++)
			assert_int_equal(pthread_create(&workers[i], NULL, work, NULL), 0);
		for (; __atomic_load_n(&crowd.admitted, __ATOMIC_RELAXED) < ADMITTED_MIN; forgets++)
			forgotten += forget(&zone, 1).owed;
		__atomic_store_n(&crowd.over, true, __ATOMIC_RELAXED);
		for (unsigned int i = 0; i < WORKERS; i++)
			pthread_join(workers[i], NULL);
		assert_true(crowd.admitted <= LIMIT * (forgets + 1));
		assert_true(forgotten <= crowd.admitted);
		assert_true(made_remaining(&zone, 1) <= LIMIT);
		made_free(&zone);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_forgotten_key_has_its_limit_again_and_no_more),
		cmocka_unit_test(what_is_charged_afterwards_is_owed),
		cmocka_unit_test(a_key_that_is_not_known_owed_nothing_and_stays_unknown),
		cmocka_unit_test(others_owe_what_they_did),
		cmocka_unit_test(the_limit_is_that_of_the_rule_charged_under),
		cmocka_unit_test(a_charge_while_forgetting_is_forgotten_too),
		cmocka_unit_test(forgetting_while_charging_leaves_that_charge),
		cmocka_unit_test(who_loses_every_race_says_so_and_changes_nothing),
		cmocka_unit_test(a_logs_charge_in_flight_brings_nothing_back),
		cmocka_unit_test(a_log_does_not_begin_again_at_0),
		cmocka_unit_test(who_finds_no_slot_is_told_apart),
		cmocka_unit_test(so_is_who_comes_from_a_prefix_that_had_its_share),
		cmocka_unit_test(each_time_a_key_is_forgotten_grants_its_limit_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
