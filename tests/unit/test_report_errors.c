/* SPDX-License-Identifier: MIT */
/* Whatever goes wrong, a report is printed whole or not at all, and says why. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <jansson.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "report_printed.h"

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

static void end_too_often(struct report *report)
{
	report_end(report);
}

static void row_without_list(struct report *report)
{
	report_row(report);
	report_end(report);
}

static void row_in_row(struct report *report)
{
	report_list(report, "list");
	report_row(report);
	report_row(report);
	report_end(report);
	report_end(report);
	report_end(report);
}

static void field_in_list(struct report *report)
{
	report_list(report, "list");
	report_count(report, "x", 1);
	report_end(report);
}

static void object_in_list(struct report *report)
{
	report_list(report, "list");
	report_object(report, "x");
	report_end(report);
	report_end(report);
}

static void object_left_open(struct report *report)
{
	report_object(report, "x");
}

static void list_left_open(struct report *report)
{
	report_list(report, "x");
}

static void row_left_open(struct report *report)
{
	report_list(report, "x");
	report_row(report);
	report_end(report);
}

static void key_twice(struct report *report)
{
	report_count(report, "x", 1);
	report_string(report, "x", "another");
}

static void duration_twice(struct report *report)
{
	report_duration(report, "x", 1);
	report_duration(report, "x", 2);
}

static void key_of_an_object_twice(struct report *report)
{
	report_object(report, "x");
	report_end(report);
	report_list(report, "x");
	report_end(report);
}

static void key_that_is_no_utf8(struct report *report)
{
	report_count(report, "\xff", 1);
}

static void no_key(struct report *report)
{
	report_string(report, NULL, "x");
}

static void no_key_for_a_duration(struct report *report)
{
	report_duration(report, NULL, 1);
}

static void calls_out_of_order_print_nothing_in_either_format(void **state)
{
	static void (*const cases[])(struct report *) = {
		end_too_often,       row_without_list,      row_in_row,     field_in_list,
		object_in_list,      object_left_open,      list_left_open, row_left_open,
		key_twice,           duration_twice,        no_key,         key_of_an_object_twice,
		key_that_is_no_utf8, no_key_for_a_duration,
	};

	(void)state;
	for (size_t i = 0; i < 2 * ARRAY_SIZE(cases); i++) {
		struct report *report = report_new(i % 2 ? REPORT_JSON : REPORT_TEXT);

		report_count(report, "before", 1);
		cases[i / 2](report);
		assert_fails_and_prints_nothing(report, -EINVAL);
	}
}

static void an_error_is_not_forgotten(void **state)
{
	struct report *report = report_new(REPORT_JSON);

	(void)state;
	report_end(report);
	report_count(report, "after", 1);
	report_duration(report, "later", 1);
	report_object(report, "x");
	report_end(report);
	report_list(report, "y");
	report_row(report);
	report_end(report);
	report_end(report);
	assert_fails_and_prints_nothing(report, -EINVAL);
}

static void tell_everything(struct report *report)
{
	report_string(report, "string", "x");
	report_count(report, "count", 1);
	report_real(report, "real", 1.5);
	report_flag(report, "flag", true);
	report_null(report, "null");
	report_duration(report, "duration", 1);
	report_object(report, "verdicts");
	report_object(report, "pass");
	report_count(report, "packets", 1);
	report_end(report);
	report_end(report);
	report_list(report, "list");
	report_row(report);
	report_count(report, "x", 1);
	report_end(report);
	report_end(report);
}

static void a_report_without_memory_takes_every_call(void **state)
{
	(void)state;
	tell_everything(NULL);
	assert_int_equal(report_print(NULL, stdout), -ENOMEM);
	report_free(NULL);
}

static unsigned int allocations_left;

static void *scarce_malloc(size_t size)
{
	if (!allocations_left)
		return NULL;
	allocations_left--;
	return malloc(size);
}

static int everything_printed(enum report_format format, char **ret_text)
{
	struct report *report = report_new(format);

	tell_everything(report);
	return report_printed(report, ret_text);
}

/* jansson's own allocations, each failing in turn until all succeed. */
static void wherever_memory_ends_nothing_is_printed(void **state)
{
	const enum report_format format = *(const enum report_format *)*state;
	unsigned int given;
	int err = -ENOMEM;
	char *whole;

	assert_int_equal(everything_printed(format, &whole), 0);
	json_set_alloc_funcs(scarce_malloc, free);
	for (given = 0; err && given < 10000; given++) {
		char *text;

		allocations_left = given;
		err = everything_printed(format, &text);
		assert_true(err == 0 || err == -ENOMEM);
		assert_string_equal(text, err ? "" : whole);
		free(text);
	}
	json_set_alloc_funcs(malloc, free);
	assert_int_equal(err, 0);
	assert_true(given > 20);
	free(whole);
}

static struct report *report_of_size(size_t size)
{
	struct report *report = report_new(REPORT_JSON);
	char *text = malloc(size);

	memset(text, 'x', size);
	text[size - 1] = '\0';
	report_string(report, "x", text);
	free(text);
	return report;
}

/* Found out by writing where it is more than stdio's buffer, by flushing where it is less. */
static void a_failure_to_write_is_returned(void **state)
{
	static const size_t sizes[] = {10, 1000000};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		struct report *report = report_of_size(sizes[i]);
		FILE *full = fopen("/dev/full", "w");
		FILE *unwritable = fopen("/dev/null", "r");

		assert_int_equal(report_print(report, full), -ENOSPC);
		assert_int_equal(report_print(report, unwritable), -EBADF);
		fclose(full);
		fclose(unwritable);
		report_free(report);
	}
}

static void a_reader_that_left_is_a_failure_to_write(void **state)
{
	struct report *report = report_of_size(10);
	int ends[2];
	FILE *out;

	(void)state;
	signal(SIGPIPE, SIG_IGN);
	assert_int_equal(pipe(ends), 0);
	close(ends[0]);
	out = fdopen(ends[1], "w");
	assert_int_equal(report_print(report, out), -EPIPE);
	fclose(out);
	report_free(report);
}

int main(void)
{
	static enum report_format text = REPORT_TEXT, json = REPORT_JSON;
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(calls_out_of_order_print_nothing_in_either_format),
		cmocka_unit_test(an_error_is_not_forgotten),
		cmocka_unit_test(a_report_without_memory_takes_every_call),
		{"wherever_memory_ends_no_json_is_printed", wherever_memory_ends_nothing_is_printed,
		 NULL, NULL, &json},
		{"wherever_memory_ends_no_text_is_printed", wherever_memory_ends_nothing_is_printed,
		 NULL, NULL, &text},
		cmocka_unit_test(a_failure_to_write_is_returned),
		cmocka_unit_test(a_reader_that_left_is_a_failure_to_write),
	};

	return cmocka_run_group_tests_name("report errors", tests, NULL, NULL);
}
