/* SPDX-License-Identifier: MIT */
/* Bodies of any bytes: what is found in one is found again however it is written, and of two
 * nothing is. The first byte says which kind of body, the first line is the field's name. */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "http/form_field.h"
#include "required.h"

#define ESCAPED_SIZE 3 /* of one byte: %41 */

struct text {
	char *bytes;
	size_t size;
};

/* A field, and the body it is looked for in. */
struct form {
	enum form_kind kind;
	char *name;
	struct text body;
};

/* Of exactly that size, so that access beyond it is found. */
static struct text text_of(const void *bytes, size_t size)
{
	struct text text = {allocated(size), size};

	if (size)
		memcpy(text.bytes, bytes, size);
	return text;
}

static struct text joined(const struct text *left, const struct text *right)
{
	struct text text = {allocated(left->size + right->size), left->size + right->size};

	memcpy(text.bytes, left->bytes, left->size);
	memcpy(text.bytes + left->size, right->bytes, right->size);
	return text;
}

/* What is found has a size, or is not found. */
static struct text found_within(enum form_kind kind, const struct text *body, const char *name,
				size_t buf_size)
{
	struct text found = {allocated(buf_size), 0};

	if (form_field_find(kind, body->bytes, body->size, name, found.bytes, buf_size,
			    &found.size))
		require(found.size && found.size <= buf_size);
	else
		require(!found.size);
	return found;
}

/* A value is never longer than its body. */
static struct text found_in(enum form_kind kind, const struct text *body, const char *name)
{
	return found_within(kind, body, name, body->size);
}

static bool is_found(enum form_kind kind, const struct text *body, const char *name)
{
	struct text found = found_in(kind, body, name);

	free(found.bytes);
	return found.size;
}

static void is_found_as(enum form_kind kind, const struct text *body, const char *name,
			const struct text *value)
{
	struct text found = found_in(kind, body, name);

	require(found.size == value->size && !memcmp(found.bytes, value->bytes, value->size));
	free(found.bytes);
}

static size_t escape(char *buf, const char *bytes, size_t size)
{
	static const char digits[] = "0123456789abcdef";
	char *at = buf;

	for (size_t i = 0; i < size; i++) {
		*at++ = '%';
		*at++ = digits[(uint8_t)bytes[i] >> 4];
		*at++ = digits[(uint8_t)bytes[i] & 15];
	}
	return (size_t)(at - buf);
}

/* &name=value, each byte escaped. */
static struct text pair_of(const char *name, const struct text *value)
{
	struct text pair = {allocated(ESCAPED_SIZE * (strlen(name) + value->size) + 2), 0};

	pair.bytes[pair.size++] = '&';
	pair.size += escape(pair.bytes + pair.size, name, strlen(name));
	pair.bytes[pair.size++] = '=';
	pair.size += escape(pair.bytes + pair.size, value->bytes, value->size);
	return pair;
}

static void a_value_needs_a_buffer_of_its_size(const struct form *form, const struct text *value)
{
	struct text exact = found_within(form->kind, &form->body, form->name, value->size);
	struct text shorter = found_within(form->kind, &form->body, form->name, value->size - 1);

	require(exact.size == value->size && !memcmp(exact.bytes, value->bytes, value->size));
	require(!shorter.size);
	free(exact.bytes);
	free(shorter.bytes);
}

static void a_value_reads_back_escaped(const struct form *form, const struct text *value)
{
	struct text pair = pair_of(form->name, value);

	is_found_as(FORM_URLENCODED, &pair, form->name, value);
	free(pair.bytes);
}

static void a_value_reads_back_as_json(const struct form *form, const struct text *value)
{
	json_t *object = json_pack("{s:s%}", form->name, value->bytes, value->size);
	char *dumped = object ? json_dumps(object, JSON_ENSURE_ASCII) : NULL;
	struct text body;

	json_decref(object);
	if (!dumped)
		return;
	body = text_of(dumped, strlen(dumped));
	is_found_as(FORM_JSON, &body, form->name, value);
	free(body.bytes);
	free(dumped);
}

/* A name that is in the body without a value counts as one too. */
static void another_pair_hides_a_value(const struct form *form, const struct text *value)
{
	struct text pair = pair_of(form->name, value);
	struct text twice = joined(&form->body, &pair);

	require(!is_found(FORM_URLENCODED, &twice, form->name));
	free(twice.bytes);
	free(pair.bytes);
}

static void other_pairs_change_nothing(const struct form *form, const struct text *value)
{
	char *longer = allocated(strlen(form->name) + 2);
	struct text pair, more;

	sprintf(longer, "%s=", form->name);
	pair = pair_of(longer, value);
	more = joined(&form->body, &pair);
	is_found_as(FORM_URLENCODED, &more, form->name, value);
	free(more.bytes);
	free(pair.bytes);
	free(longer);
}

static void folding_twice_is_folding_once(const struct text *value)
{
	struct text once = text_of(value->bytes, value->size), twice;

	form_value_fold(once.bytes, &once.size);
	require(once.size <= value->size);
	twice = text_of(once.bytes, once.size);
	form_value_fold(twice.bytes, &twice.size);
	require(twice.size == once.size && !memcmp(twice.bytes, once.bytes, once.size));
	free(once.bytes);
	free(twice.bytes);
}

static void a_value_holds(const struct form *form, const struct text *value)
{
	require(!memchr(value->bytes, '\0', value->size));
	a_value_needs_a_buffer_of_its_size(form, value);
	a_value_reads_back_escaped(form, value);
	a_value_reads_back_as_json(form, value);
	if (form->kind == FORM_URLENCODED) {
		another_pair_hides_a_value(form, value);
		other_pairs_change_nothing(form, value);
	}
	folding_twice_is_folding_once(value);
}

/* A name is never empty, and ends at NUL. */
static struct form form_of(const char *bytes, size_t size)
{
	static const enum form_kind kinds[] = {FORM_OTHER, FORM_URLENCODED, FORM_JSON};
	const char *name = bytes + 1, *end = memchr(bytes, '\n', size);
	struct form form = {.kind = kinds[(uint8_t)bytes[0] % 3]};

	if (!end || end <= name)
		return (struct form){0};
	form.name = strndup(name, (size_t)(end - name));
	if (!form.name)
		abort();
	form.body = text_of(end + 1, size - (size_t)(end + 1 - bytes));
	return form;
}

static void form_free(struct form *form)
{
	free(form->name);
	free(form->body.bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct text all = text_of(bytes, size), value;
	struct form form;

	form_kind_of(all.bytes, size);
	free(all.bytes);
	if (!size)
		return 0;
	form = form_of((const char *)bytes, size);
	if (form.name && *form.name) {
		value = found_in(form.kind, &form.body, form.name);
		require(form.kind != FORM_OTHER || !value.size);
		if (value.size)
			a_value_holds(&form, &value);
		free(value.bytes);
	}
	form_free(&form);
	return 0;
}
