/* SPDX-License-Identifier: MIT */
#include "http/form_field.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include <jansson.h>

#define INTEGER_TEXT_SIZE 24 /* a sign, 19 digits, and its end */
#define JSON_SUFFIX       "+json"
#define BYTE_ORDER_MARK   "\xef\xbb\xbf"

/* A run of bytes in a header or a body. */
struct run {
	const char *bytes;
	size_t size;
};

static bool is_blank(char byte)
{
	return byte == ' ' || (byte >= '\t' && byte <= '\r');
}

static struct run run_trim(struct run run)
{
	while (run.size && is_blank(run.bytes[0])) {
		run.bytes++;
		run.size--;
	}
	while (run.size && is_blank(run.bytes[run.size - 1]))
		run.size--;
	return run;
}

static bool run_begins(const struct run *run, const char *text)
{
	size_t size = strlen(text);

	return run->size >= size && !strncasecmp(run->bytes, text, size);
}

static bool run_equals(const struct run *run, const char *text)
{
	return run->size == strlen(text) && run_begins(run, text);
}

/* Takes what is before the separator off a run, and the separator with it. */
static struct run run_split(struct run *run, char separator)
{
	const char *end = run->size ? memchr(run->bytes, separator, run->size) : NULL;
	struct run before = *run;

	if (!end) {
		run->size = 0;
		return before;
	}
	before.size = (size_t)(end - run->bytes);
	run->bytes = end + 1;
	run->size -= before.size + 1;
	return before;
}

/* The prefix is the longer of the two, and they cannot overlap. */
static bool is_json_suffixed(struct run type)
{
	size_t suffix_size = strlen(JSON_SUFFIX);

	if (!run_begins(&type, "application/"))
		return false;
	type.bytes += type.size - suffix_size;
	type.size = suffix_size;
	return run_begins(&type, JSON_SUFFIX);
}

enum form_kind form_kind_of(const char *content_type, size_t size)
{
	struct run rest = {content_type, size};
	struct run type = run_trim(run_split(&rest, ';'));

	if (run_equals(&type, "application/x-www-form-urlencoded"))
		return FORM_URLENCODED;
	if (run_equals(&type, "application/json") || is_json_suffixed(type))
		return FORM_JSON;
	return FORM_OTHER;
}

/* Of a hexadecimal digit, or -EINVAL. */
static int digit_value(char digit)
{
	char lower = (char)(digit | 0x20);

	if (digit >= '0' && digit <= '9')
		return digit - '0';
	if (lower >= 'a' && lower <= 'f')
		return lower - 'a' + 10;
	return -EINVAL;
}

/* Takes one decoded byte off a run that is not empty. A '%' without two digits stands for itself,
 * as for every parser that does not refuse it. */
static char byte_decode(struct run *run)
{
	char byte = run->bytes[0];
	int high = -EINVAL, low = -EINVAL;

	if (byte == '%' && run->size >= 3) {
		high = digit_value(run->bytes[1]);
		low = digit_value(run->bytes[2]);
	}
	if (high >= 0 && low >= 0) {
		run->bytes += 3;
		run->size -= 3;
		return (char)(high << 4 | low);
	}
	run->bytes++;
	run->size--;
	return byte == '+' ? ' ' : byte;
}

static bool decodes_to(struct run encoded, const char *name)
{
	while (encoded.size && *name) {
		if (byte_decode(&encoded) != *name++)
			return false;
	}
	return !encoded.size && !*name;
}

static bool decode(struct run encoded, char *buf, size_t buf_size, size_t *ret_size)
{
	size_t size = 0;

	while (encoded.size) {
		char byte = byte_decode(&encoded);

		if (!byte || size == buf_size)
			return false;
		buf[size++] = byte;
	}
	*ret_size = size;
	return true;
}

/* The encoded value of the only pair of that name. */
static bool pair_find(struct run body, const char *name, struct run *ret)
{
	struct run found = {0};
	bool is_found = false;

	while (body.size) {
		struct run value = run_split(&body, '&');
		struct run pair_name = run_split(&value, '=');

		if (!decodes_to(pair_name, name))
			continue;
		if (is_found)
			return false;
		is_found = true;
		found = value;
	}
	*ret = found;
	return found.size;
}

static bool urlencoded_find(struct run body, const char *name, char *buf, size_t buf_size,
			    size_t *ret_size)
{
	struct run value;

	return pair_find(body, name, &value) && decode(value, buf, buf_size, ret_size);
}

static bool copy(struct run value, char *buf, size_t buf_size, size_t *ret_size)
{
	if (!value.size || value.size > buf_size || memchr(value.bytes, '\0', value.size))
		return false;
	memcpy(buf, value.bytes, value.size);
	*ret_size = value.size;
	return true;
}

static bool member_copy(const json_t *member, char *buf, size_t buf_size, size_t *ret_size)
{
	char text[INTEGER_TEXT_SIZE];
	struct run value = {text, 0};

	if (json_is_string(member))
		value = (struct run){json_string_value(member), json_string_length(member)};
	else if (json_is_integer(member))
		value.size = (size_t)snprintf(text, sizeof(text), "%" JSON_INTEGER_FORMAT,
					      json_integer_value(member));
	return copy(value, buf, buf_size, ret_size);
}

/* NUL is allowed, or one in any other member would hide the field. */
static bool json_find(struct run body, const char *name, char *buf, size_t buf_size,
		      size_t *ret_size)
{
	size_t mark_size = strlen(BYTE_ORDER_MARK);
	json_t *document;
	bool is_found;

	if (body.size >= mark_size && !memcmp(body.bytes, BYTE_ORDER_MARK, mark_size)) {
		body.bytes += mark_size;
		body.size -= mark_size;
	}
	document = json_loadb(body.bytes, body.size, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, NULL);
	is_found = member_copy(json_object_get(document, name), buf, buf_size, ret_size);
	json_decref(document);
	return is_found;
}

bool form_field_find(enum form_kind kind, const char *body, size_t size, const char *name,
		     char *buf, size_t buf_size, size_t *ret_size)
{
	struct run run = {body, size};

	switch (kind) {
	case FORM_URLENCODED:
		return urlencoded_find(run, name, buf, buf_size, ret_size);
	case FORM_JSON:
		return json_find(run, name, buf, buf_size, ret_size);
	case FORM_OTHER:
		break;
	}
	return false;
}

static char lowercase(char byte)
{
	return byte >= 'A' && byte <= 'Z' ? (char)(byte | 0x20) : byte;
}

void form_value_fold(char *value, size_t *size)
{
	struct run run = run_trim((struct run){value, *size});

	for (size_t i = 0; i < run.size; i++)
		value[i] = lowercase(run.bytes[i]);
	*size = run.size;
}
