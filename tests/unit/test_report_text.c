/* SPDX-License-Identifier: MIT */
/* Reports as text for people. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "report_printed.h"

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

static void an_empty_report_is_no_text(void **state)
{
	(void)state;
	assert_prints(report_new(REPORT_TEXT), "");
}

static void scalars_are_lines(void **state)
{
	struct report *report = report_new(REPORT_TEXT);

	(void)state;
	report_string(report, "rate", "20k/s");
	report_count(report, "capacity", 40000);
	report_count(report, "program_id", 40000);
	report_real(report, "tokens_left", 12.5);
	report_flag(report, "gone", false);
	report_flag(report, "known", true);
	report_null(report, "netns");
	report_string(report, "hint", "");
	report_duration(report, "full_in", 1290000000);
	assert_prints(report, "rate: 20k/s\n"
			      "capacity: 40,000\n"
			      "program id: 40000\n"
			      "tokens left: 12.5\n"
			      "gone: no\n"
			      "known: yes\n"
			      "netns: -\n"
			      "hint: -\n"
			      "full in: 1.2s\n");
}

static void assert_count_is_shown(uint64_t count, const char *line)
{
	struct report *report = report_new(REPORT_TEXT);

	report_count(report, "x", count);
	assert_prints(report, line);
}

static void thousands_are_grouped(void **state)
{
	(void)state;
	assert_count_is_shown(0, "x: 0\n");
	assert_count_is_shown(999, "x: 999\n");
	assert_count_is_shown(1000, "x: 1,000\n");
	assert_count_is_shown(99999, "x: 99,999\n");
	assert_count_is_shown(100000, "x: 100,000\n");
	assert_count_is_shown(1234567, "x: 1,234,567\n");
	assert_count_is_shown(INT64_MAX, "x: 9,223,372,036,854,775,807\n");
	assert_count_is_shown(UINT64_MAX, "x: 9,223,372,036,854,775,807\n");
}

static void reals_have_up_to_three_decimals(void **state)
{
	static const struct {
		double value;
		const char *line;
	} cases[] = {
		{0, "x: 0\n"},
		{3, "x: 3\n"},
		{10, "x: 10\n"},
		{100, "x: 100\n"},
		{12.5, "x: 12.5\n"},
		{0.1, "x: 0.1\n"},
		{1.0 / 3, "x: 0.333\n"},
		{0.0004, "x: 0\n"},
		{-0.0004, "x: 0\n"},
		{-0.5, "x: -0.5\n"},
		{-0.05, "x: -0.05\n"},
		{0.9996, "x: 1\n"},
		{1234567.25, "x: 1,234,567.25\n"},
		{-1234.5678, "x: -1,234.568\n"},
		{-123, "x: -123\n"},
		{999999999999999.5, "x: 999,999,999,999,999.5\n"},
		{1e15, "x: 1e+15\n"},
		{-1.5e300, "x: -1.5e+300\n"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct report *report = report_new(REPORT_TEXT);

		report_real(report, "x", cases[i].value);
		assert_prints(report, cases[i].line);
	}
}

static void control_characters_cannot_reach_the_terminal(void **state)
{
	struct report *report = report_new(REPORT_TEXT);

	(void)state;
	report_string(report, "c0", "a\x1b[2Jb\nc\x7f");
	report_string(report, "c1",
		      "a\xc2\x9b"
		      "2J\xc2\xa0z");
	report_string(report, "order",
		      "a\xe2\x80\xae"
		      "b\xe2\x81\xa9"
		      "c\xe2\x80\xa8"
		      "d\xe2\x80\xa7");
	report_string(report, "not_utf8", "a\xff");
	report_count(report, "key\n", 1);
	assert_prints(report, "c0: a?[2Jb?c?\n"
			      "c1: a?2J\xc2\xa0z\n"
			      "order: a?b?c?d\xe2\x80\xa7\n"
			      "not utf8: a?\n"
			      "key?: 1\n");
}

static void tell_packets(struct report *report, const char *key, uint64_t packets, uint64_t bytes)
{
	report_object(report, key);
	report_count(report, "packets", packets);
	report_count(report, "bytes", bytes);
	report_end(report);
}

static void tell_verdicts(struct report *report)
{
	report_object(report, "verdicts");
	tell_packets(report, "pass", 1234567, 99);
	tell_packets(report, "drop_rate", 12, 1000);
	report_end(report);
}

static void objects_alike_are_a_table(void **state)
{
	struct report *report = report_new(REPORT_TEXT);

	(void)state;
	tell_verdicts(report);
	assert_prints(report, "verdicts     packets  bytes\n"
			      "pass       1,234,567     99\n"
			      "drop_rate         12  1,000\n");
}

static void one_object_in_an_object_is_a_table_of_one(void **state)
{
	struct report *report = report_new(REPORT_TEXT);

	(void)state;
	report_object(report, "limits");
	report_object(report, "default");
	report_string(report, "rate", "20k/s");
	report_count(report, "capacity", 40000);
	report_end(report);
	report_end(report);
	assert_prints(report, "limits   rate   capacity\n"
			      "default  20k/s    40,000\n");
}

static void objects_that_differ_are_under_headings(void **state)
{
	struct report *report = report_new(REPORT_TEXT);

	(void)state;
	report_object(report, "both");
	tell_packets(report, "one", 1, 2);
	report_object(report, "another");
	report_count(report, "packets", 3);
	report_count(report, "events", 4);
	report_end(report);
	report_end(report);
	assert_prints(report, "both:\n"
			      "  one:\n"
			      "    packets: 1\n"
			      "    bytes: 2\n"
			      "\n"
			      "  another:\n"
			      "    packets: 3\n"
			      "    events: 4\n");
}

static void an_object_with_one_scalar_more_is_not_alike(void **state)
{
	struct report *report = report_new(REPORT_TEXT);

	(void)state;
	report_object(report, "both");
	report_object(report, "one");
	report_count(report, "packets", 1);
	report_end(report);
	tell_packets(report, "another", 2, 3);
	report_end(report);
	assert_prints(report, "both:\n"
			      "  one:\n"
			      "    packets: 1\n"
			      "\n"
			      "  another:\n"
			      "    packets: 2\n"
			      "    bytes: 3\n");
}

static void a_flat_list_is_a_table(void **state)
{
	struct report *report = report_new(REPORT_TEXT);

	(void)state;
	report_list(report, "sources");
	report_row(report);
	report_string(report, "source", "192.0.2.1");
	report_real(report, "tokens_left", 0.5);
	report_duration(report, "last_seen", 5);
	report_end(report);
	report_row(report);
	report_string(report, "source", "2001:db8::/64");
	report_real(report, "tokens_left", 40000);
	report_duration(report, "last_seen", 1290000000);
	report_end(report);
	report_end(report);
	assert_prints(report, "source         tokens left  last seen\n"
			      "192.0.2.1              0.5        5ns\n"
			      "2001:db8::/64       40,000       1.2s\n");
}

static void what_a_row_lacks_is_a_dash_on_the_columns_side(void **state)
{
	struct report *report = report_new(REPORT_TEXT);

	(void)state;
	report_list(report, "rows");
	report_row(report);
	report_null(report, "number");
	report_string(report, "text", "");
	report_null(report, "nothing");
	report_end(report);
	report_row(report);
	report_count(report, "number", 5);
	report_string(report, "text", "abcdef");
	report_flag(report, "more", true);
	report_end(report);
	report_row(report);
	report_end(report);
	report_end(report);
	assert_prints(report, "number  text    nothing  more\n"
			      "     -  -       -        -\n"
			      "     5  abcdef  -        yes\n"
			      "     -  -       -        -\n");
}

static void a_column_with_text_stands_to_the_left(void **state)
{
	struct report *report = report_new(REPORT_TEXT);

	(void)state;
	report_list(report, "rows");
	report_row(report);
	report_count(report, "mixed_column", 5);
	report_string(report, "end", "-");
	report_end(report);
	report_row(report);
	report_string(report, "mixed_column", "none");
	report_count(report, "end", 55555);
	report_end(report);
	report_end(report);
	assert_prints(report, "mixed column  end\n"
			      "5             -\n"
			      "none          55,555\n");
}

static void columns_are_as_wide_as_they_look(void **state)
{
	struct report *report = report_new(REPORT_TEXT);

	(void)state;
	report_list(report, "rows");
	report_row(report);
	report_string(report, "name", "\xc3\xbc\xe2\x82\xac\xf0\x9f\x98\x80\x1b-");
	report_count(report, "n", 1);
	report_end(report);
	report_row(report);
	report_string(report, "name", "abcde");
	report_count(report, "n", 2);
	report_end(report);
	report_end(report);
	assert_prints(report, "name   n\n"
			      "\xc3\xbc\xe2\x82\xac\xf0\x9f\x98\x80?-  1\n"
			      "abcde  2\n");
}

static void tell_interface(struct report *report, const char *name)
{
	report_row(report);
	report_string(report, "name", name);
	report_count(report, "program_id", 12345);
	tell_verdicts(report);
	report_end(report);
}

static void a_list_that_goes_deeper_is_under_headings(void **state)
{
	struct report *report = report_new(REPORT_TEXT);

	(void)state;
	report_list(report, "interfaces");
	tell_interface(report, "eth0");
	tell_interface(report, "eth1");
	report_row(report);
	report_end(report);
	report_row(report);
	report_object(report, "unnamed");
	report_count(report, "x", 1);
	report_end(report);
	report_end(report);
	report_end(report);
	assert_prints(report, "interfaces:\n"
			      "  eth0:\n"
			      "    program id: 12345\n"
			      "\n"
			      "    verdicts     packets  bytes\n"
			      "    pass       1,234,567     99\n"
			      "    drop_rate         12  1,000\n"
			      "\n"
			      "  eth1:\n"
			      "    program id: 12345\n"
			      "\n"
			      "    verdicts     packets  bytes\n"
			      "    pass       1,234,567     99\n"
			      "    drop_rate         12  1,000\n"
			      "\n"
			      "  3:\n"
			      "\n"
			      "  4:\n"
			      "    unnamed:\n"
			      "      x: 1\n");
}

static void what_is_empty_says_so(void **state)
{
	struct report *report = report_new(REPORT_TEXT);

	(void)state;
	report_list(report, "known_sources");
	report_end(report);
	report_object(report, "limits");
	report_end(report);
	assert_prints(report, "known sources: none\n"
			      "\n"
			      "limits: none\n");
}

static void an_empty_line_parts_what_is_beside_a_table_or_heading(void **state)
{
	struct report *report = report_new(REPORT_TEXT);

	(void)state;
	report_count(report, "before", 1);
	tell_verdicts(report);
	report_object(report, "causes");
	report_count(report, "insert_failed", 0);
	report_count(report, "no_limit", 0);
	report_end(report);
	report_count(report, "after", 1);
	report_count(report, "last", 2);
	assert_prints(report, "before: 1\n"
			      "\n"
			      "verdicts     packets  bytes\n"
			      "pass       1,234,567     99\n"
			      "drop_rate         12  1,000\n"
			      "\n"
			      "causes:\n"
			      "  insert failed: 0\n"
			      "  no limit: 0\n"
			      "\n"
			      "after: 1\n"
			      "last: 2\n");
}

static void a_key_longer_than_a_label_is_cut(void **state)
{
	struct report *report = report_new(REPORT_TEXT);

	(void)state;
	report_count(report,
		     "a23456789_123456789_123456789_123456789_123456789_123456789_123456789", 1);
	assert_prints(report,
		      "a23456789 123456789 123456789 123456789 123456789 123456789 123: 1\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_empty_report_is_no_text),
		cmocka_unit_test(scalars_are_lines),
		cmocka_unit_test(thousands_are_grouped),
		cmocka_unit_test(reals_have_up_to_three_decimals),
		cmocka_unit_test(control_characters_cannot_reach_the_terminal),
		cmocka_unit_test(objects_alike_are_a_table),
		cmocka_unit_test(one_object_in_an_object_is_a_table_of_one),
		cmocka_unit_test(objects_that_differ_are_under_headings),
		cmocka_unit_test(an_object_with_one_scalar_more_is_not_alike),
		cmocka_unit_test(a_flat_list_is_a_table),
		cmocka_unit_test(what_a_row_lacks_is_a_dash_on_the_columns_side),
		cmocka_unit_test(a_column_with_text_stands_to_the_left),
		cmocka_unit_test(columns_are_as_wide_as_they_look),
		cmocka_unit_test(a_list_that_goes_deeper_is_under_headings),
		cmocka_unit_test(what_is_empty_says_so),
		cmocka_unit_test(an_empty_line_parts_what_is_beside_a_table_or_heading),
		cmocka_unit_test(a_key_longer_than_a_label_is_cut),
	};

	return cmocka_run_group_tests_name("report text", tests, NULL, NULL);
}
