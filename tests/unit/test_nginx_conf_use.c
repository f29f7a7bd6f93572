/* SPDX-License-Identifier: MIT */
/* The words for a limit of a configuration, and what is said of faults. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "nginx_limits_made.h"

static void limits_are_in_words(void **state)
{
	static const char *const cases[][3] = {
		{"capacity=5 rate=1/s", "", "5, then 1 per second"},
		{"capacity=100 rate=20/min", "", "100, then 20 per minute"},
		{"capacity=2k rate=60/min", "", "2000, then 1 per second"},
		{"capacity=1 rate=1/day", "", "1, then 1 per day"},
		{"capacity=1 rate=2/h", "", "1, then 2 per hour"},
		{"capacity=5 rate=1/s count-refused", "",
		 "5, then 1 per second, refused requests count"},
		{"algorithm=sliding-log limit=3 per=1s", "", "3 per second"},
		{"algorithm=fixed-window limit=100 per=60s", "", "100 per minute"},
		{"algorithm=fixed-window limit=100 per=90s", "", "100 per 90s"},
		{"algorithm=fixed-window limit=100 per=24h", "", "100 per day"},
		{"algorithm=leaky-bucket capacity=50 rate=10/s", "",
		 "50, then 10 per second; held back beyond the first"},
		{"algorithm=leaky-bucket capacity=50 rate=10/s", "delay=20",
		 "50, then 10 per second; held back beyond the first 21"},
		{"algorithm=leaky-bucket capacity=50 rate=10/s", "nodelay",
		 "50, then 10 per second"},
		{"capacity=50 rate=10/s", "delay=0",
		 "50, then 10 per second; held back beyond the first"},
		{"capacity=$c rate=$r default=10,1/s", "",
		 "by $c and $r; unless set 10, then 1 per second"},
		{"capacity=20 rate=$r default=10,1/s", "",
		 "by $r; unless set 20, then 1 per second"},
		{"algorithm=fixed-window limit=$l per=1h default=10,60s", "",
		 "by $l; unless set 10 per hour"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct nginx_limits limits;
		char zone[128];

		snprintf(zone, sizeof(zone), "key=$weir_address %s", cases[i][0]);
		zone_limit_read(zone, cases[i][1], &limits);
		assert_notices(&limits, NULL);
		assert_text(limits.limits[0].limit, cases[i][2]);
		nginx_limits_free(&limits);
	}
}

static void keys_are_in_words_or_as_they_are(void **state)
{
	static const struct {
		const char *zone, *words;
		bool is_address;
	} cases[] = {
		{"key=$weir_address", "client address", true},
		{"key=${weir_address}", "client address", true},
		{"key=$binary_remote_addr", "client address", false},
		{"key=$http_x_api_key", "header X-Api-Key", false},
		{"key=$cookie_session", "cookie session", false},
		{"key=$arg_q", "argument q", false},
		{"key=$login", "form field username", false},
		{"key=$customer", "$customer", false},
		{"key=$customer key=$weir_address", "$customer, else client address", true},
		{"key=$weir_address$uri", "$weir_address$uri", false},
		{"key=a$uri", "a$uri", false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct nginx_limits limits;
		char zone[160];

		snprintf(zone, sizeof(zone),
			 "%s capacity=1 rate=1/s; weir_form_field $login username max=8k",
			 cases[i].zone);
		zone_limit_read(zone, "", &limits);
		assert_text(limits.limits[0].per, cases[i].words);
		assert_int_equal(limits.limits[0].is_address, cases[i].is_address);
		nginx_limits_free(&limits);
	}
}

static void costs_and_what_is_given_back_are_told(void **state)
{
	static const char *const cases[][2] = {
		{"", "1"},
		{"cost=3", "3"},
		{"cost=0", "0"},
		{"cost=$cost", "$cost"},
		{"refund-on=2xx,404", "1, given back on 2xx,404"},
		{"cost=3 refund-on=2xx", "3, given back on 2xx"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct nginx_limits limits;

		zone_limit_read("key=$uri capacity=5 rate=1/s", cases[i][0], &limits);
		assert_notices(&limits, NULL);
		assert_text(limits.limits[0].cost, cases[i][1]);
		nginx_limits_free(&limits);
	}
}

static void the_answer_is_what_the_level_says(void **state)
{
	static const char *const cases[][4] = {
		/* level, status, fields, policy */
		{"", "429", "Retry-After, RateLimit", "\"a\";q=5;w=5"},
		{"weir_headers draft;", "429", "Retry-After, RateLimit", "\"a\";q=5;w=5"},
		{"weir_headers legacy;", "429", "Retry-After, X-RateLimit", NULL},
		{"weir_headers both;", "429", "Retry-After, RateLimit, X-RateLimit",
		 "\"a\";q=5;w=5"},
		{"weir_headers off;", "429", "Retry-After", NULL},
		{"weir_reveal off;", "429", NULL, NULL},
		{"weir_refusal_status 503;", "503", "Retry-After, RateLimit", "\"a\";q=5;w=5"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct nginx_limits limits;
		char *text = NULL;

		assert_true(asprintf(&text, ZONE_A "%s server { location / { weir a; } }",
				     cases[i][0]) > 0);
		limits_read(text, &limits);
		assert_int_equal(limits.count, 1);
		assert_text(limits.limits[0].status, cases[i][1]);
		assert_text(limits.limits[0].fields, cases[i][2]);
		assert_text(limits.limits[0].policy, cases[i][3]);
		nginx_limits_free(&limits);
		free(text);
	}
}

static void what_an_inner_level_says_comes_first(void **state)
{
	struct nginx_limits limits;

	(void)state;
	limits_read(ZONE_A "weir a; weir_reveal off; server { weir_refusal_status 503; "
			   "location / { weir_reveal on; weir_headers legacy; } location /b { } }",
		    &limits);
	assert_int_equal(limits.count, 2);
	assert_text(limits.limits[0].fields, "Retry-After, X-RateLimit");
	assert_text(limits.limits[0].status, "503");
	assert_text(limits.limits[1].fields, NULL);
	assert_text(limits.limits[1].status, "503");
	nginx_limits_free(&limits);
}

static void a_zone_that_only_observes_refuses_nothing(void **state)
{
	struct nginx_limits limits;

	(void)state;
	limits_read("weir_zone a key=$weir_address capacity=5 rate=1/s observe; "
		    "weir_penalty a refusals=1 within=1s ban=1s max=1s; server { weir a; }",
		    &limits);
	assert_int_equal(limits.count, 1);
	assert_true(limits.limits[0].is_observed);
	assert_text(limits.limits[0].limit, "5, then 1 per second");
	assert_text(limits.limits[0].status, NULL);
	assert_text(limits.limits[0].fields, NULL);
	assert_text(limits.limits[0].policy, NULL);
	assert_text(limits.limits[0].ban, NULL);
	nginx_limits_free(&limits);
}

static void a_penalty_is_in_words(void **state)
{
	struct nginx_limits limits;

	(void)state;
	limits_read("weir_penalty a refusals=10 within=90s ban=15m max=24h; " ZONE_A ZONE_B
		    "server { weir a; weir b; }",
		    &limits);
	assert_int_equal(limits.count, 2);
	assert_text(limits.limits[0].ban, "10 refusals within 90s: banned for 15m, at most 1d");
	assert_text(limits.limits[1].ban, NULL);
	assert_notices(&limits, NULL);
	nginx_limits_free(&limits);
}

static void a_zone_that_does_not_parse_is_shown_as_it_is(void **state)
{
	static const char *const cases[][2] = {
		{"key=$uri capacity=5 rate=1/fortnight", "'1/fortnight' is not a rate"},
		{"key=$uri capacity=-5 rate=1/s", "'-5' is not a count"},
		{"key=$uri capacity=10 rate=1/y",
		 "a capacity of 10 takes over 4.5 years to fill at this rate; the largest is 4"},
		{"key=$uri algorithm=sliding-log limit=1M per=1s",
		 "a limit of 1000000 is more than a log counts; the largest is 32767"},
		{"key=$uri capacity=5", "it has no limit"},
		{"key=$uri algorithm=best capacity=5 rate=1/s", "'best' is not an algorithm"},
		{"key=$uri algorithm=fixed-window capacity=5 rate=1/s", "it has no limit"},
		{"key=$uri algorithm=fixed-window limit=5 per=1", "'1' is not a duration"},
		{"key=$uri capacity=$c rate=1/s",
		 "a limit in a variable needs default=, others none"},
		{"key=$uri capacity=$c rate=1/s default=5", "'5' is not a default"},
		{"key=$uri capacity=$c rate=1/s default=,", "',' is not a default"},
		{"key=$uri capacity=5 rate=1/s default=5,1/s",
		 "a limit in a variable needs default=, others none"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct nginx_limits limits;
		char notice[128];

		snprintf(notice, sizeof(notice), "n:1: zone 'z': %s", cases[i][1]);
		zone_limit_read(cases[i][0], "", &limits);
		assert_text(limits.limits[0].limit, cases[i][0]);
		assert_text(limits.limits[0].policy, NULL);
		assert_notices(&limits, notice);
		nginx_limits_free(&limits);
	}
}

static void a_zone_without_a_key_has_a_notice(void **state)
{
	struct nginx_limits limits;

	(void)state;
	zone_limit_read("capacity=5 rate=1/s", "", &limits);
	assert_text(limits.limits[0].limit, "5, then 1 per second");
	assert_text(limits.limits[0].per, "");
	assert_notices(&limits, "n:1: zone 'z': it has no key=");
	nginx_limits_free(&limits);
}

static void other_faults_have_a_notice_once(void **state)
{
	static const char *const cases[][2] = {
		{"server {\nweir x; }", "n:2: there is no zone 'x'"},
		{"server {\nweir; }", "n:2: weir names no zone"},
		{ZONE_A "server {\nweir a delay=x; }", "n:2: 'x' is not a count"},
		{ZONE_A "server {\nweir a cost=x; }", "n:2: 'x' is not a cost"},
		{"server { location / {\nweir_route /a; } }", "n:2: weir_route names no zone"},
		{ZONE_A "\nweir_penalty a refusals=1; server { weir a; }",
		 "n:2: the penalty cannot be read"},
		{ZONE_A "\nweir_penalty a refusals=2k within=1s ban=1s max=1s; server { weir a; }",
		 "n:2: refusals must be 1 to 1000"},
		{"\nweir_zone a; server { location / { weir a; } location /b { weir a; } }",
		 "n:2: zone 'a': it has no limit"},
		{"weir_zone; weir_penalty; server { location {\nweir x; } }",
		 "n:2: there is no zone 'x'"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct nginx_limits limits;

		limits_read(cases[i][0], &limits);
		assert_notices(&limits, cases[i][1]);
		nginx_limits_free(&limits);
	}
}

static void addresses_of_ipv6_are_cut_as_weir_address_says(void **state)
{
	static const struct {
		const char *inside;
		unsigned int prefix;
	} cases[] = {
		{"", 64},
		{"weir_address peer;", 64},
		{"weir_address peer ipv6-prefix=56;", 56},
		{"weir_address forwarded from=::1 ipv6-prefix=x;", 64},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct nginx_limits limits;

		limits_read(cases[i].inside, &limits);
		assert_int_equal(limits.ipv6_prefix, cases[i].prefix);
		nginx_limits_free(&limits);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(limits_are_in_words),
		cmocka_unit_test(keys_are_in_words_or_as_they_are),
		cmocka_unit_test(costs_and_what_is_given_back_are_told),
		cmocka_unit_test(the_answer_is_what_the_level_says),
		cmocka_unit_test(what_an_inner_level_says_comes_first),
		cmocka_unit_test(a_zone_that_only_observes_refuses_nothing),
		cmocka_unit_test(a_penalty_is_in_words),
		cmocka_unit_test(a_zone_that_does_not_parse_is_shown_as_it_is),
		cmocka_unit_test(a_zone_without_a_key_has_a_notice),
		cmocka_unit_test(other_faults_have_a_notice_once),
		cmocka_unit_test(addresses_of_ipv6_are_cut_as_weir_address_says),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
