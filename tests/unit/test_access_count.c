/* SPDX-License-Identifier: MIT */
/* What lines of access logs add up to, and the table that holds it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include "access_lines.h"
#include "cli/access_count.h"

#define DEPTH 2

struct counting {
	struct access_reader reader;
	struct access_counts counts;
};

static int counting_open(void **state)
{
	struct counting *counting = calloc(1, sizeof(*counting));

	*state = counting;
	if (!counting)
		return -1;
	access_counts_open(&counting->counts, access_secret, DEPTH);
	return 0;
}

static int counting_close(void **state)
{
	struct counting *counting = *state;

	access_counts_close(&counting->counts);
	free(counting);
	return 0;
}

static void count(struct counting *counting, const char *client, const char *path,
		  unsigned int status, uint64_t after_ms)
{
	struct access_line line = request(&counting->reader, client, path, status, after_ms);

	access_count(&counting->counts, &line);
}

static void count_of_zone(struct counting *counting, const char *zone, enum access_outcome outcome)
{
	struct access_line line = request(&counting->reader, "192.0.2.1", "/", 200, 0);

	line.outcome = outcome;
	line.zone = zone;
	line.zone_size = strlen(zone);
	access_count(&counting->counts, &line);
}

static const struct access_tally *tally_of(struct access_table *table, const void *key, size_t size)
{
	size_t before = table->count;
	const struct access_tally *tally = access_table_take(table, key, size);

	assert_int_equal(table->count, before);
	return tally;
}

static const struct access_tally *tally_of_text(struct access_table *table, const char *key)
{
	return tally_of(table, key, strlen(key));
}

static const struct access_tally *tally_of_client(struct counting *counting, const char *address)
{
	struct prefix prefix;

	assert_true(prefix_parse(address, &prefix));
	return tally_of(&counting->counts.clients, &prefix, sizeof(prefix));
}

/* Path, depth, and the path's route. */
static const struct {
	const char *path;
	unsigned int depth;
	const char *route;
} routes[] = {
	{"/", 2, "/"},
	{"/a", 2, "/a"},
	{"/a/", 2, "/a/"},
	{"/a/b", 2, "/a/b"},
	{"/a/b/", 2, "/a/b/"},
	{"/a/b/1", 2, "/a/b/"},
	{"/a/b/1/2", 2, "/a/b/"},
	{"/a/b/1", 1, "/a/"},
	{"/a", 1, "/a"},
	{"/a/b/1", 3, "/a/b/1"},
	{"/a/b/1/", 3, "/a/b/1/"},
	{"/a/b/1/2", 3, "/a/b/1/"},
};

static void a_route_is_a_paths_first_segments(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(routes); i++) {
		size_t size =
			access_route_size(routes[i].path, strlen(routes[i].path), routes[i].depth);

		if (size != strlen(routes[i].route) ||
		    strncmp(routes[i].path, routes[i].route, size) != 0)
			fail_msg("'%s' to %u is %zu", routes[i].path, routes[i].depth, size);
	}
}

static void a_long_route_is_cut(void **state)
{
	char path[2 * ACCESS_ROUTE_SIZE_MAX];

	(void)state;
	memset(path, 'a', sizeof(path));
	path[0] = '/';
	assert_int_equal(access_route_size(path, sizeof(path), 2), ACCESS_ROUTE_SIZE_MAX);
}

static void requests_count_by_route(void **state)
{
	struct counting *counting = *state;
	struct access_counts *counts = &counting->counts;

	count(counting, "192.0.2.1", "/api/users/1", 200, 0);
	count(counting, "192.0.2.2", "/api/users/2?x=/y", 429, 1);
	count(counting, "192.0.2.2", "/api//users/./3", 429, 2);
	count(counting, "192.0.2.2", "*", 400, 3);
	assert_int_equal(counts->routes.count, 2);
	assert_int_equal(tally_of_text(&counts->routes, "/api/users/")->requests, 3);
	assert_int_equal(tally_of_text(&counts->routes, "/api/users/")->refused, 2);
	assert_int_equal(tally_of_text(&counts->routes, "-")->requests, 1);
	assert_int_equal(counts->total.requests, 4);
	assert_int_equal(counts->total.refused, 2);
}

static void requests_count_by_the_zone_that_is_named(void **state)
{
	struct counting *counting = *state;
	struct access_counts *counts = &counting->counts;

	count_of_zone(counting, "login", ACCESS_REFUSED);
	count_of_zone(counting, "login", ACCESS_OBSERVED);
	count_of_zone(counting, "login", ACCESS_PASSED);
	count_of_zone(counting, "", ACCESS_PASSED);
	assert_int_equal(counts->zones.count, 1);
	assert_int_equal(tally_of_text(&counts->zones, "login")->requests, 3);
	assert_int_equal(tally_of_text(&counts->zones, "login")->refused, 1);
	assert_int_equal(tally_of_text(&counts->zones, "login")->observed, 1);
	assert_int_equal(counts->total.observed, 1);
}

static void a_client_is_told_by_its_first_and_last_refusal(void **state)
{
	struct counting *counting = *state;
	const struct access_tally *client;

	count(counting, "192.0.2.1", "/", 200, 0);
	count(counting, "192.0.2.1", "/", 429, 2000);
	count(counting, "192.0.2.1", "/", 429, 1000);
	count(counting, "192.0.2.1", "/", 429, 3000);
	count(counting, "192.0.2.1", "/", 200, 4000);
	client = tally_of_client(counting, "192.0.2.1");
	assert_int_equal(client->requests, 5);
	assert_int_equal(client->refused, 3);
	assert_int_equal(client->first_refused_ns, LOGGED_NS + 1 * NS_PER_SECOND);
	assert_int_equal(client->last_refused_ns, LOGGED_NS + 3 * NS_PER_SECOND);
}

static void addresses_of_a_64_are_one_client_and_names_are_none(void **state)
{
	struct counting *counting = *state;

	count(counting, "2001:db8::1", "/", 200, 0);
	count(counting, "2001:db8::2", "/", 200, 0);
	count(counting, "2001:db8:0:1::1", "/", 200, 0);
	count(counting, "unix:", "/", 429, 0);
	assert_int_equal(counting->counts.clients.count, 2);
	assert_int_equal(tally_of_client(counting, "2001:db8::/64")->requests, 2);
	assert_int_equal(counting->counts.nameless.requests, 1);
	assert_int_equal(counting->counts.nameless.refused, 1);
}

static void the_period_is_from_the_earliest_to_the_latest(void **state)
{
	struct counting *counting = *state;
	struct access_counts *counts = &counting->counts;

	count(counting, "192.0.2.1", "/", 200, 5000);
	count(counting, "192.0.2.1", "/", 200, 9000);
	count(counting, "192.0.2.1", "/", 200, 2000);
	count(counting, "192.0.2.1", "/", 200, 2000);
	count(counting, "192.0.2.1", "/", 200, 1000);
	assert_int_equal(counts->from_ns, LOGGED_NS + 1 * NS_PER_SECOND);
	assert_int_equal(counts->to_ns, LOGGED_NS + 9 * NS_PER_SECOND);
	assert_int_equal(counts->back, 2);
	assert_int_equal(counts->back_most_ns, 7 * NS_PER_SECOND);
}

static void what_has_no_place_counts_as_others(void **state)
{
	struct counting *counting = *state;
	struct access_counts *counts = &counting->counts;

	counts->routes.max = 1;
	counts->clients.max = 2;
	count(counting, "192.0.2.1", "/a", 200, 0);
	count(counting, "192.0.2.2", "/b", 429, 0);
	count(counting, "192.0.2.3", "/b", 429, 0);
	count(counting, "192.0.2.2", "/a", 200, 0);
	assert_int_equal(counts->other_routes.requests, 2);
	assert_int_equal(counts->other_routes.refused, 2);
	assert_int_equal(counts->other_clients.requests, 1);
	assert_int_equal(tally_of_text(&counts->routes, "/a")->requests, 2);
	assert_int_equal(tally_of_client(counting, "192.0.2.2")->requests, 2);
	assert_int_equal(counts->total.requests, 4);
}

/* Enough of them for the table to grow several times. */
static void a_table_keeps_every_key_apart_as_it_grows(void **state)
{
	struct access_table table;
	enum { KEYS = 5000 };

	(void)state;
	access_table_open(&table, access_secret, sizeof(uint64_t), KEYS);
	for (uint32_t round = 1; round <= 2; round++) {
		for (uint32_t i = 0; i < KEYS; i++) {
			uint64_t *value = access_table_take(&table, &i, 1 + i % sizeof(i));

			assert_non_null(value);
			*value += i % sizeof(i) == 3;
		}
	}
	/* Of one byte there are 64 of four values each, of three bytes all. */
	assert_int_equal(table.count, 64 + 1250 + 1250 + 1250);
	for (size_t i = 0; i < table.count; i++) {
		size_t size;

		assert_non_null(access_table_key(&table, i, &size));
		assert_int_equal(*(const uint64_t *)access_table_value(&table, i),
				 size == 4 ? 2 : 0);
	}
	access_table_close(&table);
}

static void tally_add(struct access_table *table, uint64_t key, uint64_t refused, uint64_t requests)
{
	struct access_tally *tally = access_table_take(table, &key, sizeof(key));

	assert_non_null(tally);
	*tally = (struct access_tally){.refused = refused, .requests = requests};
}

static void assert_top(const struct access_table *table, access_order *before, size_t max,
		       const uint32_t *expected, size_t count)
{
	uint32_t numbers[16];

	assert_int_equal(access_table_top(table, before, numbers, max), count);
	assert_memory_equal(numbers, expected, count * sizeof(numbers[0]));
}

static void the_top_is_in_order_and_equals_in_that_of_coming(void **state)
{
	static const uint32_t refused[] = {3, 1, 4, 0, 2}, requested[] = {2, 0, 1, 4, 3};
	struct access_table table;

	(void)state;
	access_table_open(&table, access_secret, sizeof(struct access_tally), 16);
	tally_add(&table, 0, 1, 20);
	tally_add(&table, 1, 5, 10);
	tally_add(&table, 2, 0, 99);
	tally_add(&table, 3, 7, 8);
	tally_add(&table, 4, 5, 10);
	for (size_t max = 0; max <= 5; max++) {
		assert_top(&table, access_refused_more, max, refused, max);
		assert_top(&table, access_requested_more, max, requested, max);
	}
	assert_top(&table, access_refused_more, 9, refused, 5);
	access_table_close(&table);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, counting_open, counting_close)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_route_is_a_paths_first_segments),
		cmocka_unit_test(a_long_route_is_cut),
		TEST(requests_count_by_route),
		TEST(requests_count_by_the_zone_that_is_named),
		TEST(a_client_is_told_by_its_first_and_last_refusal),
		TEST(addresses_of_a_64_are_one_client_and_names_are_none),
		TEST(the_period_is_from_the_earliest_to_the_latest),
		TEST(what_has_no_place_counts_as_others),
		cmocka_unit_test(a_table_keeps_every_key_apart_as_it_grows),
		cmocka_unit_test(the_top_is_in_order_and_equals_in_that_of_coming),
	};

	return cmocka_run_group_tests_name("access_count", tests, NULL, NULL);
}
