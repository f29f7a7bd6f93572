/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "http/status_list.h"

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

static struct status_list parsed(const char *text)
{
	struct status_list list;

	assert_true(status_list_parse(text, &list));
	return list;
}

static void assert_holds_only(const char *text, unsigned int first, unsigned int last)
{
	struct status_list list = parsed(text);

	for (unsigned int status = 0; status < 1100; status++)
		assert_int_equal(status_list_contains(&list, status),
				 status >= first && status <= last);
}

static void a_code_is_itself_alone(void **state)
{
	(void)state;
	assert_holds_only("100", 100, 100);
	assert_holds_only("404", 404, 404);
	assert_holds_only("599", 599, 599);
}

static void a_class_is_its_hundred_codes(void **state)
{
	(void)state;
	assert_holds_only("1xx", 100, 199);
	assert_holds_only("2xx", 200, 299);
	assert_holds_only("5xx", 500, 599);
}

static void items_are_separated_by_commas_in_any_order(void **state)
{
	struct status_list list = parsed("404,2xx,101,3xx");

	(void)state;
	for (unsigned int status = 0; status < 1100; status++)
		assert_int_equal(status_list_contains(&list, status),
				 status == 404 || status == 101 ||
					 (status >= 200 && status <= 399));
}

static void what_is_no_list_of_statuses_is_refused(void **state)
{
	static const char *const texts[] = {
		"",        "2",        "20",   "2x",    "2xX",     "2XX",  "x",
		"xxx",     "0xx",      "6xx",  "099",   "600",     "1000", "2000",
		"20x",     "2x0",      "2xxx", ",",     "2xx,",    ",2xx", "2xx,,4xx",
		"2xx 4xx", "2xx, 4xx", " 2xx", "2xx ",  "2xx;4xx", "-20",  "+20",
		"2xx-4xx", "500-503",  "0x1",  "2xx,4", "2xx,40",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		struct status_list list = {{42}};

		assert_false(status_list_parse(texts[i], &list));
		assert_int_equal(list.words[0], 42);
	}
}

static void a_status_named_twice_is_refused(void **state)
{
	static const char *const texts[] = {"404,404", "2xx,2xx", "2xx,204", "204,2xx",
					    "1xx,2xx,199"};
	struct status_list list;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		assert_false(status_list_parse(texts[i], &list));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_code_is_itself_alone),
		cmocka_unit_test(a_class_is_its_hundred_codes),
		cmocka_unit_test(items_are_separated_by_commas_in_any_order),
		cmocka_unit_test(what_is_no_list_of_statuses_is_refused),
		cmocka_unit_test(a_status_named_twice_is_refused),
	};

	return cmocka_run_group_tests_name("status_list", tests, NULL, NULL);
}
