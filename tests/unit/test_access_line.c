/* SPDX-License-Identifier: MIT */
/* What is read of one line of an access log. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include "access_lines.h"
#include "weir.h"

#define TIME "[01/Dec/2026:17:35:03 +0000]"
/* A line in the combined format with another request, or with more at its end. */
#define OF_REQUEST(request) "192.0.2.1 - - " TIME " \"" request "\" 200 5 \"-\" \"curl/8\""
#define WITH(fields)        OF_REQUEST("GET /a HTTP/1.1") fields
#define OF_STATUS(status)   "192.0.2.1 - - " TIME " \"GET /a HTTP/1.1\" " status

static struct access_reader reader;

static struct access_line read_line(const char *text)
{
	struct access_line line;
	enum access_lack lack = line_of(&reader, text, strlen(text), &line);

	if (lack)
		fail_msg("'%s' lacks %s", text, access_lack_names[lack]);
	return line;
}

static void assert_client(const char *text, const char *expected)
{
	struct access_line line = read_line(text);
	char client[PREFIX_TEXT_SIZE];

	assert_int_not_equal(line.client.family, 0);
	prefix_format(client, sizeof(client), &line.client);
	assert_string_equal(client, expected);
}

static void assert_path(const char *text, const char *expected)
{
	struct access_line line = read_line(text);

	assert_int_equal(line.path_size, strlen(expected));
	if (line.path_size)
		assert_memory_equal(line.path, expected, line.path_size);
}

static void a_combined_line_has_client_time_path_and_status(void **state)
{
	const char *text = "203.0.113.9 - alice " TIME
			   " \"POST /login?next=/ HTTP/2.0\" 404 12 \"https://a/\" \"Mozilla/5.0\"";
	struct access_line line = read_line(text);

	(void)state;
	assert_client(text, "203.0.113.9");
	assert_path(text, "/login");
	assert_int_equal(line.time_ns, LOGGED_NS);
	assert_int_equal(line.status, 404);
	assert_int_equal(line.outcome, ACCESS_PASSED);
	assert_int_equal(line.zone_size, 0);
}

static void a_line_of_weirs_format_has_the_decision_and_the_moment(void **state)
{
	static const char text[] =
		WITH(" weir=REFUSED zone=login retry_after=1 msec=1796146503.127");
	struct access_line line;

	(void)state;
	assert_int_equal(access_line_read(&reader, text, sizeof(text) - 1, &line), 0);
	assert_int_equal(line.outcome, ACCESS_REFUSED);
	assert_int_equal(line.status, 200);
	assert_int_equal(line.time_ns, LOGGED_NS + 127000000);
	assert_int_equal(line.zone_size, 5);
	assert_memory_equal(line.zone, "login", 5);
}

static void fields_that_are_a_dash_say_nothing(void **state)
{
	struct access_line line = read_line(WITH(" weir=- zone=- retry_after=- msec=-"));

	(void)state;
	assert_int_equal(line.outcome, ACCESS_PASSED);
	assert_int_equal(line.zone_size, 0);
	assert_int_equal(line.time_ns, LOGGED_NS);
}

static const struct {
	const char *text;
	enum access_outcome outcome;
} outcomes[] = {
	{OF_STATUS("429 0"), ACCESS_REFUSED},
	{OF_STATUS("503 0"), ACCESS_PASSED},
	{OF_STATUS("403 0"), ACCESS_PASSED},
	{OF_STATUS("200 0 weir=PASSED"), ACCESS_PASSED},
	{OF_STATUS("200 0 weir=DELAYED"), ACCESS_PASSED},
	{OF_STATUS("200 0 weir=DELAYED_OBSERVED"), ACCESS_PASSED},
	{OF_STATUS("200 0 weir=REFUSED"), ACCESS_REFUSED},
	{OF_STATUS("200 0 weir=OVERFLOW"), ACCESS_REFUSED},
	{OF_STATUS("200 0 weir=BANNED"), ACCESS_REFUSED},
	{OF_STATUS("200 0 weir=REFUSED_OBSERVED"), ACCESS_OBSERVED},
	{OF_STATUS("200 0 weir=OVERFLOW_OBSERVED"), ACCESS_OBSERVED},
	{OF_STATUS("200 0 weir=BANNED_OBSERVED"), ACCESS_OBSERVED},
	{OF_STATUS("429 0 weir=REFUSED_OBSERVED"), ACCESS_REFUSED},
	{OF_STATUS("429 0 weir=PASSED"), ACCESS_REFUSED},
	{OF_STATUS("200 0 weir=REFUSEDX"), ACCESS_PASSED},
	{OF_STATUS("200 0 weir=_OBSERVED"), ACCESS_PASSED},
	{OF_STATUS("200 0 xweir=REFUSED"), ACCESS_PASSED},
	/* What a client can write. */
	{OF_STATUS("200 0 \"weir=REFUSED\" \" weir=REFUSED \""), ACCESS_PASSED},
	{OF_STATUS("200 0 \"-\" \"\\\" weir=REFUSED \\\"\""), ACCESS_PASSED},
	{OF_STATUS("200 0 \"-\" \"-\" by=\" weir=REFUSED \""), ACCESS_PASSED},
	{OF_REQUEST("GET /a weir=REFUSED HTTP/1.1"), ACCESS_PASSED},
	/* Where others have put fields of their own between. */
	{OF_STATUS("200 0 \"-\" \"\\\\\" \"a b\" rt=0.1 weir=REFUSED x"), ACCESS_REFUSED},
};

static void refused_is_429_or_what_weir_says_outside_quotes(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(outcomes); i++) {
		struct access_line line = read_line(outcomes[i].text);

		if (line.outcome != outcomes[i].outcome)
			fail_msg("'%s' is %d", outcomes[i].text, line.outcome);
	}
}

static const char *const clients[][2] = {
	{"192.0.2.1", "192.0.2.1"},
	{"2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"},
	{"2001:db8:1:2::/64", "2001:db8:1:2::/64"},
	{"2001:db8:1::/48", "2001:db8:1::/48"},
	{"::ffff:192.0.2.7", "192.0.2.7"},
	{"64:ff9b::c000:207", "192.0.2.7"},
};

static void an_address_is_the_source_it_counts_as(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(clients); i++) {
		char text[256];

		snprintf(text, sizeof(text), "%s - - " TIME " \"GET / HTTP/1.1\" 200 5",
			 clients[i][0]);
		assert_client(text, clients[i][1]);
	}
}

static void a_client_without_an_address_has_none(void **state)
{
	static const char *const names[] = {
		"unix:",
		"-",
		"host.example",
		"192.0.2.256",
		"1.2.3.4, ",
		"0000:0000:0000:0000:0000:0000:0000:0000:0000:0000:0000:0000:0000:0000:0000:0000",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		char text[256];

		snprintf(text, sizeof(text), "%s - - " TIME " \"GET / HTTP/1.1\" 200 5", names[i]);
		assert_int_equal(read_line(text).client.family, 0);
	}
}

static void a_user_may_have_any_name(void **state)
{
	(void)state;
	assert_client("192.0.2.1 - a b [31/Dec/1999:00:00:00 +0000] GET " TIME
		      " \"GET / HTTP/1.1\" 200 5",
		      "192.0.2.1");
	assert_int_equal(read_line("192.0.2.1 - [31/Dec/1999:00:00:00 +0000] " TIME
				   " \"GET / HTTP/1.1\" 200 5")
				 .time_ns,
			 LOGGED_NS);
	assert_client("192.0.2.1 - a\\\"b " TIME " \"GET / HTTP/1.1\" 200 5", "192.0.2.1");
}

static const char *const paths[][2] = {
	{OF_REQUEST("GET /a/b?c HTTP/1.1"), "/a/b"},
	{OF_REQUEST("GET /a"), "/a"},
	{OF_REQUEST("GET //a/./b/../%63 HTTP/1.1"), "/a/c"},
	{OF_REQUEST("GET http://host/a?b HTTP/1.1"), "/a"},
	{OF_REQUEST("GET /a\\x22b HTTP/1.1"), "/a\\x22b"},
	{OF_REQUEST("GET /a\\\"b HTTP/1.1"), "/a\\\"b"},
	{OF_REQUEST("GET /\\\\ HTTP/1.1"), "/\\\\"},
	{OF_REQUEST("OPTIONS * HTTP/1.1"), ""},
	{OF_REQUEST("CONNECT host:443 HTTP/1.1"), ""},
	{OF_REQUEST("\\x16\\x03\\x01\\x02"), ""},
	{OF_REQUEST("-"), ""},
	{OF_REQUEST(""), ""},
	{OF_REQUEST(" "), ""},
};

static void a_path_is_as_nginx_compares_it(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(paths); i++)
		assert_path(paths[i][0], paths[i][1]);
}

static void a_path_beyond_its_room_is_cut(void **state)
{
	char text[3 * ACCESS_PATH_MAX], path[2 * ACCESS_PATH_MAX];

	(void)state;
	memset(path, 'a', sizeof(path) - 1);
	path[0] = '/';
	path[sizeof(path) - 1] = '\0';
	snprintf(text, sizeof(text), OF_REQUEST("GET %s HTTP/1.1"), path);
	assert_int_equal(read_line(text).path_size, ACCESS_PATH_MAX);
}

static void a_carriage_return_ends_a_line(void **state)
{
	(void)state;
	assert_int_equal(read_line(OF_STATUS("429\r")).outcome, ACCESS_REFUSED);
	assert_int_equal(read_line(WITH(" weir=REFUSED\r")).outcome, ACCESS_REFUSED);
}

static const struct {
	const char *text;
	uint64_t time_ns;
} times[] = {
	{"01/Dec/2026:17:35:03 +0000", LOGGED_NS},
	{"01/Dec/2026:18:35:03 +0100", LOGGED_NS},
	{"01/Dec/2026:12:05:03 -0530", LOGGED_NS},
	{"02/Dec/2026:00:00:00 +0625", LOGGED_NS - 3 * NS_PER_SECOND},
	{"01/Dec/2026:17:35:04 +0000", LOGGED_NS + NS_PER_SECOND},
	{"01/Jan/1970:00:00:01 +0000", NS_PER_SECOND},
	{"29/Feb/2024:00:00:00 +0000", 1709164800 * NS_PER_SECOND},
};

static void a_time_has_its_zones_offset(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(times); i++) {
		char text[256];

		snprintf(text, sizeof(text), "192.0.2.1 - - [%s] \"GET / HTTP/1.1\" 200 5",
			 times[i].text);
		assert_int_equal(read_line(text).time_ns, times[i].time_ns);
	}
}

static const struct {
	const char *msec;
	uint64_t time_ns;
} moments[] = {
	{"1796146503", LOGGED_NS},
	{"1796146503.5", LOGGED_NS + 500000000},
	{"1796146503.127", LOGGED_NS + 127000000},
	{"1796146503.123456789", LOGGED_NS + 123456789},
	{"9999999999.999", 9999999999999000000ULL},
	/* As if it were not there. */
	{"1796146599.1234567890", LOGGED_NS},
	{"17961465031.000", LOGGED_NS},
	{"1796146599,127", LOGGED_NS},
	{"1796146599.127s", LOGGED_NS},
	{".127", LOGGED_NS},
	{"-1", LOGGED_NS},
};

static void msec_is_the_moment_where_it_is_one(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(moments); i++) {
		char text[256];

		snprintf(text, sizeof(text), WITH(" msec=%s"), moments[i].msec);
		assert_int_equal(read_line(text).time_ns, moments[i].time_ns);
	}
}

static const struct {
	const char *text;
	enum access_lack lack;
} junk[] = {
	{"", ACCESS_LACKS_TIME},
	{"\r", ACCESS_LACKS_TIME},
	{"\"", ACCESS_LACKS_TIME},
	{"hello", ACCESS_LACKS_TIME},
	{"\"GET / HTTP/1.1\" 200", ACCESS_LACKS_TIME},
	{TIME " \"GET / HTTP/1.1\" 200", ACCESS_LACKS_TIME},
	{" " TIME " \"GET / HTTP/1.1\" 200", ACCESS_LACKS_TIME},
	{"192.0.2.1" TIME " \"GET / HTTP/1.1\" 200", ACCESS_LACKS_TIME},
	{"192.0.2.1 - - [01/Dec/2026:17:35:03 +0000]\"GET / HTTP/1.1\" 200", ACCESS_LACKS_TIME},
	{"192.0.2.1 - - [01/Dez/2026:17:35:03 +0000] \"GET / HTTP/1.1\" 200", ACCESS_LACKS_TIME},
	{"192.0.2.1 - - [01/Dec/2026:25:35:03 +0000] \"GET / HTTP/1.1\" 200", ACCESS_LACKS_TIME},
	{"192.0.2.1 - - [01/Dec/1926:17:35:03 +0000] \"GET / HTTP/1.1\" 200", ACCESS_LACKS_TIME},
	{"192.0.2.1 - - [2026-12-01T17:35:03+00:00] \"GET / HTTP/1.1\" 200", ACCESS_LACKS_TIME},
	{"{\"time\": \"01/Dec/2026:17:35:03 +0000\", \"status\": 200}", ACCESS_LACKS_TIME},
	{"192.0.2.1 - - " TIME " \"GET / HTTP/1.1", ACCESS_LACKS_REQUEST},
	{"192.0.2.1 - - " TIME " \"GET / HTTP/1.1\\\" 200", ACCESS_LACKS_REQUEST},
	{"192.0.2.1 - - " TIME " \"GET / HTTP/1.1\"", ACCESS_LACKS_STATUS},
	{OF_STATUS(""), ACCESS_LACKS_STATUS},
	{OF_STATUS("42"), ACCESS_LACKS_STATUS},
	{OF_STATUS("4290"), ACCESS_LACKS_STATUS},
	{OF_STATUS("ok! 5"), ACCESS_LACKS_STATUS},
	{OF_STATUS("-"), ACCESS_LACKS_STATUS},
	{OF_STATUS("200 5 \"-\" \"Mozilla"), ACCESS_LACKS_QUOTE},
	{OF_STATUS("200 5 \"-\" \"Mozilla\\\""), ACCESS_LACKS_QUOTE},
};

static void what_is_no_line_of_an_access_log_lacks_something(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(junk); i++) {
		struct access_line line, before;
		enum access_lack lack;

		memset(&line, 0xa5, sizeof(line));
		memcpy(&before, &line, sizeof(line));
		lack = line_of(&reader, junk[i].text, strlen(junk[i].text), &line);
		if (lack != junk[i].lack)
			fail_msg("'%s' lacks %s", junk[i].text, access_lack_names[lack]);
		assert_memory_equal(&line, &before, sizeof(line));
	}
}

static void a_time_that_is_none_is_not_remembered(void **state)
{
	static const char text[] =
		"192.0.2.1 - - [99/Dec/2026:17:35:03 +0000] \"GET / HTTP/1.1\" 200";
	struct access_line line;

	(void)state;
	read_line(OF_STATUS("200"));
	for (int i = 0; i < 2; i++)
		assert_int_equal(line_of(&reader, text, sizeof(text) - 1, &line),
				 ACCESS_LACKS_TIME);
	assert_int_equal(read_line(OF_STATUS("200")).time_ns, LOGGED_NS);
}

static void a_time_of_zeroes_is_none_for_a_new_reader(void **state)
{
	char text[] = OF_STATUS("200");
	struct access_reader fresh = {0};
	struct access_line line;

	(void)state;
	memset(strchr(text, '[') + 1, 0, ACCESS_TIME_SIZE);
	assert_int_equal(line_of(&fresh, text, sizeof(text) - 1, &line), ACCESS_LACKS_TIME);
}

static bool is_within_quotes(const char *text, size_t size)
{
	size_t quotes = 0;

	while (size > 0)
		quotes += text[--size] == '"';
	return quotes % 2;
}

static void a_line_cut_behind_its_status_is_read_but_within_quotes(void **state)
{
	static const char text[] =
		WITH(" weir=REFUSED zone=login retry_after=1 msec=1796146503.127");
	struct access_line line;

	(void)state;
	for (size_t size = 0; size < sizeof(text); size++)
		assert_int_equal(!line_of(&reader, text, size, &line),
				 size >= strlen(OF_STATUS("200")) && !is_within_quotes(text, size));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_combined_line_has_client_time_path_and_status),
		cmocka_unit_test(a_line_of_weirs_format_has_the_decision_and_the_moment),
		cmocka_unit_test(fields_that_are_a_dash_say_nothing),
		cmocka_unit_test(refused_is_429_or_what_weir_says_outside_quotes),
		cmocka_unit_test(an_address_is_the_source_it_counts_as),
		cmocka_unit_test(a_client_without_an_address_has_none),
		cmocka_unit_test(a_user_may_have_any_name),
		cmocka_unit_test(a_path_is_as_nginx_compares_it),
		cmocka_unit_test(a_path_beyond_its_room_is_cut),
		cmocka_unit_test(a_carriage_return_ends_a_line),
		cmocka_unit_test(a_time_has_its_zones_offset),
		cmocka_unit_test(msec_is_the_moment_where_it_is_one),
		cmocka_unit_test(what_is_no_line_of_an_access_log_lacks_something),
		cmocka_unit_test(a_time_that_is_none_is_not_remembered),
		cmocka_unit_test(a_time_of_zeroes_is_none_for_a_new_reader),
		cmocka_unit_test(a_line_cut_behind_its_status_is_read_but_within_quotes),
	};

	return cmocka_run_group_tests_name("access_line", tests, NULL, NULL);
}
