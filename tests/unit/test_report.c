/* SPDX-License-Identifier: MIT */
/* Reports as JSON. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "report_printed.h"

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

static void an_empty_report_is_an_empty_object(void **state)
{
	(void)state;
	assert_prints(report_new(REPORT_JSON), "{}\n");
}

static void fields_come_in_the_order_they_were_told(void **state)
{
	struct report *report = report_new(REPORT_JSON);

	(void)state;
	report_string(report, "rate", "20k/s");
	report_count(report, "capacity", 40000);
	report_flag(report, "attached", true);
	report_flag(report, "gone", false);
	report_null(report, "netns");
	report_real(report, "tokens", 12.5);
	report_duration(report, "full_in", 1500000000);
	assert_prints(report, "{\"rate\":\"20k/s\",\"capacity\":40000,\"attached\":true,"
			      "\"gone\":false,\"netns\":null,\"tokens\":12.5,"
			      "\"full_in_ns\":1500000000}\n");
}

static void objects_and_lists_nest(void **state)
{
	struct report *report = report_new(REPORT_JSON);

	(void)state;
	report_object(report, "a");
	report_count(report, "x", 1);
	report_list(report, "rows");
	report_row(report);
	report_object(report, "deeper");
	report_end(report);
	report_end(report);
	report_row(report);
	report_count(report, "y", 2);
	report_end(report);
	report_end(report);
	report_end(report);
	report_list(report, "none");
	report_end(report);
	report_count(report, "z", 3);
	assert_prints(report, "{\"a\":{\"x\":1,\"rows\":[{\"deeper\":{}},{\"y\":2}]},"
			      "\"none\":[],\"z\":3}\n");
}

static void a_count_is_exact_up_to_what_json_readers_hold(void **state)
{
	struct report *report = report_new(REPORT_JSON);

	(void)state;
	report_count(report, "zero", 0);
	report_count(report, "most", INT64_MAX);
	report_count(report, "beyond", (uint64_t)INT64_MAX + 1);
	report_count(report, "far_beyond", UINT64_MAX);
	report_duration(report, "forever", UINT64_MAX);
	assert_prints(report, "{\"zero\":0,\"most\":9223372036854775807,"
			      "\"beyond\":9223372036854775807,\"far_beyond\":9223372036854775807,"
			      "\"forever_ns\":9223372036854775807}\n");
}

static void a_real_reads_back_exactly_in_as_few_digits_as_that_takes(void **state)
{
	static const struct {
		double value;
		const char *json;
	} cases[] = {
		{0.1, "{\"x\":0.1}\n"},
		{12.5, "{\"x\":12.5}\n"},
		{3, "{\"x\":3.0}\n"},
		{-2.25, "{\"x\":-2.25}\n"},
		{1.0 / 3, "{\"x\":0.3333333333333333}\n"},
		{0.1 + 0.2, "{\"x\":0.30000000000000004}\n"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct report *report = report_new(REPORT_JSON);

		report_real(report, "x", cases[i].value);
		assert_prints(report, cases[i].json);
	}
}

static void what_is_no_number_is_null(void **state)
{
	struct report *report = report_new(REPORT_JSON);

	(void)state;
	report_real(report, "a", NAN);
	report_real(report, "b", INFINITY);
	report_real(report, "c", -INFINITY);
	report_string(report, "d", NULL);
	assert_prints(report, "{\"a\":null,\"b\":null,\"c\":null,\"d\":null}\n");
}

static void bytes_that_are_no_utf8_become_question_marks(void **state)
{
	struct report *report = report_new(REPORT_JSON);

	(void)state;
	report_string(report, "bad", "a\xff\xc3z\xc3\xbc");
	report_string(report, "quoted", "\"\\\n\x1b");
	assert_prints(report, "{\"bad\":\"a??z\xc3\xbc\",\"quoted\":\"\\\"\\\\\\n\\u001B\"}\n");
}

static void a_report_may_be_printed_again(void **state)
{
	struct report *report = report_new(REPORT_JSON);
	char *text;
	size_t size;
	FILE *stream = open_memstream(&text, &size);

	(void)state;
	report_count(report, "a", 1);
	assert_int_equal(report_print(report, stream), 0);
	report_count(report, "b", 2);
	assert_int_equal(report_print(report, stream), 0);
	fclose(stream);
	assert_string_equal(text, "{\"a\":1}\n{\"a\":1,\"b\":2}\n");
	free(text);
	report_free(report);
}

static void a_printed_report_has_left_the_buffer(void **state)
{
	struct report *report = report_new(REPORT_JSON);
	char read_back[32] = "";
	int ends[2];
	FILE *out;

	(void)state;
	assert_int_equal(pipe2(ends, O_NONBLOCK), 0);
	out = fdopen(ends[1], "w");
	report_string(report, "x", "x");
	assert_int_equal(report_print(report, out), 0);
	assert_int_equal(read(ends[0], read_back, sizeof(read_back)), strlen("{\"x\":\"x\"}\n"));
	assert_string_equal(read_back, "{\"x\":\"x\"}\n");
	fclose(out);
	close(ends[0]);
	report_free(report);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_empty_report_is_an_empty_object),
		cmocka_unit_test(fields_come_in_the_order_they_were_told),
		cmocka_unit_test(objects_and_lists_nest),
		cmocka_unit_test(a_count_is_exact_up_to_what_json_readers_hold),
		cmocka_unit_test(a_real_reads_back_exactly_in_as_few_digits_as_that_takes),
		cmocka_unit_test(what_is_no_number_is_null),
		cmocka_unit_test(bytes_that_are_no_utf8_become_question_marks),
		cmocka_unit_test(a_report_may_be_printed_again),
		cmocka_unit_test(a_printed_report_has_left_the_buffer),
	};

	return cmocka_run_group_tests_name("report", tests, NULL, NULL);
}
