/* SPDX-License-Identifier: MIT */
/* Addresses and prefixes as text, and back. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdbool.h>
#include <string.h>

#include "random.h"
#include "text/address.h"
#include "weir.h"

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define RANDOM_CASES  20000
#define RANDOM_SEED   0x77656972

static void prefixes_are_read(void **state)
{
	static const struct {
		const char *text;
		struct prefix prefix;
	} cases[] = {
		{"192.0.2.1", {WEIR_IPV4, 32, {192, 0, 2, 1}}},
		{"192.0.2.1/32", {WEIR_IPV4, 32, {192, 0, 2, 1}}},
		{"192.0.2.0/24", {WEIR_IPV4, 24, {192, 0, 2}}},
		{"192.0.2.128/25", {WEIR_IPV4, 25, {192, 0, 2, 128}}},
		{"128.0.0.0/1", {WEIR_IPV4, 1, {128}}},
		{"0.0.0.0/0", {WEIR_IPV4, 0, {0}}},
		{"0.0.0.0", {WEIR_IPV4, 32, {0}}},
		{"255.255.255.255", {WEIR_IPV4, 32, {255, 255, 255, 255}}},
		{"::", {WEIR_IPV6, 128, {0}}},
		{"::/0", {WEIR_IPV6, 0, {0}}},
		{"::1", {WEIR_IPV6, 128, {[15] = 1}}},
		{"2001:db8::/32", {WEIR_IPV6, 32, {0x20, 0x01, 0x0d, 0xb8}}},
		{"2001:DB8::/32", {WEIR_IPV6, 32, {0x20, 0x01, 0x0d, 0xb8}}},
		{"2001:0db8:0000:0000:0000:0000:0000:0001",
		 {WEIR_IPV6, 128, {0x20, 0x01, 0x0d, 0xb8, [15] = 1}}},
		{"fe80::/10", {WEIR_IPV6, 10, {0xfe, 0x80}}},
		{"64:ff9b::192.0.2.1",
		 {WEIR_IPV6, 128, {0, 0x64, 0xff, 0x9b, [12] = 192, 0, 2, 1}}},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct prefix prefix;

		memset(&prefix, 0xa5, sizeof(prefix));
		if (!prefix_parse(cases[i].text, &prefix))
			fail_msg("'%s' was refused", cases[i].text);
		assert_memory_equal(&prefix, &cases[i].prefix, sizeof(prefix));
	}
}

static void an_ipv4_address_mapped_into_ipv6_is_ipv4(void **state)
{
	static const struct {
		const char *text;
		struct prefix prefix;
	} cases[] = {
		{"::ffff:192.0.2.1", {WEIR_IPV4, 32, {192, 0, 2, 1}}},
		{"::ffff:192.0.2.1/128", {WEIR_IPV4, 32, {192, 0, 2, 1}}},
		{"::ffff:c000:201", {WEIR_IPV4, 32, {192, 0, 2, 1}}},
		{"0000:0000:0000:0000:0000:ffff:192.168.100.228",
		 {WEIR_IPV4, 32, {192, 168, 100, 228}}},
		{"::ffff:192.0.2.0/120", {WEIR_IPV4, 24, {192, 0, 2}}},
		{"::ffff:0:0/96", {WEIR_IPV4, 0, {0}}},
		/* A bit beyond the length, as in any other prefix. */
		{"::ffff:0:0/95", {0}},
		{"::fffe:0:0/95", {WEIR_IPV6, 95, {[10] = 0xff, 0xfe}}},
		/* Neither mapped nor, since RFC 4291, anything special. */
		{"::192.0.2.1", {WEIR_IPV6, 128, {[12] = 192, 0, 2, 1}}},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct prefix prefix = {0};

		if (prefix_parse(cases[i].text, &prefix) != (cases[i].prefix.family != 0))
			fail_msg("'%s'", cases[i].text);
		assert_memory_equal(&prefix, &cases[i].prefix, sizeof(prefix));
	}
}

static void what_is_no_prefix_is_refused_and_changes_nothing(void **state)
{
	static const char *const texts[] = {
		"",
		" ",
		"/",
		"/24",
		"192.0.2",
		"192.0.2.256",
		"192.0.2.1.1",
		"192.0.2.01",
		"0xc0.0.2.1",
		"3221225985",
		" 192.0.2.1",
		"192.0.2.1 ",
		"192.0.2.1\n",
		"192.0.2.1/",
		"192.0.2.1/ 32",
		"192.0.2.1/+32",
		"192.0.2.1/-1",
		"192.0.2.1/33",
		"192.0.2.1/032",
		"192.0.2.0/24/24",
		"192.0.2.0/24 ",
		"192.0.2.0/255.255.255.0",
		"192.0.2.0/256",
		"192.0.2.0/280",
		"192.0.2.0/1000",
		"192.0.2.0/4294967320",
		"192.0.2.0/00",
		"192.0.2.0/x",
		"192.0.2.0:80",
		"[2001:db8::1]",
		"2001:db8::1/129",
		"2001:db8::1/256",
		"2001:db8:::1",
		"2001:db8::1::2",
		"1:2:3:4:5:6:7",
		"1:2:3:4:5:6:7:8:9",
		"2001:db8::12345",
		"2001:db8::g",
		"fe80::1%eth0",
		"fe80::1%1/64",
		"fe80::/64%eth0",
		":",
		":1",
		"eth0",
		"localhost",
		"example.org",
		"0000:0000:0000:0000:0000:ffff:192.168.100.2288",
		"111111111111111111111111111111111111111111111111111111111111111111111111111111111"
		"1",
	};
	struct prefix untouched, prefix;

	(void)state;
	memset(&untouched, 0xa5, sizeof(untouched));
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		memset(&prefix, 0xa5, sizeof(prefix));
		if (prefix_parse(texts[i], &prefix))
			fail_msg("'%s' was taken", texts[i]);
		assert_memory_equal(&prefix, &untouched, sizeof(prefix));
	}
}

static void bits_beyond_the_length_are_refused(void **state)
{
	static const char *const texts[] = {
		"192.0.2.1/24",
		"192.0.2.1/31",
		"0.0.0.1/0",
		"128.0.0.0/0",
		"192.0.2.1/0",
		"2001:db8::1/64",
		"2001:db8::1/127",
		"::1/0",
		"8000::/0",
		"::ffff:0:1/96",
		"::ffff:192.0.2.1/120",
	};
	struct prefix prefix;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		if (prefix_parse(texts[i], &prefix))
			fail_msg("'%s' was taken", texts[i]);
	}
}

static void prefixes_are_written_in_one_form(void **state)
{
	static const struct {
		struct prefix prefix;
		const char *text;
	} cases[] = {
		{{WEIR_IPV4, 32, {192, 0, 2, 1}}, "192.0.2.1"},
		{{WEIR_IPV4, 24, {192, 0, 2}}, "192.0.2.0/24"},
		{{WEIR_IPV4, 0, {0}}, "0.0.0.0/0"},
		{{WEIR_IPV6, 128, {[15] = 1}}, "::1"},
		{{WEIR_IPV6, 0, {0}}, "::/0"},
		{{WEIR_IPV6, 64, {0x20, 0x01, 0x0d, 0xb8}}, "2001:db8::/64"},
		{{WEIR_IPV6, 128, {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}},
		 "101:101:101:101:101:101:101:101"},
	};
	char text[PREFIX_TEXT_SIZE];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		prefix_format(text, sizeof(text), &cases[i].prefix);
		assert_string_equal(text, cases[i].text);
	}
}

static void a_prefix_is_cut_to_the_buffer(void **state)
{
	const struct prefix prefix = {WEIR_IPV4, 24, {192, 0, 2}};
	char text[8];

	(void)state;
	prefix_format(text, sizeof(text), &prefix);
	assert_string_equal(text, "192.0.2");
}

/* Two bytes of three are zero, so that "::" occurs. */
static struct prefix random_prefix(uint64_t *seed)
{
	bool is_ipv4 = random_next(seed) % 2;
	unsigned int bits = is_ipv4 ? 32 : 128;
	struct prefix prefix = {.family = is_ipv4 ? WEIR_IPV4 : WEIR_IPV6};

	prefix.length = (uint8_t)(random_next(seed) % (bits + 1));
	for (unsigned int i = 0; i < bits / 8; i++)
		prefix.address[i] = random_next(seed) % 3 ? 0 : (uint8_t)random_next(seed);
	for (unsigned int bit = prefix.length; bit < bits; bit++)
		prefix.address[bit / 8] &= (uint8_t) ~(0x80 >> bit % 8);
	return prefix;
}

static void every_prefix_reads_back(void **state)
{
	uint64_t seed = RANDOM_SEED;

	(void)state;
	for (int i = 0; i < RANDOM_CASES; i++) {
		struct prefix prefix = random_prefix(&seed), back;
		char text[PREFIX_TEXT_SIZE];

		prefix_format(text, sizeof(text), &prefix);
		if (!prefix_parse(text, &back) || memcmp(&back, &prefix, sizeof(back)))
			fail_msg("'%s' does not read back", text);
	}
}

static void a_prefix_length_is_read_up_to_its_most(void **state)
{
	static const struct {
		const char *text;
		unsigned int max;
		uint8_t length; /* 0: refused */
	} cases[] = {
		{"24", 32, 24},    {"/24", 32, 24},       {"1", 32, 1},
		{"32", 32, 32},    {"33", 32, 0},         {"/33", 32, 0},
		{"128", 128, 128}, {"129", 128, 0},       {"64", 128, 64},
		{"0", 32, 0},      {"/0", 32, 0},         {"", 32, 0},
		{"/", 32, 0},      {"//24", 32, 0},       {"24/", 32, 0},
		{"-1", 32, 0},     {"+24", 32, 0},        {" 24", 32, 0},
		{"24 ", 32, 0},    {"024", 32, 0},        {"00", 32, 0},
		{"2 4", 32, 0},    {"0x18", 32, 0},       {"24.0", 32, 0},
		{"256", 128, 0},   {"280", 128, 0},       {"1000", 128, 0},
		{"/ 24", 32, 0},   {"4294967320", 32, 0}, {"18446744073709551640", 32, 0},
		{"24\n", 32, 0},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const uint8_t expected = cases[i].length ? cases[i].length : 0xa5;
		uint8_t length = 0xa5;

		if (prefix_length_parse(cases[i].text, cases[i].max, &length) !=
			    (cases[i].length != 0) ||
		    length != expected)
			fail_msg("'%s' is %u", cases[i].text, length);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(prefixes_are_read),
		cmocka_unit_test(an_ipv4_address_mapped_into_ipv6_is_ipv4),
		cmocka_unit_test(what_is_no_prefix_is_refused_and_changes_nothing),
		cmocka_unit_test(bits_beyond_the_length_are_refused),
		cmocka_unit_test(prefixes_are_written_in_one_form),
		cmocka_unit_test(a_prefix_is_cut_to_the_buffer),
		cmocka_unit_test(every_prefix_reads_back),
		cmocka_unit_test(a_prefix_length_is_read_up_to_its_most),
	};

	return cmocka_run_group_tests_name("address", tests, NULL, NULL);
}
