/* SPDX-License-Identifier: MIT */
/* Rates, counts and durations as text, and back. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <inttypes.h>

#include "text/quantity.h"

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define NS_PER_SEC    1000000000ULL
#define NS_PER_MIN    (60 * NS_PER_SEC)
#define NS_PER_HOUR   (60 * NS_PER_MIN)
#define NS_PER_DAY    (24 * NS_PER_HOUR)
#define UNTOUCHED     0x5a5a5a5a5a5a5a5aULL

static void rates_are_read(void **state)
{
	static const struct {
		const char *text;
		uint64_t count;
		uint64_t period_ns;
	} cases[] = {
		{"1/s", 1, NS_PER_SEC},
		{"20k/s", 1, 50000},
		{"20000/s", 1, 50000},
		{"1.5M/s", 3, 2000},
		{"0.5/s", 1, 2 * NS_PER_SEC},
		{"5/min", 1, 12 * NS_PER_SEC},
		{"7/sec", 7, NS_PER_SEC},
		{"7/second", 7, NS_PER_SEC},
		{"7/m", 7, NS_PER_MIN},
		{"7/minute", 7, NS_PER_MIN},
		{"7/h", 7, NS_PER_HOUR},
		{"7/hour", 7, NS_PER_HOUR},
		{"1/d", 1, NS_PER_DAY},
		{"1/day", 1, NS_PER_DAY},
		{"5/w", 1, 7 * NS_PER_DAY / 5},
		{"3/week", 1, 7 * NS_PER_DAY / 3},
		{"1/y", 1, 365 * NS_PER_DAY},
		{"1/year", 1, 365 * NS_PER_DAY},
		{"100M/s", 1, 10},
		{"1G/s", 1, 1},
		{"2.5G/s", 5, 2},
		{"007/s", 7, NS_PER_SEC},
		{"1.50/s", 3, 2 * NS_PER_SEC},
		{"1.000000000000000000000000000000/s", 1, NS_PER_SEC},
		{"0.000000000000000000000000000001/s", 0, 0},
		{"18446744073709551615/s", 3689348814741910323, 200000000},
		{"18446744073709551615G/s", UINT64_MAX, 1},
		{"18446744073709551616/s", 0, 0},
		{"99999999999999999999999999/s", 0, 0},
		{"0.00001/day", 1, 100000 * NS_PER_DAY},
		{"0.000001/day", 0, 0},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct rate rate = {0};

		if (rate_parse(cases[i].text, &rate) != (cases[i].count > 0) ||
		    rate.count != cases[i].count || rate.period_ns != cases[i].period_ns)
			fail_msg("'%s' is %" PRIu64 " in %" PRIu64 " ns", cases[i].text, rate.count,
				 rate.period_ns);
	}
}

static void counts_are_read(void **state)
{
	static const struct {
		const char *text;
		uint64_t count;
	} cases[] = {
		{"1", 1},
		{"7", 7},
		{"40k", 40000},
		{"1.5M", 1500000},
		{"2G", 2000000000},
		{"0.001k", 1},
		{"0.000000001G", 1},
		{"1.0", 1},
		{"000000000000000000000000000000001", 1},
		{"18446744073709551615", UINT64_MAX},
		{"18446744073709551.615k", UINT64_MAX},
		{"18446744073.709551615G", UINT64_MAX},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		uint64_t count = 0;

		if (!count_parse(cases[i].text, &count) || count != cases[i].count)
			fail_msg("'%s' is %" PRIu64, cases[i].text, count);
	}
}

static void durations_are_read(void **state)
{
	static const struct {
		const char *text;
		uint64_t ns;
	} cases[] = {
		{"1ns", 1},
		{"1us", 1000},
		{"250ms", 250000000},
		{"1s", NS_PER_SEC},
		{"1.5s", 1500000000},
		{"2sec", 2 * NS_PER_SEC},
		{"2second", 2 * NS_PER_SEC},
		{"3m", 3 * NS_PER_MIN},
		{"3min", 3 * NS_PER_MIN},
		{"3minute", 3 * NS_PER_MIN},
		{"2h", 2 * NS_PER_HOUR},
		{"2hour", 2 * NS_PER_HOUR},
		{"7d", 7 * NS_PER_DAY},
		{"7day", 7 * NS_PER_DAY},
		{"1w", 7 * NS_PER_DAY},
		{"1.5week", 252 * NS_PER_HOUR},
		{"2y", 730 * NS_PER_DAY},
		{"1year", 365 * NS_PER_DAY},
		{"0.000000001s", 1},
		{"0.25d", 6 * NS_PER_HOUR},
		{"18446744073709551615ns", UINT64_MAX},
		{"18446744073.709551615s", UINT64_MAX},
		{"213503d", 213503 * NS_PER_DAY},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		uint64_t ns = 0;

		if (!duration_parse(cases[i].text, &ns) || ns != cases[i].ns)
			fail_msg("'%s' is %" PRIu64 " ns", cases[i].text, ns);
	}
}

static void assert_refused_by_all(const char *text)
{
	struct rate rate = {UNTOUCHED, UNTOUCHED};
	uint64_t value = UNTOUCHED;

	if (rate_parse(text, &rate) || count_parse(text, &value) || duration_parse(text, &value))
		fail_msg("'%s' was taken", text);
	assert_int_equal(rate.count, UNTOUCHED);
	assert_int_equal(rate.period_ns, UNTOUCHED);
	assert_int_equal(value, UNTOUCHED);
}

static void what_is_no_quantity_is_refused_and_changes_nothing(void **state)
{
	static const char *const texts[] = {
		"",      " ",          "k",           "/s",    "s",     "k/s",    ".",
		".5",    ".5/s",       ".5s",         "1.",    "1./s",  "1.s",    "1.k",
		"1..5",  "1.5.5/s",    "-1",          "-1/s",  "-1s",   "+1",     "+1/s",
		"+1s",   " 1",         " 1/s",        " 1s",   "1 ",    "1 /s",   "1/ s",
		"1/s ",  "1 s",        "1s ",         "1e3",   "1e3/s", "0x10",   "0x10/s",
		"1,000", "1,000/s",    "1_000",       "nan",   "inf",   "inf/s",  "~1/s",
		"~1s",   "1K",         "1K/s",        "1m/s",  "1g",    "1kk",    "1kM/s",
		"1k k",  "1/",         "1//s",        "1/s/s", "1/S",   "1/secs", "1/seconds",
		"1/wk",  "1/month",    "1/ms",        "1/us",  "1/ns",  "1ks",    "1S",
		"1 min", "1weeks",     "1ss",         "1m30s", "1/1s",  "1\n",    "1/s\n",
		"1s\n",  "\xd9\xa1/s", "1\xc2\xa0/s",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		assert_refused_by_all(texts[i]);
}

static void zero_is_refused_however_it_is_written(void **state)
{
	static const char *const texts[] = {
		"0",
		"0k",
		"0.0",
		"0.000k",
		"00",
		"0/s",
		"0k/s",
		"0.0/min",
		"0/day",
		"0s",
		"0ms",
		"0.0d",
		"0.000000000000000000000000000000000000",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		assert_refused_by_all(texts[i]);
}

static void what_64_bits_cannot_hold_is_refused(void **state)
{
	static const char *const texts[] = {
		"18446744073709551616",
		"18446744073709551616/s",
		"18446744073709551616ns",
		"18446744073709551620",
		"18446744073709551.616k",
		"18446744073.709551616s",
		"18446744073.709551616G",
		"36893488147419103232",
		"184467440737095516150",
		"99999999999999999999999999999999999999999999",
		"18446744073709552k",
		"18446744074G",
		"18446744073709551615G",
		"18446744074s",
		"307445735m",
		"5124096h",
		"213504d",
		"18446744073709551615d",
		"1.8446744073709551616d",
		"18446744073709551616G/s",
		"0.0000001/day",
		"0.12345678901234567/s",
		"0.00000000000000000001/s",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		assert_refused_by_all(texts[i]);
}

static void a_count_or_duration_that_is_not_whole_is_refused(void **state)
{
	static const char *const texts[] = {
		"0.5",   "1.5",      "1.0001k", "0.0009k",       "1.0000000001G",
		"0.5ns", "1.0001us", "0.1ns",   "1.0000000001s", "0.00000000001s",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		assert_refused_by_all(texts[i]);
}

static void rates_are_written_in_the_unit_of_the_smallest_whole_count(void **state)
{
	static const struct {
		struct rate rate;
		const char *text;
	} cases[] = {
		{{0, 1}, "0/s"},
		{{0, NS_PER_DAY}, "0/s"},
		{{1, NS_PER_SEC}, "1/s"},
		{{1, 50000}, "20k/s"},
		{{20000, NS_PER_SEC}, "20k/s"},
		{{3, 2000}, "1.5M/s"},
		{{1, 2 * NS_PER_SEC}, "30/min"},
		{{1, 60 * NS_PER_SEC}, "1/min"},
		{{5, 60 * NS_PER_SEC}, "5/min"},
		{{6, 60 * NS_PER_SEC}, "6/min"},
		{{100, 60 * NS_PER_SEC}, "100/min"},
		{{1500, 60 * NS_PER_SEC}, "25/s"},
		{{1, NS_PER_HOUR}, "1/h"},
		{{1, 2 * NS_PER_DAY}, "0.5/day"},
		{{3, 2 * NS_PER_DAY}, "1.5/day"},
		{{1, 730 * NS_PER_DAY}, "0.5/year"},
		{{1, NS_PER_DAY}, "1/day"},
		{{1, 7 * NS_PER_DAY}, "1/week"},
		{{1, 365 * NS_PER_DAY}, "1/year"},
		{{7, 365 * NS_PER_DAY}, "7/year"},
		{{365, 365 * NS_PER_DAY}, "1/day"},
		{{1, 10}, "100M/s"},
		{{1, 1}, "1G/s"},
		{{1000, NS_PER_SEC}, "1k/s"},
		{{1234567, NS_PER_SEC}, "1234567/s"},
		{{UINT64_MAX, 1}, "18446744073709551615G/s"},
		{{1, 7}, "86400G/week"},
		{{1, 11}, "~9.09091e+07/s"},
		{{1, UINT64_MAX}, "~5.42101e-11/s"},
		/* Its digits end, but no parser takes so many. */
		{{1, 1ULL << 40}, "~0.000909495/s"},
		{{UINT64_MAX, UINT64_MAX}, "1G/s"},
	};
	char text[QUANTITY_TEXT_SIZE];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		rate_format(text, sizeof(text), &cases[i].rate);
		assert_string_equal(text, cases[i].text);
	}
}

static void counts_are_written_as_short_as_can_be(void **state)
{
	static const struct {
		uint64_t count;
		const char *text;
	} cases[] = {
		{0, "0"},
		{1, "1"},
		{999, "999"},
		{1000, "1k"},
		{1001, "1001"},
		{1200, "1.2k"},
		{1230, "1230"},
		{1500000, "1.5M"},
		{100000000, "100M"},
		{1000000000, "1G"},
		{1000000000000, "1000G"},
		{UINT64_MAX, "18446744073709551615"},
	};
	char text[QUANTITY_TEXT_SIZE];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		count_format(text, sizeof(text), cases[i].count);
		assert_string_equal(text, cases[i].text);
	}
}

static void durations_are_written_as_short_as_can_be(void **state)
{
	static const struct {
		uint64_t ns;
		const char *text;
	} cases[] = {
		{0, "0s"},
		{1, "1ns"},
		{999, "999ns"},
		{1000, "1us"},
		{1500, "1.5us"},
		{250000000, "250ms"},
		{NS_PER_SEC, "1s"},
		{1500000000, "1.5s"},
		{90 * NS_PER_SEC, "90s"},
		{NS_PER_MIN, "1m"},
		{NS_PER_HOUR, "1h"},
		{36 * NS_PER_HOUR, "36h"},
		{NS_PER_DAY, "1d"},
		{10 * NS_PER_DAY, "10d"},
		{NS_PER_SEC + 1, "1.000000001s"},
		/* In minutes it is as short, but no parser takes so many digits. */
		{UINT64_MAX, "18446744073.709551615s"},
	};
	char text[QUANTITY_TEXT_SIZE];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		duration_format(text, sizeof(text), cases[i].ns);
		assert_string_equal(text, cases[i].text);
	}
}

static void a_duration_for_the_eye_has_two_digits_or_a_whole_unit(void **state)
{
	static const struct {
		uint64_t ns;
		const char *text;
	} cases[] = {
		{0, "0s"},
		{1, "1ns"},
		{999, "999ns"},
		{1000, "1us"},
		{1299, "1.2us"},
		{1000000, "1ms"},
		{NS_PER_SEC - 1, "999ms"},
		{NS_PER_SEC, "1s"},
		{1234567890, "1.2s"},
		{9999999999, "9.9s"},
		{10 * NS_PER_SEC, "10s"},
		{15900000000, "15s"},
		{NS_PER_MIN - 1, "59s"},
		{90 * NS_PER_SEC, "1.5m"},
		{NS_PER_HOUR, "1h"},
		{NS_PER_DAY - 1, "23h"},
		{NS_PER_DAY, "1d"},
		{400 * NS_PER_DAY, "400d"},
		{UINT64_MAX, "213503d"},
	};
	char text[QUANTITY_TEXT_SIZE];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		duration_format_rounded(text, sizeof(text), cases[i].ns);
		assert_string_equal(text, cases[i].text);
	}
}

static void what_is_written_is_cut_to_the_buffer(void **state)
{
	const struct rate rate = {3, 2000};
	char text[4] = "";

	(void)state;
	rate_format(text, sizeof(text), &rate);
	assert_string_equal(text, "1.5");
	count_format(text, sizeof(text), 123456);
	assert_string_equal(text, "123");
	duration_format(text, sizeof(text), 123456);
	assert_string_equal(text, "123");
	duration_format_rounded(text, sizeof(text), 1299);
	assert_string_equal(text, "1.2");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rates_are_read),
		cmocka_unit_test(counts_are_read),
		cmocka_unit_test(durations_are_read),
		cmocka_unit_test(what_is_no_quantity_is_refused_and_changes_nothing),
		cmocka_unit_test(zero_is_refused_however_it_is_written),
		cmocka_unit_test(what_64_bits_cannot_hold_is_refused),
		cmocka_unit_test(a_count_or_duration_that_is_not_whole_is_refused),
		cmocka_unit_test(rates_are_written_in_the_unit_of_the_smallest_whole_count),
		cmocka_unit_test(counts_are_written_as_short_as_can_be),
		cmocka_unit_test(durations_are_written_as_short_as_can_be),
		cmocka_unit_test(a_duration_for_the_eye_has_two_digits_or_a_whole_unit),
		cmocka_unit_test(what_is_written_is_cut_to_the_buffer),
	};

	return cmocka_run_group_tests_name("quantity", tests, NULL, NULL);
}
