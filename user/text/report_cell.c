/* SPDX-License-Identifier: MIT */
#include "text/report_cell.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "text/quantity.h"
#include "text/utf8.h"

/* From here on a double's whole part has more digits than it knows. */
#define REAL_MAX 1e15

#define MARKDOWN_MARKS "\\`*_[]<>|~&"

/* Between two dollars GitHub sees mathematics, whatever is before them: its documentation has each
 * in an element of its own. One by itself is only a dollar. */
#define MARKDOWN_DOLLAR "<span>$</span>"

static bool key_ends_in(const char *key, const char *end)
{
	size_t length = strlen(key);
	size_t end_length = strlen(end);

	return length > end_length && !strcmp(key + length - end_length, end);
}

/* Copies a number with ',' between the thousands of its whole part. */
static void thousands_group(char buf[CELL_TEXT_SIZE], const char *number)
{
	if (*number == '-')
		*buf++ = *number++;
	for (size_t left = strspn(number, "0123456789"); left; left--) {
		*buf++ = *number++;
		if (left > 1 && left % 3 == 1)
			*buf++ = ',';
	}
	strcpy(buf, number);
}

static void integer_format(char buf[CELL_TEXT_SIZE], const char *key, json_int_t value)
{
	char digits[32];

	snprintf(digits, sizeof(digits), "%" JSON_INTEGER_FORMAT, value);
	if (value >= 0 && key_ends_in(key, "_ns"))
		duration_format_rounded(buf, CELL_TEXT_SIZE, (uint64_t)value);
	else if (key_ends_in(key, "_id"))
		strcpy(buf, digits);
	else
		thousands_group(buf, digits);
}

/* Three decimals at most, without zeros at the end. */
static void real_format(char buf[CELL_TEXT_SIZE], double value)
{
	char number[32];
	size_t length;

	if (fabs(value) >= REAL_MAX) {
		snprintf(buf, CELL_TEXT_SIZE, "%g", value);
		return;
	}
	length = (size_t)snprintf(number, sizeof(number), "%.3f", value);
	while (number[length - 1] == '0')
		length--;
	if (number[length - 1] == '.')
		length--;
	number[length] = '\0';
	thousands_group(buf, strcmp(number, "-0") ? number : "0");
}

static void number_format(char buf[CELL_TEXT_SIZE], const char *key, const json_t *value)
{
	if (json_is_integer(value))
		integer_format(buf, key, json_integer_value(value));
	else
		real_format(buf, json_real_value(value));
}

void cell_of_value(struct cell *ret, const char *key, const json_t *value)
{
	if (json_is_number(value)) {
		number_format(ret->own, key, value);
		ret->text = ret->own;
		ret->kind = CELL_NUMBER;
	} else if (json_is_boolean(value)) {
		cell_of_text(ret, json_is_true(value) ? "yes" : "no");
	} else {
		cell_of_text(ret, json_is_string(value) ? json_string_value(value) : "");
	}
}

void cell_of_text(struct cell *ret, const char *text)
{
	ret->text = *text ? text : "-";
	ret->kind = *text ? CELL_TEXT : CELL_MISSING;
}

static void label_format(char buf[CELL_TEXT_SIZE], const char *key)
{
	int length = (int)strlen(key) - (key_ends_in(key, "_ns") ? 3 : 0);

	snprintf(buf, CELL_TEXT_SIZE, "%.*s", length, key);
	for (char *underline = buf; (underline = strchr(underline, '_'));)
		*underline = ' ';
}

void cell_of_label(struct cell *ret, const char *key)
{
	label_format(ret->own, key);
	cell_of_text(ret, ret->own);
}

/* C0, DEL, and C1 (U+0080 to U+009F), which some terminals obey in UTF-8 too. */
static bool is_control(const unsigned char *character)
{
	return character[0] < ' ' || character[0] == 0x7f ||
	       (character[0] == 0xc2 && character[1] < 0xa0);
}

/* What ends a line (U+2028, U+2029), or has the rest of it read in another order (U+202A to U+202E,
 * U+2066 to U+2069): a row would seem to tell something else. */
static bool is_line_control(const unsigned char *character)
{
	return character[0] == 0xe2 &&
	       ((character[1] == 0x80 && character[2] >= 0xa8 && character[2] <= 0xae) ||
		(character[1] == 0x81 && character[2] >= 0xa6 && character[2] <= 0xa9));
}

/* A byte of no character, which could be a C1 control by itself, counts as one. */
static size_t step_size(const char *text)
{
	size_t size = utf8_character_size(text);

	return size ? size : 1;
}

size_t cell_width(const struct cell *cell)
{
	size_t width = 0;

	for (const char *at = cell->text; *at; at += step_size(at))
		width++;
	return width;
}

static void character_write(const char *at, FILE *out)
{
	const unsigned char *character = (const unsigned char *)at;

	if (is_control(character) || is_line_control(character) || !utf8_character_size(at))
		fputc('?', out);
	else
		fwrite(at, 1, step_size(at), out);
}

void cell_write(const struct cell *cell, FILE *out)
{
	for (const char *at = cell->text; *at; at += step_size(at))
		character_write(at, out);
}

void cell_write_markdown(const struct cell *cell, FILE *out)
{
	const char *dollar = strchr(cell->text, '$');
	bool is_mathematics = dollar && strchr(dollar + 1, '$');

	for (const char *at = cell->text; *at; at += step_size(at)) {
		if (*at == '$' && is_mathematics) {
			fputs(MARKDOWN_DOLLAR, out);
			continue;
		}
		if (strchr(MARKDOWN_MARKS, *at))
			fputc('\\', out);
		character_write(at, out);
	}
}
