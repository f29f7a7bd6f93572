/* SPDX-License-Identifier: MIT */
/* What a backend reads as the account, out of bodies that are written to hide it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "http/form_field.h"

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define NAME          "username"
#define LONG_SIZE     8192
/* jansson's JSON_PARSER_MAX_DEPTH, the object around it included. */
#define LEVELS_MAX 2048

/* Bytes that may contain NUL. */
struct text {
	const char *bytes;
	size_t size;
};

#define TEXT(literal) ((struct text){literal, sizeof(literal) - 1})

struct found {
	bool is_found;
	size_t size;
	char bytes[LONG_SIZE];
};

/* Of exactly that size, so that access beyond it is found; not NULL. */
static char *allocated(size_t size)
{
	char *bytes = malloc(size ? size : 1);

	assert_non_null(bytes);
	return bytes;
}

static struct found field_within(enum form_kind kind, struct text body, const char *name,
				 size_t buf_size)
{
	char *copy = allocated(body.size), *buf = allocated(buf_size);
	struct found found = {.size = SIZE_MAX};

	memcpy(copy, body.bytes, body.size);
	found.is_found = form_field_find(kind, copy, body.size, name, buf, buf_size, &found.size);
	if (found.is_found)
		memcpy(found.bytes, buf, found.size);
	free(copy);
	free(buf);
	return found;
}

static void assert_value(enum form_kind kind, struct text body, struct text value)
{
	struct found found = field_within(kind, body, NAME, LONG_SIZE);

	if (!found.is_found)
		fail_msg("nothing in '%.200s'", body.bytes);
	if (found.size != value.size || memcmp(found.bytes, value.bytes, value.size))
		fail_msg("'%.*s' in '%.200s', expected '%s'", (int)found.size, found.bytes,
			 body.bytes, value.bytes);
}

static void assert_nothing(enum form_kind kind, struct text body)
{
	struct found found = field_within(kind, body, NAME, LONG_SIZE);

	if (found.is_found)
		fail_msg("'%.*s' in '%.200s'", (int)found.size, found.bytes, body.bytes);
	assert_int_equal(found.size, SIZE_MAX);
}

struct value_case {
	struct text body, value;
};

static void assert_values(enum form_kind kind, const struct value_case *cases, size_t count)
{
	for (size_t i = 0; i < count; i++)
		assert_value(kind, cases[i].body, cases[i].value);
}

static void assert_nothing_in(enum form_kind kind, const struct text *bodies, size_t count)
{
	for (size_t i = 0; i < count; i++)
		assert_nothing(kind, bodies[i]);
}

static void the_media_type_says_which_kind_of_body_it_is(void **state)
{
	static const struct {
		struct text type;
		enum form_kind kind;
	} cases[] = {
		{TEXT("application/x-www-form-urlencoded"), FORM_URLENCODED},
		{TEXT("Application/X-WWW-Form-URLEncoded"), FORM_URLENCODED},
		{TEXT("application/x-www-form-urlencoded;charset=UTF-8"), FORM_URLENCODED},
		{TEXT("application/x-www-form-urlencoded ; charset=UTF-8"), FORM_URLENCODED},
		{TEXT(" \tapplication/x-www-form-urlencoded\t "), FORM_URLENCODED},
		{TEXT("application/x-www-form-urlencoded;"), FORM_URLENCODED},
		{TEXT("application/json"), FORM_JSON},
		{TEXT("APPLICATION/JSON; charset=utf-8"), FORM_JSON},
		{TEXT("application/vnd.api+json"), FORM_JSON},
		{TEXT("application/vnd.api+JSON ;v=1"), FORM_JSON},
		{TEXT(""), FORM_OTHER},
		{TEXT(" "), FORM_OTHER},
		{TEXT(";"), FORM_OTHER},
		{TEXT(";application/json"), FORM_OTHER},
		{TEXT("application/"), FORM_OTHER},
		{TEXT("application/jso"), FORM_OTHER},
		{TEXT("application/jsonp"), FORM_OTHER},
		{TEXT("application/json\0"), FORM_OTHER},
		{TEXT("application/json\0; charset=utf-8"), FORM_OTHER},
		{TEXT("application/ json"), FORM_OTHER},
		{TEXT("application/x-www-form-urlencode"), FORM_OTHER},
		{TEXT("application/x-www-form-urlencodedx"), FORM_OTHER},
		{TEXT("application/x+json+xml"), FORM_OTHER},
		{TEXT("text/x+json"), FORM_OTHER},
		{TEXT("+json"), FORM_OTHER},
		{TEXT("text/plain; application/json"), FORM_OTHER},
		{TEXT("multipart/form-data; boundary=x"), FORM_OTHER},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char *copy = allocated(cases[i].type.size);

		memcpy(copy, cases[i].type.bytes, cases[i].type.size);
		if (form_kind_of(copy, cases[i].type.size) != cases[i].kind)
			fail_msg("'%s' is not of kind %d", cases[i].type.bytes, cases[i].kind);
		free(copy);
	}
	assert_int_equal(form_kind_of(NULL, 0), FORM_OTHER);
}

static void an_urlencoded_value_is_decoded(void **state)
{
	static const struct value_case cases[] = {
		{TEXT("username=alice"), TEXT("alice")},
		{TEXT("a=1&username=alice&b=2"), TEXT("alice")},
		{TEXT("&&username=alice&&"), TEXT("alice")},
		{TEXT("username=al+ice"), TEXT("al ice")},
		{TEXT("username=al%20ice"), TEXT("al ice")},
		{TEXT("username=%61l%69ce%2B"), TEXT("alice+")},
		{TEXT("username=+"), TEXT(" ")},
		{TEXT("username=a%26username%3Db"), TEXT("a&username=b")},
		{TEXT("username=a=b"), TEXT("a=b")},
		{TEXT("username=="), TEXT("=")},
		{TEXT("username=%C3%BC%c3%bc"), TEXT("\xc3\xbc\xc3\xbc")},
		{TEXT("username=\xc3\xbc"), TEXT("\xc3\xbc")},
		{TEXT("username=%FF%80"), TEXT("\xff\x80")},
		{TEXT("username=alice\r\n"), TEXT("alice\r\n")},
		{TEXT("username=%0d%0A"), TEXT("\r\n")},
		{TEXT("=x&username=alice"), TEXT("alice")},
		{TEXT("x&username=alice"), TEXT("alice")},
		{TEXT("\0=\0&username=alice"), TEXT("alice")},
	};

	(void)state;
	assert_values(FORM_URLENCODED, cases, ARRAY_SIZE(cases));
}

static void what_is_no_escape_stays_as_it_is(void **state)
{
	static const struct value_case cases[] = {
		{TEXT("username=%"), TEXT("%")},
		{TEXT("username=%6"), TEXT("%6")},
		{TEXT("username=a%6&x"), TEXT("a%6")},
		{TEXT("username=%&username1=x"), TEXT("%")},
		{TEXT("username=%%61"), TEXT("%a")},
		{TEXT("username=%6%61"), TEXT("%6a")},
		{TEXT("username=%g1%1g%G1"), TEXT("%g1%1g%G1")},
		{TEXT("username=%/0%:0%@0%`0"), TEXT("%/0%:0%@0%`0")},
		{TEXT("username=%2561"), TEXT("%61")},
		{TEXT("username=%+1"), TEXT("% 1")},
		{TEXT("username=%u0061"), TEXT("%u0061")},
	};

	(void)state;
	assert_values(FORM_URLENCODED, cases, ARRAY_SIZE(cases));
}

static void an_encoded_name_is_the_name(void **state)
{
	static const struct value_case cases[] = {
		{TEXT("user%6eame=alice"), TEXT("alice")},
		{TEXT("user%6Eame=alice"), TEXT("alice")},
		{TEXT("%75%73%65%72%6e%61%6d%65=alice"), TEXT("alice")},
	};
	static const struct text spaced[] = {TEXT("user+name=alice"), TEXT("user%20name=alice")};

	(void)state;
	assert_values(FORM_URLENCODED, cases, ARRAY_SIZE(cases));
	for (size_t i = 0; i < ARRAY_SIZE(spaced); i++)
		assert_true(
			field_within(FORM_URLENCODED, spaced[i], "user name", LONG_SIZE).is_found);
}

static void another_name_is_not_the_name(void **state)
{
	static const struct text bodies[] = {
		TEXT("user=alice"),
		TEXT("usernam=alice"),
		TEXT("username1=alice"),
		TEXT("xusername=alice"),
		TEXT("Username=alice"),
		TEXT("username%00=alice"),
		TEXT("username\0=alice"),
		TEXT("username%=alice"),
		TEXT("user%256eame=alice"),
		TEXT("user%6=alice"),
		TEXT("+username=alice"),
		TEXT("username%3Dalice"),
		TEXT("x=username=alice"),
		TEXT("x=%26username=alice"),
		TEXT("x=1;username=alice"),
		TEXT("=username"),
		TEXT("=alice"),
		TEXT("alice"),
		TEXT("{\"username\":\"alice\"}"),
	};

	(void)state;
	assert_nothing_in(FORM_URLENCODED, bodies, ARRAY_SIZE(bodies));
}

static void a_semicolon_separates_nothing(void **state)
{
	static const struct value_case cases[] = {
		{TEXT("username=alice;username=bob"), TEXT("alice;username=bob")},
		{TEXT("x=1;username=bob&username=alice"), TEXT("alice")},
	};

	(void)state;
	assert_values(FORM_URLENCODED, cases, ARRAY_SIZE(cases));
}

static void of_a_name_twice_neither_is_believed(void **state)
{
	static const struct text bodies[] = {
		TEXT("username=alice&username=bob"),      TEXT("username=alice&username=alice"),
		TEXT("username=alice&user%6eame=bob"),    TEXT("username=&username=alice"),
		TEXT("username=alice&username="),         TEXT("username&username=alice"),
		TEXT("username=alice&username"),          TEXT("username=alice&x=1&&username=bob"),
		TEXT("username=a&username=b&username=c"),
	};

	(void)state;
	assert_nothing_in(FORM_URLENCODED, bodies, ARRAY_SIZE(bodies));
}

static void an_empty_value_and_one_with_nul_are_none(void **state)
{
	static const struct text urlencoded[] = {
		TEXT(""),
		TEXT("username"),
		TEXT("username="),
		TEXT("username=&x=1"),
		TEXT("username=%00"),
		TEXT("username=alice%00"),
		TEXT("username=%00alice"),
		TEXT("username=alice\0x"),
	};
	static const struct text json[] = {
		TEXT(""),
		TEXT("{\"username\":\"\"}"),
		TEXT("{\"username\":\"\\u0000\"}"),
		TEXT("{\"username\":\"alice\\u0000\"}"),
		TEXT("{\"username\":\"alice\\u0000bob\"}"),
		TEXT("{\"username\":\"alice\0\"}"),
	};
	size_t size;

	(void)state;
	assert_nothing_in(FORM_URLENCODED, urlencoded, ARRAY_SIZE(urlencoded));
	assert_nothing_in(FORM_JSON, json, ARRAY_SIZE(json));
	assert_false(form_field_find(FORM_URLENCODED, NULL, 0, NAME, NULL, 0, &size));
	assert_false(form_field_find(FORM_JSON, NULL, 0, NAME, NULL, 0, &size));
}

static void a_body_of_another_kind_has_no_fields(void **state)
{
	(void)state;
	assert_nothing(FORM_OTHER, TEXT("username=alice"));
	assert_nothing(FORM_OTHER, TEXT("{\"username\":\"alice\"}"));
}

static void a_value_fills_the_buffer_and_no_more(void **state)
{
	static const struct {
		enum form_kind kind;
		struct text body;
		size_t size;
	} cases[] = {
		{FORM_URLENCODED, TEXT("username=alice"), 5},
		{FORM_URLENCODED, TEXT("username=%61%6c%69%63%65"), 5},
		{FORM_URLENCODED, TEXT("username=%6"), 2},
		{FORM_JSON, TEXT("{\"username\":\"alice\"}"), 5},
		{FORM_JSON, TEXT("{\"username\":\"\\u20ac\"}"), 3},
		{FORM_JSON, TEXT("{\"username\":-12}"), 3},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		size_t size = cases[i].size;
		struct found found = field_within(cases[i].kind, cases[i].body, NAME, size);

		assert_true(found.is_found);
		assert_int_equal(found.size, size);
		assert_false(field_within(cases[i].kind, cases[i].body, NAME, size - 1).is_found);
		assert_false(field_within(cases[i].kind, cases[i].body, NAME, 0).is_found);
	}
}

/* A body of LONG_SIZE that ends in the field. */
static void assert_value_behind(const char *repeated)
{
	static const char end[] = "&username=alice";
	char body[LONG_SIZE];
	size_t unit = strlen(repeated), filled = 0;

	while (filled + unit + sizeof(end) - 1 <= sizeof(body)) {
		memcpy(body + filled, repeated, unit);
		filled += unit;
	}
	memcpy(body + filled, end, sizeof(end) - 1);
	assert_value(FORM_URLENCODED, (struct text){body, filled + sizeof(end) - 1}, TEXT("alice"));
}

static void a_field_behind_kilobytes_of_junk_is_found(void **state)
{
	(void)state;
	assert_value_behind("&");
	assert_value_behind("=");
	assert_value_behind("&=");
	assert_value_behind("%");
	assert_value_behind("usernam&");
	assert_value_behind("%75%73%65%72%6e%61%6d&");
}

static void a_json_member_of_the_top_is_read(void **state)
{
	static const struct value_case cases[] = {
		{TEXT("{\"username\":\"alice\"}"), TEXT("alice")},
		{TEXT(" \t\r\n{ \"username\" : \"alice\" }\r\n"), TEXT("alice")},
		{TEXT("{\"a\":{\"username\":\"bob\"},\"username\":\"alice\"}"), TEXT("alice")},
		{TEXT("{\"a\":[{\"username\":\"bob\"}],\"username\":\"alice\"}"), TEXT("alice")},
		{TEXT("{\"a\":\"\\\"username\\\":\\\"bob\\\"\",\"username\":\"alice\"}"),
		 TEXT("alice")},
		{TEXT("{\"user\\u006eame\":\"alice\"}"), TEXT("alice")},
		{TEXT("{\"username\":\"al\\u0069ce\"}"), TEXT("alice")},
		{TEXT("{\"username\":\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"}"), TEXT("\"\\/\b\f\n\r\t")},
		{TEXT("{\"username\":\"al+ice%20\"}"), TEXT("al+ice%20")},
		{TEXT("{\"username\":\"\xc3\xbc\"}"), TEXT("\xc3\xbc")},
		{TEXT("{\"username\":\"\\u00fc\"}"), TEXT("\xc3\xbc")},
		{TEXT("{\"username\":\"\\ud83d\\ude00\"}"), TEXT("\xf0\x9f\x98\x80")},
		{TEXT("{\"Username\":\"bob\",\"username\":\"alice\"}"), TEXT("alice")},
		{TEXT("{\"\":\"bob\",\"username\":\"alice\"}"), TEXT("alice")},
		{TEXT("{\"x\":\"\\u0000\",\"username\":\"alice\"}"), TEXT("alice")},
		{TEXT("\xef\xbb\xbf{\"username\":\"alice\"}"), TEXT("alice")},
	};

	(void)state;
	assert_values(FORM_JSON, cases, ARRAY_SIZE(cases));
}

static void a_json_integer_is_its_decimal_text(void **state)
{
	static const struct value_case cases[] = {
		{TEXT("{\"username\":7}"), TEXT("7")},
		{TEXT("{\"username\":0}"), TEXT("0")},
		{TEXT("{\"username\":-0}"), TEXT("0")},
		{TEXT("{\"username\":-1}"), TEXT("-1")},
		{TEXT("{\"username\":9223372036854775807}"), TEXT("9223372036854775807")},
		{TEXT("{\"username\":-9223372036854775808}"), TEXT("-9223372036854775808")},
	};

	(void)state;
	assert_values(FORM_JSON, cases, ARRAY_SIZE(cases));
}

static void what_is_neither_string_nor_integer_is_none(void **state)
{
	static const struct text bodies[] = {
		TEXT("{\"username\":true}"),
		TEXT("{\"username\":false}"),
		TEXT("{\"username\":null}"),
		TEXT("{\"username\":1.0}"),
		TEXT("{\"username\":1e2}"),
		TEXT("{\"username\":[\"alice\"]}"),
		TEXT("{\"username\":{\"username\":\"alice\"}}"),
	};

	(void)state;
	assert_nothing_in(FORM_JSON, bodies, ARRAY_SIZE(bodies));
}

static void json_without_the_member_has_no_value(void **state)
{
	static const struct text bodies[] = {
		TEXT("{}"),
		TEXT("{\"user\":\"alice\"}"),
		TEXT("{\"usernames\":\"alice\"}"),
		TEXT("{\"user.username\":\"alice\"}"),
		TEXT("{\"user\":{\"username\":\"alice\"}}"),
		TEXT("[\"username\",\"alice\"]"),
		TEXT("[{\"username\":\"alice\"}]"),
		TEXT("\"username\""),
		TEXT("null"),
	};

	(void)state;
	assert_nothing_in(FORM_JSON, bodies, ARRAY_SIZE(bodies));
}

static void of_json_with_a_name_twice_nothing_is_believed(void **state)
{
	static const struct text bodies[] = {
		TEXT("{\"username\":\"alice\",\"username\":\"bob\"}"),
		TEXT("{\"username\":\"alice\",\"username\":\"alice\"}"),
		TEXT("{\"username\":\"alice\",\"user\\u006eame\":\"bob\"}"),
		TEXT("{\"username\":\"alice\",\"x\":1,\"username\":null}"),
		TEXT("{\"username\":null,\"username\":\"alice\"}"),
		TEXT("{\"x\":1,\"x\":2,\"username\":\"alice\"}"),
		TEXT("{\"x\":{\"y\":1,\"y\":2},\"username\":\"alice\"}"),
	};

	(void)state;
	assert_nothing_in(FORM_JSON, bodies, ARRAY_SIZE(bodies));
}

static void what_is_no_json_has_no_value(void **state)
{
	static const struct text bodies[] = {
		TEXT("{"),
		TEXT("{\"username\":\"alice\""),
		TEXT("{\"username\":\"alice"),
		TEXT("{\"username\":\"alice\\"),
		TEXT("{\"username\":\"alice\\u00"),
		TEXT("{\"username\":\"alice\",}"),
		TEXT("{'username':'alice'}"),
		TEXT("{username:\"alice\"}"),
		TEXT("{\"username\":\"alice\"}}"),
		TEXT("{\"username\":\"alice\"} x"),
		TEXT("{\"username\":\"alice\"}{\"username\":\"bob\"}"),
		TEXT("{\"username\":\"alice\"}\0"),
		TEXT("{\"username\":\"alice\"/**/}"),
		TEXT("{\"username\":\"al\nice\"}"),
		TEXT("{\"username\":\"al\\x69ce\"}"),
		TEXT("{\"username\":007}"),
		TEXT("{\"username\":+7}"),
		TEXT("{\"username\":NaN}"),
		TEXT("{\"username\":9223372036854775808}"),
		TEXT("{\"username\":-9223372036854775809}"),
		TEXT("{\"username\":1e999}"),
		TEXT("{\"username\":\"\\ud83d\"}"),
		TEXT("{\"username\":\"\\ude00\\ud83d\"}"),
		TEXT("{\"username\":\"\xed\xa0\xbd\xed\xb8\x80\"}"),
		TEXT("{\"username\":\"\xff\"}"),
		TEXT("{\"username\":\"\xc0\xaf\"}"),
		TEXT("{\"username\":\"\xc3\"}"),
		TEXT("{\"\xff\":1,\"username\":\"alice\"}"),
		TEXT("\xef\xbb\xbf\xef\xbb\xbf{\"username\":\"alice\"}"),
		TEXT("\xef\xbb\xbf"),
		TEXT("\xef\xbb"),
		TEXT("\xff\xfe{\0"),
		TEXT("username=alice"),
	};

	(void)state;
	assert_nothing_in(FORM_JSON, bodies, ARRAY_SIZE(bodies));
}

/* {"a":[[...]],"username":"alice"} with as many levels in all. */
static struct text nested(char *buf, size_t levels)
{
	static const char begin[] = "{\"a\":", end[] = ",\"username\":\"alice\"}";
	size_t at = sizeof(begin) - 1, arrays = levels - 1;

	memcpy(buf, begin, at);
	memset(buf + at, '[', arrays);
	memset(buf + at + arrays, ']', arrays);
	at += 2 * arrays;
	memcpy(buf + at, end, sizeof(end) - 1);
	return (struct text){buf, at + sizeof(end) - 1};
}

static void json_of_too_many_levels_has_no_value(void **state)
{
	char body[LONG_SIZE];

	(void)state;
	assert_value(FORM_JSON, nested(body, LEVELS_MAX), TEXT("alice"));
	assert_nothing(FORM_JSON, nested(body, LEVELS_MAX + 1));
	memset(body, '[', sizeof(body));
	assert_nothing(FORM_JSON, (struct text){body, sizeof(body)});
}

/* What is cut anywhere gives the value's beginning at most, and reads nothing beyond. */
static void a_body_cut_anywhere_is_read_to_its_end_only(void **state)
{
	static const struct text urlencoded = TEXT("a=%31&user%6eame=%61%6cice%21");
	static const struct text json = TEXT("{\"a\":[1],\"user\\u006eame\":\"\\u0061lice\"}");

	(void)state;
	for (size_t size = 0; size < urlencoded.size; size++) {
		struct text cut = {urlencoded.bytes, size};
		bool is_begun = size > strlen("a=%31&user%6eame=");

		assert_int_equal(field_within(FORM_URLENCODED, cut, NAME, LONG_SIZE).is_found,
				 is_begun);
	}
	for (size_t size = 0; size < json.size; size++)
		assert_nothing(FORM_JSON, (struct text){json.bytes, size});
	assert_value(FORM_JSON, json, TEXT("alice"));
}

static void folding_leaves_lower_case_without_blanks_around(void **state)
{
	static const struct value_case cases[] = {
		{TEXT("alice"), TEXT("alice")},
		{TEXT("Alice@EXAMPLE.com"), TEXT("alice@example.com")},
		{TEXT(" \t\n\v\f\rAl ice \t\n\v\f\r"), TEXT("al ice")},
		{TEXT("@AZ[`az{"), TEXT("@az[`az{")},
		{TEXT("\xc3\x9c\xc2\xa0"), TEXT("\xc3\x9c\xc2\xa0")},
		{TEXT("0 A 9"), TEXT("0 a 9")},
		{TEXT("\x08 A\x0e"), TEXT("\x08 a\x0e")},
		{TEXT(" \t "), TEXT("")},
		{TEXT(""), TEXT("")},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		size_t size = cases[i].body.size;
		char *value = allocated(size);

		memcpy(value, cases[i].body.bytes, size);
		form_value_fold(value, &size);
		assert_int_equal(size, cases[i].value.size);
		assert_memory_equal(value, cases[i].value.bytes, size);
		free(value);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_media_type_says_which_kind_of_body_it_is),
		cmocka_unit_test(an_urlencoded_value_is_decoded),
		cmocka_unit_test(what_is_no_escape_stays_as_it_is),
		cmocka_unit_test(an_encoded_name_is_the_name),
		cmocka_unit_test(another_name_is_not_the_name),
		cmocka_unit_test(a_semicolon_separates_nothing),
		cmocka_unit_test(of_a_name_twice_neither_is_believed),
		cmocka_unit_test(an_empty_value_and_one_with_nul_are_none),
		cmocka_unit_test(a_body_of_another_kind_has_no_fields),
		cmocka_unit_test(a_value_fills_the_buffer_and_no_more),
		cmocka_unit_test(a_field_behind_kilobytes_of_junk_is_found),
		cmocka_unit_test(a_json_member_of_the_top_is_read),
		cmocka_unit_test(a_json_integer_is_its_decimal_text),
		cmocka_unit_test(what_is_neither_string_nor_integer_is_none),
		cmocka_unit_test(json_without_the_member_has_no_value),
		cmocka_unit_test(of_json_with_a_name_twice_nothing_is_believed),
		cmocka_unit_test(what_is_no_json_has_no_value),
		cmocka_unit_test(json_of_too_many_levels_has_no_value),
		cmocka_unit_test(a_body_cut_anywhere_is_read_to_its_end_only),
		cmocka_unit_test(folding_leaves_lower_case_without_blanks_around),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
