/* SPDX-License-Identifier: MIT */
#include "text/report.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "text/report_markdown.h"
#include "text/report_text.h"
#include "text/utf8.h"

/* Text derives its forms from the keys of the one tree: see report_cell.h. */
struct report {
	enum report_format format;
	int err; /* the first, 0 or -errno */
	int real_digits;
	json_t *root;
	json_t *open; /* an array of what is open, the root first */
};

struct report *report_new(enum report_format format)
{
	struct report *report = calloc(1, sizeof(*report));

	if (!report)
		return NULL;
	report->format = format;
	report->real_digits = 15;
	report->root = json_object();
	report->open = json_array();
	if (!report->root || json_array_append(report->open, report->root)) {
		report_free(report);
		return NULL;
	}
	return report;
}

void report_free(struct report *report)
{
	if (!report)
		return;
	json_decref(report->open);
	json_decref(report->root);
	free(report);
}

static json_t *innermost(const struct report *report)
{
	return json_array_get(report->open, json_array_size(report->open) - 1);
}

static bool key_is_free(const json_t *object, const char *key)
{
	return key && utf8_is_valid(key) && !json_object_get(object, key);
}

/* Takes the value, whatever becomes of it; NULL is one there was no memory for. */
static void field_add(struct report *report, const char *key, json_t *value)
{
	json_t *object;

	if (!report || report->err) {
		json_decref(value);
		return;
	}
	object = innermost(report);
	if (!json_is_object(object) || !key_is_free(object, key)) {
		report->err = -EINVAL;
		json_decref(value);
	} else if (json_object_set_new(object, key, value)) {
		report->err = -ENOMEM;
	}
}

void report_string(struct report *report, const char *key, const char *value)
{
	char *valid;

	if (!value) {
		report_null(report, key);
		return;
	}
	valid = utf8_make_valid(value);
	field_add(report, key, valid ? json_string(valid) : NULL);
	free(valid);
}

static json_t *count_new(uint64_t value)
{
	return json_integer(value > INT64_MAX ? INT64_MAX : (json_int_t)value);
}

void report_count(struct report *report, const char *key, uint64_t value)
{
	field_add(report, key, count_new(value));
}

/* How many digits bring the value back exactly. 15 (DBL_DIG) bring back what was written with so
 * few, 17 everything. */
static int real_digits(double value)
{
	char text[32];
	int digits = 15;

	for (; digits < 17; digits++) {
		snprintf(text, sizeof(text), "%.*g", digits, value);
		if (strtod(text, NULL) == value)
			break;
	}
	return digits;
}

void report_real(struct report *report, const char *key, double value)
{
	if (!isfinite(value)) {
		report_null(report, key);
		return;
	}
	if (report && real_digits(value) > report->real_digits)
		report->real_digits = real_digits(value);
	field_add(report, key, json_real(value));
}

void report_flag(struct report *report, const char *key, bool value)
{
	field_add(report, key, json_boolean(value));
}

void report_null(struct report *report, const char *key)
{
	field_add(report, key, json_null());
}

void report_duration(struct report *report, const char *key, uint64_t ns)
{
	char *key_ns = NULL;

	if (key && asprintf(&key_ns, "%s_ns", key) < 0) {
		if (report && !report->err)
			report->err = -ENOMEM;
		return;
	}
	field_add(report, key_ns, count_new(ns));
	free(key_ns);
}

static void container_open(struct report *report, json_t *container)
{
	if (!report->err && json_array_append(report->open, container))
		report->err = -ENOMEM;
}

void report_object(struct report *report, const char *key)
{
	if (!report)
		return;
	field_add(report, key, json_object());
	if (!report->err)
		container_open(report, json_object_get(innermost(report), key));
}

void report_list(struct report *report, const char *key)
{
	if (!report)
		return;
	field_add(report, key, json_array());
	if (!report->err)
		container_open(report, json_object_get(innermost(report), key));
}

void report_row(struct report *report)
{
	json_t *list;

	if (!report || report->err)
		return;
	list = innermost(report);
	if (!json_is_array(list))
		report->err = -EINVAL;
	else if (json_array_append_new(list, json_object()))
		report->err = -ENOMEM;
	else
		container_open(report, json_array_get(list, json_array_size(list) - 1));
}

void report_end(struct report *report)
{
	size_t open;

	if (!report || report->err)
		return;
	open = json_array_size(report->open);
	if (open < 2)
		report->err = -EINVAL;
	else if (json_array_remove(report->open, open - 1))
		report->err = -ENOMEM;
}

static char *json_render(const struct report *report)
{
	size_t flags = JSON_COMPACT | JSON_REAL_PRECISION(report->real_digits);
	char *line = json_dumps(report->root, flags);
	char *document = NULL;

	if (line && asprintf(&document, "%s\n", line) < 0)
		document = NULL;
	free(line);
	return document;
}

/* Text by a writer of the tree. 0 or -errno. */
static int stream_render(const struct report *report, char **ret,
			 int (*write)(const json_t *root, FILE *out))
{
	char *text = NULL;
	size_t size;
	FILE *stream = open_memstream(&text, &size);
	int err;

	if (!stream)
		return -ENOMEM;
	err = write(report->root, stream);
	if (ferror(stream) | fclose(stream) && !err)
		err = -ENOMEM;
	if (err)
		free(text);
	else
		*ret = text;
	return err;
}

static int render(const struct report *report, char **ret)
{
	switch (report->format) {
	case REPORT_TEXT:
		return stream_render(report, ret, report_text_write);
	case REPORT_MARKDOWN:
		return stream_render(report, ret, report_markdown_write);
	case REPORT_JSON:
		break;
	}
	*ret = json_render(report);
	return *ret ? 0 : -ENOMEM;
}

int report_print(const struct report *report, FILE *out)
{
	char *document = NULL;
	int err;

	if (!report)
		return -ENOMEM;
	if (report->err)
		return report->err;
	if (json_array_size(report->open) > 1)
		return -EINVAL;
	err = render(report, &document);
	if (err)
		return err;
	errno = 0;
	if (fputs(document, out) == EOF || fflush(out))
		err = errno ? -errno : -EIO;
	free(document);
	return err;
}
