/* SPDX-License-Identifier: MIT */
#include "cli/nginx_conf.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/nginx_conf_token.h"

#define LUA_BLOCK "_by_lua_block"

struct reading {
	const struct nginx_conf_files *files;
	struct nginx_conf *conf;
	const char *path; /* the main file's */
	size_t bytes, blocks, includes;
	struct nginx_directive **end; /* where the next directive goes */
	struct failure *why;
};

static int block_read(struct reading *reading, struct conf_source *source, enum conf_token ends_at);

static void directives_free(struct nginx_directive *directive)
{
	while (directive) {
		struct nginx_directive *next = directive->next;

		directives_free(directive->inside);
		for (size_t i = 0; i < directive->words_count; i++)
			free(directive->words[i]);
		free(directive->words);
		free(directive);
		directive = next;
	}
}

/* Takes the word. */
static int word_add(struct nginx_directive *directive, char *word, struct failure *why)
{
	size_t count = directive->words_count;
	char **words = directive->words;

	if (!(count & (count - 1))) /* full: room doubles */
		words = reallocarray(words, count ? 2 * count : 1, sizeof(*words));
	if (!words) {
		free(word);
		return failure_errno(why, ENOMEM);
	}
	words[count] = word;
	directive->words = words;
	directive->words_count++;
	return 0;
}

/* A directive's words, up to the token that ends it. */
static int words_read(struct conf_source *source, struct nginx_directive *directive,
		      enum conf_token *ret_end, struct failure *why)
{
	char *word = NULL;
	int err;

	for (;;) {
		err = conf_token_read(source, ret_end, &word, why);
		if (err || *ret_end != CONF_TOKEN_WORD)
			return err;
		if (!directive->words_count)
			directive->line = source->line;
		err = word_add(directive, word, why);
		if (err)
			return err;
	}
}

static int file_end_check(const struct conf_source *source, bool has_words, enum conf_token ends_at,
			  struct failure *why)
{
	if (has_words)
		return conf_fault(source, why, "unexpected end of file, expecting \";\" or \"}\"");
	if (ends_at != CONF_TOKEN_FILE_END)
		return conf_fault(source, why, "unexpected end of file, expecting \"}\"");
	return 0;
}

/* Whether what came after a directive's words may: ends_at is what ends the block without any. */
static int end_check(const struct conf_source *source, bool has_words, enum conf_token end,
		     enum conf_token ends_at, struct failure *why)
{
	switch (end) {
	case CONF_TOKEN_FILE_END:
		return file_end_check(source, has_words, ends_at, why);
	case CONF_TOKEN_CLOSE:
		if (!has_words && ends_at == CONF_TOKEN_CLOSE)
			return 0;
		return conf_fault(source, why, "unexpected \"}\"");
	default:
		if (has_words)
			return 0;
		return conf_fault(source, why, "unexpected \"%c\"",
				  end == CONF_TOKEN_OPEN ? '{' : ';');
	}
}

/* The file's name, kept for its directives. */
static int file_name_keep(struct reading *reading, const char *path, const char **ret)
{
	struct nginx_conf *conf = reading->conf;
	char **files = reallocarray(conf->files, conf->files_count + 1, sizeof(*files));

	if (!files)
		return failure_errno(reading->why, ENOMEM);
	conf->files = files;
	files[conf->files_count] = strdup(path);
	if (!files[conf->files_count])
		return failure_errno(reading->why, ENOMEM);
	*ret = files[conf->files_count++];
	return 0;
}

static int bounds_check(struct reading *reading, const char *path, const char *text, size_t size)
{
	reading->bytes += size;
	if (reading->bytes > NGINX_CONF_BYTES_MAX ||
	    reading->conf->files_count > NGINX_CONF_FILES_MAX)
		return failure_set(reading->why, EINVAL, "%s: too much is included", path);
	if (memchr(text, '\0', size))
		return failure_set(reading->why, EINVAL, "%s: it has a NUL byte", path);
	return 0;
}

static int file_read(struct reading *reading, const char *path)
{
	struct conf_source source = {.line = 1};
	char *text = NULL;
	int err;

	err = file_name_keep(reading, path, &source.file);
	if (!err)
		err = reading->files->read(reading->files->context, path, &text, &source.size,
					   reading->why);
	if (!err)
		err = bounds_check(reading, path, text, source.size);
	source.text = text;
	if (!err)
		err = block_read(reading, &source, CONF_TOKEN_FILE_END);
	free(text);
	return err;
}

static int pattern_read(struct reading *reading, const char *pattern)
{
	size_t count = 0;
	char **paths = NULL;
	int err;

	err = reading->files->match(reading->files->context, pattern, &paths, &count, reading->why);
	for (size_t i = 0; i < count; i++) {
		if (!err)
			err = file_read(reading, paths[i]);
		free(paths[i]);
	}
	free(paths);
	return err;
}

/* Relative paths are so to the main file's directory, whichever file has them. */
static char *path_absolute(const char *main_path, const char *path)
{
	const char *slash = strrchr(main_path, '/');
	char *joined = NULL;

	if (path[0] == '/' || !slash)
		return strdup(path);
	return asprintf(&joined, "%.*s/%s", (int)(slash - main_path), main_path, path) < 0 ? NULL
											   : joined;
}

/* A failure to read is told with where it was asked for. */
static int include_at(struct reading *reading, const struct nginx_directive *directive,
		      const char *path)
{
	size_t files = reading->conf->files_count;
	struct failure cause;
	int err;

	if (strpbrk(path, "*?["))
		return pattern_read(reading, path);
	err = file_read(reading, path);
	if (err && err != -EINVAL && reading->conf->files_count == files + 1) {
		cause = *reading->why;
		failure_set(reading->why, err, "%s:%u: \"%s\": %s", directive->file,
			    directive->line, path, cause.reason);
	}
	return err;
}

static int include_read(struct reading *reading, const struct conf_source *source,
			const struct nginx_directive *directive)
{
	char *path;
	int err;

	if (directive->words_count != 2)
		return conf_fault(source, reading->why, "include takes one path");
	if (reading->includes == NGINX_CONF_INCLUDES_MAX)
		return conf_fault(source, reading->why, "includes are nested too deeply");
	path = path_absolute(reading->path, directive->words[1]);
	if (!path)
		return failure_errno(reading->why, ENOMEM);
	reading->includes++;
	err = include_at(reading, directive, path);
	reading->includes--;
	free(path);
	return err;
}

static bool name_ends_in(const struct nginx_directive *directive, const char *end)
{
	size_t length = strlen(directive->words[0]), end_length = strlen(end);

	return length >= end_length && !strcmp(directive->words[0] + length - end_length, end);
}

/* What is inside a block whose '{' was read. */
static int inside_read(struct reading *reading, struct conf_source *source,
		       struct nginx_directive *directive)
{
	struct nginx_directive **end = reading->end;
	int err;

	directive->is_block = true;
	if (name_ends_in(directive, LUA_BLOCK))
		return conf_lua_skip(source, reading->why);
	if (reading->blocks == NGINX_CONF_BLOCKS_MAX)
		return conf_fault(source, reading->why, "blocks are nested too deeply");
	reading->blocks++;
	reading->end = &directive->inside;
	err = block_read(reading, source, CONF_TOKEN_CLOSE);
	reading->end = end;
	reading->blocks--;
	return err;
}

/* Puts the directive into the tree, or what it includes, and takes it. */
static int directive_add(struct reading *reading, struct conf_source *source,
			 struct nginx_directive *directive, enum conf_token end)
{
	int err;

	if (end == CONF_TOKEN_SEMICOLON && nginx_directive_is(directive, "include")) {
		err = include_read(reading, source, directive);
		directives_free(directive);
		return err;
	}
	*reading->end = directive;
	reading->end = &directive->next;
	return end == CONF_TOKEN_OPEN ? inside_read(reading, source, directive) : 0;
}

/* Up to what ends it: a '}', or the file's end. */
static int block_read(struct reading *reading, struct conf_source *source, enum conf_token ends_at)
{
	for (;;) {
		struct nginx_directive *directive = calloc(1, sizeof(*directive));
		enum conf_token end;
		int err;

		if (!directive)
			return failure_errno(reading->why, ENOMEM);
		directive->file = source->file;
		err = words_read(source, directive, &end, reading->why);
		if (!err)
			err = end_check(source, directive->words_count, end, ends_at, reading->why);
		if (err || !directive->words_count) {
			directives_free(directive);
			return err;
		}
		err = directive_add(reading, source, directive, end);
		if (err)
			return err;
	}
}

int nginx_conf_read(const char *path, const struct nginx_conf_files *files, struct nginx_conf *ret,
		    struct failure *why)
{
	struct nginx_conf conf = {0};
	struct reading reading = {
		.files = files, .conf = &conf, .path = path, .end = &conf.first, .why = why};
	int err = file_read(&reading, path);

	if (err)
		nginx_conf_free(&conf);
	else
		*ret = conf;
	return err;
}

void nginx_conf_free(struct nginx_conf *conf)
{
	directives_free(conf->first);
	for (size_t i = 0; i < conf->files_count; i++)
		free(conf->files[i]);
	free(conf->files);
	*conf = (struct nginx_conf){0};
}

bool nginx_directive_is(const struct nginx_directive *directive, const char *name)
{
	return nginx_directive_has(directive, 0, name);
}

bool nginx_directive_has(const struct nginx_directive *directive, size_t number, const char *word)
{
	return number < directive->words_count && !strcmp(directive->words[number], word);
}

const struct nginx_directive *nginx_directive_find(const struct nginx_directive *directive,
						   const char *name)
{
	while (directive && !nginx_directive_is(directive, name))
		directive = directive->next;
	return directive;
}
