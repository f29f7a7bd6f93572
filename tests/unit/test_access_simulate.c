/* SPDX-License-Identifier: MIT */
/* Whom a draft limit would have refused, by the times in the log. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include "access_lines.h"
#include "cli/access_simulate.h"

#define DAY_MS (86400ULL * 1000)

static struct access_reader reader;

static void start(struct access_simulation *simulation, const char *limit)
{
	struct failure why = {0};

	if (access_simulation_open(simulation, access_secret, limit, &why))
		fail_msg("'%s': %s", limit, why.reason);
}

/* Whether a request would have been refused. */
static bool refuses(struct access_simulation *simulation, const char *client, const char *path,
		    unsigned int status, uint64_t after_ms)
{
	struct access_line line = request(&reader, client, path, status, after_ms);
	uint64_t before = simulation->total.refused;

	access_simulate(simulation, &line);
	return simulation->total.refused > before;
}

static bool login_refuses(struct access_simulation *simulation, const char *client,
			  uint64_t after_ms)
{
	return refuses(simulation, client, "/login", 200, after_ms);
}

static void a_burst_passes_then_one_at_the_rate(void **state)
{
	struct access_simulation simulation;

	(void)state;
	start(&simulation, "/login 2 1/s");
	assert_false(login_refuses(&simulation, "192.0.2.1", 0));
	assert_false(login_refuses(&simulation, "192.0.2.1", 0));
	assert_true(login_refuses(&simulation, "192.0.2.1", 0));
	assert_true(login_refuses(&simulation, "192.0.2.1", 999));
	assert_false(login_refuses(&simulation, "192.0.2.1", 1000));
	assert_true(login_refuses(&simulation, "192.0.2.1", 1000));
	assert_int_equal(simulation.total.requests, 6);
	assert_int_equal(simulation.total.refused, 3);
	access_simulation_close(&simulation);
}

static uint64_t refused_of_requests(const char *limit, uint64_t apart_ms)
{
	struct access_simulation simulation;

	start(&simulation, limit);
	for (uint64_t at = 0; at < 1000; at++)
		login_refuses(&simulation, "192.0.2.1", at * apart_ms);
	access_simulation_close(&simulation);
	return simulation.total.refused;
}

/* Times in logs are whole seconds or milliseconds: many requests are exactly that far apart. */
static void requests_just_as_far_apart_as_the_rate_allows_pass(void **state)
{
	static const struct {
		const char *limit;
		uint64_t apart_ms;
	} limits[] = {{"/login 1 1/s", 1000},
		      {"/login 1 1000/s", 1},
		      {"/login 1 3/s", 334},
		      {"/login 1 7/min", 8572},
		      {"/login 1 1/min", 60000}};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(limits); i++) {
		assert_int_equal(refused_of_requests(limits[i].limit, limits[i].apart_ms), 0);
		assert_true(refused_of_requests(limits[i].limit, limits[i].apart_ms - 1) > 0);
	}
}

static void each_client_has_a_bucket_and_a_64_has_one(void **state)
{
	struct access_simulation simulation;

	(void)state;
	start(&simulation, "/login 1 1/h");
	assert_false(login_refuses(&simulation, "192.0.2.1", 0));
	assert_false(login_refuses(&simulation, "192.0.2.2", 0));
	assert_false(login_refuses(&simulation, "2001:db8::1", 0));
	assert_true(login_refuses(&simulation, "2001:db8::2", 0));
	assert_false(login_refuses(&simulation, "2001:db8:0:1::2", 0));
	assert_int_equal(simulation.clients.count, 4);
	assert_int_equal(simulation.clients_refused, 1);
	access_simulation_close(&simulation);
}

static const struct {
	const char *path;
	bool limited;
} paths[] = {
	{"/api/", true},       {"/api/x", true},   {"/api/x?y", true},         {"//api//x", true},
	{"/x/../api/y", true}, {"/%61pi/x", true}, {"http://host/api/", true}, {"/api", false},
	{"/API/", false},      {"/", false},       {"/x/api/", false},         {"/apix/", false},
	{"*", false},
};

static void a_limit_holds_for_the_paths_that_begin_with_its_own(void **state)
{
	struct access_simulation simulation;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		start(&simulation, "/api/ 1 1/h");
		refuses(&simulation, "192.0.2.1", paths[i].path, 200, 0);
		if ((simulation.total.requests == 1) != paths[i].limited)
			fail_msg("'%s'", paths[i].path);
		access_simulation_close(&simulation);
	}
}

static void requests_that_were_refused_in_fact_were_made(void **state)
{
	struct access_simulation simulation;

	(void)state;
	start(&simulation, "/ 1 1/h");
	assert_false(refuses(&simulation, "192.0.2.1", "/", 429, 0));
	assert_true(refuses(&simulation, "192.0.2.1", "/", 429, 0));
	access_simulation_close(&simulation);
}

static void clients_without_an_address_are_not_limited(void **state)
{
	struct access_simulation simulation;

	(void)state;
	start(&simulation, "/ 1 1/h");
	assert_false(refuses(&simulation, "unix:", "/", 200, 0));
	assert_false(refuses(&simulation, "unix:", "/", 200, 0));
	assert_int_equal(simulation.total.requests, 0);
	access_simulation_close(&simulation);
}

static void a_client_is_told_by_its_first_refusal(void **state)
{
	const struct access_simulated *client;
	struct access_simulation simulation;

	(void)state;
	start(&simulation, "/login 1 1/h");
	for (uint64_t second = 0; second < 4; second++)
		login_refuses(&simulation, "192.0.2.1", second * 1000);
	client = access_table_value(&simulation.clients, 0);
	assert_int_equal(client->tally.requests, 4);
	assert_int_equal(client->tally.refused, 3);
	assert_int_equal(client->tally.first_refused_ns, LOGGED_NS + NS_PER_SECOND);
	access_simulation_close(&simulation);
}

/* Several workers write to one log. */
static void a_line_that_is_late_owes_nothing_for_it(void **state)
{
	struct access_simulation simulation;

	(void)state;
	start(&simulation, "/login 2 1/s");
	assert_false(login_refuses(&simulation, "192.0.2.1", 10000));
	assert_false(login_refuses(&simulation, "192.0.2.1", 9995));
	assert_true(login_refuses(&simulation, "192.0.2.1", 9990));
	assert_true(login_refuses(&simulation, "192.0.2.1", 10999));
	assert_false(login_refuses(&simulation, "192.0.2.1", 11000));
	access_simulation_close(&simulation);
}

/* It may be the log of another day. */
static void a_time_that_goes_far_back_costs_one_refill_at_most(void **state)
{
	struct access_simulation simulation;

	(void)state;
	start(&simulation, "/login 2 1/s");
	login_refuses(&simulation, "192.0.2.1", 3 * DAY_MS);
	login_refuses(&simulation, "192.0.2.1", 0);
	assert_false(login_refuses(&simulation, "192.0.2.1", 2000));
	access_simulation_close(&simulation);
}

static struct access_line request_of(uint64_t time_ns)
{
	struct access_line line = request(&reader, "192.0.2.1", "/", 200, 0);

	line.time_ns = time_ns;
	return line;
}

/* 1970, and 584 years later: beyond what buckets know. */
static void times_may_be_anywhere(void **state)
{
	static const uint64_t times_ns[] = {LOGGED_NS, 0,          UINT64_MAX, LOGGED_NS,
					    0,         UINT64_MAX, 1,          LOGGED_NS};
	struct access_simulation simulation;

	(void)state;
	for (size_t first = 0; first < 3; first++) {
		start(&simulation, "/ 1 1/s");
		for (size_t i = first; i < ARRAY_SIZE(times_ns); i++) {
			struct access_line line = request_of(times_ns[i]);

			access_simulate(&simulation, &line);
		}
		assert_int_equal(simulation.total.requests, 8 - first);
		access_simulation_close(&simulation);
	}
}

static void clients_beyond_the_bound_are_counted_apart(void **state)
{
	struct access_simulation simulation;

	(void)state;
	start(&simulation, "/login 1 1/h");
	simulation.clients.max = 1;
	assert_false(login_refuses(&simulation, "192.0.2.1", 0));
	assert_false(login_refuses(&simulation, "192.0.2.2", 0));
	assert_false(login_refuses(&simulation, "192.0.2.2", 0));
	assert_true(login_refuses(&simulation, "192.0.2.1", 0));
	assert_int_equal(simulation.unplaced, 2);
	assert_int_equal(simulation.total.requests, 2);
	access_simulation_close(&simulation);
}

static void a_limit_is_read_as_http_run_does(void **state)
{
	struct access_simulation simulation;
	struct failure why;

	(void)state;
	assert_int_equal(access_simulation_open(&simulation, access_secret, "/login", &why),
			 -EINVAL);
	assert_non_null(strstr(why.reason, "'/login 5 1/s'"));
	assert_int_equal(access_simulation_open(&simulation, access_secret, "/a;b 5 1/s", &why),
			 -EINVAL);
	assert_int_equal(access_simulation_open(&simulation, access_secret, "/ 1G 1/day", &why),
			 -ERANGE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_burst_passes_then_one_at_the_rate),
		cmocka_unit_test(requests_just_as_far_apart_as_the_rate_allows_pass),
		cmocka_unit_test(each_client_has_a_bucket_and_a_64_has_one),
		cmocka_unit_test(a_limit_holds_for_the_paths_that_begin_with_its_own),
		cmocka_unit_test(requests_that_were_refused_in_fact_were_made),
		cmocka_unit_test(clients_without_an_address_are_not_limited),
		cmocka_unit_test(a_client_is_told_by_its_first_refusal),
		cmocka_unit_test(a_line_that_is_late_owes_nothing_for_it),
		cmocka_unit_test(a_time_that_goes_far_back_costs_one_refill_at_most),
		cmocka_unit_test(times_may_be_anywhere),
		cmocka_unit_test(clients_beyond_the_bound_are_counted_apart),
		cmocka_unit_test(a_limit_is_read_as_http_run_does),
	};

	return cmocka_run_group_tests_name("access_simulate", tests, NULL, NULL);
}
