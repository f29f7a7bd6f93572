/* SPDX-License-Identifier: MIT */
/* Any bytes as the URI that a front tells, and as the question of an application: a path has one
 * spelling, which patterns hold and other spellings lead to; a question that is taken reads back
 * the same, and every reply is JSON. */
#include <errno.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "http/check_app.h"
#include "http/route.h"
#include "required.h"

/* For all that a question holds, and for a reason. */
#define TEXT_SIZE_MAX 65536

struct text {
	char *bytes;
	size_t size;
};

/* In memory of exactly the size that is promised, so that a byte beyond is found. */
static struct text normalised(const char *uri, size_t size)
{
	struct text path = {allocated(size + 1), 0};

	path.size = route_normalise(uri, size, path.bytes);
	require(path.size <= size);
	return path;
}

static bool holds_text(const struct text *text, const char *part)
{
	return memmem(text->bytes, text->size, part, strlen(part));
}

static bool ends_with(const struct text *text, const char *part)
{
	size_t size = strlen(part);

	return text->size >= size && !memcmp(text->bytes + text->size - size, part, size);
}

static void a_path_is_settled(const struct text *path)
{
	require(path->bytes[0] == '/' && path->bytes[path->size] == '\0');
	require(!holds_text(path, "//") && !holds_text(path, "/./") && !holds_text(path, "/../"));
	require(!ends_with(path, "/.") && !ends_with(path, "/.."));
}

static void expect_path(const char *uri, size_t size, const struct text *path)
{
	struct text found = normalised(uri, size);

	require(found.size == path->size && !memcmp(found.bytes, path->bytes, found.size));
	free(found.bytes);
}

/* With every byte as %XX, behind segments that lead nowhere and before a query. */
static char *spelled(const struct text *path)
{
	static const char before[] = "/.//x/%2e%2E", after[] = "?/../x";
	char *uri = allocated(sizeof(before) + 3 * path->size + sizeof(after));
	size_t used = (size_t)sprintf(uri, "%s/", before);

	for (size_t i = 0; i < path->size; i++)
		used += (size_t)sprintf(uri + used, "%%%02x", (unsigned char)path->bytes[i]);
	strcpy(uri + used, after);
	return uri;
}

static bool is_found(const struct route *route, const struct text *path)
{
	return route_find(route, 1, path->bytes, path->size, "GET", 3) == 0;
}

static void a_pattern_holds_its_path_alone_or_all_below(const char *spelling,
							const struct text *path)
{
	size_t size = strcspn(spelling, "?");
	char *pattern = allocated(size + 2), *buf = allocated(size + 2);
	struct text below = {allocated(path->size + 2), path->size + 2};
	struct route route;

	sprintf(pattern, "=%.*s", (int)size, spelling);
	memcpy(below.bytes, path->bytes, path->size);
	memcpy(below.bytes + path->size, "/x", 2);
	require(route_pattern_parse(pattern, buf, &route));
	require(is_found(&route, path) && !is_found(&route, &below));
	require(route_pattern_parse(pattern + 1, buf, &route));
	require(is_found(&route, path) && is_found(&route, &below));
	below.bytes[path->size] = 'x';
	require(is_found(&route, &below) == (path->bytes[path->size - 1] == '/'));
	free(below.bytes);
	free(buf);
	free(pattern);
}

static void a_uri_has_one_path(const char *uri, size_t size)
{
	struct text path = normalised(uri, size);
	char *spelling;

	if (path.size) {
		a_path_is_settled(&path);
		spelling = spelled(&path);
		expect_path(spelling, strlen(spelling), &path);
		a_pattern_holds_its_path_alone_or_all_below(spelling, &path);
		free(spelling);
	}
	free(path.bytes);
}

/* With every item's key and cost told beside its zone. */
static char *written(const struct check_question *question)
{
	json_t *zones = json_array();
	char *text;

	for (size_t i = 0; i < question->count; i++) {
		const struct check_item *item = &question->items[i];

		json_array_append_new(zones, json_pack("{s:s,s:s%,s:I}", "zone", item->zone, "key",
						       item->key, item->key_size, "cost",
						       (json_int_t)item->cost));
	}
	zones = json_pack("{s:o}", "zones", zones);
	text = json_dumps(zones, JSON_ENSURE_ASCII);
	require(text);
	json_decref(zones);
	return text;
}

static void items_are_as_promised(const struct check_question *question)
{
	require(question->count >= 1 && question->count <= CHECK_ITEMS_MAX);
	for (size_t i = 0; i < question->count; i++) {
		const struct check_item *item = &question->items[i];

		require(item->zone[0] && item->cost <= CHECK_COST_MAX);
		require(item->key_size >= 1 && item->key_size <= CHECK_KEY_SIZE);
		require(strlen(item->key) == item->key_size);
		for (size_t other = 0; other < i; other++)
			require(strcmp(question->items[other].zone, item->zone));
	}
}

static void a_question_reads_back(const struct check_question *question)
{
	char *text = written(question);
	struct check_question back;

	require(!check_question_parse(text, strlen(text), &back, NULL));
	require(back.count == question->count);
	for (size_t i = 0; i < back.count; i++) {
		require(!strcmp(back.items[i].zone, question->items[i].zone));
		require(!strcmp(back.items[i].key, question->items[i].key));
		require(back.items[i].cost == question->items[i].cost);
	}
	check_question_free(&back);
	free(text);
}

static void a_reason_is_printable(const struct failure *why)
{
	require(why->reason[0]);
	for (const char *at = why->reason; *at; at++)
		require(*at >= ' ' && *at <= '~');
}

static void a_question_is_taken_whole_or_not(const char *body, size_t size)
{
	struct check_question question;
	struct failure why = {0};
	int err = check_question_parse(body, size, &question, &why);

	if (err) {
		require(err == -EINVAL);
		a_reason_is_printable(&why);
		return;
	}
	items_are_as_promised(&question);
	a_question_reads_back(&question);
	check_question_free(&question);
}

static json_t *read_back(const char *text, size_t size)
{
	json_t *document = json_loadb(text, size, 0, NULL);

	require(document && strlen(text) == size);
	return document;
}

static void an_error_reads_back(const char *reason, char *buf)
{
	size_t size = check_error_write(buf, TEXT_SIZE_MAX, reason);
	json_t *document;

	require(size < TEXT_SIZE_MAX);
	if (!size)
		return;
	document = read_back(buf, size);
	require(!strcmp(json_string_value(json_object_get(document, "error")), reason));
	json_decref(document);
}

static void an_answer_reads_back(const char *text, uint64_t number, char *buf)
{
	const struct check_answer answer = {
		.allowed = number % 2,
		.status = "PASSED",
		.zone = text,
		.limit = number,
		.remaining = number / 2,
		.retry_after = number % 3,
		.policy_field = text,
		.limit_field = text,
	};
	size_t size = check_answer_write(buf, TEXT_SIZE_MAX, &answer);
	json_t *document;

	require(size < TEXT_SIZE_MAX);
	if (!size)
		return;
	document = read_back(buf, size);
	require(json_is_true(json_object_get(document, "allowed")) == answer.allowed);
	require(!strcmp(json_string_value(json_object_get(document, "zone")), text));
	require(!json_object_get(document, "retry_after") == !answer.retry_after);
	json_decref(document);
}

static void replies_are_json(const char *bytes, size_t size)
{
	char *text = allocated(size + 1), *buf = allocated(TEXT_SIZE_MAX);
	uint64_t number = 0;

	memcpy(text, bytes, size);
	text[size] = '\0';
	memcpy(&number, bytes, size < sizeof(number) ? size : sizeof(number));
	an_error_reads_back(text, buf);
	an_answer_reads_back(text, number, buf);
	free(buf);
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	const char *text = (const char *)bytes;

	a_uri_has_one_path(text, size);
	a_question_is_taken_whole_or_not(text, size);
	if (size < TEXT_SIZE_MAX / 32)
		replies_are_json(text, size);
	return 0;
}
