/* SPDX-License-Identifier: MIT */
#include "http/form_field.h"

#include <stdio.h>
#include <string.h>

#include <jansson.h>

#include "http/run.h"

#define INTEGER_TEXT_SIZE 24 /* a sign, 19 digits, and its end */
#define JSON_PREFIX       "application/"
#define JSON_SUFFIX       "+json"
#define BYTE_ORDER_MARK   "\xef\xbb\xbf"

static bool is_blank(char byte)
{
	return byte == ' ' || (byte >= '\t' && byte <= '\r');
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
	*run = run_skip(*run, before.size + 1);
	return before;
}

/* The prefix is the longer of the two, and they cannot overlap. */
static bool is_json_suffixed(struct run type)
{
	struct run prefix = {type.bytes, strlen(JSON_PREFIX)};

	return type.size >= prefix.size && run_is_folded(prefix, JSON_PREFIX) &&
	       run_is_folded(run_skip(type, type.size - strlen(JSON_SUFFIX)), JSON_SUFFIX);
}

enum form_kind form_kind_of(const char *content_type, size_t size)
{
	struct run rest = {content_type, size};
	struct run type = run_trim(run_split(&rest, ';'), is_blank);

	if (run_is_folded(type, "application/x-www-form-urlencoded"))
		return FORM_URLENCODED;
	if (run_is_folded(type, "application/json") || is_json_suffixed(type))
		return FORM_JSON;
	return FORM_OTHER;
}

static char form_byte_decode(struct run *encoded)
{
	bool is_plus = encoded->bytes[0] == '+';
	char byte = run_decode(encoded);

	return is_plus ? ' ' : byte;
}

static bool decodes_to(struct run encoded, const char *name)
{
	while (encoded.size && *name) {
		if (form_byte_decode(&encoded) != *name++)
			return false;
	}
	return !encoded.size && !*name;
}

static bool decode(struct run encoded, char *buf, size_t buf_size, size_t *ret_size)
{
	size_t size = 0;

	while (encoded.size) {
		char byte = form_byte_decode(&encoded);

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

	if (body.size >= mark_size && !memcmp(body.bytes, BYTE_ORDER_MARK, mark_size))
		body = run_skip(body, mark_size);
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
	struct run run = run_trim((struct run){value, *size}, is_blank);

	for (size_t i = 0; i < run.size; i++)
		value[i] = lowercase(run.bytes[i]);
	*size = run.size;
}
