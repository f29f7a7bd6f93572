/* SPDX-License-Identifier: MIT */
#include "text/report_markdown.h"

#include <errno.h>
#include <stdbool.h>

#include "text/report_cell.h"
#include "text/report_table.h"

static void paragraph_write(const char *key, const json_t *value, FILE *out)
{
	struct cell cell;

	cell_of_value(&cell, key, value);
	cell_write_markdown(&cell, out);
	fputc('\n', out);
}

static bool is_nothing(const json_t *value)
{
	return json_is_null(value) || (json_is_array(value) && !json_array_size(value));
}

int report_markdown_write(const json_t *root, FILE *out)
{
	bool is_first = true;
	const char *key;
	json_t *member;
	int err = 0;

	json_object_foreach((json_t *)root, key, member)
	{
		if (is_nothing(member))
			continue;
		if (!is_first)
			fputc('\n', out);
		is_first = false;
		if (!report_is_container(member))
			paragraph_write(key, member, out);
		else if (report_list_is_table(member))
			err = report_table_write_markdown(member, out);
		else
			err = -EINVAL;
		if (err)
			return err;
	}
	return 0;
}
