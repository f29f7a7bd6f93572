/* SPDX-License-Identifier: MIT */
/* The words of the command line, read by a command's tables. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "cli/cli.h"
#include "weir.h"

#define WORDS_MAX 8

enum { RATE, CAPACITY, MODE, EVERY, KEY4, NETNS, TOP, ALL, ROUTE, WEIGHT };
enum { IFACE, ADDRESS };

static const char *const modes[] = {"auto", "native", "generic", NULL};

static const struct argument_spec options[] = {
	[RATE] = {.name = "rate", .value = "RATE", .kind = VALUE_RATE},
	[CAPACITY] = {.name = "capacity", .value = "COUNT", .kind = VALUE_COUNT, .max = 1000},
	[MODE] = {.name = "mode", .value = "MODE", .kind = VALUE_CHOICE, .choices = modes},
	[EVERY] = {.name = "every",
		   .value = "DURATION",
		   .kind = VALUE_DURATION,
		   .min = 1000000,
		   .max = 1000000000},
	[KEY4] = {.name = "key4", .value = "BITS", .kind = VALUE_LENGTH, .max = 32},
	[NETNS] = {.name = "netns", .value = "NAME", .kind = VALUE_NETNS},
	[TOP] = {.name = "top", .value = "COUNT", .kind = VALUE_COUNT},
	[ALL] = {.name = "all"},
	[ROUTE] = {.name = "route", .value = "TEXT", .kind = VALUE_TEXT, .many = true},
	[WEIGHT] =
		{.name = "weight", .value = "COUNT", .kind = VALUE_COUNT, .max = 9, .many = true},
	{.name = NULL},
};

static const struct argument_spec operands[] = {
	[IFACE] = {.name = "IFACE", .kind = VALUE_INTERFACE, .required = true},
	[ADDRESS] = {.name = "ADDRESS", .kind = VALUE_PREFIX},
	{.name = NULL},
};

static const struct command command = {.name = "try", .operands = operands, .options = options};
static const struct command bare = {.name = "bare"};

static const struct argument_spec needed[] = {
	{.name = "rate", .value = "RATE", .kind = VALUE_RATE, .required = true},
	{.name = NULL},
};
static const struct command demanding = {.name = "demand", .options = needed};

static const struct argument_spec lists[] = {
	{.name = "IFACE", .kind = VALUE_INTERFACE},
	{.name = "FILE", .kind = VALUE_FILE, .required = true, .many = true},
	{.name = NULL},
};
static const struct command listing = {.name = "list", .operands = lists, .options = options};

/* The words end with NULL already where there are none. */
#define PARSE(command, ret, why, ...) \
	arguments_parse(command, (char *[]){__VA_ARGS__, NULL}, ret, why)

static void options_and_operands_come_in_any_order(void **state)
{
	struct arguments arguments;
	struct failure why;

	(void)state;
	assert_int_equal(PARSE(&command, &arguments, &why, "--rate", "20k/s", "eth0",
			       "--mode=native", "--all", "192.0.2.1", "--key4", "24"),
			 0);
	assert_ptr_equal(arguments.command, &command);
	assert_false(arguments.help);
	assert_int_equal(arguments.format, REPORT_TEXT);
	assert_true(arguments.options[RATE].given);
	assert_int_equal(arguments.options[RATE].rate.count, 1);
	assert_int_equal(arguments.options[RATE].rate.period_ns, 50000);
	assert_int_equal(arguments.options[MODE].number, 1);
	assert_true(arguments.options[ALL].given);
	assert_int_equal(arguments.options[KEY4].number, 24);
	assert_string_equal(arguments.operands[IFACE].text, "eth0");
	assert_true(arguments.operands[ADDRESS].given);
	assert_int_equal(arguments.operands[ADDRESS].prefix.family, WEIR_IPV4);
}

static void what_was_not_given_is_empty(void **state)
{
	struct arguments arguments;
	struct failure why;

	(void)state;
	assert_int_equal(PARSE(&command, &arguments, &why, "eth0"), 0);
	for (size_t i = 0; i < OPTIONS_MAX; i++)
		assert_false(arguments.options[i].given || arguments.options[i].text ||
			     arguments.options[i].number || arguments.options[i].rate.count);
	assert_false(arguments.operands[ADDRESS].given);
}

static void a_value_follows_as_the_next_word_or_after_an_equals_sign(void **state)
{
	struct arguments arguments;
	struct failure why;

	(void)state;
	assert_int_equal(PARSE(&command, &arguments, &why, "eth0", "--netns", "a=b"), 0);
	assert_string_equal(arguments.options[NETNS].text, "a=b");
	assert_int_equal(PARSE(&command, &arguments, &why, "eth0", "--netns=a=b"), 0);
	assert_string_equal(arguments.options[NETNS].text, "a=b");
	assert_int_equal(PARSE(&command, &arguments, &why, "eth0", "--netns=--all"), 0);
	assert_string_equal(arguments.options[NETNS].text, "--all");
	assert_false(arguments.options[ALL].given);
}

static void after_two_dashes_everything_is_an_operand(void **state)
{
	struct arguments arguments;
	struct failure why;

	(void)state;
	assert_int_equal(PARSE(&command, &arguments, &why, "--all", "--", "--help"), 0);
	assert_false(arguments.help);
	assert_string_equal(arguments.operands[IFACE].text, "--help");
}

static void json_is_taken_by_every_command(void **state)
{
	struct arguments arguments;
	struct failure why;

	(void)state;
	assert_int_equal(PARSE(&bare, &arguments, &why, "--json"), 0);
	assert_int_equal(arguments.format, REPORT_JSON);
	assert_int_equal(PARSE(&bare, &arguments, &why, NULL), 0);
	assert_int_equal(arguments.format, REPORT_TEXT);
}

static void help_is_given_whatever_else_is_wrong(void **state)
{
	struct arguments arguments;
	struct failure why;

	(void)state;
	assert_int_equal(PARSE(&command, &arguments, &why, "--bogus", "--rate", "--help"), 0);
	assert_true(arguments.help);
	assert_int_equal(PARSE(&command, &arguments, &why, "a", "b", "c", "-h", "--json"), 0);
	assert_true(arguments.help);
	assert_int_equal(arguments.format, REPORT_JSON);
}

static void a_required_option_is_asked_for(void **state)
{
	struct arguments arguments;
	struct failure why;

	(void)state;
	assert_int_equal(PARSE(&demanding, &arguments, &why, NULL), -EINVAL);
	assert_string_equal(why.reason, "cannot run 'demand': --rate is missing");
	assert_int_equal(PARSE(&demanding, &arguments, &why, "--rate", "1/s"), 0);
}

static void an_option_for_many_keeps_every_value_in_order(void **state)
{
	struct arguments arguments;
	const struct argument *route = &arguments.options[ROUTE];
	const struct argument *weight = &arguments.options[WEIGHT];
	struct failure why;

	(void)state;
	assert_int_equal(PARSE(&command, &arguments, &why, "--route", "/b", "eth0", "--weight=7",
			       "--route=/a", "--weight", "3", "--route", "/b"),
			 0);
	assert_int_equal(route->times, 3);
	assert_string_equal(route->texts[0], "/b");
	assert_string_equal(route->texts[1], "/a");
	assert_string_equal(route->texts[2], "/b");
	assert_int_equal(weight->times, 2);
	assert_string_equal(weight->texts[0], "7");
	assert_int_equal(weight->number, 3);
	assert_true(route->given && weight->given);
	assert_false(arguments.options[RATE].given);
}

static void an_option_given_once_was_given_one_time(void **state)
{
	struct arguments arguments;
	struct failure why;

	(void)state;
	assert_int_equal(PARSE(&command, &arguments, &why, "eth0", "--route", "/", "--all"), 0);
	assert_int_equal(arguments.options[ROUTE].times, 1);
	assert_string_equal(arguments.options[ROUTE].text, "/");
	assert_int_equal(arguments.options[ALL].times, 1);
	assert_int_equal(arguments.options[WEIGHT].times, 0);
}

static void no_option_is_given_more_often_than_there_is_room(void **state)
{
	char *words[1 + 2 * (REPEATS_MAX + 1) + 1] = {"eth0"};
	struct arguments arguments;
	struct failure why;

	(void)state;
	for (size_t i = 0; i < REPEATS_MAX; i++) {
		words[1 + 2 * i] = "--route";
		words[2 + 2 * i] = "/";
	}
	assert_int_equal(arguments_parse(&command, words, &arguments, &why), 0);
	assert_int_equal(arguments.options[ROUTE].times, REPEATS_MAX);
	words[1 + 2 * REPEATS_MAX] = "--route";
	words[2 + 2 * REPEATS_MAX] = "/";
	assert_int_equal(arguments_parse(&command, words, &arguments, &why), -EINVAL);
	assert_string_equal(why.reason, "cannot use '--route': it was given 32 times before");
}

static void the_last_operand_may_be_many_words(void **state)
{
	struct arguments arguments;
	struct failure why;

	(void)state;
	assert_int_equal(PARSE(&listing, &arguments, &why, "eth0", "a", "--all", "-", "--key4",
			       "24", "--", "--c", "a"),
			 0);
	assert_string_equal(arguments.operands[IFACE].text, "eth0");
	assert_true(arguments.operands[1].given);
	assert_int_equal(arguments.rest_count, 4);
	assert_string_equal(arguments.rest[0], "a");
	assert_string_equal(arguments.rest[1], "-");
	assert_string_equal(arguments.rest[2], "--c");
	assert_string_equal(arguments.rest[3], "a");
	assert_true(arguments.options[ALL].given);
	assert_int_equal(PARSE(&command, &arguments, &why, "eth0", "192.0.2.1"), 0);
	assert_int_equal(arguments.rest_count, 0);
}

static void one_of_many_operands_may_be_asked_for(void **state)
{
	struct arguments arguments;
	struct failure why;

	(void)state;
	assert_int_equal(PARSE(&listing, &arguments, &why, "eth0"), -EINVAL);
	assert_string_equal(why.reason, "cannot run 'list': FILE is missing");
}

static void no_operand_has_more_words_than_there_is_room(void **state)
{
	char *words[1 + REST_MAX + 2] = {"eth0"};
	struct arguments arguments;
	struct failure why;

	(void)state;
	for (size_t i = 0; i < REST_MAX; i++)
		words[1 + i] = "a";
	assert_int_equal(arguments_parse(&listing, words, &arguments, &why), 0);
	assert_int_equal(arguments.rest_count, REST_MAX);
	words[1 + REST_MAX] = "b";
	assert_int_equal(arguments_parse(&listing, words, &arguments, &why), -EINVAL);
	assert_string_equal(why.reason, "cannot use 'b': there were 1024 of FILE before");
}

/* Words, and what the sentence must contain. */
static const struct {
	const char *words[WORDS_MAX];
	const char *sentence;
} refused[] = {
	{{NULL}, "IFACE is missing"},
	{{"--all"}, "IFACE is missing"},
	{{"eth0", "192.0.2.1", "more"}, "'more'"},
	{{"eth0", "--bogus"}, "'--bogus'"},
	{{"eth0", "--rat", "1/s"}, "'--rat'"},
	{{"eth0", "--rates", "1/s"}, "'--rates'"},
	{{"eth0", "-rate", "1/s"}, "'-rate'"},
	{{"eth0", "---rate", "1/s"}, "'---rate'"},
	{{"eth0", "--=1"}, "'--=1'"},
	{{"eth0", "-a"}, "'-a'"},
	{{"eth0", "--rate"}, "value RATE is missing"},
	{{"eth0", "--rate", "--all"}, "value RATE is missing"},
	{{"eth0", "--rate", "1/s", "--rate=2/s"}, "given before"},
	{{"eth0", "--all", "--all"}, "given before"},
	{{"eth0", "--json", "--json"}, "given before"},
	{{"eth0", "--all=yes"}, "takes no value"},
	{{"eth0", "--json=1"}, "takes no value"},
	{{"eth0", "--weight", "1", "--weight", "10"}, "'10' for --weight"},
	{{"eth0", "--route", "/", "--route"}, "value TEXT is missing"},
	{{"eth0", "--rate", ""}, "not a rate"},
	{{"eth0", "--rate", "20k"}, "not a rate"},
	{{"eth0", "--rate", "0/s"}, "not a rate"},
	{{"eth0", "--rate", "-1/s"}, "not a rate"},
	{{"eth0", "--rate", "101M/s"}, "not a rate"},
	{{"eth0", "--rate", "0.9/year"}, "not a rate"},
	{{"eth0", "--rate", "99999999999999999999/s"}, "not a rate"},
	{{"eth0", "--capacity", "0"}, "from 1 to 1k"},
	{{"eth0", "--capacity", "1001"}, "from 1 to 1k"},
	{{"eth0", "--capacity", "1.5"}, "from 1 to 1k"},
	{{"eth0", "--top", "0"}, "from 1 to 18446744073709551615"},
	{{"eth0", "--top", "18446744073709551616"}, "from 1 to 18446744073709551615"},
	{{"eth0", "--mode", "nat"}, "auto, native, generic"},
	{{"eth0", "--mode="}, "auto, native, generic"},
	{{"eth0", "--every", "0s"}, "from 1ms to 1s"},
	{{"eth0", "--every", "999us"}, "from 1ms to 1s"},
	{{"eth0", "--every", "1001ms"}, "from 1ms to 1s"},
	{{"eth0", "--key4", "0"}, "from 1 to 32"},
	{{"eth0", "--key4", "33"}, "from 1 to 32"},
	{{"eth0", "--netns", "a/b"}, "namespace's name"},
	{{"eth0", "--netns", ".."}, "namespace's name"},
	{{"eth0", "--netns="}, "namespace's name"},
	{{""}, "interface's name"},
	{{"sixteen-letters-"}, "interface's name"},
	{{"a b"}, "interface's name"},
	{{"../x"}, "interface's name"},
	{{"eth0:1"}, "interface's name"},
	{{"eth0", "192.0.2.256"}, "not an address"},
	{{"eth0", "fe80::1%eth0"}, "not an address"},
};

static void what_cannot_be_read_is_refused_with_a_sentence(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
		struct arguments arguments, before;
		struct failure why = {0};

		memset(&arguments, 0xa5, sizeof(arguments));
		memcpy(&before, &arguments, sizeof(before));
		assert_int_equal(arguments_parse(&command, (char *const *)refused[i].words,
						 &arguments, &why),
				 -EINVAL);
		assert_int_equal(strncmp(why.reason, "cannot ", strlen("cannot ")), 0);
		if (!strstr(why.reason, refused[i].sentence))
			fail_msg("'%s' lacks '%s'", why.reason, refused[i].sentence);
		assert_memory_equal(&arguments, &before, sizeof(before));
	}
}

static const char *const limits_of_range[][2] = {
	{"--rate", "1/day"},   {"--rate", "100M/s"},
	{"--rate", "5/min"},   {"--capacity", "1"},
	{"--capacity", "1k"},  {"--every", "1ms"},
	{"--every", "1s"},     {"--key4", "1"},
	{"--key4", "/32"},     {"--mode", "auto"},
	{"--mode", "generic"}, {"--netns", "blue"},
	{"--top", "1"},        {"--top", "18446744073709551615"},
};

static void the_ends_of_each_range_are_taken(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(limits_of_range) / sizeof(limits_of_range[0]); i++) {
		struct arguments arguments;
		struct failure why = {0};
		char *words[] = {"fifteen-letters", (char *)limits_of_range[i][0],
				 (char *)limits_of_range[i][1], NULL};

		if (arguments_parse(&command, words, &arguments, &why))
			fail_msg("%s", why.reason);
	}
}

static void a_sentence_never_exceeds_its_place(void **state)
{
	struct arguments arguments;
	struct failure why;
	char word[4096];

	(void)state;
	memset(word, 'x', sizeof(word) - 1);
	word[sizeof(word) - 1] = '\0';
	assert_int_equal(PARSE(&command, &arguments, &why, word), -EINVAL);
	assert_non_null(strstr(why.reason, "interface's name"));
	assert_int_equal(PARSE(&command, &arguments, &why, "eth0", "--rate", word), -EINVAL);
	assert_non_null(strstr(why.reason, "not a rate"));
	memcpy(word, "--", 2);
	assert_int_equal(PARSE(&command, &arguments, &why, "eth0", word), -EINVAL);
	assert_non_null(strstr(why.reason, "no such option"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(options_and_operands_come_in_any_order),
		cmocka_unit_test(what_was_not_given_is_empty),
		cmocka_unit_test(a_value_follows_as_the_next_word_or_after_an_equals_sign),
		cmocka_unit_test(after_two_dashes_everything_is_an_operand),
		cmocka_unit_test(json_is_taken_by_every_command),
		cmocka_unit_test(help_is_given_whatever_else_is_wrong),
		cmocka_unit_test(a_required_option_is_asked_for),
		cmocka_unit_test(an_option_for_many_keeps_every_value_in_order),
		cmocka_unit_test(an_option_given_once_was_given_one_time),
		cmocka_unit_test(no_option_is_given_more_often_than_there_is_room),
		cmocka_unit_test(the_last_operand_may_be_many_words),
		cmocka_unit_test(one_of_many_operands_may_be_asked_for),
		cmocka_unit_test(no_operand_has_more_words_than_there_is_room),
		cmocka_unit_test(what_cannot_be_read_is_refused_with_a_sentence),
		cmocka_unit_test(the_ends_of_each_range_are_taken),
		cmocka_unit_test(a_sentence_never_exceeds_its_place),
	};

	return cmocka_run_group_tests_name("options", tests, NULL, NULL);
}
