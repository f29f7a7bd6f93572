/* SPDX-License-Identifier: MIT */
/* Which limits are in force where in a configuration. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "cli/nginx_conf_publish.h"
#include "nginx_limits_made.h"

/* Where limits are: "/a a, /a b". */
static void assert_places(const char *inside, const char *expected)
{
	struct nginx_limits limits;
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_non_null(out);
	limits_read(inside, &limits);
	for (size_t i = 0; i < limits.count; i++)
		fprintf(out, "%s%s %s", i ? ", " : "", limits.limits[i].route,
			limits.limits[i].zone);
	fclose(out);
	assert_string_equal(text, expected);
	free(text);
	nginx_limits_free(&limits);
}

static void a_location_inherits_where_it_has_no_limits_of_its_own(void **state)
{
	(void)state;
	assert_places("weir a; server { location / { } location /b { weir b; } }", "/ a, /b b");
	assert_places("weir a; server { weir b; location / { } }", "/ b");
	assert_places("server { location / { } location /b { weir b; weir a; } }", "/b b, /b a");
	assert_places(
		"server { location /a { weir a; location /a/b { } location /a/c { weir b; } } }",
		"/a a, /a/b a, /a/c b");
	assert_places("server { location / { weir late; } } weir a; server { location / { } }",
		      "/ late, / a");
}

static void off_inherits_none(void **state)
{
	(void)state;
	assert_places("weir a; server { location / { weir off; } location /b { } }", "/b a");
	assert_places("weir a; server { weir off; location / { } location /b { weir b; } }",
		      "/b b");
	assert_places("weir a; server { location / { weir off; location /b { } } }", "");
}

static void a_server_limits_what_no_location_takes(void **state)
{
	(void)state;
	assert_places("server { weir a; }", "everything a");
	assert_places("server { weir a; location /b { weir off; } }", "everything else a");
	assert_places("server { weir a; location = / { } }", "= / a, everything else a");
	assert_places("server { weir a; location ^~ / { } }", "^~ / a");
	assert_places("server { weir a; location ^~/ { } }", "^~/ a");
	assert_places("server { location / { } }", "");
}

static void what_returns_at_once_is_not_limited(void **state)
{
	(void)state;
	assert_places("weir a; server { return 301 /; location / { } }", "");
	assert_places("weir a; server { location / { return 404; } location /b { } }", "/b a");
	assert_places("weir a; server { location / { set $a b; return 404; } }", "");
	assert_places("weir a; server { location / { if ($a) { return 404; } } }", "/ a");
	assert_places("weir a; server { location / { rewrite ^ /b last; return 404; } }", "/ a");
	assert_places("weir a; server { location / { return 404; location /b { } } }", "/b a");
}

static void blocks_that_are_not_levels_are_not_looked_into(void **state)
{
	(void)state;
	assert_places("server { location / { weir a; if ($a) { } limit_except GET { } } }", "/ a");
	assert_places("map $a $b { weir a; } upstream u { location / { weir a; } }", "");
}

static void routes_keep_their_modifier(void **state)
{
	(void)state;
	assert_places("server { location = /a { weir a; } location ~* \\.php$ { weir a; } }",
		      "= /a a, ~* \\.php$ a");
	assert_places("server { location @b { weir a; } location \"/a b\" { weir a; } }",
		      "@b a, /a b a");
}

static void a_server_has_its_names_or_what_it_listens_on(void **state)
{
	static const char *const cases[][2] = {
		{"server_name a.example;", "a.example"},
		{"listen 80; server_name a.example *.b.example;", "a.example, *.b.example"},
		{"listen 8080 default_server; listen [::]:8080;", "8080"},
		{"listen 80; server_name \"\";", "80"},
		{"", ""},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct nginx_limits limits;
		char *text = NULL;

		assert_true(asprintf(&text, "server { %s weir a; }", cases[i][0]) > 0);
		limits_read(text, &limits);
		assert_int_equal(limits.count, 1);
		assert_string_equal(limits.limits[0].server, cases[i][1]);
		nginx_limits_free(&limits);
		free(text);
	}
}

static void routes_that_a_front_asks_about_are_listed(void **state)
{
	struct nginx_limits limits;

	(void)state;
	limits_read(ZONE_A ZONE_B
		    "weir a; server { location /check { internal; weir_check nginx from=::1; "
		    "weir_route /api a b methods=GET,POST cost=2; weir_route =/login a; } }",
		    &limits);
	assert_int_equal(limits.count, 4);
	assert_text(limits.limits[0].route, "/api");
	assert_text(limits.limits[0].zone, "a");
	assert_text(limits.limits[0].methods, "GET, POST");
	assert_text(limits.limits[0].cost, "2");
	assert_false(limits.limits[0].is_internal);
	assert_text(limits.limits[1].zone, "b");
	assert_text(limits.limits[1].limit, "100 per minute");
	assert_text(limits.limits[2].route, "=/login");
	assert_text(limits.limits[2].methods, NULL);
	assert_text(limits.limits[2].cost, "1");
	assert_text(limits.limits[3].route, "everything else");
	nginx_limits_free(&limits);
}

static void what_an_application_asks_for_is_said_to_be_unknown(void **state)
{
	struct nginx_limits limits;

	(void)state;
	limits_read("server { location /check {\nweir_check app from=::1; } }", &limits);
	assert_int_equal(limits.count, 0);
	assert_notices(&limits, "n:2: what an application asks for is not known here");
	nginx_limits_free(&limits);
}

static void what_no_client_asks_for_is_marked(void **state)
{
	struct nginx_limits limits;

	(void)state;
	limits_read("weir a; server { location @a { } location /b { internal; } location / { } }",
		    &limits);
	assert_int_equal(limits.count, 3);
	assert_true(limits.limits[0].is_internal);
	assert_true(limits.limits[1].is_internal);
	assert_false(limits.limits[2].is_internal);
	nginx_limits_free(&limits);
}

static void a_limit_that_replies_hide_is_marked(void **state)
{
	struct nginx_limits limits;

	(void)state;
	limits_read("weir a; server { location /a { weir_reveal off; } location / { } }", &limits);
	assert_int_equal(limits.count, 2);
	assert_true(limits.limits[0].is_hidden);
	assert_false(limits.limits[1].is_hidden);
	nginx_limits_free(&limits);
}

/* What is published: "SERVER ROUTE ZONE, ...", without a server "ROUTE ZONE". */
static void assert_published(const char *inside, const char *expected)
{
	struct nginx_limits limits;
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_non_null(out);
	limits_read(inside, &limits);
	nginx_limits_publish(&limits);
	for (size_t i = 0; i < limits.count; i++)
		fprintf(out, "%s%s%s%s %s", i ? ", " : "",
			limits.limits[i].server ? limits.limits[i].server : "",
			limits.limits[i].server ? " " : "", limits.limits[i].route,
			limits.limits[i].zone);
	fclose(out);
	assert_string_equal(text, expected);
	free(text);
	nginx_limits_free(&limits);
}

#define CHECK(route) \
	"server { listen 127.0.0.1:9; location /c { weir_check nginx from=::1; " route " } } "

static void what_reads_the_same_is_published_once(void **state)
{
	(void)state;
	assert_published(ZONE_A CHECK("weir_route =/l a;")
				 CHECK("weir_route =/l a;") "server { location = /l { weir a; } }",
			 "/l a");
	assert_published(ZONE_A CHECK("weir_route /l a;") CHECK("weir_route /l a methods=GET;")
				 CHECK("weir_route /l a cost=2;"),
			 "/l a, /l a, /l a");
	assert_published(ZONE_A ZONE_B "server { location /l { weir a; weir b; } }", "/l a, /l b");
	assert_published(ZONE_A "weir_zone twin key=$weir_address capacity=5 rate=1/s; "
				"server { location /l { weir a; weir twin; } }",
			 "/l a, /l twin");
	assert_published(ZONE_A "server { location /l { weir a; weir_headers legacy; } } "
				"server { location /l { weir a; weir_headers off; } }",
			 "/l a, /l a");
	assert_published(ZONE_A "server { location /l { weir a; } } "
				"server { location /l { weir a; weir_reveal off; } }",
			 "/l a, /l a");
}

static void servers_are_published_where_two_names_differ(void **state)
{
	(void)state;
	assert_published("server { listen 1; location /a { weir a; } } "
			 "server { listen 2; location /b { weir a; } }",
			 "/a a, /b a");
	assert_published(
		"server { server_name x; location /a { weir a; } } "
		"server { server_name _; location /b { weir a; } }" CHECK("weir_route /c a;"),
		"/a a, /b a, /c a");
	assert_published(
		"server { server_name x; location /a { weir a; } } "
		"server { listen 2; location /b { weir a; } } "
		"server { server_name y; location /a { weir a; } }" CHECK("weir_route /c a;"),
		"x /a a, /b a, y /a a, /c a");
	assert_published("server { server_name x; location /c { weir_check nginx from=::1; "
			 "weir_route /a a; } } server { server_name y; location /b { weir a; } }",
			 "/a a, /b a");
}

static void routes_are_published_as_paths(void **state)
{
	(void)state;
	assert_published(ZONE_A ZONE_B
			 "server { location = /l { weir a; weir b; } location ^~ /s/ { weir a; } "
			 "location ^~/t { weir a; } location ~ ^/r { weir a; } }",
			 "/l a, /l b, /s/ a, /t a, ~ ^/r a");
	assert_published(ZONE_A ZONE_B
			 "server { location = /l { weir a; weir b; } location ^~ /l { weir a; } }",
			 "= /l a, = /l b, /l a");
}

static void what_no_client_meets_is_not_published(void **state)
{
	struct nginx_limits limits;

	(void)state;
	limits_read(ZONE_A "weir_zone o key=$uri capacity=1 rate=1/s observe; server { "
			   "location @n { weir a; weir o; } location /i { internal; weir a; } "
			   "location / { weir o; weir a; } }",
		    &limits);
	assert_int_equal(nginx_limits_publish(&limits), 2);
	assert_int_equal(limits.count, 1);
	assert_text(limits.limits[0].route, "/");
	assert_text(limits.limits[0].zone, "a");
	nginx_limits_free(&limits);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_location_inherits_where_it_has_no_limits_of_its_own),
		cmocka_unit_test(off_inherits_none),
		cmocka_unit_test(a_server_limits_what_no_location_takes),
		cmocka_unit_test(what_returns_at_once_is_not_limited),
		cmocka_unit_test(blocks_that_are_not_levels_are_not_looked_into),
		cmocka_unit_test(routes_keep_their_modifier),
		cmocka_unit_test(a_server_has_its_names_or_what_it_listens_on),
		cmocka_unit_test(routes_that_a_front_asks_about_are_listed),
		cmocka_unit_test(what_an_application_asks_for_is_said_to_be_unknown),
		cmocka_unit_test(what_no_client_asks_for_is_marked),
		cmocka_unit_test(a_limit_that_replies_hide_is_marked),
		cmocka_unit_test(what_reads_the_same_is_published_once),
		cmocka_unit_test(servers_are_published_where_two_names_differ),
		cmocka_unit_test(routes_are_published_as_paths),
		cmocka_unit_test(what_no_client_meets_is_not_published),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
