/* SPDX-License-Identifier: MIT */
#include "text/utf8.h"

#include <string.h>

#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))

/* RFC 3629 section 4: the ranges of a character's first two bytes. Any further bytes are
 * 0x80..0xbf. */
static const struct utf8_form {
	unsigned char first_min;
	unsigned char first_max;
	unsigned char second_min;
	unsigned char second_max;
	size_t size;
} utf8_forms[] = {
	{0xc2, 0xdf, 0x80, 0xbf, 2}, {0xe0, 0xe0, 0xa0, 0xbf, 3}, {0xe1, 0xec, 0x80, 0xbf, 3},
	{0xed, 0xed, 0x80, 0x9f, 3}, {0xee, 0xef, 0x80, 0xbf, 3}, {0xf0, 0xf0, 0x90, 0xbf, 4},
	{0xf1, 0xf3, 0x80, 0xbf, 4}, {0xf4, 0xf4, 0x80, 0x8f, 4},
};

/* The terminating zero matches no range, so nothing behind it is read. */
static bool form_matches(const struct utf8_form *form, const unsigned char *bytes)
{
	if (bytes[0] < form->first_min || bytes[0] > form->first_max)
		return false;
	if (bytes[1] < form->second_min || bytes[1] > form->second_max)
		return false;
	for (size_t i = 2; i < form->size; i++) {
		if (bytes[i] < 0x80 || bytes[i] > 0xbf)
			return false;
	}
	return true;
}

size_t utf8_character_size(const char *text)
{
	const unsigned char *bytes = (const unsigned char *)text;

	if (bytes[0] < 0x80)
		return bytes[0] ? 1 : 0;
	for (size_t i = 0; i < ARRAY_SIZE(utf8_forms); i++) {
		if (form_matches(&utf8_forms[i], bytes))
			return utf8_forms[i].size;
	}
	return 0;
}

bool utf8_is_valid(const char *text)
{
	size_t size;

	while ((size = utf8_character_size(text)))
		text += size;
	return !*text;
}

char *utf8_make_valid(const char *text)
{
	char *valid = strdup(text);

	for (char *at = valid; at && *at;) {
		size_t size = utf8_character_size(at);

		if (!size)
			*at = '?';
		at += size ? size : 1;
	}
	return valid;
}
