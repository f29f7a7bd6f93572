/* SPDX-License-Identifier: MIT */
#include "text/report_text.h"

#include <stdbool.h>
#include <string.h>

#include "text/report_cell.h"
#include "text/report_table.h"

#define INDENT_WIDTH 2

struct page {
	FILE *out;
	size_t indent;
	int err; /* the first */
};

static void object_write(struct page *page, json_t *object, const char *skipped_key);

static bool has_keys_of(json_t *object, json_t *other)
{
	const char *key;
	json_t *member;

	json_object_foreach(other, key, member)
	{
		if (!json_object_get(object, key))
			return false;
	}
	return json_object_size(object) == json_object_size(other);
}

static bool object_is_table(json_t *object)
{
	json_t *first = json_object_iter_value(json_object_iter(object));
	const char *name;
	json_t *member;

	json_object_foreach(object, name, member)
	{
		if (!report_is_flat(member) || !json_object_size(member) ||
		    !has_keys_of(member, first))
			return false;
	}
	return first;
}

static void indent_write(const struct page *page)
{
	fprintf(page->out, "%*s", (int)page->indent, "");
}

static void label_write(const struct page *page, const char *key)
{
	struct cell label;

	cell_of_label(&label, key);
	indent_write(page);
	cell_write(&label, page->out);
	fputc(':', page->out);
}

static void scalar_write(const struct page *page, const char *key, const json_t *value)
{
	struct cell cell;

	cell_of_value(&cell, key, value);
	label_write(page, key);
	fputc(' ', page->out);
	cell_write(&cell, page->out);
	fputc('\n', page->out);
}

static void table_write(struct page *page, const char *key, const json_t *objects)
{
	int err = report_table_write(key, objects, page->indent, page->out);

	if (!page->err)
		page->err = err;
}

/* The key of the object's first member, if that is a scalar; else NULL. */
static const char *heading_key_of(json_t *object)
{
	void *first = json_object_iter(object);

	return first && !report_is_container(json_object_iter_value(first))
		       ? json_object_iter_key(first)
		       : NULL;
}

static void item_write(struct page *page, json_t *item, size_t number)
{
	const char *heading_key = heading_key_of(item);
	struct cell heading;

	indent_write(page);
	if (heading_key) {
		cell_of_value(&heading, heading_key, json_object_get(item, heading_key));
		cell_write(&heading, page->out);
	} else {
		fprintf(page->out, "%zu", number);
	}
	fputs(":\n", page->out);
	page->indent += INDENT_WIDTH;
	object_write(page, item, heading_key);
	page->indent -= INDENT_WIDTH;
}

static void items_write(struct page *page, const json_t *list)
{
	for (size_t i = 0; i < json_array_size(list); i++) {
		if (i)
			fputc('\n', page->out);
		item_write(page, json_array_get(list, i), i + 1);
	}
}

static void headed_write(struct page *page, const char *key, json_t *value)
{
	label_write(page, key);
	if (!json_array_size(value) && !json_object_size(value)) {
		fputs(" none\n", page->out);
		return;
	}
	fputc('\n', page->out);
	page->indent += INDENT_WIDTH;
	if (json_is_array(value))
		items_write(page, value);
	else
		object_write(page, value, NULL);
	page->indent -= INDENT_WIDTH;
}

static void member_write(struct page *page, const char *key, json_t *value)
{
	if (!report_is_container(value))
		scalar_write(page, key, value);
	else if (object_is_table(value) || report_list_is_table(value))
		table_write(page, key, value);
	else
		headed_write(page, key, value);
}

/* skipped_key may be NULL: none is. */
static void object_write(struct page *page, json_t *object, const char *skipped_key)
{
	const json_t *before = NULL;
	const char *key;
	json_t *member;

	json_object_foreach(object, key, member)
	{
		if (skipped_key && !strcmp(key, skipped_key))
			continue;
		if (before && (report_is_container(before) || report_is_container(member)))
			fputc('\n', page->out);
		member_write(page, key, member);
		before = member;
	}
}

int report_text_write(const json_t *root, FILE *out)
{
	struct page page = {.out = out};

	object_write(&page, (json_t *)root, NULL);
	return page.err;
}
