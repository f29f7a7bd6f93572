/* SPDX-License-Identifier: MIT */
/* Text in UTF-8 (RFC 3629). */
#ifndef WEIR_UTF8_H
#define WEIR_UTF8_H

#include <stdbool.h>
#include <stddef.h>

/* The bytes of the character that text starts with, 1 to 4, or 0 if it starts with none: at its
 * end, an overlong form, a surrogate, or beyond U+10FFFF. */
size_t utf8_character_size(const char *text);

bool utf8_is_valid(const char *text);

/* A copy in which each byte that belongs to no character is '?'. NULL without memory. */
char *utf8_make_valid(const char *text);

#endif
