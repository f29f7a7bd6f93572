/* SPDX-License-Identifier: MIT */
#include "text/report_table.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>

#include "text/report_cell.h"

#define GAP_WIDTH 2

struct row {
	const char *name; /* NULL in a list */
	const json_t *fields;
};

struct column {
	const char *label;
	const char *key; /* NULL: the rows' names */
	size_t width;
	bool is_number;
};

struct table {
	size_t indent;
	size_t row_count;
	size_t column_count;
	struct row *rows;
	struct column *columns;
	json_t *keys; /* the columns', which it holds; its values are null */
};

bool report_is_container(const json_t *value)
{
	return json_is_object(value) || json_is_array(value);
}

bool report_is_flat(const json_t *value)
{
	const char *key;
	json_t *member;

	json_object_foreach((json_t *)value, key, member)
	{
		if (report_is_container(member))
			return false;
	}
	return json_is_object(value);
}

bool report_list_is_table(const json_t *value)
{
	for (size_t i = 0; i < json_array_size(value); i++) {
		if (!report_is_flat(json_array_get(value, i)))
			return false;
	}
	return json_array_size(value);
}

/* The label for row NULL. */
static void cell_of_row(struct cell *ret, const struct column *column, const struct row *row)
{
	if (!row)
		cell_of_label(ret, column->label);
	else if (column->key)
		cell_of_value(ret, column->key, json_object_get(row->fields, column->key));
	else
		cell_of_text(ret, row->name);
}

static void rows_of_list(struct table *table, const json_t *list)
{
	for (size_t i = 0; i < json_array_size(list); i++)
		table->rows[table->row_count++].fields = json_array_get(list, i);
}

static void rows_of_object(struct table *table, json_t *object)
{
	const char *name;
	json_t *fields;

	json_object_foreach(object, name, fields)
	{
		table->rows[table->row_count].name = name;
		table->rows[table->row_count++].fields = fields;
	}
}

static int rows_collect(struct table *table, const json_t *objects)
{
	/* One of the two sizes is 0. */
	size_t count = json_array_size(objects) + json_object_size(objects);

	table->rows = calloc(count + 1, sizeof(*table->rows));
	if (!table->rows)
		return -ENOMEM;
	rows_of_list(table, objects);
	rows_of_object(table, (json_t *)objects);
	return 0;
}

static int keys_add(json_t *keys, json_t *fields)
{
	const char *key;
	json_t *value;

	json_object_foreach(fields, key, value)
	{
		if (!json_object_get(keys, key) && json_object_set_new(keys, key, json_null()))
			return -ENOMEM;
	}
	return 0;
}

/* The keys of all rows, in the order in which they first occur. */
static int keys_collect(struct table *table)
{
	int err = 0;

	table->keys = json_object();
	if (!table->keys)
		return -ENOMEM;
	for (size_t i = 0; !err && i < table->row_count; i++)
		err = keys_add(table->keys, (json_t *)table->rows[i].fields);
	return err;
}

static void column_measure(struct column *column, const struct table *table)
{
	bool has[] = {[CELL_MISSING] = false, [CELL_NUMBER] = false, [CELL_TEXT] = false};
	struct cell cell;

	cell_of_row(&cell, column, NULL);
	column->width = cell_width(&cell);
	for (size_t i = 0; i < table->row_count; i++) {
		cell_of_row(&cell, column, &table->rows[i]);
		has[cell.kind] = true;
		if (cell_width(&cell) > column->width)
			column->width = cell_width(&cell);
	}
	column->is_number = has[CELL_NUMBER] && !has[CELL_TEXT];
}

static void column_add(struct table *table, const char *label, const char *key)
{
	struct column *column = &table->columns[table->column_count++];

	column->label = label;
	column->key = key;
	column_measure(column, table);
}

static int columns_collect(struct table *table, const char *name)
{
	const char *key;
	json_t *value;

	if (keys_collect(table))
		return -ENOMEM;
	table->columns = calloc(json_object_size(table->keys) + 1, sizeof(*table->columns));
	if (!table->columns)
		return -ENOMEM;
	if (table->row_count && table->rows[0].name)
		column_add(table, name, NULL);
	json_object_foreach(table->keys, key, value)
	{
		column_add(table, key, key);
	}
	return 0;
}

/* The labels for row NULL. Padding waits for the next cell: a line has no spaces at its end. */
static void line_write(const struct table *table, const struct row *row, FILE *out)
{
	size_t gap = table->indent;

	for (size_t i = 0; i < table->column_count; i++) {
		const struct column *column = &table->columns[i];
		struct cell cell;
		size_t padding;

		cell_of_row(&cell, column, row);
		padding = column->width - cell_width(&cell);
		fprintf(out, "%*s", (int)(gap + (column->is_number ? padding : 0)), "");
		cell_write(&cell, out);
		gap = GAP_WIDTH + (column->is_number ? 0 : padding);
	}
	fputc('\n', out);
}

static int table_collect(struct table *table, const char *name, const json_t *objects)
{
	int err = rows_collect(table, objects);

	return err ? err : columns_collect(table, name);
}

static void table_free(struct table *table)
{
	json_decref(table->keys);
	free(table->columns);
	free(table->rows);
}

int report_table_write(const char *name, const json_t *objects, size_t indent, FILE *out)
{
	struct table table = {.indent = indent};
	int err = table_collect(&table, name, objects);

	if (!err) {
		line_write(&table, NULL, out);
		for (size_t i = 0; i < table.row_count; i++)
			line_write(&table, &table.rows[i], out);
	}
	table_free(&table);
	return err;
}

/* The labels for row NULL. */
static void markdown_line_write(const struct table *table, const struct row *row, FILE *out)
{
	for (size_t i = 0; i < table->column_count; i++) {
		struct cell cell;

		cell_of_row(&cell, &table->columns[i], row);
		if (!row)
			cell.own[0] = (char)toupper((unsigned char)cell.own[0]);
		fputs("| ", out);
		cell_write_markdown(&cell, out);
		fputc(' ', out);
	}
	fputs("|\n", out);
}

static void markdown_rule_write(const struct table *table, FILE *out)
{
	for (size_t i = 0; i < table->column_count; i++)
		fputs(table->columns[i].is_number ? "| ---: " : "| --- ", out);
	fputs("|\n", out);
}

int report_table_write_markdown(const json_t *objects, FILE *out)
{
	struct table table = {.indent = 0};
	int err = table_collect(&table, "", objects);

	if (!err) {
		markdown_line_write(&table, NULL, out);
		markdown_rule_write(&table, out);
		for (size_t i = 0; i < table.row_count; i++)
			markdown_line_write(&table, &table.rows[i], out);
	}
	table_free(&table);
	return err;
}
