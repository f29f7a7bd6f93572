/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "text/utf8.h"

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

static void bytes_of_no_character_become_question_marks(void **state)
{
	static const struct {
		const char *text;
		const char *valid;
	} cases[] = {
		{"", ""},
		{"plain", "plain"},
		{"\xc3\xbc", "\xc3\xbc"},
		{"\xe2\x82\xac", "\xe2\x82\xac"},
		{"\xf0\x9f\x98\x80", "\xf0\x9f\x98\x80"},
		{"\xf4\x8f\xbf\xbf", "\xf4\x8f\xbf\xbf"},
		{"\xf4\x90\x80\x80", "????"}, /* beyond U+10FFFF */
		{"\xed\xa0\x80", "???"},      /* a surrogate */
		{"\xc0\xaf", "??"},           /* overlong */
		{"\xe0\x80\xaf", "???"},      /* overlong */
		{"\xf0\x80\x80\xaf", "????"}, /* overlong */
		{"\x80", "?"},                /* no first byte */
		{"\xff", "?"},
		{"\xc3", "?"}, /* cut */
		{"\xe2\x82", "??"},
		{"\xf0\x9f\x98", "???"},
		{"\xe2\x82z", "??z"},
		{"\xc3\xc3\xbc", "?\xc3\xbc"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char *valid = utf8_make_valid(cases[i].text);

		assert_string_equal(valid, cases[i].valid);
		assert_int_equal(utf8_is_valid(cases[i].text),
				 !strcmp(cases[i].text, cases[i].valid));
		free(valid);
	}
}

/* Every two bytes, with every kind of byte behind them. */
static void it_takes_what_the_json_library_takes(void **state)
{
	static const unsigned char ends[] = {'z', 0x7f, 0x80, 0xbf, 0xc0};

	(void)state;
	for (unsigned int i = 0; i < 0x10000 * ARRAY_SIZE(ends); i++) {
		unsigned char end = ends[i >> 16];
		char text[] = {(char)(i >> 8), (char)i, (char)end, (char)end, '\0'};
		json_t *string = json_string(text);

		if (utf8_is_valid(text) != (string != NULL))
			fail_msg("%02x %02x %02x %02x", i >> 8 & 0xff, i & 0xff, end, end);
		json_decref(string);
	}
}

static void a_character_has_one_to_four_bytes(void **state)
{
	(void)state;
	assert_int_equal(utf8_character_size(""), 0);
	assert_int_equal(utf8_character_size("az"), 1);
	assert_int_equal(utf8_character_size("\xc3\xbcz"), 2);
	assert_int_equal(utf8_character_size("\xe2\x82\xacz"), 3);
	assert_int_equal(utf8_character_size("\xf0\x9f\x98\x80z"), 4);
	assert_int_equal(utf8_character_size("\xbcz"), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bytes_of_no_character_become_question_marks),
		cmocka_unit_test(it_takes_what_the_json_library_takes),
		cmocka_unit_test(a_character_has_one_to_four_bytes),
	};

	return cmocka_run_group_tests_name("utf8", tests, NULL, NULL);
}
