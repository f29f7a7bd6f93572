/* SPDX-License-Identifier: MIT */
/* Whose request a proxy says it is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "http/forwarded.h"
#include "weir.h"

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define LINES_MAX     4
#define LONG_SIZE     65536
/* Far above what a pass over a line takes, far below what one for each of its bytes does. */
#define LONG_SECONDS_MAX 2

#define PEER "10.0.0.1"

static struct prefix prefix_of(const char *text)
{
	struct prefix prefix;

	assert_true(prefix_parse(text, &prefix));
	return prefix;
}

static void nodes_are_read(void **state)
{
	static const struct {
		const char *text, *address;
	} cases[] = {
		{"192.0.2.1", "192.0.2.1"},
		{"192.0.2.1:80", "192.0.2.1"},
		{"192.0.2.1:65535", "192.0.2.1"},
		{"192.0.2.1:_port-1.x", "192.0.2.1"},
		{"2001:db8::1", "2001:db8::1"},
		{"2001:DB8::A", "2001:db8::a"},
		{"2001:db8::1:80", "2001:db8::1:80"},
		{"[2001:db8::1]", "2001:db8::1"},
		{"[2001:db8::1]:80", "2001:db8::1"},
		{"::ffff:192.0.2.1", "192.0.2.1"},
		{"[::ffff:192.0.2.1]:80", "192.0.2.1"},
		{"64:ff9b::192.0.2.1", "64:ff9b::192.0.2.1"},
		{"::", "::"},
		{"\"192.0.2.1\"", "192.0.2.1"},
		{"\"192.0.2.1:80\"", "192.0.2.1"},
		{"\"[2001:db8::1]:80\"", "2001:db8::1"},
		{"\"[2001:db8::1]:_x\"", "2001:db8::1"},
		{"\"192.0.2.\\1\"", "192.0.2.1"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct prefix address, expected = prefix_of(cases[i].address);

		memset(&address, 0xa5, sizeof(address));
		if (!forwarded_node_parse(cases[i].text, strlen(cases[i].text), &address))
			fail_msg("'%s' was refused", cases[i].text);
		assert_memory_equal(&address, &expected, sizeof(address));
	}
}

static const char *const junk[] = {
	"unknown",
	"_hidden",
	"example.com",
	"localhost",
	"-",
	":",
	":80",
	"::1::",
	"192.0.2",
	"192.0.2.256",
	"192.0.2.01",
	"0xc0000201",
	"3221225985",
	"192.0.2.1/32",
	"192.0.2.1/",
	"2001:db8::/32",
	"192.0.2.1:",
	"192.0.2.1:port",
	"192.0.2.1:-1",
	"192.0.2.1:123456",
	"192.0.2.1:_",
	"192.0.2.1:_a!",
	"192.0.2.1x",
	"192.0.2.1 x",
	"192.0.2.1 80",
	"[192.0.2.1]",
	"[192.0.2.1]:80",
	"[2001:db8::1",
	"2001:db8::1]",
	"[2001:db8::1]80",
	"[2001:db8::1]:",
	"[2001:db8::1]]",
	"[]",
	"[",
	"]",
	"[:80",
	"fe80::1%eth0",
	"[fe80::1%25eth0]",
	"[fe80::1%1]:80",
	"1:2:3:4:5:6:7:8:9",
	"0000:0000:0000:0000:0000:ffff:192.168.100.2281",
	"\"",
	"\"\"",
	"\"192.0.2.1",
	"192.0.2.1\"",
	"\"192.0.2.1\\\"",
	"\"192.0.2.1\"\"",
	"\"\"192.0.2.1\"",
	"'192.0.2.1'",
	"\xff\xfe",
	"192.0.2.1\xc2\xa0",
};

static void what_is_no_node_is_refused(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(junk); i++) {
		struct prefix address, before;

		memset(&address, 0xa5, sizeof(address));
		before = address;
		if (forwarded_node_parse(junk[i], strlen(junk[i]), &address))
			fail_msg("'%s' was taken", junk[i]);
		assert_memory_equal(&address, &before, sizeof(address));
	}
}

static void a_zero_byte_does_not_end_a_node(void **state)
{
	struct prefix address;

	(void)state;
	assert_false(forwarded_node_parse("192.0.2.1\0", 10, &address));
	assert_false(forwarded_node_parse("192.0.2.1\0002", 11, &address));
	assert_false(forwarded_node_parse("192.0.2.1:80\0", 13, &address));
	assert_false(forwarded_node_parse("[::1]\0", 6, &address));
	assert_false(forwarded_node_parse("", 0, &address));
}

static void a_node_ends_with_its_size(void **state)
{
	struct prefix address, expected = prefix_of("192.0.2.1");

	(void)state;
	assert_true(forwarded_node_parse("192.0.2.17", 9, &address));
	assert_memory_equal(&address, &expected, sizeof(address));
}

static void prefixes_hold_what_lies_in_them(void **state)
{
	static const struct {
		const char *prefix, *address;
		bool holds;
	} cases[] = {
		{"10.0.0.0/8", "10.255.255.255", true},
		{"10.0.0.0/8", "11.0.0.0", false},
		{"10.128.0.0/9", "10.127.255.255", false},
		{"10.128.0.0/9", "10.128.0.0", true},
		{"192.0.2.1", "192.0.2.1", true},
		{"192.0.2.1", "192.0.2.0", false},
		{"192.0.2.0/31", "192.0.2.1", true},
		{"192.0.2.0/31", "192.0.2.2", false},
		{"0.0.0.0/0", "255.255.255.255", true},
		{"0.0.0.0/0", "::", false},
		{"::/0", "0.0.0.0", false},
		{"::/0", "ffff::", true},
		{"2001:db8::/127", "2001:db8::1", true},
		{"2001:db8::/127", "2001:db8::2", false},
		{"2001:db8::1", "2001:db8::1", true},
		{"2001:db8::1", "2001:db8::3", false},
		{"c000::/8", "192.0.2.1", false},
		{"2001:db8::", "2001:db8::/64", false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct prefix prefix = prefix_of(cases[i].prefix);
		struct prefix address = prefix_of(cases[i].address);

		if (prefixes_contain(&prefix, 1, &address) != cases[i].holds)
			fail_msg("%s in %s", cases[i].address, cases[i].prefix);
	}
}

static void one_prefix_of_several_is_enough_and_none_holds_nothing(void **state)
{
	struct prefix prefixes[] = {prefix_of("10.0.0.0/8"), prefix_of("2001:db8::/32")};
	struct prefix address = prefix_of("2001:db8::1");

	(void)state;
	assert_true(prefixes_contain(prefixes, 2, &address));
	assert_false(prefixes_contain(prefixes, 1, &address));
	assert_false(prefixes_contain(NULL, 0, &address));
}

/* Each line in memory of its own, so that a read beyond it is found. */
static struct prefix client_of(enum forwarded_header header, const char *const *texts)
{
	struct prefix trusted[] = {prefix_of("10.0.0.0/8"), prefix_of("2001:db8:10::/48")};
	struct prefix peer = prefix_of(PEER), client;
	struct forwarded_line lines[LINES_MAX];
	char *copies[LINES_MAX];
	size_t count = 0;

	for (; count < LINES_MAX && texts[count]; count++) {
		size_t size = strlen(texts[count]);

		copies[count] = malloc(size ? size : 1);
		assert_non_null(copies[count]);
		memcpy(copies[count], texts[count], size);
		lines[count] = (struct forwarded_line){copies[count], size};
	}
	client = forwarded_client(header, lines, count, trusted, ARRAY_SIZE(trusted), &peer);
	while (count > 0)
		free(copies[--count]);
	return client;
}

struct chain {
	const char *lines[LINES_MAX];
	const char *client;
};

static void clients_are_found(enum forwarded_header header, const struct chain *chains,
			      size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct prefix client = client_of(header, chains[i].lines);
		struct prefix expected = prefix_of(chains[i].client);
		char text[PREFIX_TEXT_SIZE];

		prefix_format(text, sizeof(text), &client);
		if (memcmp(&client, &expected, sizeof(client)))
			fail_msg("of '%s': %s, not %s", chains[i].lines[0], text, chains[i].client);
	}
}

#define CLIENTS_ARE_FOUND(header, chains) clients_are_found(header, chains, ARRAY_SIZE(chains))

static void x_forwarded_for_is_walked_from_the_right(void **state)
{
	static const struct chain chains[] = {
		{{"192.0.2.1"}, "192.0.2.1"},
		{{"203.0.113.9, 192.0.2.1"}, "192.0.2.1"},
		{{"203.0.113.9,192.0.2.1,10.0.0.2"}, "192.0.2.1"},
		{{"203.0.113.9 \t,\t 192.0.2.1 , 10.0.0.2, 10.0.0.3 "}, "192.0.2.1"},
		{{"10.0.0.9, 192.0.2.1, 10.0.0.2"}, "192.0.2.1"},
		{{"2001:db8::1, [2001:db8:10::2]:443"}, "2001:db8::1"},
		{{"192.0.2.1, ::ffff:10.0.0.2"}, "192.0.2.1"},
		{{"::ffff:192.0.2.1:80"}, PEER},
		{{"192.0.2.1, \"10.0.0.2\""}, "192.0.2.1"},
		{{"192.0.2.1, \"10.0.0.3, 10.0.0.2\""}, PEER},
		{{"192.0.2.1, \", 10.0.0.2"}, "10.0.0.2"},
		{{"[::ffff:192.0.2.1]:80"}, "192.0.2.1"},
	};

	(void)state;
	CLIENTS_ARE_FOUND(FORWARDED_X_FORWARDED_FOR, chains);
}

static void x_forwarded_for_goes_on_from_the_last_line_to_the_first(void **state)
{
	static const struct chain chains[] = {
		{{"203.0.113.9", "192.0.2.1"}, "192.0.2.1"},
		{{"192.0.2.1", "10.0.0.2"}, "192.0.2.1"},
		{{"203.0.113.9, 192.0.2.1", "10.0.0.3, 10.0.0.2"}, "192.0.2.1"},
		{{"192.0.2.1", "", " ", "10.0.0.2"}, "192.0.2.1"},
		{{"192.0.2.1", "junk", "10.0.0.2"}, "10.0.0.2"},
	};

	(void)state;
	CLIENTS_ARE_FOUND(FORWARDED_X_FORWARDED_FOR, chains);
}

static void of_trusted_addresses_only_the_leftmost_is_the_client(void **state)
{
	static const struct chain chains[] = {
		{{"10.0.0.7"}, "10.0.0.7"},
		{{"10.0.0.7, 10.0.0.8"}, "10.0.0.7"},
		{{"10.0.0.7", "10.0.0.8"}, "10.0.0.7"},
		{{", , 10.0.0.7,"}, "10.0.0.7"},
	};

	(void)state;
	CLIENTS_ARE_FOUND(FORWARDED_X_FORWARDED_FOR, chains);
}

static void empty_items_are_passed_over(void **state)
{
	static const struct chain chains[] = {
		{{""}, PEER},
		{{","}, PEER},
		{{" , ,\t,"}, PEER},
		{{"192.0.2.1,,"}, "192.0.2.1"},
		{{"192.0.2.1, , 10.0.0.2, ,"}, "192.0.2.1"},
		{{",192.0.2.1"}, "192.0.2.1"},
	};

	(void)state;
	CLIENTS_ARE_FOUND(FORWARDED_X_FORWARDED_FOR, chains);
	CLIENTS_ARE_FOUND(FORWARDED_FORWARDED, ((const struct chain[]){{{" , ,\t,"}, PEER}}));
}

static void junk_ends_the_walk_at_the_last_address_believed(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(junk); i++) {
		struct chain chains[] = {
			{{junk[i]}, PEER},
			{{"192.0.2.77", junk[i]}, PEER},
			{{"192.0.2.77", junk[i], "10.0.0.2"}, "10.0.0.2"},
			{{junk[i], "192.0.2.1"}, "192.0.2.1"},
		};

		CLIENTS_ARE_FOUND(FORWARDED_X_FORWARDED_FOR, chains);
	}
}

static void without_a_header_the_peer_is_the_client(void **state)
{
	static const struct chain named[] = {{{"192.0.2.1"}, PEER}};
	static const struct chain none[] = {{{NULL}, PEER}};

	(void)state;
	CLIENTS_ARE_FOUND(FORWARDED_NONE, named);
	CLIENTS_ARE_FOUND(FORWARDED_X_FORWARDED_FOR, none);
	CLIENTS_ARE_FOUND(FORWARDED_FORWARDED, none);
}

static void forwarded_is_walked_from_the_right(void **state)
{
	static const struct chain chains[] = {
		{{"for=192.0.2.1"}, "192.0.2.1"},
		{{"For=\"192.0.2.1:4711\""}, "192.0.2.1"},
		{{"FOR=\"[2001:db8:cafe::17]:4711\""}, "2001:db8:cafe::17"},
		{{"for=192.0.2.1;proto=http;by=203.0.113.43"}, "192.0.2.1"},
		{{"proto=https ; by=\"_a\\\"b\" ;for=192.0.2.1;"}, "192.0.2.1"},
		{{";for=192.0.2.1;;host=\"a,b;c\""}, "192.0.2.1"},
		{{"for=203.0.113.9, for=192.0.2.1"}, "192.0.2.1"},
		{{"for=203.0.113.9,for=192.0.2.1 ,\tfor=10.0.0.2;host=\"x, for=198.51.100.1\""},
		 "192.0.2.1"},
		{{"for=192.0.2.1;host=\"\\\\\", for=10.0.0.2;host=\"\\\\\\\"\""}, "192.0.2.1"},
		{{"for=203.0.113.9, for=192.0.2.1", "for=10.0.0.2"}, "192.0.2.1"},
		{{"for=10.0.0.9", "for=10.0.0.2, for=10.0.0.3"}, "10.0.0.9"},
		{{"for=192.0.2.1, , for=10.0.0.2,"}, "192.0.2.1"},
	};

	(void)state;
	CLIENTS_ARE_FOUND(FORWARDED_FORWARDED, chains);
}

static void ports_and_brackets_without_quotes_are_understood(void **state)
{
	static const struct chain chains[] = {
		{{"for=192.0.2.1:80;proto=http"}, "192.0.2.1"},
		{{"for=[2001:db8::1]:80"}, "2001:db8::1"},
		{{"for=2001:db8::1"}, "2001:db8::1"},
	};

	(void)state;
	CLIENTS_ARE_FOUND(FORWARDED_FORWARDED, chains);
}

static void an_element_that_is_no_element_ends_the_walk(void **state)
{
	static const char *const elements[] = {
		"192.0.2.1",
		"proto=http",
		"by=192.0.2.1",
		"xfor=192.0.2.1",
		"fo=192.0.2.1",
		"fort=192.0.2.1",
		"for",
		"for=",
		"for=;proto=http",
		"for =192.0.2.1",
		"for= 192.0.2.1",
		"for:192.0.2.1",
		"=192.0.2.1",
		";",
		"for=unknown",
		"for=_hidden",
		"for=\"\"",
		"for=\"192.0.2.1\"x",
		"for=\"192.0.2.1\"\"\"",
		"for=192.0.2.1\"\"",
		"for=192.0.2.1;for=192.0.2.1",
		"for=192.0.2.1;For=192.0.2.2",
		"for=192.0.2.1 proto=http",
		"for=192.0.2.1;proto",
		"for=192.0.2.1;proto=",
		"for=192.0.2.1/32",
		"for=192.0.2.1;host=\"a\"b\"",
		"for=192.0.2.1;host=a\xff",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(elements); i++) {
		struct chain chains[] = {
			{{"for=192.0.2.77", elements[i]}, PEER},
			{{"for=192.0.2.77", elements[i], "for=10.0.0.2"}, "10.0.0.2"},
		};

		CLIENTS_ARE_FOUND(FORWARDED_FORWARDED, chains);
	}
}

static void a_quote_left_open_swallows_nothing_to_its_right(void **state)
{
	static const struct chain chains[] = {
		{{"for=\"x, for=192.0.2.1"}, "192.0.2.1"},
		{{"for=\"x, for=\"[2001:db8::1]:80\""}, "2001:db8::1"},
		{{"for=\"x\\, for=\"192.0.2.1\";host=\"a,b\""}, "192.0.2.1"},
		{{"for=203.0.113.9;host=\", for=10.0.0.2;host=\"a\""}, "10.0.0.2"},
		{{"\\\", for=192.0.2.1"}, "192.0.2.1"},
	};

	(void)state;
	CLIENTS_ARE_FOUND(FORWARDED_FORWARDED, chains);
}

static void quotes_that_do_not_pair_end_the_walk(void **state)
{
	static const struct chain chains[] = {
		{{"for=192.0.2.77, for=192.0.2.1\""}, PEER},
		{{"for=192.0.2.77, for=\"192.0.2.1\\\""}, PEER},
		{{"\""}, PEER},
		{{"\\\""}, PEER},
		{{"for=192.0.2.77, \", for=10.0.0.2"}, "10.0.0.2"},
	};

	(void)state;
	CLIENTS_ARE_FOUND(FORWARDED_FORWARDED, chains);
}

static void each_header_is_read_by_its_own_rules(void **state)
{
	static const struct chain as_list[] = {{{"for=192.0.2.1"}, PEER}};
	static const struct chain as_elements[] = {{{"192.0.2.1"}, PEER}};

	(void)state;
	CLIENTS_ARE_FOUND(FORWARDED_X_FORWARDED_FOR, as_list);
	CLIENTS_ARE_FOUND(FORWARDED_FORWARDED, as_elements);
}

static double seconds_of_process(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* Lines of one repeated pattern, with nothing in them that would end the walk early. */
static void a_line_of_64_kb_is_passed_once(void **state)
{
	static const char *const patterns[] = {
		",",
		" ",
		" ,",
		"\"",
		"\\",
		"\\\"",
		"\"\\\\",
		"\"\"",
		"\",\"",
		";",
		"10.0.0.2,",
		"for=10.0.0.2,",
		"for=\"10.0.0.2\",",
		"a=\"\\\\\\\\\";",
		"x",
		":",
		"[",
	};
	struct prefix trusted = prefix_of("10.0.0.0/8"), peer = prefix_of(PEER);
	char *bytes = malloc(LONG_SIZE);
	struct forwarded_line line = {bytes, LONG_SIZE};
	double begin = seconds_of_process();

	(void)state;
	assert_non_null(bytes);
	for (size_t i = 0; i < ARRAY_SIZE(patterns); i++) {
		size_t size = strlen(patterns[i]);

		for (size_t at = 0; at < LONG_SIZE; at++)
			bytes[at] = patterns[i][at % size];
		forwarded_client(FORWARDED_X_FORWARDED_FOR, &line, 1, &trusted, 1, &peer);
		forwarded_client(FORWARDED_FORWARDED, &line, 1, &trusted, 1, &peer);
	}
	free(bytes);
	assert_true(seconds_of_process() - begin < LONG_SECONDS_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nodes_are_read),
		cmocka_unit_test(what_is_no_node_is_refused),
		cmocka_unit_test(a_zero_byte_does_not_end_a_node),
		cmocka_unit_test(a_node_ends_with_its_size),
		cmocka_unit_test(prefixes_hold_what_lies_in_them),
		cmocka_unit_test(one_prefix_of_several_is_enough_and_none_holds_nothing),
		cmocka_unit_test(x_forwarded_for_is_walked_from_the_right),
		cmocka_unit_test(x_forwarded_for_goes_on_from_the_last_line_to_the_first),
		cmocka_unit_test(of_trusted_addresses_only_the_leftmost_is_the_client),
		cmocka_unit_test(empty_items_are_passed_over),
		cmocka_unit_test(junk_ends_the_walk_at_the_last_address_believed),
		cmocka_unit_test(without_a_header_the_peer_is_the_client),
		cmocka_unit_test(forwarded_is_walked_from_the_right),
		cmocka_unit_test(ports_and_brackets_without_quotes_are_understood),
		cmocka_unit_test(an_element_that_is_no_element_ends_the_walk),
		cmocka_unit_test(a_quote_left_open_swallows_nothing_to_its_right),
		cmocka_unit_test(quotes_that_do_not_pair_end_the_walk),
		cmocka_unit_test(each_header_is_read_by_its_own_rules),
		cmocka_unit_test(a_line_of_64_kb_is_passed_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
