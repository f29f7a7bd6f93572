/* SPDX-License-Identifier: MIT */
/* One field of a request's body: the account that a login is for. Pure. */
#ifndef WEIR_HTTP_FORM_FIELD_H
#define WEIR_HTTP_FORM_FIELD_H

#include <stdbool.h>
#include <stddef.h>

enum form_kind { FORM_OTHER, FORM_URLENCODED, FORM_JSON };

/* By the media type of a Content-Type, parameters and case aside: application/json and
 * application/...+json (RFC 6839 3.1) are JSON. content_type is not NUL-terminated. */
enum form_kind form_kind_of(const char *content_type, size_t size);

/* The value that a backend reads as the field name, decoded: in an urlencoded body (WHATWG URL 5.1)
 * of the pair, in a JSON body (RFC 8259, with or without a byte order mark) of the top-level
 * object's member, a string or an integer as decimal text. name is compared decoded, byte for byte,
 * and is not empty. body and buf are not NUL-terminated, the value is at most buf_size bytes.
 *
 * False, with buf undefined, where the field is absent, empty, contains NUL, is longer than buf, or
 * is there twice: parsers differ in which one they take. And where the body is of another kind or
 * does not parse: for JSON that is also a name twice in any object, an integer beyond 64 bits, a
 * real beyond a double, a lone surrogate, invalid UTF-8, more than 2048 levels; some parsers take
 * those, so whoever wants to can make a field unreadable, and a limit by the field needs one by
 * address beside it. */
bool form_field_find(enum form_kind kind, const char *body, size_t size, const char *name,
		     char *buf, size_t buf_size, size_t *ret_size);

/* ASCII letters to lower case, ASCII blanks off both ends, in place; nothing may be left. For
 * backends to which " Alice" and "alice" are one account. */
void form_value_fold(char *value, size_t *size);

#endif
