/* SPDX-License-Identifier: MIT */
/* A report's tree as text for people:
 *
 *   - an object's scalars are lines "key: value", with the keys' '_' as spaces;
 *   - an object whose members are all objects with the same scalars is a table, a row for each;
 *   - a list of flat objects is a table, a column for each key;
 *   - a list of objects that hold others is a heading line for each, and what it holds below;
 *   - any other object is a heading and what it holds below, indented.
 *
 * Numbers stand to the right in tables. null and "" are "-", control characters "?". */
#ifndef WEIR_REPORT_TEXT_H
#define WEIR_REPORT_TEXT_H

#include <jansson.h>
#include <stdio.h>

/* Errors are those of writing to out: see ferror. */
void report_text_write(const json_t *root, FILE *out);

#endif
