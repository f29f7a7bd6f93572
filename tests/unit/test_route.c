/* SPDX-License-Identifier: MIT */
/* Which route of a check service a request takes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "http/route.h"
#include "random.h"

#define ARRAY_SIZE(a)    (sizeof(a) / sizeof((a)[0]))
#define TEXT_SIZE        64
#define ROUTES_MAX       8
#define RANDOM_CASES     20000
#define RANDOM_SEED      0x726f757465
#define RANDOM_PARTS_MAX 10

#define PATHS(...)   ((const char *const[]){__VA_ARGS__, NULL})
#define METHODS(...) ((const char *const[]){__VA_ARGS__, NULL})

/* In memory of exactly the size that is promised, so that a byte beyond is found. */
static char *normalised(const char *uri, size_t size, size_t *ret_size)
{
	char *exact = malloc(size ? size : 1), *buf = malloc(size + 1);

	assert_true(exact && buf);
	memcpy(exact, uri, size);
	*ret_size = route_normalise(exact, size, buf);
	assert_true(*ret_size <= size);
	if (*ret_size)
		assert_int_equal(buf[*ret_size], '\0');
	free(exact);
	return buf;
}

static void expect_path_of(const char *uri, size_t uri_size, const char *path, size_t path_size)
{
	size_t size;
	char *found = normalised(uri, uri_size, &size);

	if (size != path_size || memcmp(found, path, size))
		fail_msg("'%s' is '%.*s', not '%s'", uri, (int)size, found, path);
	free(found);
}

static void expect_path(const char *uri, const char *path)
{
	expect_path_of(uri, strlen(uri), path, strlen(path));
}

/* A target, and its path. */
static const char *const spellings[][2] = {
	{"/", "/"},
	{"/login", "/login"},
	{"/login/", "/login/"},
	{"/Login", "/Login"},
	{"/a.b/..c/...", "/a.b/..c/..."},
	{"/a;b=1/c", "/a;b=1/c"},
	/* Query and fragment. */
	{"/login?user=/../x", "/login"},
	{"/login?", "/login"},
	{"/login#top", "/login"},
	{"/login#a?b", "/login"},
	{"/?a", "/"},
	{"/login%3Fa", "/login?a"},
	{"/login%23a", "/login#a"},
	/* Once, any byte, in any case. */
	{"/%6c%6F%67in", "/login"},
	{"/a%2Fb", "/a/b"},
	{"/a%2fb", "/a/b"},
	{"/a%5cb", "/a\\b"},
	{"/a%20b", "/a b"},
	{"/a+b", "/a+b"},
	{"/%c3%a9", "/\xc3\xa9"},
	{"/%FF", "/\xff"},
	{"/%252e%252e/x", "/%2e%2e/x"},
	{"/%25252e", "/%252e"},
	/* What is no escape. */
	{"/%", "/%"},
	{"/%2", "/%2"},
	{"/%zz", "/%zz"},
	{"/%2g", "/%2g"},
	{"/%g2", "/%g2"},
	{"/%%36%31", "/%61"},
	{"/%2?f", "/%2"},
	{"/%\xb2"
	 "2",
	 "/%\xb2"
	 "2"},
	/* Slashes. */
	{"//", "/"},
	{"//login", "/login"},
	{"///a///b///", "/a/b/"},
	{"/%2F/login", "/login"},
	{"/a/%2f%2F/b", "/a/b"},
	{"//example.com/login", "/example.com/login"},
	/* Dot segments. */
	{"/.", "/"},
	{"/..", "/"},
	{"/./", "/"},
	{"/../", "/"},
	{"/./login", "/login"},
	{"/../login", "/login"},
	{"/../../login", "/login"},
	{"/a/../login", "/login"},
	{"/a/./b/../../login", "/login"},
	{"/a/b/..", "/a/"},
	{"/a/b/.", "/a/b/"},
	{"/a/b/../", "/a/"},
	{"/a/..", "/"},
	{"/a/../..", "/"},
	{"/a//../b", "/b"},
	{"/a/.//../b", "/b"},
	{"/%2e/login", "/login"},
	{"/a/%2E%2e/login", "/login"},
	{"/a/.%2e/login", "/login"},
	{"/a%2f..%2flogin", "/login"},
	{"/a/..;/login", "/a/..;/login"},
	{"/mid/content=5/../6", "/mid/6"},
	{"/a/b/c/./../../g", "/a/g"},
	/* Absolute form. */
	{"http://example.com/login", "/login"},
	{"https://user@example.com:8443//a/../login?x#y", "/login"},
	{"http://[2001:db8::1]:80/login", "/login"},
	{"HTTP://example.com/login", "/login"},
	{"http://example.com", "/"},
	{"http://example.com?a=/b", "/"},
	{"http://example.com#a/b", "/"},
	{"http:///login", "/login"},
	{"a+b-c.1://h/login", "/login"},
	{"http://", "/"},
	{"/http://example.com/login", "/http:/example.com/login"},
};

static void a_path_has_one_spelling(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(spellings); i++)
		expect_path(spellings[i][0], spellings[i][1]);
}

static void a_zero_byte_is_a_byte_of_the_path(void **state)
{
	(void)state;
	expect_path_of("/a%00b", 6, "/a\0b", 4);
	expect_path_of("/a\0/../b", 8, "/b", 2);
	expect_path_of("/\0", 2, "/\0", 2);
}

static void what_is_no_path_has_none(void **state)
{
	static const char *const cases[] = {
		"",
		"*",
		"login",
		"./login",
		"../login",
		"?a",
		"#a",
		"?/login",
		"%2Flogin",
		"\\login",
		" /login",
		"example.com:443",
		"http:",
		"http:/a",
		"http:a",
		"1http://h/a",
		"://h/login",
		"ht tp://h/login",
		"http%3a//h",
		"http//h/a",
		"http:?//h/login",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		expect_path(cases[i], "");
}

/* As the text of the RFC puts it, of segments in a list. */
static size_t naively_settled(const char *path, size_t size, char *buf)
{
	size_t begins[TEXT_SIZE], count = 0, used = 0, at = 0;
	bool is_directory = false;

	while (at < size) {
		size_t begin = ++at;

		while (at < size && path[at] != '/')
			at++;
		is_directory = true;
		if (at == begin || (at == begin + 1 && path[begin] == '.'))
			continue;
		if (at == begin + 2 && !memcmp(path + begin, "..", 2)) {
			used = count ? begins[--count] : 0;
			continue;
		}
		is_directory = false;
		begins[count++] = used;
		buf[used++] = '/';
		memcpy(buf + used, path + begin, at - begin);
		used += at - begin;
	}
	if (is_directory)
		buf[used++] = '/';
	return used;
}

/* Parts as they may be sent, and what they stand for. */
static const char *const parts[][2] = {
	{"/", "/"},   {"/", "/"},     {"%2f", "/"}, {".", "."},   {"%2e", "."},
	{"..", ".."}, {".%2E", ".."}, {"g", "g"},   {"%61", "a"}, {"%", "%"},
};

static void random_paths_are_as_a_naive_reading_has_them(void **state)
{
	uint64_t seed = RANDOM_SEED;

	(void)state;
	for (int i = 0; i < RANDOM_CASES; i++) {
		char uri[TEXT_SIZE] = "/", decoded[TEXT_SIZE] = "/", expected[TEXT_SIZE];
		size_t count = random_next(&seed) % RANDOM_PARTS_MAX;

		for (size_t at = 0; at < count; at++) {
			size_t part = random_next(&seed) % ARRAY_SIZE(parts);

			strcat(uri, parts[part][0]);
			strcat(decoded, parts[part][1]);
		}
		expected[naively_settled(decoded, strlen(decoded), expected)] = '\0';
		strcat(uri, random_next(&seed) % 2 ? "?/../x" : "");
		expect_path(uri, expected);
	}
}

struct table {
	struct route routes[ROUTES_MAX];
	char paths[ROUTES_MAX][TEXT_SIZE];
	size_t count;
};

static void table_add(struct table *table, const char *pattern, const char *const *methods)
{
	struct route *route = &table->routes[table->count];

	assert_true(table->count < ROUTES_MAX);
	if (!route_pattern_parse(pattern, table->paths[table->count++], route))
		fail_msg("'%s' was refused", pattern);
	route->methods = methods;
	while (methods && methods[route->methods_count])
		route->methods_count++;
}

static void table_add_all(struct table *table, const char *const *patterns)
{
	while (*patterns)
		table_add(table, *patterns++, NULL);
}

static size_t found(const struct table *table, const char *method, const char *path)
{
	return route_find(table->routes, table->count, path, strlen(path), method, strlen(method));
}

static void expect_found(const struct table *table, const char *method, const char *path,
			 size_t expected)
{
	size_t at = found(table, method, path);

	if (at != expected)
		fail_msg("%s %s: %zd, not %zd", method, path, (ssize_t)at, (ssize_t)expected);
}

static void expect_held(const char *pattern, const char *const *held, const char *const *others)
{
	struct table table = {0};

	table_add_all(&table, PATHS(pattern));
	while (*held)
		expect_found(&table, "GET", *held++, 0);
	while (*others)
		expect_found(&table, "GET", *others++, ROUTE_NONE);
}

static void a_prefix_ends_with_a_segment(void **state)
{
	(void)state;
	expect_held("/api", PATHS("/api", "/api/", "/api/x", "/api/x/y"),
		    PATHS("/", "/ap", "/apix", "/apis/api", "/x/api", "/API"));
	expect_held("/api/", PATHS("/api", "/api/", "/api/x"), PATHS("/", "/apix"));
	expect_held("/a/b", PATHS("/a/b", "/a/b/c"), PATHS("/a", "/a/", "/a/bc", "/a/c"));
	expect_held("/", PATHS("/", "/a", "/a/"), PATHS(NULL));
}

static void an_exact_pattern_is_one_path(void **state)
{
	(void)state;
	expect_held("=/login", PATHS("/login"), PATHS("/", "/login/", "/login/x", "/loginx"));
	expect_held("=/login/", PATHS("/login/"), PATHS("/login", "/login/x"));
	expect_held("=/", PATHS("/"), PATHS("/a"));
}

static void a_pattern_is_normalised_as_a_path_is(void **state)
{
	(void)state;
	expect_held("//a/./%62/../%63//", PATHS("/a/c", "/a/c/d"), PATHS("/a", "/a/b"));
	expect_held("=/%6cogin", PATHS("/login"), PATHS("/%6cogin"));
	expect_held("/a%2A", PATHS("/a*"), PATHS("/a", "/ab"));
	expect_held("/a%3fb", PATHS("/a?b"), PATHS("/a"));
	expect_held("/..", PATHS("/", "/a"), PATHS(NULL));
}

static void what_is_no_pattern_is_refused(void **state)
{
	static const char *const cases[] = {
		"",       "=",       "login",  "=login", "*",
		"/api/*", "=/api/*", "/a?b=1", "/a?",    "/a#b",
		"==/a",   " /a",     "~/a",    "=/a?",   "http://example.com/a",
		"=%2Fa",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct route route, before;
		char buf[TEXT_SIZE];

		memset(&route, 0xa5, sizeof(route));
		before = route;
		if (route_pattern_parse(cases[i], buf, &route))
			fail_msg("'%s' was taken", cases[i]);
		assert_memory_equal(&route, &before, sizeof(route));
	}
}

static void the_longest_pattern_wins_wherever_it_stands(void **state)
{
	struct table down = {0};
	struct table up = {0};
	static const char *const paths[] = {"/x", "/api/x", "/api/users/x", "/api/users/me"};

	(void)state;
	table_add_all(&down, PATHS("/", "/api", "/api/users", "=/api/users/me"));
	table_add_all(&up, PATHS("=/api/users/me", "/api/users", "/api", "/"));
	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		expect_found(&down, "GET", paths[i], i);
		expect_found(&up, "GET", paths[i], ARRAY_SIZE(paths) - 1 - i);
	}
	expect_found(&down, "GET", "/api/users/me/x", 2);
}

static void exact_wins_before_a_prefix_of_the_same_length(void **state)
{
	struct table exact_last = {0};
	struct table exact_first = {0};

	(void)state;
	table_add_all(&exact_last, PATHS("/login", "=/login"));
	table_add_all(&exact_first, PATHS("=/login", "/login"));
	expect_found(&exact_last, "GET", "/login", 1);
	expect_found(&exact_first, "GET", "/login", 0);
	expect_found(&exact_last, "GET", "/login/x", 0);
}

static void a_named_method_wins_among_equal_patterns(void **state)
{
	struct table table = {0};

	(void)state;
	table_add(&table, "/login", NULL);
	table_add(&table, "/login", METHODS("PUT", "POST"));
	table_add(&table, "/login/", METHODS("DELETE"));
	expect_found(&table, "POST", "/login", 1);
	expect_found(&table, "PUT", "/login/x", 1);
	expect_found(&table, "DELETE", "/login", 2);
	expect_found(&table, "GET", "/login", 0);
	expect_found(&table, "POSTX", "/login", 0);
	expect_found(&table, "POS", "/login", 0);
	expect_found(&table, "", "/login", 0);
}

static void a_method_nobody_names_falls_to_a_shorter_pattern(void **state)
{
	struct table table = {0};

	(void)state;
	table_add(&table, "=/login", METHODS("POST"));
	table_add(&table, "/login", METHODS("PUT"));
	table_add(&table, "/", METHODS("GET", "POST", "PUT"));
	expect_found(&table, "POST", "/login", 0);
	expect_found(&table, "PUT", "/login", 1);
	expect_found(&table, "GET", "/login", 2);
	expect_found(&table, "DELETE", "/login", ROUTE_NONE);
}

static void the_longer_pattern_wins_before_the_named_method(void **state)
{
	struct table table = {0};

	(void)state;
	table_add(&table, "/", METHODS("POST"));
	table_add(&table, "/login", METHODS("POST"));
	table_add(&table, "=/login", NULL);
	expect_found(&table, "POST", "/login", 2);
	expect_found(&table, "POST", "/login/x", 1);
}

static void head_is_a_get_unless_it_is_named(void **state)
{
	struct table table = {0};

	(void)state;
	table_add(&table, "/a", NULL);
	table_add(&table, "/a", METHODS("GET"));
	table_add(&table, "/b", METHODS("GET"));
	table_add(&table, "/b", METHODS("HEAD"));
	expect_found(&table, "HEAD", "/a", 1);
	expect_found(&table, "HEAD", "/b", 3);
	expect_found(&table, "GET", "/b", 2);
	expect_found(&table, "OPTIONS", "/b", ROUTE_NONE);
}

static void a_method_is_the_same_in_any_case(void **state)
{
	struct table table = {0};

	(void)state;
	table_add(&table, "/", METHODS("Post"));
	expect_found(&table, "POST", "/", 0);
	expect_found(&table, "post", "/", 0);
}

static void no_path_is_held_by_the_prefix_of_all_paths_only(void **state)
{
	struct table all = {0};
	struct table some = {0};

	(void)state;
	table_add_all(&all, PATHS("/a", "=/", "/"));
	table_add_all(&some, PATHS("/a", "=/"));
	expect_found(&all, "OPTIONS", "", 2);
	expect_found(&some, "OPTIONS", "", ROUTE_NONE);
	assert_int_equal(route_find(NULL, 0, "/", 1, "GET", 3), ROUTE_NONE);
}

static void of_two_equals_the_first_is_found(void **state)
{
	struct table table = {0};

	(void)state;
	table_add_all(&table, PATHS("/a", "/a/"));
	expect_found(&table, "GET", "/a/b", 0);
}

static bool collide(const char *a, const char *const *a_methods, const char *b,
		    const char *const *b_methods)
{
	struct table table = {0};
	bool collides;

	table_add(&table, a, a_methods);
	table_add(&table, b, b_methods);
	collides = route_collides(&table.routes[0], &table.routes[1]);
	assert_int_equal(collides, route_collides(&table.routes[1], &table.routes[0]));
	return collides;
}

static void routes_that_hide_one_another_collide(void **state)
{
	(void)state;
	assert_true(collide("/a", NULL, "/a", NULL));
	assert_true(collide("/a", NULL, "//a/", NULL));
	assert_true(collide("=/a", NULL, "=/%61", NULL));
	assert_true(collide("/a", METHODS("GET", "POST"), "/a", METHODS("PUT", "post")));
	assert_false(collide("/a", NULL, "/a", METHODS("GET")));
	assert_false(collide("/a", METHODS("GET"), "/a", METHODS("POST")));
	assert_false(collide("/a", METHODS("GET"), "/a", METHODS("HEAD")));
	assert_false(collide("/a", NULL, "=/a", NULL));
	assert_false(collide("/a", NULL, "/ab", NULL));
	assert_false(collide("/a", NULL, "/b", NULL));
}

static bool names(const char *const *methods, const char *method)
{
	while (*methods && strcasecmp(*methods, method))
		methods++;
	return *methods;
}

/* The rules one after the other, for each pattern from the longest on. */
static size_t naively_found(const struct table *table, const char *method, const char *path)
{
	for (size_t rank = TEXT_SIZE * 6; rank-- > 0;) {
		for (size_t i = 0; i < table->count; i++) {
			const struct route *route = &table->routes[i];
			bool is_named = route->methods && names(route->methods, method);
			bool is_any = !route->methods;

			if (route->path_size != rank / 6 || route->is_exact != (rank % 6 > 2) ||
			    strncmp(path, route->path, route->path_size))
				continue;
			if (path[route->path_size] &&
			    (route->is_exact || path[route->path_size] != '/'))
				continue;
			if (rank % 3 == 2 ? is_named : rank % 3 == 1 && is_any)
				return i;
		}
	}
	return ROUTE_NONE;
}

static void random_routes_are_found_as_the_rules_say(void **state)
{
	static const char *const patterns[] = {"/", "=/", "/a", "=/a", "/a/b", "=/a/b", "/b"};
	static const char *const paths[] = {"/", "/a", "/a/", "/a/b", "/a/b/c", "/b/a", "/ab"};
	static const char *const methods[] = {"GET", "POST", "PUT"};
	const char *const *const lists[] = {NULL, METHODS("GET"), METHODS("POST"),
					    METHODS("GET", "POST")};
	uint64_t seed = RANDOM_SEED;

	(void)state;
	for (int i = 0; i < RANDOM_CASES; i++) {
		const char *path = paths[random_next(&seed) % ARRAY_SIZE(paths)];
		const char *method = methods[random_next(&seed) % ARRAY_SIZE(methods)];
		size_t count = random_next(&seed) % ROUTES_MAX;
		struct table table = {0};

		while (table.count < count)
			table_add(&table, patterns[random_next(&seed) % ARRAY_SIZE(patterns)],
				  lists[random_next(&seed) % ARRAY_SIZE(lists)]);
		expect_found(&table, method, path, naively_found(&table, method, path));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_path_has_one_spelling),
		cmocka_unit_test(a_zero_byte_is_a_byte_of_the_path),
		cmocka_unit_test(what_is_no_path_has_none),
		cmocka_unit_test(random_paths_are_as_a_naive_reading_has_them),
		cmocka_unit_test(a_prefix_ends_with_a_segment),
		cmocka_unit_test(an_exact_pattern_is_one_path),
		cmocka_unit_test(a_pattern_is_normalised_as_a_path_is),
		cmocka_unit_test(what_is_no_pattern_is_refused),
		cmocka_unit_test(the_longest_pattern_wins_wherever_it_stands),
		cmocka_unit_test(exact_wins_before_a_prefix_of_the_same_length),
		cmocka_unit_test(a_named_method_wins_among_equal_patterns),
		cmocka_unit_test(a_method_nobody_names_falls_to_a_shorter_pattern),
		cmocka_unit_test(the_longer_pattern_wins_before_the_named_method),
		cmocka_unit_test(head_is_a_get_unless_it_is_named),
		cmocka_unit_test(a_method_is_the_same_in_any_case),
		cmocka_unit_test(no_path_is_held_by_the_prefix_of_all_paths_only),
		cmocka_unit_test(of_two_equals_the_first_is_found),
		cmocka_unit_test(routes_that_hide_one_another_collide),
		cmocka_unit_test(random_routes_are_found_as_the_rules_say),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
