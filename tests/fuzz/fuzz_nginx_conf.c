/* SPDX-License-Identifier: MIT */
/* Any bytes are a configuration or are refused, and the limits of one are listed. The input is
 * files that a byte of 1 parts: "0" is the main one, and every pattern matches all the others. */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/nginx_conf.h"
#include "cli/nginx_conf_limits.h"
#include "cli/nginx_conf_publish.h"
#include "required.h"

#define FILES_MAX 4

struct input {
	const uint8_t *bytes;
	size_t size;
};

/* The file's bytes; false: there is no such file. */
static bool file_find(const struct input *input, size_t number, struct input *ret)
{
	const uint8_t *at = input->bytes, *end = at + input->size;
	const uint8_t *part = at;

	for (; at < end && (part = memchr(at, 1, (size_t)(end - at))) && number; number--)
		at = part + 1;
	if (number)
		return false;
	part = at < end ? memchr(at, 1, (size_t)(end - at)) : NULL;
	*ret = (struct input){at, (size_t)((part ? part : end) - at)};
	return true;
}

/* A copy of exactly that size, so that a read beyond it is found. */
static int input_read(void *context, const char *path, char **ret_text, size_t *ret_size,
		      struct failure *why)
{
	struct input file;
	char *text;

	if (path[0] < '0' || path[0] >= '0' + FILES_MAX || path[1] ||
	    !file_find(context, (size_t)(path[0] - '0'), &file))
		return failure_set(why, ENOENT, "%s", strerror(ENOENT));
	text = malloc(file.size);
	if (!text)
		return failure_set(why, ENOMEM, "%s", strerror(ENOMEM));
	if (file.size)
		memcpy(text, file.bytes, file.size);
	*ret_text = text;
	*ret_size = file.size;
	return 0;
}

static int input_match(void *context, const char *pattern, char ***ret_paths, size_t *ret_count,
		       struct failure *why)
{
	char **paths = calloc(FILES_MAX, sizeof(*paths));
	struct input file;

	(void)pattern;
	if (!paths)
		return failure_set(why, ENOMEM, "%s", strerror(ENOMEM));
	for (size_t i = 1; i < FILES_MAX && file_find(context, i, &file); i++) {
		char path[] = {(char)('0' + i), '\0'};

		paths[*ret_count] = strdup(path);
		require(paths[*ret_count]);
		++*ret_count;
	}
	*ret_paths = paths;
	return 0;
}

static void directives_are_whole(const struct nginx_directive *directive)
{
	for (; directive; directive = directive->next) {
		require(directive->words_count && directive->line && directive->file[0]);
		for (size_t i = 0; i < directive->words_count; i++)
			require(directive->words[i]);
		require(directive->is_block || !directive->inside);
		require(!nginx_directive_is(directive, "include") || directive->is_block);
		directives_are_whole(directive->inside);
	}
}

static void limits_are_whole(const struct nginx_limits *limits)
{
	for (size_t i = 0; i < limits->count; i++) {
		const struct nginx_limit *limit = &limits->limits[i];

		require(limit->server && limit->route && limit->zone && limit->cost);
		require(!limit->per == !limit->limit && !limit->per == !limit->algorithm);
		require(!limit->policy || limit->fields);
		require(!limit->is_observed || !limit->status);
	}
	for (size_t i = 0; i < limits->notices_count; i++)
		require(limits->notices[i][0]);
}

static void publication_is_less(struct nginx_limits *limits)
{
	size_t count = limits->count, internal = nginx_limits_publish(limits);

	require(limits->count + internal <= count);
	for (size_t i = 0; i < limits->count; i++)
		require(!limits->limits[i].is_internal && !limits->limits[i].is_observed);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct input input = {bytes, size};
	const struct nginx_conf_files files = {
		.context = &input, .read = input_read, .match = input_match};
	struct nginx_limits limits;
	struct nginx_conf conf;
	struct failure why = {0};

	if (nginx_conf_read("0", &files, &conf, &why)) {
		require(why.reason[0]);
		return 0;
	}
	directives_are_whole(conf.first);
	require(!nginx_limits_list(&conf, &limits));
	limits_are_whole(&limits);
	publication_is_less(&limits);
	nginx_limits_free(&limits);
	nginx_conf_free(&conf);
	return 0;
}
