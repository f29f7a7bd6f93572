/* SPDX-License-Identifier: MIT */
#include "cli/nginx_conf_token.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BLANKS " \t\r\n"

int conf_fault(const struct conf_source *source, struct failure *why, const char *format, ...)
{
	char fault[128];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(fault, sizeof(fault), format, arguments);
	va_end(arguments);
	return failure_set(why, EINVAL, "%s:%u: %s", source->file, source->line, fault);
}

static bool is_at_end(const struct conf_source *source)
{
	return source->at == source->size;
}

static bool is_at_any(const struct conf_source *source, const char *bytes)
{
	return !is_at_end(source) && strchr(bytes, source->text[source->at]);
}

static bool is_at(const struct conf_source *source, const char *text)
{
	size_t length = strlen(text);

	return source->size - source->at >= length &&
	       !memcmp(source->text + source->at, text, length);
}

static void advance(struct conf_source *source)
{
	if (source->text[source->at++] == '\n')
		source->line++;
}

static void line_skip(struct conf_source *source)
{
	while (!is_at_end(source) && source->text[source->at] != '\n')
		advance(source);
}

static void blanks_skip(struct conf_source *source)
{
	while (is_at_any(source, BLANKS "#")) {
		source->follows_quote = false;
		if (source->text[source->at] == '#')
			line_skip(source);
		else
			advance(source);
	}
}

/* What a backslash and the byte mean, 0: no more than they are. */
static char escape_of(char byte)
{
	static const char escapes[] = "\"'\\trn", meant[] = "\"'\\\t\r\n";
	const char *escape = strchr(escapes, byte);

	return escape ? meant[escape - escapes] : 0;
}

/* A word as it is written, into what it says. */
static char *word_copy(const char *text, size_t size)
{
	char *word = malloc(size + 1), *end = word;

	if (!word)
		return NULL;
	for (size_t i = 0; i < size; i++) {
		char meant = text[i] == '\\' && i + 1 < size ? escape_of(text[i + 1]) : 0;

		*end++ = meant ? meant : text[i];
		i += meant != 0;
	}
	*end = '\0';
	return word;
}

/* Past the byte after a backslash, if there is one. */
static void escaped_skip(struct conf_source *source)
{
	advance(source);
	if (!is_at_end(source))
		advance(source);
}

/* To the end of a bare word. */
static void bare_skip(struct conf_source *source)
{
	while (!is_at_any(source, BLANKS ";{") && !is_at_end(source)) {
		if (is_at(source, "\\")) {
			escaped_skip(source);
		} else if (is_at(source, "${")) {
			advance(source);
			advance(source);
		} else {
			advance(source);
		}
	}
}

static int bare_read(struct conf_source *source, char **ret_word, struct failure *why)
{
	size_t start = source->at;

	bare_skip(source);
	if (is_at_end(source))
		return conf_fault(source, why, "unexpected end of file, expecting \";\" or \"}\"");
	*ret_word = word_copy(source->text + start, source->at - start);
	return *ret_word ? 0 : failure_errno(why, ENOMEM);
}

static int quoted_read(struct conf_source *source, char **ret_word, struct failure *why)
{
	const char quote[] = {source->text[source->at], '\0'};
	struct conf_source opened = *source;
	size_t start;

	advance(source);
	start = source->at;
	while (!is_at_end(source) && !is_at(source, quote)) {
		if (is_at(source, "\\"))
			escaped_skip(source);
		else
			advance(source);
	}
	if (is_at_end(source))
		return conf_fault(&opened, why, "a quote %s is not closed", quote);
	*ret_word = word_copy(source->text + start, source->at - start);
	advance(source);
	source->follows_quote = true;
	return *ret_word ? 0 : failure_errno(why, ENOMEM);
}

static int word_read(struct conf_source *source, char **ret_word, struct failure *why)
{
	return is_at_any(source, "\"'") ? quoted_read(source, ret_word, why)
					: bare_read(source, ret_word, why);
}

int conf_token_read(struct conf_source *source, enum conf_token *ret, char **ret_word,
		    struct failure *why)
{
	static const char marks[] = ";{}";
	const char *mark;
	bool was_quoted;

	/* A comment is one only where a word could begin. */
	if (!source->follows_quote || is_at_any(source, BLANKS))
		blanks_skip(source);
	was_quoted = source->follows_quote;
	source->follows_quote = false;
	if (is_at_end(source)) {
		*ret = CONF_TOKEN_FILE_END;
		return 0;
	}
	if (was_quoted && !is_at_any(source, ";{)"))
		return conf_fault(source, why, "unexpected \"%c\"", source->text[source->at]);
	mark = strchr(marks, source->text[source->at]);
	*ret = mark ? CONF_TOKEN_SEMICOLON + (enum conf_token)(mark - marks) : CONF_TOKEN_WORD;
	if (!mark)
		return word_read(source, ret_word, why);
	advance(source);
	return 0;
}

/* How many '=' are in the long bracket that opens at offset bytes from here, or -1. */
static int long_bracket_level(const struct conf_source *source, size_t offset)
{
	const char *at = source->text + source->at + offset, *end = source->text + source->size;
	int level = 0;

	if (at >= end || *at++ != '[')
		return -1;
	for (; at < end && *at == '='; at++)
		level++;
	return at < end && *at == '[' ? level : -1;
}

static bool is_at_long_end(const struct conf_source *source, int level)
{
	const char *at = source->text + source->at;
	size_t length = (size_t)level + 2;

	return source->size - source->at >= length && at[0] == ']' && at[length - 1] == ']' &&
	       strspn(at + 1, "=") == (size_t)level;
}

static void long_bracket_skip(struct conf_source *source, int level)
{
	while (!is_at_end(source) && !is_at_long_end(source, level))
		advance(source);
	for (int i = 0; i < level + 2 && !is_at_end(source); i++)
		advance(source);
}

static void lua_string_skip(struct conf_source *source)
{
	const char quote[] = {source->text[source->at], '\0'};

	advance(source);
	while (!is_at_end(source) && !is_at(source, quote)) {
		if (is_at(source, "\\"))
			escaped_skip(source);
		else
			advance(source);
	}
	if (!is_at_end(source))
		advance(source);
}

/* Over what may hold braces that do not count; false: nothing such is here. */
static bool lua_literal_skip(struct conf_source *source)
{
	bool is_comment = is_at(source, "--");
	int level = long_bracket_level(source, is_comment ? 2 : 0);

	if (level >= 0)
		long_bracket_skip(source, level);
	else if (is_comment)
		line_skip(source);
	else if (is_at_any(source, "\"'"))
		lua_string_skip(source);
	else
		return false;
	return true;
}

int conf_lua_skip(struct conf_source *source, struct failure *why)
{
	struct conf_source opened = *source;

	for (size_t depth = 1; !is_at_end(source);) {
		if (lua_literal_skip(source))
			continue;
		if (is_at(source, "{"))
			depth++;
		else if (is_at(source, "}"))
			depth--;
		advance(source);
		if (!depth)
			return 0;
	}
	return conf_fault(&opened, why, "a block of Lua is not closed");
}
