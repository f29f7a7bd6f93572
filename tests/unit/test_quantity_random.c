/* SPDX-License-Identifier: MIT */
/* Quantities over pseudo-random values and texts, the same ones every time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "random.h"
#include "text/quantity.h"

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define NS_PER_SEC    1000000000ULL
#define NS_PER_MIN    (60 * NS_PER_SEC)
#define NS_PER_HOUR   (60 * NS_PER_MIN)
#define NS_PER_DAY    (24 * NS_PER_HOUR)
#define RANDOM_CASES  20000
#define RANDOM_SEED   0x77656972

typedef unsigned __int128 wide;

/* Of every magnitude alike, never zero. */
static uint64_t random_magnitude(uint64_t *seed)
{
	return (random_next(seed) | 1ULL << 63) >> random_next(seed) % 64;
}

/* Half of them as people write them: few digits and many zeros. */
static uint64_t random_value(uint64_t *seed)
{
	uint64_t value = random_next(seed) % 9999 + 1;

	if (random_next(seed) % 2)
		return random_magnitude(seed);
	for (uint64_t zeros = random_next(seed) % 15; zeros; zeros--)
		value *= 10;
	return value;
}

static void every_count_reads_back(void **state)
{
	char text[QUANTITY_TEXT_SIZE];
	uint64_t seed = RANDOM_SEED;
	uint64_t back;

	(void)state;
	for (int i = 0; i < RANDOM_CASES; i++) {
		uint64_t count = random_value(&seed);

		count_format(text, sizeof(text), count);
		if (!count_parse(text, &back) || back != count)
			fail_msg("%" PRIu64 " became '%s'", count, text);
	}
}

static void every_duration_reads_back(void **state)
{
	char text[QUANTITY_TEXT_SIZE];
	uint64_t seed = RANDOM_SEED;
	uint64_t back;

	(void)state;
	for (int i = 0; i < RANDOM_CASES; i++) {
		/* From the upper end too, where digits are many. */
		uint64_t ns = i % 8 ? random_value(&seed) : UINT64_MAX - (uint64_t)i;

		duration_format(text, sizeof(text), ns);
		if (!duration_parse(text, &back) || back != ns)
			fail_msg("%" PRIu64 " ns became '%s'", ns, text);
	}
}

static bool rate_equals(const struct rate *a, const struct rate *b)
{
	return (wide)a->count * b->period_ns == (wide)b->count * a->period_ns;
}

static void every_rate_reads_back_unless_it_says_that_it_is_rounded(void **state)
{
	char text[QUANTITY_TEXT_SIZE];
	uint64_t seed = RANDOM_SEED;
	struct rate back;

	(void)state;
	for (int i = 0; i < RANDOM_CASES; i++) {
		const struct rate rate = {random_value(&seed), random_value(&seed)};
		bool is_rounded;

		rate_format(text, sizeof(text), &rate);
		is_rounded = text[0] == '~';
		if (rate_parse(text, &back) == is_rounded ||
		    (!is_rounded && !rate_equals(&back, &rate)))
			fail_msg("%" PRIu64 " in %" PRIu64 " ns became '%s'", rate.count,
				 rate.period_ns, text);
	}
}

/* A number as a format function could write it, without zeros before or behind. */
struct spelling {
	uint64_t value; /* over scale, in the unit */
	uint64_t scale;
	uint64_t unit_ns;
	char text[QUANTITY_TEXT_SIZE];
};

struct unit {
	const char *name;
	uint64_t ns;
};

static const struct unit rate_units[] = {
	{"/s", NS_PER_SEC},   {"/min", NS_PER_MIN},      {"/h", NS_PER_HOUR},
	{"/day", NS_PER_DAY}, {"/week", 7 * NS_PER_DAY}, {"/year", 365 * NS_PER_DAY},
};
static const struct unit duration_units[] = {
	{"ns", 1},         {"us", 1000},       {"ms", 1000000},   {"s", NS_PER_SEC},
	{"m", NS_PER_MIN}, {"h", NS_PER_HOUR}, {"d", NS_PER_DAY},
};

static uint64_t power_of_ten(unsigned int exponent)
{
	return exponent ? 10 * power_of_ten(exponent - 1) : 1;
}

/* suffix is '\0' for none. */
static struct spelling random_spelling(uint64_t *seed, const struct unit *unit, char suffix)
{
	unsigned int decimals = random_next(seed) % 6;
	struct spelling spelling = {.unit_ns = unit->ns};
	char number[32];

	while (power_of_ten(decimals) > UINT64_MAX / unit->ns)
		decimals--; /* its terms would not fit */
	spelling.scale = power_of_ten(decimals);
	do
		spelling.value = random_next(seed) % 999999 + 1;
	while (decimals && spelling.value % 10 == 0);
	snprintf(number, sizeof(number), "%" PRIu64 ".%0*" PRIu64, spelling.value / spelling.scale,
		 (int)decimals, spelling.value % spelling.scale);
	if (!decimals)
		*strchr(number, '.') = '\0';
	snprintf(spelling.text, sizeof(spelling.text), "%s%.*s%s", number, suffix != '\0', &suffix,
		 unit->name);
	return spelling;
}

/* The first with a whole count, which is then the smallest; NULL: none. */
static const struct unit *unit_of_rate(const struct rate *rate)
{
	for (size_t i = 0; i < ARRAY_SIZE(rate_units); i++) {
		if ((wide)rate->count * rate_units[i].ns % rate->period_ns == 0)
			return &rate_units[i];
	}
	return NULL;
}

static void assert_rate_is_as_spelt(const struct spelling *spelling)
{
	const struct rate expected = {spelling->value, spelling->unit_ns * spelling->scale};
	char again[QUANTITY_TEXT_SIZE];
	const struct unit *unit;
	struct rate rate, back;

	if (!rate_parse(spelling->text, &rate) || !rate_equals(&rate, &expected))
		fail_msg("'%s' is not as it says", spelling->text);
	rate_format(again, sizeof(again), &rate);
	if (!rate_parse(again, &back) || memcmp(&back, &rate, sizeof(back)))
		fail_msg("'%s' became '%s'", spelling->text, again);
	unit = unit_of_rate(&rate);
	if (unit && strcmp(strchr(again, '/'), unit->name) != 0)
		fail_msg("'%s' is '%s', not %s", spelling->text, again, unit->name);
	if ((!unit || unit->ns == spelling->unit_ns) && strlen(again) > strlen(spelling->text))
		fail_msg("'%s' is longer than '%s'", again, spelling->text);
}

static void a_rate_is_what_its_text_says_and_none_in_its_unit_is_shorter(void **state)
{
	static const char suffixes[] = {'\0', 'k', 'M', 'G'};
	uint64_t seed = RANDOM_SEED;

	(void)state;
	for (unsigned int i = 0; i < RANDOM_CASES; i++) {
		const struct unit *unit = &rate_units[i % ARRAY_SIZE(rate_units)];
		unsigned int suffix = random_next(&seed) % ARRAY_SIZE(suffixes);
		struct spelling spelling = random_spelling(&seed, unit, suffixes[suffix]);

		spelling.value *= power_of_ten(3 * suffix);
		assert_rate_is_as_spelt(&spelling);
	}
}

static void assert_duration_is_as_spelt(const struct spelling *spelling)
{
	wide scaled_ns = (wide)spelling->value * spelling->unit_ns;
	bool has_value =
		scaled_ns % spelling->scale == 0 && scaled_ns / spelling->scale <= UINT64_MAX;
	char again[QUANTITY_TEXT_SIZE];
	uint64_t ns;

	if (duration_parse(spelling->text, &ns) != has_value ||
	    (has_value && ns != scaled_ns / spelling->scale))
		fail_msg("'%s' is not as it says", spelling->text);
	/* A number below one is read, but never written. */
	if (!has_value || ns < spelling->unit_ns)
		return;
	duration_format(again, sizeof(again), ns);
	if (strlen(again) > strlen(spelling->text))
		fail_msg("'%s' is longer than '%s'", again, spelling->text);
}

static void a_duration_is_what_its_text_says_and_no_text_is_shorter(void **state)
{
	uint64_t seed = RANDOM_SEED;

	(void)state;
	for (unsigned int i = 0; i < RANDOM_CASES; i++) {
		const struct unit *unit = &duration_units[i % ARRAY_SIZE(duration_units)];
		struct spelling spelling = random_spelling(&seed, unit, '\0');

		assert_duration_is_as_spelt(&spelling);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_count_reads_back),
		cmocka_unit_test(every_duration_reads_back),
		cmocka_unit_test(every_rate_reads_back_unless_it_says_that_it_is_rounded),
		cmocka_unit_test(a_rate_is_what_its_text_says_and_none_in_its_unit_is_shorter),
		cmocka_unit_test(a_duration_is_what_its_text_says_and_no_text_is_shorter),
	};

	return cmocka_run_group_tests_name("quantity, at random", tests, NULL, NULL);
}
