/* SPDX-License-Identifier: MIT */
/* The tokens of nginx's configuration language. Used by nginx_conf.c only. Pure.
 *
 * Words are parted by blanks, ';' and '{'; "${" is of its word. A quoted word ends at its quote,
 * which a blank, ';', '{' or ')' must follow. '#' begins a comment and '}' closes a block where a
 * word could begin, and are text inside one. A backslash keeps the next byte from ending the word;
 * it stays, but for \" \' \\ and for \t \r \n, which are control characters. */
#ifndef WEIR_NGINX_CONF_TOKEN_H
#define WEIR_NGINX_CONF_TOKEN_H

#include <stdbool.h>
#include <stddef.h>

#include "text/failure.h"

/* A file that is being read. */
struct conf_source {
	const char *file; /* its name, for errors */
	const char *text; /* without NUL bytes up to size */
	size_t size;
	size_t at;
	unsigned int line;  /* of at, from 1 */
	bool follows_quote; /* the word before at was quoted */
};

enum conf_token {
	CONF_TOKEN_WORD,
	CONF_TOKEN_SEMICOLON,
	CONF_TOKEN_OPEN,
	CONF_TOKEN_CLOSE,
	CONF_TOKEN_FILE_END
};

/* -EINVAL with why, "FILE:LINE: ...", or -ENOMEM. *ret_word is set for words, to be freed. */
int conf_token_read(struct conf_source *source, enum conf_token *ret, char **ret_word,
		    struct failure *why);

/* From behind the '{' to behind its '}', over Lua: strings, comments and long brackets may hold
 * braces. -EINVAL where the file ends before. */
int conf_lua_skip(struct conf_source *source, struct failure *why);

/* Fills in why, "FILE:LINE: <fault>", and returns -EINVAL. */
int conf_fault(const struct conf_source *source, struct failure *why, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

#endif
