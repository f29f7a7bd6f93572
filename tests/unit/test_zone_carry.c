/* SPDX-License-Identifier: MIT */
/* What is owed moves to a zone's successor. */
#include "zone_made.h"

#define KEYS 300

/* Key number owes number % 7 of 7. */
static void charge_keys(struct zone *zone)
{
	for (uint64_t number = 1; number <= KEYS; number++)
		assert_int_equal(made_take_all(zone, number, number % 7), number % 7);
}

static void carried_to(uint64_t entries)
{
	for (int algorithm = 0; algorithm < ALGORITHM_MAX; algorithm++) {
		struct rule rule = made_rule_of((enum algorithm)algorithm, 7);
		struct zone from, to;

		made_zone(&from, 1024, &rule, 1);
		made_zone(&to, entries, &rule, 1);
		charge_keys(&from);
		assert_int_equal(zone_carry_over(&to, &from, made_now_ns), 0);
		for (uint64_t number = 1; number <= KEYS; number++) {
			assert_int_equal(made_remaining(&to, number), 7 - number % 7);
			assert_int_equal(made_slots(&to, number, 0), number % 7 != 0);
		}
		assert_int_equal(made_take_all(&to, 3, 7), 4);
		made_free(&from);
		made_free(&to);
	}
}

static void debts_are_carried_to_a_larger_zone(void **state)
{
	(void)state;
	carried_to(8192);
}

static void debts_are_carried_to_a_smaller_zone(void **state)
{
	(void)state;
	carried_to(512);
}

static void keys_that_find_no_place_are_counted(void **state)
{
	struct rule rule = made_rule_of(ALGORITHM_TOKEN_BUCKET, 7);
	struct zone from, to;
	uint64_t lost;

	(void)state;
	made_zone(&from, 1024, &rule, 1);
	made_zone(&to, 64, &rule, 1);
	charge_keys(&from);
	lost = zone_carry_over(&to, &from, made_now_ns);
	assert_int_equal(made_slots_used(&to), 64);
	assert_int_equal(lost, KEYS - KEYS / 7 - 64);
	made_free(&from);
	made_free(&to);
}

static void what_is_known_of_a_key_comes_along(void **state)
{
	struct rule rule = made_rule_of(ALGORITHM_TOKEN_BUCKET, 7);
	const struct zone_slot *before, *after;
	struct slot_pair pair;
	struct zone from, to;

	(void)state;
	made_zone(&from, 64, &rule, 1);
	made_zone(&to, 128, &rule, 1);
	made_take_all(&from, 1, 9);
	zone_carry_over(&to, &from, made_now_ns);
	before = zone_find(&from, made_hash(1), &pair);
	after = zone_find(&to, made_hash(1), &pair);
	assert_memory_equal(&before->label, &after->label, sizeof(before->label));
	assert_int_equal(after->passed, 7);
	assert_int_equal(after->refused, 2);
	assert_int_equal(after->last_seen_ns, before->last_seen_ns);
	made_free(&from);
	made_free(&to);
}

static void a_main_rule_that_changed_is_the_main_rule_still(void **state)
{
	struct rule before = made_rule(ALGORITHM_TOKEN_BUCKET, 10, 1, 60 * NS_PER_SEC);
	struct rule after = made_rule(ALGORITHM_TOKEN_BUCKET, 20, 1, 60 * NS_PER_SEC);
	struct rule other = made_rule(ALGORITHM_TOKEN_BUCKET, 30, 1, 60 * NS_PER_SEC);
	struct zone from, to;
	struct zone_charge charge;
	struct slot_pair pair;

	(void)state;
	made_zone(&from, 64, &before, 1);
	made_zone(&to, 64, &after, 1);
	made_take(&from, 1, 4);
	charge = made_charge(&from, 2, 4);
	charge.rule = (unsigned int)zone_rule_find(&from, &other);
	assert_true(zone_take_all(&charge, 1, made_clock));
	assert_int_equal(zone_carry_over(&to, &from, made_now_ns), 0);
	assert_non_null(zone_find(&to, made_hash(1), &pair));
	assert_int_equal(pair.tag & SLOT_RULE_MASK, to.main_rule);
	assert_int_equal(made_remaining(&to, 1), 16);
	assert_non_null(zone_find(&to, made_hash(2), &pair));
	assert_int_equal(pair.tag & SLOT_RULE_MASK, zone_rule_find(&to, &other));
	charge = made_charge(&to, 2, 1);
	charge.rule = (unsigned int)zone_rule_find(&to, &other);
	assert_true(zone_take_all(&charge, 1, made_clock));
	assert_int_equal(made_remaining(&to, 2), 15);
	made_free(&from);
	made_free(&to);
}

/* Of charges of different age the newest stay; none ends sooner than it would have. */
static void a_log_is_carried_to_fewer_and_to_more_cells(void **state)
{
	struct rule nine = made_rule(ALGORITHM_SLIDING_LOG, 9, 9, 60 * NS_PER_SEC);
	struct rule five = made_rule(ALGORITHM_SLIDING_LOG, 5, 5, 60 * NS_PER_SEC);
	struct zone from, to, again;

	(void)state;
	made_zone(&from, 64, &nine, 1);
	made_zone(&to, 64, &five, 1);
	made_zone(&again, 64, &nine, 1);
	for (unsigned int i = 0; i < 8; i++) {
		assert_int_equal(made_take(&from, 1, 1), ZONE_PASSED);
		made_now_ns += NS_PER_SEC;
	}
	assert_int_equal(zone_carry_over(&to, &from, made_now_ns), 0);
	assert_int_equal(made_remaining(&to, 1), 0);
	made_now_ns += 54 * NS_PER_SEC;
	assert_int_equal(made_take_all(&to, 1, 3), 0);
	made_now_ns += NS_PER_SEC + LOG_TICK_NS;
	assert_int_equal(made_take_all(&to, 1, 3), 1);
	assert_int_equal(zone_carry_over(&again, &to, made_now_ns), 0);
	assert_int_equal(made_remaining(&again, 1), 4);
	made_free(&from);
	made_free(&to);
	made_free(&again);
}

static void another_algorithm_carries_nothing(void **state)
{
	struct rule bucket = made_rule_of(ALGORITHM_TOKEN_BUCKET, 7);
	struct rule window = made_rule_of(ALGORITHM_FIXED_WINDOW, 7);
	struct zone from, to;

	(void)state;
	made_zone(&from, 64, &bucket, 1);
	made_zone(&to, 64, &window, 1);
	made_take(&from, 1, 1);
	assert_int_equal(zone_carry_over(&to, &from, made_now_ns), 1);
	assert_int_equal(made_slots_used(&to), 0);
	made_free(&from);
	made_free(&to);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(debts_are_carried_to_a_larger_zone),
		cmocka_unit_test(debts_are_carried_to_a_smaller_zone),
		cmocka_unit_test(keys_that_find_no_place_are_counted),
		cmocka_unit_test(what_is_known_of_a_key_comes_along),
		cmocka_unit_test(a_main_rule_that_changed_is_the_main_rule_still),
		cmocka_unit_test(a_log_is_carried_to_fewer_and_to_more_cells),
		cmocka_unit_test(another_algorithm_carries_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
