/* SPDX-License-Identifier: MIT */
/* Objects that hold only scalars, as a table with a row for each. */
#ifndef WEIR_REPORT_TABLE_H
#define WEIR_REPORT_TABLE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Whether it is an object or a list. */
bool report_is_container(const json_t *value);

/* Whether it is an object that has no containers. */
bool report_is_flat(const json_t *value);

/* Whether it is a list of flat objects, of one at least. */
bool report_list_is_table(const json_t *value);

/* A list of objects, or an object of objects: then the first column is their names, under name.
 * What a row lacks is "-". 0 or -ENOMEM. */
int report_table_write(const char *name, const json_t *objects, size_t indent, FILE *out);

/* A list of objects in GitHub's Markdown, labels with a capital. 0 or -ENOMEM. */
int report_table_write_markdown(const json_t *objects, FILE *out);

#endif
