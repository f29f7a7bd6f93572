/* SPDX-License-Identifier: MIT */
#include "http/check_app.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <jansson.h>

#define QUOTE_SIZE_MAX 40
#define QUOTE_OTHERS   "..."

/* text if a log line and a reply can hold it, else what stands for it. */
static const char *quoted(const char *text)
{
	size_t size = strlen(text);

	for (size_t i = 0; i < size; i++) {
		if (text[i] < ' ' || text[i] > '~')
			return QUOTE_OTHERS;
	}
	return size <= QUOTE_SIZE_MAX ? text : QUOTE_OTHERS;
}

static int refuse_syntax(const json_error_t *error, struct failure *why)
{
	switch (json_error_code(error)) {
	case json_error_unknown: /* nothing is said where memory ended */
	case json_error_out_of_memory:
		return failure_set(why, ENOMEM, "no memory");
	case json_error_duplicate_key:
		return failure_set(why, EINVAL, "a member is there twice: line %d", error->line);
	default:
		return failure_set(why, EINVAL, "not a JSON object: line %d, column %d",
				   error->line, error->column);
	}
}

static bool is_one_of(const char *name, const char *const *names)
{
	while (*names && strcmp(*names, name))
		names++;
	return *names;
}

static int members_check(json_t *object, const char *const *known, struct failure *why)
{
	const char *name;
	json_t *value;

	json_object_foreach(object, name, value)
	{
		if (!is_one_of(name, known))
			return failure_set(why, EINVAL, "unknown member '%s'", quoted(name));
	}
	return 0;
}

static int key_read(const json_t *value, struct check_item *item, struct failure *why)
{
	size_t size = json_string_length(value);

	if (!size || size > CHECK_KEY_SIZE)
		return failure_set(why, EINVAL, "a key is a text of 1 to %d bytes", CHECK_KEY_SIZE);
	item->key = json_string_value(value);
	item->key_size = size;
	return 0;
}

static int cost_read(const json_t *value, struct check_item *item, struct failure *why)
{
	json_int_t cost = json_integer_value(value);

	if (!json_is_integer(value) || cost < 0 || cost > CHECK_COST_MAX)
		return failure_set(why, EINVAL, "a cost is a whole number from 0 to %d",
				   CHECK_COST_MAX);
	item->cost = (uint64_t)cost;
	return 0;
}

/* An object's own key and cost, where it has them. */
static int charge_read(const json_t *object, struct check_item *item, struct failure *why)
{
	const json_t *key = json_object_get(object, "key");
	const json_t *cost = json_object_get(object, "cost");
	int err = key ? key_read(key, item, why) : 0;

	return !err && cost ? cost_read(cost, item, why) : err;
}

static int zone_read(const json_t *value, struct check_item *item, struct failure *why)
{
	if (!json_string_length(value))
		return failure_set(why, EINVAL,
				   "an item of zones is a zone's name, or an object "
				   "with 'zone', a zone's name");
	item->zone = json_string_value(value);
	return 0;
}

/* *item has the outer key and cost. */
static int item_read(json_t *value, struct check_item *item, struct failure *why)
{
	static const char *const known[] = {"zone", "key", "cost", NULL};
	bool is_object = json_is_object(value);
	int err = members_check(value, known, why);

	if (!err)
		err = zone_read(is_object ? json_object_get(value, "zone") : value, item, why);
	if (!err)
		err = charge_read(value, item, why);
	if (!err && !item->key)
		err = failure_set(why, EINVAL, "zone '%s' has no key", quoted(item->zone));
	return err;
}

static bool question_asks(const struct check_question *question, const char *zone)
{
	for (size_t i = 0; i < question->count; i++) {
		if (!strcmp(question->items[i].zone, zone))
			return true;
	}
	return false;
}

static int zones_read(const json_t *zones, const struct check_item *outer,
		      struct check_question *question, struct failure *why)
{
	for (size_t i = 0; i < json_array_size(zones); i++) {
		struct check_item item = *outer;
		int err = item_read(json_array_get(zones, i), &item, why);

		if (err)
			return err;
		if (question_asks(question, item.zone))
			return failure_set(why, EINVAL, "zone '%s' is there twice",
					   quoted(item.zone));
		question->items[question->count++] = item;
	}
	return 0;
}

static int document_read(json_t *document, struct check_question *question, struct failure *why)
{
	static const char *const known[] = {"zones", "key", "cost", NULL};
	const json_t *zones = json_object_get(document, "zones");
	size_t count = json_array_size(zones);
	struct check_item outer = {.cost = 1};
	int err = members_check(document, known, why);

	if (err)
		return err;
	if (!count || count > CHECK_ITEMS_MAX)
		return failure_set(why, EINVAL,
				   "a question is an object with 'zones', an array of "
				   "1 to %d items",
				   CHECK_ITEMS_MAX);
	err = charge_read(document, &outer, why);
	if (err)
		return err;
	question->document = document;
	return zones_read(zones, &outer, question, why);
}

int check_question_parse(const char *body, size_t size, struct check_question *ret,
			 struct failure *why)
{
	struct check_question question = {0};
	json_error_t error;
	json_t *document = json_loadb(body, size, JSON_REJECT_DUPLICATES, &error);
	int err;

	if (!document)
		return refuse_syntax(&error, why);
	err = document_read(document, &question, why);
	if (err)
		json_decref(document);
	else
		*ret = question;
	return err;
}

void check_question_free(struct check_question *question)
{
	json_decref(question->document);
	*question = (struct check_question){0};
}

/* Takes the document over. */
static size_t document_write(json_t *document, char *buf, size_t size)
{
	size_t needed = json_dumpb(document, buf, size, JSON_COMPACT);

	if (size)
		buf[needed < size ? needed : 0] = '\0';
	json_decref(document);
	return needed;
}

static json_int_t number_of(uint64_t number)
{
	return number < INT64_MAX ? (json_int_t)number : INT64_MAX;
}

static json_t *fields_of(const struct check_answer *answer)
{
	char seconds[] = "18446744073709551615";

	snprintf(seconds, sizeof(seconds), "%" PRIu64, answer->retry_after);
	return json_pack("{s:s*,s:s*,s:s*}", "RateLimit-Policy", answer->policy_field, "RateLimit",
			 answer->limit_field, "Retry-After", answer->retry_after ? seconds : NULL);
}

static json_t *number_or_none(bool is_there, uint64_t number)
{
	return is_there ? json_integer(number_of(number)) : NULL;
}

size_t check_answer_write(char *buf, size_t size, const struct check_answer *answer)
{
	const char *zone = answer->zone;
	json_t *document = json_pack("{s:b,s:s,s:s*,s:o*,s:o*,s:o*,s:o}", "allowed",
				     answer->allowed, "status", answer->status, "zone", zone,
				     "limit", number_or_none(zone, answer->limit), "remaining",
				     number_or_none(zone, answer->remaining), "retry_after",
				     number_or_none(answer->retry_after, answer->retry_after),
				     "fields", fields_of(answer));

	return document_write(document, buf, size);
}

size_t check_error_write(char *buf, size_t size, const char *reason)
{
	return document_write(json_pack("{s:s}", "error", reason), buf, size);
}
