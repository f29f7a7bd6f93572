/* SPDX-License-Identifier: MIT */
/* A zone's table of offenders: whose ban it keeps, who takes whose place, and who waits. */
#include "offenders_made.h"

#define MS 1000000ULL

/* Of a state, in milliseconds. */
#define MOMENT_SHIFT 20

static void the_tenth_refusal_bans_this_key_and_no_other(void **state)
{
	struct zone zone = made_zone_of(64), view;

	(void)state;
	made_view(&view, &zone);
	offend_times(&zone, 1, 9);
	offend_times(&zone, 2, 9);
	assert_int_equal(ban_left(&zone, 1), 0);
	assert_int_equal(offend(&view, 1), OFFENCE_BANNED);
	assert_int_equal(ban_left(&zone, 1), 15 * MINUTE);
	assert_int_equal(ban_left(&view, 1), 15 * MINUTE);
	assert_int_equal(ban_left(&zone, 2), 0);
	assert_int_equal(ban_left(&zone, 3), 0);
	made_now_ns += 15 * MINUTE;
	assert_int_equal(ban_left(&zone, 1), 0);
	made_free(&zone);
}

static void of_a_thousand_bans_each_is_found(void **state)
{
	struct zone zone = made_zone_of(ZONE_OFFENDERS_DEFAULT);

	(void)state;
	for (uint64_t number = 1; number <= 1000; number++)
		ban(&zone, number);
	for (uint64_t number = 1; number <= 2000; number++)
		assert_int_equal(ban_left(&zone, number) != 0, number <= 1000);
	assert_int_equal(made_count(&zone, ZONE_COUNT_BANS), 1000);
	made_free(&zone);
}

static void a_zone_without_a_table_bans_nobody(void **state)
{
	struct zone zone = made_zone_of(0);

	(void)state;
	assert_int_equal(offend(&zone, 1), OFFENCE_NO_PLACE);
	assert_int_equal(made_count(&zone, ZONE_COUNT_OFFENDERS_FULL), 0);
	assert_int_equal(ban_left(&zone, 1), 0);
	assert_int_equal(refusals_of(&zone, 1), 0);
	assert_false(zone_ban_lift(&zone, made_hash(1)));
	made_free(&zone);
}

static void in_a_set_full_of_bans_a_newcomer_is_counted_nowhere(void **state)
{
	struct zone zone = made_zone_of(ONE_SET);

	(void)state;
	for (uint64_t number = 1; number <= ONE_SET; number++)
		ban(&zone, number);
	for (unsigned int i = 1; i <= 2 * REFUSALS; i++) {
		assert_int_equal(offend(&zone, 99), OFFENCE_NO_PLACE);
		assert_int_equal(made_count(&zone, ZONE_COUNT_OFFENDERS_FULL), i);
	}
	assert_int_equal(refusals_of(&zone, 99), 0);
	for (uint64_t number = 1; number <= ONE_SET; number++)
		assert_int_equal(ban_left(&zone, number), 15 * MINUTE);
	made_free(&zone);
}

static void a_level_keeps_its_place_until_it_is_forgotten(void **state)
{
	struct zone zone = made_zone_of(ONE_SET);

	(void)state;
	for (uint64_t number = 1; number <= ONE_SET; number++)
		ban(&zone, number);
	made_now_ns += 45 * MINUTE - 1;
	assert_int_equal(offend(&zone, 99), OFFENCE_NO_PLACE);
	made_now_ns += 1;
	offend_times(&zone, 99, 1);
	made_free(&zone);
}

/* Key 5 has one, the others two to nine. */
static void a_newcomer_takes_the_place_of_who_has_the_fewest_refusals(void **state)
{
	struct zone zone = made_zone_of(ONE_SET);

	(void)state;
	for (uint64_t number = 1; number <= ONE_SET; number++)
		offend_times(&zone, number, number == 5 ? 1 : 2 + (unsigned int)number % 8);
	offend_times(&zone, 99, 1);
	assert_int_equal(refusals_of(&zone, 99), 1);
	for (uint64_t number = 1; number <= ONE_SET; number++)
		assert_int_equal(refusals_of(&zone, number), number == 5 ? 0 : 2 + number % 8);
	assert_int_equal(made_count(&zone, ZONE_COUNT_OFFENDERS_FULL), 0);
	made_free(&zone);
}

static unsigned int bans_of_keys_in_turn(uint64_t keys)
{
	struct zone zone = made_zone_of(ONE_SET);
	unsigned int bans;

	for (unsigned int round = 0; round < REFUSALS; round++) {
		for (uint64_t number = 1; number <= keys; number++) {
			made_now_ns += NS_PER_SEC / 100;
			offend(&zone, number);
		}
	}
	bans = (unsigned int)made_count(&zone, ZONE_COUNT_BANS);
	made_free(&zone);
	return bans;
}

static void keys_in_turn_are_banned_unless_they_are_more_than_their_set_holds(void **state)
{
	(void)state;
	assert_int_equal(bans_of_keys_in_turn(ONE_SET), ONE_SET);
	assert_int_equal(bans_of_keys_in_turn(ONE_SET + 1), 0);
}

/* Who is known keeps its place, so that their order is not that of age. */
static void of_equal_ones_the_older_makes_place(void **state)
{
	static const uint64_t order[] = {4, 3, 7, 1, 8, 2, 6, 5};
	struct zone zone = made_zone_of(ONE_SET);

	(void)state;
	for (uint64_t i = 0; i < ONE_SET; i++)
		offend_times(&zone, i + 1, 2);
	made_now_ns += 2 * MINUTE;
	for (uint64_t i = 0; i < ONE_SET; i++) {
		made_now_ns += NS_PER_SEC;
		offend_times(&zone, order[i], 2);
	}
	offend_times(&zone, 99, 3);
	assert_int_equal(refusals_of(&zone, 4), 0);
	offend_times(&zone, 98, 3);
	assert_int_equal(refusals_of(&zone, 3), 0);
	assert_int_equal(refusals_of(&zone, 99), 3);
	assert_int_equal(refusals_of(&zone, 7), 2);
	made_free(&zone);
}

static void who_only_counts_loses_no_place_to_a_newcomer_while_another_is_free(void **state)
{
	struct zone zone = made_zone_of(ONE_SET);

	(void)state;
	for (uint64_t number = 1; number < ONE_SET; number++)
		offend_times(&zone, number, 1);
	offend_times(&zone, ONE_SET, 9);
	made_now_ns += 45 * NS_PER_SEC;
	for (uint64_t number = 1; number < ONE_SET; number++)
		offend_times(&zone, number, 1);
	made_now_ns += 15 * NS_PER_SEC;
	offend_times(&zone, 99, 1);
	assert_int_equal(refusals_of(&zone, ONE_SET), 0);
	for (uint64_t number = 1; number < ONE_SET; number++)
		assert_int_equal(refusals_of(&zone, number), 2);
	made_free(&zone);
}

static void a_lifted_key_is_as_if_it_had_never_offended(void **state)
{
	struct zone zone = made_zone_of(64);

	(void)state;
	ban(&zone, 1);
	ban(&zone, 2);
	assert_true(zone_ban_lift(&zone, made_hash(1)));
	assert_int_equal(ban_left(&zone, 1), 0);
	assert_int_equal(ban_left(&zone, 2), 15 * MINUTE);
	assert_false(zone_ban_lift(&zone, made_hash(1)));
	ban(&zone, 1);
	assert_int_equal(ban_left(&zone, 1), 15 * MINUTE);
	made_free(&zone);
}

/* The same key twice, as two processes may leave it. */
static void of_two_bans_the_longer_is_told(void **state)
{
	struct zone zone = made_zone_of(ONE_SET);

	(void)state;
	ban(&zone, 1);
	zone.offenders[5] = zone.offenders[0];
	zone.offenders[5].state += 5ULL << MOMENT_SHIFT;
	assert_int_equal(ban_left(&zone, 1), 15 * MINUTE + 5 * MS);
	zone.offenders[0].state += 8ULL << MOMENT_SHIFT;
	assert_int_equal(ban_left(&zone, 1), 15 * MINUTE + 8 * MS);
	made_free(&zone);
}

static void the_last_ban_may_end_before_another(void **state)
{
	static const struct penalty brief = {1, MINUTE, MINUTE, MINUTE};
	struct zone zone = made_zone_of(64);
	struct zone_key key = made_charge(&zone, 2, 1).key;
	uint64_t ban_ns;

	(void)state;
	ban(&zone, 1);
	assert_int_equal(zone_offend(&zone, &brief, &key, made_now_ns, &ban_ns), OFFENCE_BANNED);
	made_now_ns += 2 * MINUTE;
	assert_int_equal(ban_left(&zone, 1), 13 * MINUTE);
	assert_int_equal(ban_left(&zone, 2), 0);
	made_now_ns += 15 * MINUTE;
	ban(&zone, 3);
	assert_int_equal(ban_left(&zone, 3), 15 * MINUTE);
	made_free(&zone);
}

static void of_two_entries_either_bans_and_both_are_lifted(void **state)
{
	struct zone zone = made_zone_of(ONE_SET);

	(void)state;
	ban(&zone, 1);
	zone.offenders[5] = zone.offenders[0];
	zone.offenders[0].state = 0;
	assert_int_equal(ban_left(&zone, 1), 15 * MINUTE);
	zone_count_banned(&zone, made_hash(1), made_now_ns);
	assert_int_equal(zone.offender_details[5].refused, 1);
	made_now_ns += 15 * MINUTE;
	ban(&zone, 1);
	assert_int_equal(ban_left(&zone, 1), 30 * MINUTE);
	zone.offenders[0] = zone.offenders[5];
	assert_true(zone_ban_lift(&zone, made_hash(1)));
	assert_int_equal(ban_left(&zone, 1), 0);
	assert_int_equal(zone.offenders[0].tag, 0);
	assert_int_equal(zone.offenders[5].tag, 0);
	made_free(&zone);
}

static void what_is_shown_of_an_offender_is_its_own(void **state)
{
	struct zone zone = made_zone_of(64);
	struct zone_key key = made_charge(&zone, 1, 1).key;
	struct zone_offender offender;

	(void)state;
	ban(&zone, 1);
	for (unsigned int i = 0; i < 3; i++) {
		made_now_ns += NS_PER_SEC;
		zone_count_banned(&zone, made_hash(1), made_now_ns);
	}
	assert_true(zone_offender_find(&zone, made_hash(1), made_now_ns, &offender));
	assert_int_equal(offender.hash, made_hash(1));
	assert_int_equal(offender.ban_left_ns, 15 * MINUTE - 3 * NS_PER_SEC);
	assert_int_equal(offender.level, 1);
	assert_int_equal(offender.bans, 1);
	assert_int_equal(offender.refused, 3);
	assert_int_equal(offender.last_seen_ns, made_now_ns);
	assert_memory_equal(&offender.label, &key.label, sizeof(key.label));
	assert_int_equal(made_count(&zone, ZONE_COUNT_BANNED), 3);
	assert_false(zone_offender_find(&zone, made_hash(2), made_now_ns, &offender));
	made_free(&zone);
}

static void who_takes_a_place_takes_nothing_else(void **state)
{
	struct zone zone = made_zone_of(ONE_SET);
	struct zone_key key = made_charge(&zone, 99, 1).key;
	struct zone_offender offender;

	(void)state;
	for (uint64_t number = 1; number <= ONE_SET; number++) {
		ban(&zone, number);
		zone_count_banned(&zone, made_hash(number), made_now_ns);
	}
	made_now_ns += 45 * MINUTE;
	offend_times(&zone, 99, 1);
	assert_true(zone_offender_find(&zone, made_hash(99), made_now_ns, &offender));
	assert_int_equal(offender.bans, 0);
	assert_int_equal(offender.refused, 0);
	assert_memory_equal(&offender.label, &key.label, sizeof(key.label));
	made_free(&zone);
}

/* Its writer died, or was late and found the place another's. */
static void a_label_that_is_anothers_is_mended_by_the_next_refusal(void **state)
{
	struct zone zone = made_zone_of(ONE_SET);
	struct zone_key key = made_charge(&zone, 1, 1).key;
	struct zone_offender offender;

	(void)state;
	offend_times(&zone, 1, 1);
	for (unsigned int at = 0; at < ONE_SET; at++)
		zone.offender_details[at].label = made_charge(&zone, 2, 1).key.label;
	offend_times(&zone, 1, 1);
	assert_true(zone_offender_find(&zone, made_hash(1), made_now_ns, &offender));
	assert_memory_equal(&offender.label, &key.label, sizeof(key.label));
	made_free(&zone);
}

static void each_entry_is_read_once_and_empty_ones_are_not(void **state)
{
	struct zone zone = made_zone_of(64);
	struct zone_offender offender;
	unsigned int count = 0;

	(void)state;
	for (uint64_t number = 1; number <= 5; number++)
		offend_times(&zone, number, (unsigned int)number);
	for (uint64_t at = 0; at < zone.offenders_count; at++) {
		if (!zone_offender_read(&zone, at, made_now_ns, &offender))
			continue;
		assert_int_equal(offender.hash, made_hash(offender.refusals));
		count++;
	}
	assert_int_equal(count, 5);
	made_free(&zone);
}

static void offenders_are_carried_over_with_what_is_shown(void **state)
{
	struct zone from = made_zone_of(64), to = made_zone_of(256), without = made_zone_of(0);
	struct zone_offender before, after;

	(void)state;
	ban(&from, 1);
	zone_count_banned(&from, made_hash(1), made_now_ns);
	offend_times(&from, 2, 9);
	assert_int_equal(zone_carry_over(&to, &from, made_now_ns), 0);
	assert_int_equal(ban_left(&to, 1), 15 * MINUTE);
	assert_int_equal(offend(&to, 2), OFFENCE_BANNED);
	assert_true(zone_offender_find(&from, made_hash(1), made_now_ns, &before));
	assert_true(zone_offender_find(&to, made_hash(1), made_now_ns, &after));
	assert_int_equal(after.level, before.level);
	assert_int_equal(after.bans, 1);
	assert_int_equal(after.refused, 1);
	assert_int_equal(after.last_seen_ns, before.last_seen_ns);
	assert_memory_equal(&after.label, &before.label, sizeof(before.label));
	assert_int_equal(zone_carry_over(&without, &from, made_now_ns), 0);
	assert_int_equal(zone_carry_over(&to, &without, made_now_ns), 0);
	made_free(&from);
	made_free(&to);
	made_free(&without);
}

/* Into one set of eight, of keys that count, that have a level and that are banned, in this order.
 */
static void bans_are_carried_before_levels_and_levels_before_counts(void **state)
{
	struct zone from = made_zone_of(1024), to = made_zone_of(ONE_SET);
	struct zone_offender offender;

	(void)state;
	for (uint64_t number = 11; number <= 14; number++)
		ban(&from, number);
	made_now_ns += 15 * MINUTE;
	for (uint64_t number = 1; number <= 9; number++)
		offend_times(&from, number, 9);
	for (uint64_t number = 21; number <= 23; number++)
		ban(&from, number);
	assert_int_equal(zone_carry_over(&to, &from, made_now_ns), 0);
	for (uint64_t number = 21; number <= 23; number++)
		assert_int_equal(ban_left(&to, number), 15 * MINUTE);
	for (uint64_t number = 11; number <= 14; number++) {
		assert_true(zone_offender_find(&to, made_hash(number), made_now_ns, &offender));
		assert_int_equal(offender.level, 1);
	}
	for (uint64_t number = 24; number <= 26; number++)
		ban(&from, number);
	memset(to.offenders, 0, ONE_SET * sizeof(*to.offenders));
	assert_int_equal(zone_carry_over(&to, &from, made_now_ns), 4 + 6 - ONE_SET);
	for (uint64_t number = 21; number <= 26; number++)
		assert_int_equal(ban_left(&to, number), 15 * MINUTE);
	made_free(&from);
	made_free(&to);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_tenth_refusal_bans_this_key_and_no_other),
		cmocka_unit_test(of_a_thousand_bans_each_is_found),
		cmocka_unit_test(a_zone_without_a_table_bans_nobody),
		cmocka_unit_test(in_a_set_full_of_bans_a_newcomer_is_counted_nowhere),
		cmocka_unit_test(a_level_keeps_its_place_until_it_is_forgotten),
		cmocka_unit_test(a_newcomer_takes_the_place_of_who_has_the_fewest_refusals),
		cmocka_unit_test(of_equal_ones_the_older_makes_place),
		cmocka_unit_test(keys_in_turn_are_banned_unless_they_are_more_than_their_set_holds),
		cmocka_unit_test(
			who_only_counts_loses_no_place_to_a_newcomer_while_another_is_free),
		cmocka_unit_test(a_lifted_key_is_as_if_it_had_never_offended),
		cmocka_unit_test(of_two_bans_the_longer_is_told),
		cmocka_unit_test(the_last_ban_may_end_before_another),
		cmocka_unit_test(of_two_entries_either_bans_and_both_are_lifted),
		cmocka_unit_test(what_is_shown_of_an_offender_is_its_own),
		cmocka_unit_test(who_takes_a_place_takes_nothing_else),
		cmocka_unit_test(a_label_that_is_anothers_is_mended_by_the_next_refusal),
		cmocka_unit_test(each_entry_is_read_once_and_empty_ones_are_not),
		cmocka_unit_test(offenders_are_carried_over_with_what_is_shown),
		cmocka_unit_test(bans_are_carried_before_levels_and_levels_before_counts),
	};

	return cmocka_run_group_tests_name("zone_offenders", tests, NULL, NULL);
}
