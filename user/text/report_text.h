/* SPDX-License-Identifier: MIT */
/* A report's tree as text for people:
 *
 *   - an object's scalars are lines "key: value", with the keys' '_' as spaces;
 *   - an object whose members are all objects with the same scalars is a table, a row for each,
 *     the members' names in the first column, under the object's own;
 *   - a list of flat objects is a table, a column for each key;
 *   - a list of objects that hold others is a heading, and below it for each a heading that is
 *     its first scalar (or its number), and what else it holds;
 *   - any other object is a heading and what it holds below, indented;
 *   - an object or list of nothing is "key: none".
 *
 * Numbers stand to the right in tables. null and "" are "-", control characters "?". An empty
 * line parts a table, or what is under a heading, from what is beside it. */
#ifndef WEIR_REPORT_TEXT_H
#define WEIR_REPORT_TEXT_H

#include <jansson.h>
#include <stdio.h>

/* 0 or -ENOMEM. Errors of writing to out: see ferror. */
int report_text_write(const json_t *root, FILE *out);

#endif
