/* SPDX-License-Identifier: MIT */
/* What an application asks the check service, and what it is told. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "http/check_app.h"

#define ARRAY_SIZE(a)   (sizeof(a) / sizeof((a)[0]))
#define TEXT_SIZE       2048
#define ALLOCATIONS_MAX 1000

#define QUESTION                                                                      \
	"{\"zones\":[\"login\",{\"zone\":\"account\",\"key\":\"alice\",\"cost\":2}]," \
	"\"key\":\"203.0.113.9\",\"cost\":7}"

static const struct check_answer refused = {
	.allowed = false,
	.status = "REFUSED",
	.zone = "login",
	.limit = 5,
	.remaining = 0,
	.retry_after = 1,
	.policy_field = "\"login\";q=5;w=5",
	.limit_field = "\"login\";r=0;t=1",
};

/* In memory of exactly its size, so that a byte beyond is found. */
static int parsed(const char *body, size_t size, struct check_question *ret, struct failure *why)
{
	char *exact = malloc(size ? size : 1);
	int err;

	assert_non_null(exact);
	memcpy(exact, body, size);
	err = check_question_parse(exact, size, ret, why);
	free(exact);
	return err;
}

static struct check_question question_of(const char *body)
{
	struct check_question question;
	struct failure why;

	if (parsed(body, strlen(body), &question, &why))
		fail_msg("%s: %s", body, why.reason);
	return question;
}

static void expect_item(const struct check_question *question, size_t at, const char *zone,
			const char *key, uint64_t cost)
{
	const struct check_item *item = &question->items[at];

	assert_true(at < question->count);
	assert_string_equal(item->zone, zone);
	assert_int_equal(item->key_size, strlen(key));
	assert_memory_equal(item->key, key, item->key_size);
	assert_int_equal(item->cost, cost);
}

static void expect_refusal_of(const char *body, size_t size, const char *reason)
{
	struct check_question question, before;
	struct failure why;

	memset(&question, 0xa5, sizeof(question));
	before = question;
	if (!parsed(body, size, &question, &why))
		fail_msg("%s was taken", body);
	assert_memory_equal(&question, &before, sizeof(question));
	if (!strstr(why.reason, reason))
		fail_msg("%s: '%s', not '%s'", body, why.reason, reason);
	assert_int_equal(parsed(body, size, &question, NULL), -EINVAL);
}

static void expect_refusal(const char *body, const char *reason)
{
	expect_refusal_of(body, strlen(body), reason);
}

static void zones_share_a_key_and_a_cost(void **state)
{
	struct check_question question =
		question_of("{\"zones\":[\"a\",\"b\"],\"key\":\"k\",\"cost\":3}");

	(void)state;
	assert_int_equal(question.count, 2);
	expect_item(&question, 0, "a", "k", 3);
	expect_item(&question, 1, "b", "k", 3);
	check_question_free(&question);
}

static void an_item_has_its_own_key_and_cost(void **state)
{
	struct check_question question = question_of(QUESTION);

	(void)state;
	assert_int_equal(question.count, 2);
	expect_item(&question, 0, "login", "203.0.113.9", 7);
	expect_item(&question, 1, "account", "alice", 2);
	check_question_free(&question);
}

static void an_item_takes_the_outer_key_or_cost(void **state)
{
	struct check_question question =
		question_of("{\"cost\":4,\"zones\":[{\"zone\":\"a\",\"key\":\"x\"},"
			    "{\"cost\":0,\"zone\":\"b\"}],\"key\":\"k\"}");

	(void)state;
	expect_item(&question, 0, "a", "x", 4);
	expect_item(&question, 1, "b", "k", 0);
	check_question_free(&question);
}

static void a_cost_is_one_where_none_is_told(void **state)
{
	struct check_question question =
		question_of(" \r\n{ \"zones\" : [ {\"zone\":\"a\",\"key\":\"x\"} ] }\n");

	(void)state;
	expect_item(&question, 0, "a", "x", 1);
	check_question_free(&question);
}

static void a_question_ends_with_its_size(void **state)
{
	static const char body[] = "{\"zones\":[\"a\"],\"key\":\"k\"}}}";
	struct check_question question;

	(void)state;
	assert_int_equal(check_question_parse(body, sizeof(body) - 3, &question, NULL), 0);
	check_question_free(&question);
	expect_refusal_of(body, sizeof(body) - 4, "not a JSON object");
	expect_refusal_of(body, sizeof(body) - 2, "not a JSON object");
	expect_refusal_of("{\"zones\":[\"a\"],\"key\":\"k\"}\0", 26, "not a JSON object");
}

static void texts_may_be_escaped_and_of_any_language(void **state)
{
	struct check_question question = question_of(
		"{\"zones\":[\"\\u0061\"],\"key\":\"\\u00e9\\n\\ud83d\\ude00 \xc3\xa9\\\"\"}");

	(void)state;
	expect_item(&question, 0, "a", "\xc3\xa9\n\xf0\x9f\x98\x80 \xc3\xa9\"", 1);
	check_question_free(&question);
}

static void a_question_freed_twice_is_empty(void **state)
{
	struct check_question question = question_of(QUESTION);

	(void)state;
	check_question_free(&question);
	assert_int_equal(question.count, 0);
	check_question_free(&question);
}

static void what_is_no_json_object_is_refused(void **state)
{
	static const char *const cases[] = {
		"",
		" ",
		"{",
		"null",
		"1",
		"\"login\"",
		"zones=login&key=k",
		"{'zones':['a'],'key':'k'}",
		"{\"zones\":[\"a\",],\"key\":\"k\"}",
		"{\"zones\":[\"a\"],\"key\":\"k\"}{}",
		"{\"zones\":[\"a\"],\"key\":\"\xff\"}",
		"{\"zones\":[\"a\"],\"key\":\"\\ud800\"}",
		"{\"zones\":[\"a\"],\"key\":\"a\\u0000b\"}",
		"{\"zones\":[\"a\"],\"key\":\"k\",\"cost\":18446744073709551616}",
		"{\"zones\":[\"a\"],\"key\":\"k\",\"cost\":NaN}",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		expect_refusal(cases[i], "not a JSON object: line 1, column ");
	expect_refusal("{\"zones\":[\"a\"],\n\"key\":k}", "line 2, column ");
}

static void a_question_has_one_to_eight_zones(void **state)
{
	struct check_question question = question_of(
		"{\"zones\":[\"1\",\"2\",\"3\",\"4\",\"5\",\"6\",\"7\",\"8\"],\"key\":\"k\"}");

	(void)state;
	assert_int_equal(question.count, CHECK_ITEMS_MAX);
	expect_item(&question, 7, "8", "k", 1);
	check_question_free(&question);
	expect_refusal("{\"zones\":[\"1\",\"2\",\"3\",\"4\",\"5\",\"6\",\"7\",\"8\",\"9\"],"
		       "\"key\":\"k\"}",
		       "an array of 1 to 8 items");
	expect_refusal("{\"zones\":[],\"key\":\"k\"}", "an array of 1 to 8 items");
	expect_refusal("{\"key\":\"k\"}", "an array of 1 to 8 items");
	expect_refusal("{\"zones\":\"a\",\"key\":\"k\"}", "an array of 1 to 8 items");
	expect_refusal("{\"zones\":{\"zone\":\"a\"},\"key\":\"k\"}", "an array of 1 to 8 items");
	expect_refusal("[]", "an array of 1 to 8 items");
	expect_refusal("[\"a\"]", "an array of 1 to 8 items");
	expect_refusal("{}", "an array of 1 to 8 items");
}

static void a_zone_is_named_once(void **state)
{
	static const char *const cases[] = {"1",
					    "null",
					    "[\"a\"]",
					    "\"\"",
					    "{}",
					    "{\"key\":\"k\"}",
					    "{\"zone\":\"\"}",
					    "{\"zone\":1}",
					    "{\"zone\":{\"zone\":\"a\"}}"};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char body[TEXT_SIZE];

		snprintf(body, sizeof(body), "{\"zones\":[%s],\"key\":\"k\"}", cases[i]);
		expect_refusal(body, "an item of zones is a zone's name");
	}
	expect_refusal("{\"zones\":[\"a\",\"b\",\"a\"],\"key\":\"k\"}", "zone 'a' is there twice");
	expect_refusal("{\"zones\":[\"a\",{\"zone\":\"a\",\"key\":\"x\"}],\"key\":\"k\"}",
		       "zone 'a' is there twice");
}

/* Once as the outer one, which no item needs, and once as an item's own. */
static void expect_member_refused(const char *member, const char *reason)
{
	char body[TEXT_SIZE];

	snprintf(body, sizeof(body), "{\"zones\":[{\"zone\":\"a\",\"key\":\"k\",\"cost\":1}],%s}",
		 member);
	expect_refusal(body, reason);
	snprintf(body, sizeof(body), "{\"zones\":[{\"zone\":\"a\",%s}]}", member);
	expect_refusal(body, reason);
}

static void a_key_is_a_text(void **state)
{
	static const char *const cases[] = {"\"\"", "1", "null", "true", "[\"k\"]", "{}"};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char member[TEXT_SIZE];

		snprintf(member, sizeof(member), "\"key\":%s", cases[i]);
		expect_member_refused(member, "a key is a text of 1 to 1024 bytes");
	}
	expect_refusal("{\"zones\":[\"a\"]}", "zone 'a' has no key");
	expect_refusal("{\"zones\":[{\"zone\":\"a\",\"key\":\"k\"},{\"zone\":\"b\"}]}",
		       "zone 'b' has no key");
}

static void a_key_has_1024_bytes_at_most(void **state)
{
	char body[TEXT_SIZE], key[CHECK_KEY_SIZE + 2];
	struct check_question question;

	(void)state;
	memset(key, 'k', sizeof(key));
	key[CHECK_KEY_SIZE] = '\0';
	snprintf(body, sizeof(body), "{\"zones\":[\"a\"],\"key\":\"%s\"}", key);
	question = question_of(body);
	expect_item(&question, 0, "a", key, 1);
	check_question_free(&question);
	key[CHECK_KEY_SIZE] = 'k';
	key[CHECK_KEY_SIZE + 1] = '\0';
	snprintf(body, sizeof(body), "\"key\":\"%s\"", key);
	expect_member_refused(body, "a key is a text of 1 to 1024 bytes");
}

static void a_cost_is_a_whole_number(void **state)
{
	static const char *const cases[] = {"-1",   "100000001", "9223372036854775807",
					    "1.0",  "1e2",       "\"1\"",
					    "null", "true",      "[1]"};
	struct check_question question;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char member[TEXT_SIZE];

		snprintf(member, sizeof(member), "\"key\":\"k\",\"cost\":%s", cases[i]);
		expect_member_refused(member, "a cost is a whole number from 0 to 100000000");
	}
	question = question_of("{\"zones\":[\"a\"],\"key\":\"k\",\"cost\":100000000}");
	expect_item(&question, 0, "a", "k", CHECK_COST_MAX);
	check_question_free(&question);
}

static void a_member_that_is_not_known_is_refused(void **state)
{
	(void)state;
	expect_member_refused("\"key\":\"k\",\"costs\":1", "unknown member 'costs'");
	expect_member_refused("\"key\":\"k\",\"Cost\":1", "unknown member 'Cost'");
	expect_member_refused("\"key\":\"k\",\"\":1", "unknown member ''");
	expect_refusal("{\"zone\":\"a\",\"key\":\"k\"}", "unknown member 'zone'");
	expect_refusal("{\"zones\":[{\"zones\":[\"a\"],\"key\":\"k\"}]}", "unknown member 'zones'");
}

static void a_member_given_twice_is_refused(void **state)
{
	(void)state;
	expect_member_refused("\"key\":\"a\",\"key\":\"b\"", "a member is there twice");
	expect_refusal("{\"zones\":[\"a\"],\n\"key\":\"k\",\"\\u006bey\":\"k\"}",
		       "a member is there twice: line 2");
}

static void a_reason_repeats_only_what_a_log_can_hold(void **state)
{
	(void)state;
	expect_member_refused("\"key\":\"k\",\"a\\nb\":1", "unknown member '...'");
	expect_member_refused("\"key\":\"k\",\"\\u001b[2J\":1", "unknown member '...'");
	expect_member_refused("\"key\":\"k\",\"\xc3\xa9\":1", "unknown member '...'");
	expect_member_refused("\"key\":\"k\",\"\x7f\":1", "unknown member '...'");
	expect_member_refused("\"key\":\"k\",\"1234567890123456789012345678901234567890\":1",
			      "unknown member '1234567890123456789012345678901234567890'");
	expect_member_refused("\"key\":\"k\",\"12345678901234567890123456789012345678901\":1",
			      "unknown member '...'");
	expect_refusal("{\"zones\":[\"a\\nb\"]}", "zone '...' has no key");
	expect_refusal("{\"zones\":[\"\\t\",\"\\t\"],\"key\":\"k\"}", "zone '...' is there twice");
}

static void expect_answer(const struct check_answer *answer, const char *expected)
{
	char *buf = malloc(strlen(expected) + 1);

	assert_non_null(buf);
	assert_int_equal(check_answer_write(buf, strlen(expected) + 1, answer), strlen(expected));
	assert_string_equal(buf, expected);
	free(buf);
}

static void a_refusal_tells_when_to_ask_again(void **state)
{
	(void)state;
	expect_answer(&refused, "{\"allowed\":false,\"status\":\"REFUSED\",\"zone\":\"login\","
				"\"limit\":5,\"remaining\":0,\"retry_after\":1,\"fields\":{"
				"\"RateLimit-Policy\":\"\\\"login\\\";q=5;w=5\","
				"\"RateLimit\":\"\\\"login\\\";r=0;t=1\",\"Retry-After\":\"1\"}}");
}

static void what_there_is_none_of_is_left_out(void **state)
{
	struct check_answer answer = refused;

	(void)state;
	answer.allowed = true;
	answer.status = "PASSED";
	answer.retry_after = 0;
	answer.policy_field = NULL;
	expect_answer(&answer, "{\"allowed\":true,\"status\":\"PASSED\",\"zone\":\"login\","
			       "\"limit\":5,\"remaining\":0,\"fields\":{"
			       "\"RateLimit\":\"\\\"login\\\";r=0;t=1\"}}");
	answer.limit_field = NULL;
	answer.zone = NULL;
	expect_answer(&answer, "{\"allowed\":true,\"status\":\"PASSED\",\"fields\":{}}");
}

static void the_largest_numbers_are_written(void **state)
{
	struct check_answer answer = {.status = "REFUSED",
				      .zone = "a",
				      .limit = UINT64_MAX,
				      .remaining = INT64_MAX,
				      .retry_after = UINT64_MAX};

	(void)state;
	expect_answer(&answer, "{\"allowed\":false,\"status\":\"REFUSED\",\"zone\":\"a\","
			       "\"limit\":9223372036854775807,\"remaining\":9223372036854775807,"
			       "\"retry_after\":9223372036854775807,"
			       "\"fields\":{\"Retry-After\":\"18446744073709551615\"}}");
}

static void a_buffer_too_small_is_left_empty(void **state)
{
	size_t needed = check_answer_write(NULL, 0, &refused);

	(void)state;
	assert_true(needed > 0);
	for (size_t size = 1; size <= needed + 1; size++) {
		char *buf = malloc(size);

		assert_non_null(buf);
		memset(buf, 'x', size);
		assert_int_equal(check_answer_write(buf, size, &refused), needed);
		assert_int_equal(strlen(buf), size > needed ? needed : 0);
		free(buf);
	}
}

static void an_error_is_told_as_json(void **state)
{
	char buf[TEXT_SIZE];

	(void)state;
	assert_int_equal(check_error_write(buf, sizeof(buf), "no zone \"a\\b\""), 28);
	assert_string_equal(buf, "{\"error\":\"no zone \\\"a\\\\b\\\"\"}");
	assert_int_equal(check_error_write(buf, 28, "no zone \"a\\b\""), 28);
	assert_string_equal(buf, "");
}

static void text_that_is_not_utf8_is_not_written(void **state)
{
	struct check_answer answer = refused;
	char buf[TEXT_SIZE] = "x";

	(void)state;
	assert_int_equal(check_error_write(buf, sizeof(buf), "\xff"), 0);
	assert_string_equal(buf, "");
	answer.zone = "\xff";
	assert_int_equal(check_answer_write(buf, sizeof(buf), &answer), 0);
	answer = refused;
	answer.limit_field = "\xff";
	assert_int_equal(check_answer_write(buf, sizeof(buf), &answer), 0);
}

static unsigned int allocations_left;

static void *scarce_malloc(size_t size)
{
	if (!allocations_left)
		return NULL;
	allocations_left--;
	return malloc(size);
}

/* jansson's own allocations, each failing in turn until all succeed. Within a text that is bad
 * syntax to jansson. */
static void wherever_memory_ends_there_is_no_question(void **state)
{
	struct check_question question;
	unsigned int given;
	int err = -ENOMEM;

	(void)state;
	json_set_alloc_funcs(scarce_malloc, free);
	for (given = 0; err && given < ALLOCATIONS_MAX; given++) {
		allocations_left = given;
		err = check_question_parse(QUESTION, strlen(QUESTION), &question, NULL);
		assert_true(err == 0 || err == -ENOMEM || (given && err == -EINVAL));
	}
	json_set_alloc_funcs(malloc, free);
	assert_int_equal(err, 0);
	assert_true(given > 10);
	check_question_free(&question);
}

static void wherever_memory_ends_there_is_no_answer(void **state)
{
	char whole[TEXT_SIZE], buf[TEXT_SIZE];
	size_t size = 0, needed = check_answer_write(whole, sizeof(whole), &refused);
	unsigned int given;

	(void)state;
	json_set_alloc_funcs(scarce_malloc, free);
	for (given = 0; !size && given < ALLOCATIONS_MAX; given++) {
		allocations_left = given;
		size = check_answer_write(buf, sizeof(buf), &refused);
		assert_string_equal(buf, size ? whole : "");
	}
	json_set_alloc_funcs(malloc, free);
	assert_int_equal(size, needed);
	assert_true(given > 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(zones_share_a_key_and_a_cost),
		cmocka_unit_test(an_item_has_its_own_key_and_cost),
		cmocka_unit_test(an_item_takes_the_outer_key_or_cost),
		cmocka_unit_test(a_cost_is_one_where_none_is_told),
		cmocka_unit_test(a_question_ends_with_its_size),
		cmocka_unit_test(texts_may_be_escaped_and_of_any_language),
		cmocka_unit_test(a_question_freed_twice_is_empty),
		cmocka_unit_test(what_is_no_json_object_is_refused),
		cmocka_unit_test(a_question_has_one_to_eight_zones),
		cmocka_unit_test(a_zone_is_named_once),
		cmocka_unit_test(a_key_is_a_text),
		cmocka_unit_test(a_key_has_1024_bytes_at_most),
		cmocka_unit_test(a_cost_is_a_whole_number),
		cmocka_unit_test(a_member_that_is_not_known_is_refused),
		cmocka_unit_test(a_member_given_twice_is_refused),
		cmocka_unit_test(a_reason_repeats_only_what_a_log_can_hold),
		cmocka_unit_test(a_refusal_tells_when_to_ask_again),
		cmocka_unit_test(what_there_is_none_of_is_left_out),
		cmocka_unit_test(the_largest_numbers_are_written),
		cmocka_unit_test(a_buffer_too_small_is_left_empty),
		cmocka_unit_test(an_error_is_told_as_json),
		cmocka_unit_test(text_that_is_not_utf8_is_not_written),
		cmocka_unit_test(wherever_memory_ends_there_is_no_question),
		cmocka_unit_test(wherever_memory_ends_there_is_no_answer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
