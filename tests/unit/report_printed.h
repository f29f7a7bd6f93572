/* SPDX-License-Identifier: MIT */
/* What a report prints, for comparison. */
#ifndef WEIR_REPORT_PRINTED_H
#define WEIR_REPORT_PRINTED_H

#include <stdio.h>
#include <stdlib.h>

#include "text/report.h"

/* Prints and frees the report, and returns what report_print did. *ret_text is to be freed. */
static inline int report_printed(struct report *report, char **ret_text)
{
	size_t size;
	FILE *stream = open_memstream(ret_text, &size);
	int err = report_print(report, stream);

	fclose(stream);
	report_free(report);
	return err;
}

static inline void assert_prints(struct report *report, const char *expected)
{
	char *text;

	assert_int_equal(report_printed(report, &text), 0);
	assert_string_equal(text, expected);
	free(text);
}

static inline void assert_fails_and_prints_nothing(struct report *report, int err)
{
	char *text;

	assert_int_equal(report_printed(report, &text), err);
	assert_string_equal(text, "");
	free(text);
}

#endif
