/* SPDX-License-Identifier: MIT */
/* Header fields and bodies. That an independent parser reads the fields:
 * tests/net/test_http_fields.sh. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "http/reply.h"
#include "random.h"

#define ARRAY_SIZE(a)    (sizeof(a) / sizeof((a)[0]))
#define RANDOM_CASES     20000
#define RANDOM_SEED      0x7265706c
#define TEXT_SIZE        1024
#define FILL_SECONDS_MAX (5 * 365 * 86400)

#define MS       1000000ULL
#define SECOND   1000000000ULL
#define LONGEST  "a234567890123456789012345678901"
#define MOST     UINT64_MAX
#define MOST_INT "999999999999999"

static struct rule rule_of(enum algorithm algorithm, uint64_t capacity, uint64_t count,
			   uint64_t period_ns)
{
	return (struct rule){
		.algorithm = algorithm,
		.capacity = capacity,
		.rate = {.count = count, .period_ns = period_ns},
	};
}

static struct rule bucket_of(uint64_t capacity, uint64_t count, uint64_t period_ns)
{
	return rule_of(ALGORITHM_TOKEN_BUCKET, capacity, count, period_ns);
}

static void seconds_are_rounded_up(void **state)
{
	static const struct {
		uint64_t ns, seconds;
	} cases[] = {
		{0, 0},
		{1, 1},
		{SECOND - 1, 1},
		{SECOND, 1},
		{SECOND + 1, 2},
		{60 * SECOND, 60},
		{UINT64_MAX - 1, 18446744074},
		{UINT64_MAX, 18446744074},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_int_equal(reply_seconds(cases[i].ns), cases[i].seconds);
}

static void a_policy_is_quota_and_window(void **state)
{
	const struct {
		struct rule rule;
		const char *field;
	} cases[] = {
		{bucket_of(5, 1, SECOND), "\"z\";q=5;w=5"},
		{bucket_of(100, 1, SECOND / 20), "\"z\";q=100;w=5"},
		{bucket_of(5, 2, SECOND), "\"z\";q=5;w=3"},
		{bucket_of(1, 3, 3 * SECOND + 1), "\"z\";q=1;w=2"},
		{bucket_of(1, 1, 60 * SECOND), "\"z\";q=1;w=60"},
		{bucket_of(1, 1, 31536000 * SECOND), "\"z\";q=1;w=31536000"},
		{rule_of(ALGORITHM_LEAKY_BUCKET, 50, 10, SECOND), "\"z\";q=50;w=5"},
		{rule_of(ALGORITHM_FIXED_WINDOW, 100, 100, 60 * SECOND), "\"z\";q=100;w=60"},
		{rule_of(ALGORITHM_SLIDING_WINDOW, 7, 7, 86400 * SECOND), "\"z\";q=7;w=86400"},
		{rule_of(ALGORITHM_SLIDING_LOG, 3, 3, 1500 * MS), "\"z\";q=3;w=2"},
		{bucket_of(MOST >> 2, 1, 1), "\"z\";q=" MOST_INT ";w=4611686019"},
		{bucket_of(MOST, 1, MOST), "\"z\";q=" MOST_INT ";w=18446744074"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct reply_policy policy = {.name = "z", .rule = &cases[i].rule};
		char text[TEXT_SIZE];

		reply_policy_field(text, sizeof(text), &policy, 1);
		assert_string_equal(text, cases[i].field);
	}
}

static void a_window_under_a_second_is_told_as_a_second(void **state)
{
	const struct {
		struct rule rule;
		const char *field;
	} cases[] = {
		{bucket_of(5, 10, SECOND), "\"z\";q=10;w=1"},
		{bucket_of(10, 10, SECOND), "\"z\";q=10;w=1"},
		{bucket_of(11, 10, SECOND), "\"z\";q=11;w=2"},
		{bucket_of(1, 1, MS), "\"z\";q=1000;w=1"},
		{bucket_of(1, 1, 1000), "\"z\";q=1000000;w=1"},
		{bucket_of(2, 10, 3 * SECOND), "\"z\";q=3;w=1"},
		{bucket_of(1, MOST, 1), "\"z\";q=" MOST_INT ";w=1"},
		{rule_of(ALGORITHM_FIXED_WINDOW, 7, 7, MS), "\"z\";q=7000;w=1"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct reply_policy policy = {.name = "z", .rule = &cases[i].rule};
		char text[TEXT_SIZE];

		reply_policy_field(text, sizeof(text), &policy, 1);
		assert_string_equal(text, cases[i].field);
	}
}

/* w is never less than what filling takes, nor a whole second more. Within the bounds of
 * rule_build: a million a second, and what takes five years to fill. */
static void a_policy_never_promises_more_than_its_rate(void **state)
{
	uint64_t seed = RANDOM_SEED;
	size_t tried = 0;

	(void)state;
	for (size_t i = 0; i < RANDOM_CASES; i++) {
		uint64_t capacity = 1 + (random_next(&seed) >> (34 + random_next(&seed) % 30));
		uint64_t count = 1 + (random_next(&seed) >> (44 + random_next(&seed) % 20));
		uint64_t period_ns = 1 + (random_next(&seed) >> (9 + random_next(&seed) % 50));
		struct rule rule = bucket_of(capacity, count, period_ns);
		struct reply_policy policy = {.name = "z", .rule = &rule};
		unsigned __int128 needed = (unsigned __int128)capacity * period_ns;
		unsigned __int128 a_second = (unsigned __int128)count * SECOND;
		char text[TEXT_SIZE];
		uint64_t q, w;

		if (period_ns < 1000 * count || needed / a_second > FILL_SECONDS_MAX)
			continue;
		tried++;
		reply_policy_field(text, sizeof(text), &policy, 1);
		assert_int_equal(sscanf(text, "\"z\";q=%" SCNu64 ";w=%" SCNu64, &q, &w), 2);
		assert_true(q >= 1 && w >= 1);
		assert_true(q * (unsigned __int128)period_ns <= w * a_second);
		if (needed >= a_second)
			assert_true(q == capacity && (w - 1) * a_second < needed);
		else
			assert_true(w == 1 && (q + 1) * (unsigned __int128)period_ns > a_second);
	}
	assert_true(tried > RANDOM_CASES / 4);
}

static const struct rule login = {.capacity = 5, .rate = {1, SECOND}};
static const struct rule api = {.capacity = 100, .rate = {1, SECOND / 20}};

static void fields_name_all_policies_in_their_order(void **state)
{
	const struct reply_policy policies[] = {
		{"login", &login, {5, 0, SECOND, SECOND, 5 * SECOND}, true},
		{"api_2-x", &api, {100, 99, 0, SECOND / 20, SECOND / 20}, false},
	};
	char text[TEXT_SIZE];

	(void)state;
	reply_policy_field(text, sizeof(text), policies, 2);
	assert_string_equal(text, "\"login\";q=5;w=5, \"api_2-x\";q=100;w=5");
	reply_limit_field(text, sizeof(text), policies, 2);
	assert_string_equal(text, "\"login\";r=0;t=1, \"api_2-x\";r=99;t=1");
}

static void a_limit_is_what_remains_and_when_it_grows(void **state)
{
	static const struct {
		struct answer answer;
		bool refused;
		const char *field;
	} cases[] = {
		{{5, 4, 0, 1, 1}, false, "\"z\";r=4;t=1"},
		{{5, 4, 0, SECOND, 1}, false, "\"z\";r=4;t=1"},
		/* what a bucket's arithmetic may round by is not told as a second */
		{{5, 4, 0, SECOND + 1000, 1}, false, "\"z\";r=4;t=1"},
		{{5, 4, 0, SECOND + 1002, 1}, false, "\"z\";r=4;t=2"},
		{{5, 0, 3 * SECOND, SECOND, 1}, true, "\"z\";r=0;t=1"},
		{{MOST, MOST, 0, MOST, MOST}, false, "\"z\";r=" MOST_INT ";t=18446744057"},
		/* nothing is to come */
		{{5, 5, 0, 0, 0}, false, "\"z\";r=5"},
		/* no wait would be enough */
		{{5, 4, RULE_NEVER_NS, SECOND, 1}, true, "\"z\";r=4"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct reply_policy policy = {"z", &login, cases[i].answer, cases[i].refused};
		char text[TEXT_SIZE];

		reply_limit_field(text, sizeof(text), &policy, 1);
		assert_string_equal(text, cases[i].field);
	}
}

static struct reply_policy judged(uint64_t remaining, uint64_t retry_after_ns, bool refused)
{
	return (struct reply_policy){
		.name = "z",
		.rule = &login,
		.answer = {.remaining = remaining, .retry_after_ns = retry_after_ns},
		.refused = refused,
	};
}

static void the_tightest_is_a_refusing_one_then_the_one_with_least_left(void **state)
{
	const struct {
		struct reply_policy policies[3];
		size_t tightest;
	} cases[] = {
		{{judged(3, 0, false), judged(2, 0, false), judged(4, 0, false)}, 1},
		{{judged(2, 0, false), judged(2, 0, false), judged(2, 0, false)}, 0},
		{{judged(0, 0, false), judged(9, 1, true), judged(0, 0, false)}, 1},
		{{judged(0, 5, true), judged(0, 7, true), judged(0, 6, true)}, 1},
		{{judged(0, 5, true), judged(9, RULE_NEVER_NS, true), judged(0, 6, true)}, 1},
		{{judged(0, 9, false), judged(0, 1, false), judged(1, 1, true)}, 2},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_ptr_equal(reply_tightest(cases[i].policies, 3),
				 &cases[i].policies[cases[i].tightest]);
}

static void to_retry_is_to_wait_for_all_that_refused(void **state)
{
	const struct {
		struct reply_policy policies[2];
		uint64_t seconds;
	} cases[] = {
		{{judged(0, 1, true), judged(0, 2 * SECOND, true)}, 2},
		{{judged(0, 2 * SECOND + 1, true), judged(0, 1, true)}, 3},
		{{judged(0, SECOND, true), judged(0, 9 * SECOND, false)}, 1},
		{{judged(0, SECOND, true), judged(0, RULE_NEVER_NS, true)}, 0},
		{{judged(0, RULE_NEVER_NS, false), judged(0, SECOND, true)}, 1},
		{{judged(1, 0, true), judged(0, 0, false)}, 1},
		{{judged(1, 5, false), judged(0, 5, false)}, 0},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_int_equal(reply_seconds(reply_wait_ns(cases[i].policies, 2)),
				 cases[i].seconds);
	assert_int_equal(reply_wait_ns(NULL, 0), 0);
}

static json_t *json_of(const char *text)
{
	json_error_t error;
	json_t *json = json_loads(text, JSON_REJECT_DUPLICATES, &error);

	if (!json)
		fail_msg("%s: %s", text, error.text);
	return json;
}

static void a_problem_names_the_policies_that_refused(void **state)
{
	struct reply_policy policies[] = {judged(0, 1, true), judged(1, 0, false),
					  judged(0, 1, true)};
	char text[TEXT_SIZE];
	json_t *json, *expected;

	(void)state;
	policies[0].name = "login";
	policies[1].name = "api";
	policies[2].name = "plan_2";
	reply_body_problem(text, sizeof(text), 429, policies, 3);
	json = json_of(text);
	expected =
		json_pack("{s:s, s:s, s:i, s:[s, s]}", "type",
			  "https://iana.org/assignments/http-problem-types#quota-exceeded", "title",
			  "Request cannot be satisfied as assigned quota has been exceeded",
			  "status", 429, "violated-policies", "login", "plan_2");
	assert_true(json_equal(json, expected));
	json_decref(json);
	json_decref(expected);
}

static void a_problem_without_policies_names_none(void **state)
{
	const struct reply_policy passed = judged(1, 0, false);
	char text[TEXT_SIZE], same[TEXT_SIZE];
	json_t *json;

	(void)state;
	reply_body_problem(text, sizeof(text), 503, NULL, 0);
	json = json_of(text);
	assert_int_equal(json_integer_value(json_object_get(json, "status")), 503);
	assert_int_equal(json_object_size(json), 3);
	json_decref(json);
	reply_body_problem(same, sizeof(same), 503, &passed, 1);
	assert_string_equal(same, text);
}

static void a_json_body_says_when_to_retry(void **state)
{
	char text[TEXT_SIZE];

	(void)state;
	reply_body_json(text, sizeof(text), 1);
	assert_string_equal(text, "{\"error\": \"Too many requests\", \"retryAfter\": 1}");
	reply_body_json(text, sizeof(text), 18446744074);
	assert_string_equal(text,
			    "{\"error\": \"Too many requests\", \"retryAfter\": 18446744074}");
	reply_body_json(text, sizeof(text), 0);
	assert_string_equal(text, "{\"error\": \"Too many requests\"}");
}

static const struct rule largest = {.capacity = MOST, .rate = {1, MOST}};
static const struct reply_policy longest[] = {
	{LONGEST, &largest, {MOST, MOST, 1, MOST, MOST}, true},
	{LONGEST, &largest, {MOST, MOST, 1, MOST, MOST}, true},
};

static size_t written(int which, char *buf, size_t size)
{
	switch (which) {
	case 0:
		return reply_policy_field(buf, size, longest, 2);
	case 1:
		return reply_limit_field(buf, size, longest, 2);
	case 2:
		return reply_body_problem(buf, size, 429, longest, 2);
	case 3:
		return reply_body_json(buf, size, MOST);
	default:
		return reply_policy_field(buf, size, NULL, 0);
	}
}

/* As snprintf: a buffer of exactly that size, so that a byte written beyond it is found. */
static void what_does_not_fit_is_cut_and_its_size_returned(void **state)
{
	(void)state;
	for (int which = 0; which < 5; which++) {
		char whole[TEXT_SIZE];
		size_t size = written(which, whole, sizeof(whole));

		assert_int_equal(size, strlen(whole));
		assert_int_equal(written(which, NULL, 0), size);
		for (size_t room = 1; room <= size + 1; room++) {
			char *buf = malloc(room);

			assert_non_null(buf);
			assert_int_equal(written(which, buf, room), size);
			assert_int_equal(strlen(buf), room - 1);
			assert_memory_equal(buf, whole, room - 1);
			free(buf);
		}
	}
}

static void the_sizes_that_are_promised_are_enough(void **state)
{
	(void)state;
	assert_in_range(written(0, NULL, 0), 1, 2 * REPLY_POLICY_SIZE);
	assert_in_range(written(1, NULL, 0), 1, 2 * REPLY_POLICY_SIZE);
	assert_in_range(written(2, NULL, 0), 1, REPLY_BODY_SIZE + 2 * REPLY_POLICY_SIZE);
	assert_in_range(written(3, NULL, 0), 1, REPLY_BODY_SIZE);
	assert_in_range(reply_body_problem(NULL, 0, 429, longest, 1), 1,
			REPLY_BODY_SIZE + REPLY_POLICY_SIZE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(seconds_are_rounded_up),
		cmocka_unit_test(a_policy_is_quota_and_window),
		cmocka_unit_test(a_window_under_a_second_is_told_as_a_second),
		cmocka_unit_test(a_policy_never_promises_more_than_its_rate),
		cmocka_unit_test(fields_name_all_policies_in_their_order),
		cmocka_unit_test(a_limit_is_what_remains_and_when_it_grows),
		cmocka_unit_test(the_tightest_is_a_refusing_one_then_the_one_with_least_left),
		cmocka_unit_test(to_retry_is_to_wait_for_all_that_refused),
		cmocka_unit_test(a_problem_names_the_policies_that_refused),
		cmocka_unit_test(a_problem_without_policies_names_none),
		cmocka_unit_test(a_json_body_says_when_to_retry),
		cmocka_unit_test(what_does_not_fit_is_cut_and_its_size_returned),
		cmocka_unit_test(the_sizes_that_are_promised_are_enough),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
