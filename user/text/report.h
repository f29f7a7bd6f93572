/* SPDX-License-Identifier: MIT */
/* What a command has to say, told field by field once and printed as JSON, text or Markdown. Keys
 * are JSON keys (snake_case). A report starts as an object; fields go into the object opened
 * last.
 *
 * No call fails on the spot: the first error (no memory, or -EINVAL for calls out of order, a key
 * given twice in one object, or one that is not UTF-8) is remembered, and report_print returns it
 * and prints nothing. A NULL report is one that had no memory. */
#ifndef WEIR_REPORT_H
#define WEIR_REPORT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum report_format { REPORT_TEXT, REPORT_JSON, REPORT_MARKDOWN };

struct report;

/* NULL without memory, which every function here takes. */
struct report *report_new(enum report_format format);
void report_free(struct report *report);

/* Bytes that are not UTF-8 become '?'. NULL is as report_null. */
void report_string(struct report *report, const char *key, const char *value);
/* Exact up to 2^63 - 1, which larger ones are shown as. In text, thousands are grouped except
 * under keys that end in _id, and one under a key that ends in _ns is a duration. */
void report_count(struct report *report, const char *key, uint64_t value);
/* JSON: as many digits as bring it back exactly. Text: three decimals at most. Not a number and
 * infinities are as report_null. */
void report_real(struct report *report, const char *key, double value);
void report_flag(struct report *report, const char *key, bool value);
void report_null(struct report *report, const char *key);
/* JSON: nanoseconds under the key with _ns appended. Text: rounded, such as 1.2s. */
void report_duration(struct report *report, const char *key, uint64_t ns);

/* Each is closed by report_end. A list holds rows, which are objects. */
void report_object(struct report *report, const char *key);
void report_list(struct report *report, const char *key);
void report_row(struct report *report);
void report_end(struct report *report);

/* Prints one JSON document in one line, text (report_text.h) or Markdown (report_markdown.h, which
 * has no form for some), and flushes. 0, or -errno of the report or of writing; then the report
 * itself is printed whole or not at all, up to where writing failed. Objects still open are
 * -EINVAL. */
int report_print(const struct report *report, FILE *out);

#endif
