/* SPDX-License-Identifier: MIT */
/* One value of a report as people read it. Its key says more than JSON's types can:
 *
 *   - a number under "x_ns" is a duration and belongs to "x";
 *   - a number under "x_id" is a name: its thousands are not grouped. */
#ifndef WEIR_REPORT_CELL_H
#define WEIR_REPORT_CELL_H

#include <jansson.h>
#include <stddef.h>
#include <stdio.h>

/* Holds a duration, and any label but a key of more than 63 bytes, which is cut. */
#define CELL_TEXT_SIZE 64

enum cell_kind { CELL_MISSING, CELL_NUMBER, CELL_TEXT };

struct cell {
	enum cell_kind kind;
	const char *text; /* the cell's own, or the value's */
	char own[CELL_TEXT_SIZE];
};

/* Flags are "yes" and "no". Missing are NULL, null and "": all "-". */
void cell_of_value(struct cell *ret, const char *key, const json_t *value);

/* Any text; it must outlive the cell. */
void cell_of_text(struct cell *ret, const char *text);

/* The key for people: '_' as spaces, without a duration's unit. */
void cell_of_label(struct cell *ret, const char *key);

/* In characters, as cell_write writes it. */
size_t cell_width(const struct cell *cell);

/* Control characters, which a terminal could obey, and bytes of no character are '?'. */
void cell_write(const struct cell *cell, FILE *out);

/* The same with a backslash before what Markdown would take for markup, GitHub's too. */
void cell_write_markdown(const struct cell *cell, FILE *out);

#endif
