/* SPDX-License-Identifier: MIT */
/* What is counted between two moments. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "cli/snapshot.h"

static struct control_interface *add(struct snapshot *snapshot, const char *name, uint32_t link_id,
				     uint64_t passed)
{
	struct control_interface *interface = &snapshot->interfaces[snapshot->count++];

	memset(interface, 0, sizeof(*interface));
	strcpy(interface->name, name);
	interface->link_id = link_id;
	interface->counters.verdicts[WEIR_PASS].packets = passed;
	interface->counters.verdicts[WEIR_PASS].bytes = passed * 60;
	interface->counters.causes[WEIR_CAUSE_NO_LIMIT] = passed;
	return interface;
}

static uint64_t passed_since(struct snapshot *now, const struct snapshot *before)
{
	struct weir_counters total;

	snapshot_subtract(now, before);
	total = snapshot_total(now);
	assert_int_equal(total.verdicts[WEIR_PASS].bytes, total.verdicts[WEIR_PASS].packets * 60);
	assert_int_equal(total.causes[WEIR_CAUSE_NO_LIMIT], total.verdicts[WEIR_PASS].packets);
	return total.verdicts[WEIR_PASS].packets;
}

static void the_total_is_the_sum_over_interfaces(void **state)
{
	struct snapshot now = {0};
	struct weir_counters total;

	(void)state;
	add(&now, "a", 2, 10);
	add(&now, "b", 3, 20)->counters.verdicts[WEIR_DROP_RATE].packets = 7;
	total = snapshot_total(&now);
	assert_int_equal(total.verdicts[WEIR_PASS].packets, 30);
	assert_int_equal(total.verdicts[WEIR_PASS].bytes, 1800);
	assert_int_equal(total.verdicts[WEIR_DROP_RATE].packets, 7);
	assert_int_equal(total.causes[WEIR_CAUSE_NO_LIMIT], 30);
}

static void what_was_counted_before_is_subtracted(void **state)
{
	struct snapshot before = {0}, now = {0};

	(void)state;
	add(&before, "a", 2, 10);
	add(&before, "b", 3, 100);
	add(&now, "b", 3, 101);
	add(&now, "a", 2, 15);
	assert_int_equal(passed_since(&now, &before), 6);
}

static void an_interface_attached_meanwhile_counts_from_zero(void **state)
{
	struct snapshot before = {0}, now = {0};

	(void)state;
	add(&before, "a", 2, 10);
	add(&now, "a", 2, 10);
	add(&now, "b", 3, 4);
	assert_int_equal(passed_since(&now, &before), 4);
}

static void counters_that_fell_count_from_zero(void **state)
{
	struct snapshot before = {0}, now = {0};

	(void)state;
	add(&before, "a", 2, 1000)->counters.verdicts[WEIR_DROP_RATE].packets = 5;
	add(&now, "a", 2, 3)->counters.verdicts[WEIR_DROP_RATE].packets = 6;
	assert_int_equal(passed_since(&now, &before), 3);
	assert_int_equal(now.interfaces[0].counters.verdicts[WEIR_DROP_RATE].packets, 6);
}

/* As those attached from within two namespaces, whose names weir does not know, may be. */
static void interfaces_of_one_name_are_told_apart(void **state)
{
	struct snapshot before = {0}, now = {0};

	(void)state;
	add(&before, "a", 7, 1000);
	add(&before, "a", 8, 10);
	add(&now, "a", 7, 1003);
	add(&now, "a", 8, 5000);
	snapshot_subtract(&now, &before);
	assert_int_equal(now.interfaces[0].counters.verdicts[WEIR_PASS].packets, 3);
	assert_int_equal(now.interfaces[1].counters.verdicts[WEIR_PASS].packets, 4990);
}

static void an_interface_attached_anew_counts_from_zero(void **state)
{
	struct snapshot before = {0}, now = {0};

	(void)state;
	add(&before, "a", 7, 10);
	add(&now, "a", 9, 50);
	assert_int_equal(passed_since(&now, &before), 50);
}

static void an_interface_renamed_or_gone_is_the_same(void **state)
{
	struct snapshot before = {0}, now = {0};

	(void)state;
	add(&before, "b", 7, 10);
	add(&now, "a", 7, 11)->gone = true;
	assert_int_equal(passed_since(&now, &before), 1);
}

static void a_detached_interface_takes_nothing_away(void **state)
{
	struct snapshot before = {0}, now = {0};

	(void)state;
	add(&before, "a", 2, 10);
	add(&before, "b", 3, 100);
	add(&now, "a", 2, 11);
	assert_int_equal(passed_since(&now, &before), 1);
}

static void the_flow_sums_what_passed_and_what_was_dropped(void **state)
{
	struct weir_counters counters = {0};
	struct flow flow;

	(void)state;
	counters.verdicts[WEIR_PASS] = (struct weir_count){1, 60};
	counters.verdicts[WEIR_PASS_UNTRACKED] = (struct weir_count){2, 600};
	counters.verdicts[WEIR_DROP_RATE] = (struct weir_count){30, 1000};
	counters.verdicts[WEIR_DROP_BUDGET] = (struct weir_count){40, 7000};
	flow = counters_flow(&counters);
	assert_int_equal(flow.pass.packets, 3);
	assert_int_equal(flow.pass.bytes, 660);
	assert_int_equal(flow.drop.packets, 70);
	assert_int_equal(flow.drop.bytes, 8000);
}

static void a_rate_is_over_the_time_that_passed_in_tenths(void **state)
{
	static const struct {
		uint64_t count, elapsed_ns;
		double rate;
	} cases[] = {
		{0, 1000000000, 0},
		{1000, 1000000000, 1000},
		{1000, 500000000, 2000},
		{1000, 2000000000, 500},
		{1, 3000000000, 0.3},
		{2, 3000000000, 0.7},
		{1, 86400 * 1000000000ULL, 0},
		{5, 10000000, 500},
		{UINT64_MAX, 86400 * 1000000000ULL, 213503982334601.3},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_true(per_second(cases[i].count, cases[i].elapsed_ns) == cases[i].rate);
}

static void each_verdict_has_a_name_that_says_whether_it_drops(void **state)
{
	(void)state;
	for (int verdict = 0; verdict < WEIR_VERDICT_MAX; verdict++) {
		assert_non_null(verdict_names[verdict]);
		assert_int_equal(verdict_is_drop((enum weir_verdict)verdict),
				 verdict >= WEIR_DROP_RATE);
	}
	for (int cause = 0; cause < WEIR_CAUSE_MAX; cause++)
		assert_non_null(cause_names[cause]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_total_is_the_sum_over_interfaces),
		cmocka_unit_test(what_was_counted_before_is_subtracted),
		cmocka_unit_test(an_interface_attached_meanwhile_counts_from_zero),
		cmocka_unit_test(counters_that_fell_count_from_zero),
		cmocka_unit_test(interfaces_of_one_name_are_told_apart),
		cmocka_unit_test(an_interface_attached_anew_counts_from_zero),
		cmocka_unit_test(an_interface_renamed_or_gone_is_the_same),
		cmocka_unit_test(a_detached_interface_takes_nothing_away),
		cmocka_unit_test(the_flow_sums_what_passed_and_what_was_dropped),
		cmocka_unit_test(a_rate_is_over_the_time_that_passed_in_tenths),
		cmocka_unit_test(each_verdict_has_a_name_that_says_whether_it_drops),
	};

	return cmocka_run_group_tests_name("snapshot", tests, NULL, NULL);
}
