/* SPDX-License-Identifier: MIT */
/* Reports as Markdown for documents. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "report_printed.h"

static void row_add(struct report *report, const char *route, const char *limit)
{
	report_row(report);
	report_string(report, "route", route);
	report_string(report, "limit", limit);
	report_end(report);
}

static void an_empty_report_is_no_text(void **state)
{
	(void)state;
	assert_prints(report_new(REPORT_MARKDOWN), "");
}

static void a_list_is_a_table_with_capitals(void **state)
{
	struct report *report = report_new(REPORT_MARKDOWN);

	(void)state;
	report_list(report, "limits");
	row_add(report, "/login", "5");
	row_add(report, "/", "");
	report_end(report);
	assert_prints(report, "| Route | Limit |\n"
			      "| --- | --- |\n"
			      "| /login | 5 |\n"
			      "| / | - |\n");
}

static void numbers_stand_to_the_right(void **state)
{
	struct report *report = report_new(REPORT_MARKDOWN);

	(void)state;
	report_list(report, "limits");
	report_row(report);
	report_count(report, "cost", 1000);
	report_duration(report, "window", 60000000000);
	report_flag(report, "open", true);
	report_end(report);
	report_row(report);
	report_string(report, "later_key", "x");
	report_end(report);
	report_end(report);
	assert_prints(report, "| Cost | Window | Open | Later key |\n"
			      "| ---: | ---: | --- | --- |\n"
			      "| 1,000 | 1m | yes | - |\n"
			      "| - | - | - | x |\n");
}

static void no_text_is_markup(void **state)
{
	struct report *report = report_new(REPORT_MARKDOWN);

	(void)state;
	report_list(report, "limits");
	row_add(report, "~ ^/(?<a>[^/|]+)$", "`a` *b* _c_ \\ &amp; $x");
	row_add(report, "a\nb\x1b", "\xc3\xa9|");
	row_add(report, "by $a and $b", "$");
	report_end(report);
	report_string(report, "x", "<b>|</b>");
	assert_prints(report, "| Route | Limit |\n"
			      "| --- | --- |\n"
			      "| \\~ ^/(?\\<a\\>\\[^/\\|\\]+)$ "
			      "| \\`a\\` \\*b\\* \\_c\\_ \\\\ \\&amp; $x |\n"
			      "| a?b? | \xc3\xa9\\| |\n"
			      "| by <span>$</span>a and <span>$</span>b | $ |\n"
			      "\n"
			      "\\<b\\>\\|\\</b\\>\n");
}

static void other_scalars_are_paragraphs_without_their_key(void **state)
{
	struct report *report = report_new(REPORT_MARKDOWN);

	(void)state;
	report_string(report, "first", "One.");
	report_null(report, "second");
	report_list(report, "third");
	report_end(report);
	report_count(report, "fourth", 4000);
	assert_prints(report, "One.\n\n4,000\n");
}

static void what_has_no_form_is_refused(void **state)
{
	struct report *report = report_new(REPORT_MARKDOWN);

	(void)state;
	report_object(report, "object");
	report_end(report);
	assert_fails_and_prints_nothing(report, -EINVAL);
	report = report_new(REPORT_MARKDOWN);
	report_list(report, "list");
	report_row(report);
	report_object(report, "object");
	report_end(report);
	report_end(report);
	report_end(report);
	assert_fails_and_prints_nothing(report, -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_empty_report_is_no_text),
		cmocka_unit_test(a_list_is_a_table_with_capitals),
		cmocka_unit_test(numbers_stand_to_the_right),
		cmocka_unit_test(no_text_is_markup),
		cmocka_unit_test(other_scalars_are_paragraphs_without_their_key),
		cmocka_unit_test(what_has_no_form_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
