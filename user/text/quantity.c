/* SPDX-License-Identifier: MIT */
#include "text/quantity.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))
#define NS_PER_MINUTE     (60 * NS_PER_SECOND)
#define NS_PER_HOUR       (60 * NS_PER_MINUTE)
#define NS_PER_DAY        (24 * NS_PER_HOUR)
#define NS_PER_WEEK       (7 * NS_PER_DAY)
#define DIGITS            "0123456789"
/* Leaves room for a suffix and a unit in QUANTITY_TEXT_SIZE. */
#define NUMBER_TEXT_SIZE (QUANTITY_TEXT_SIZE - 8)

/* Always in lowest terms: then a product overflows only if it has no 64-bit terms at all. */
struct fraction {
	uint64_t top;
	uint64_t bottom;
};

/* digits * 10^exponent; the exponent is negative only if the number is not whole. */
struct number {
	uint64_t digits;
	int exponent;
};

struct unit {
	const char *name;
	uint64_t ns;
};

static const struct unit parsed_units[] = {
	{"ns", 1},
	{"us", 1000},
	{"ms", 1000000},
	{"s", NS_PER_SECOND},
	{"sec", NS_PER_SECOND},
	{"second", NS_PER_SECOND},
	{"m", NS_PER_MINUTE},
	{"min", NS_PER_MINUTE},
	{"minute", NS_PER_MINUTE},
	{"h", NS_PER_HOUR},
	{"hour", NS_PER_HOUR},
	{"d", NS_PER_DAY},
	{"day", NS_PER_DAY},
	{"w", NS_PER_WEEK},
	{"week", NS_PER_WEEK},
	{"y", NS_PER_YEAR},
	{"year", NS_PER_YEAR},
};

/* Ascending. Of spellings equally long the first is taken. */
static const struct unit rate_units[] = {
	{"/s", NS_PER_SECOND}, {"/min", NS_PER_MINUTE}, {"/h", NS_PER_HOUR},
	{"/day", NS_PER_DAY},  {"/week", NS_PER_WEEK},  {"/year", NS_PER_YEAR},
};
static const struct unit duration_units[] = {
	{"d", NS_PER_DAY},
	{"h", NS_PER_HOUR},
	{"m", NS_PER_MINUTE},
	{"s", NS_PER_SECOND},
	{"ms", 1000000},
	{"us", 1000},
	{"ns", 1},
};
static const struct suffix {
	const char *text;
	int exponent;
} suffixes[] = {{"G", 9}, {"M", 6}, {"k", 3}, {"", 0}};

static uint64_t greatest_common_divisor(uint64_t a, uint64_t b)
{
	while (b) {
		uint64_t rest = a % b;

		a = b;
		b = rest;
	}
	return a;
}

/* False on overflow. */
static bool fraction_multiply(struct fraction *fraction, uint64_t factor)
{
	uint64_t common = greatest_common_divisor(fraction->bottom, factor);

	fraction->bottom /= common;
	return !__builtin_mul_overflow(fraction->top, factor / common, &fraction->top);
}

static bool fraction_divide(struct fraction *fraction, uint64_t divisor)
{
	uint64_t common = greatest_common_divisor(fraction->top, divisor);

	fraction->top /= common;
	return !__builtin_mul_overflow(fraction->bottom, divisor / common, &fraction->bottom);
}

static bool fraction_shift_decimal(struct fraction *fraction, int exponent)
{
	for (; exponent > 0; exponent--) {
		if (!fraction_multiply(fraction, 10))
			return false;
	}
	for (; exponent < 0; exponent++) {
		if (!fraction_divide(fraction, 10))
			return false;
	}
	return true;
}

static bool digits_append(uint64_t *value, const char *digits, size_t length)
{
	for (size_t i = 0; i < length; i++) {
		uint64_t digit = (uint64_t)(digits[i] - '0');

		if (__builtin_mul_overflow(*value, 10, value) ||
		    __builtin_add_overflow(*value, digit, value))
			return false;
	}
	return true;
}

/* Reads ".25" up to its last digit that counts, so that 1.50 is as good as 1.5. */
static bool decimals_read(const char **text, struct number *number)
{
	const char *digits = *text + 1;
	size_t length = strspn(digits, DIGITS);
	size_t counting = length;

	while (counting && digits[counting - 1] == '0')
		counting--;
	*text = digits + length;
	number->exponent = -(int)counting;
	return length && digits_append(&number->digits, digits, counting);
}

/* Reads a number and moves *text behind it. False for zero too: no quantity here may be. */
static bool number_read(const char **text, struct number *ret)
{
	size_t length = strspn(*text, DIGITS);
	struct number number = {0};

	if (!length || !digits_append(&number.digits, *text, length))
		return false;
	*text += length;
	if (**text == '.' && !decimals_read(text, &number))
		return false;
	*ret = number;
	return number.digits > 0;
}

static int suffix_read(const char **text)
{
	for (size_t i = 0; i < ARRAY_SIZE(suffixes); i++) {
		if (suffixes[i].text[0] && suffixes[i].text[0] == **text) {
			++*text;
			return suffixes[i].exponent;
		}
	}
	return 0;
}

/* The unit's nanoseconds, 0 if there is none of that name. */
static uint64_t unit_find_ns(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(parsed_units); i++) {
		if (!strcmp(parsed_units[i].name, name))
			return parsed_units[i].ns;
	}
	return 0;
}

bool rate_parse(const char *text, struct rate *ret)
{
	struct fraction per_ns = {.bottom = 1};
	struct number number;
	uint64_t unit_ns;

	if (!number_read(&text, &number))
		return false;
	number.exponent += suffix_read(&text);
	if (*text++ != '/')
		return false;
	unit_ns = unit_find_ns(text);
	if (unit_ns < NS_PER_SECOND)
		return false;
	per_ns.top = number.digits;
	if (!fraction_divide(&per_ns, unit_ns) || !fraction_shift_decimal(&per_ns, number.exponent))
		return false;
	*ret = (struct rate){.count = per_ns.top, .period_ns = per_ns.bottom};
	return true;
}

bool count_parse(const char *text, uint64_t *ret)
{
	struct fraction count = {.bottom = 1};
	struct number number;

	if (!number_read(&text, &number))
		return false;
	number.exponent += suffix_read(&text);
	count.top = number.digits;
	if (*text || !fraction_shift_decimal(&count, number.exponent) || count.bottom != 1)
		return false;
	*ret = count.top;
	return true;
}

bool duration_parse(const char *text, uint64_t *ret_ns)
{
	struct fraction ns = {.bottom = 1};
	struct number number;
	uint64_t unit_ns;

	if (!number_read(&text, &number))
		return false;
	unit_ns = unit_find_ns(text);
	ns.top = number.digits;
	/* The shift first: 18446744073.709551615s has digits that leave no room for the unit. */
	if (!unit_ns || !fraction_shift_decimal(&ns, number.exponent) ||
	    !fraction_multiply(&ns, unit_ns) || ns.bottom != 1)
		return false;
	*ret_ns = ns.top;
	return true;
}

/* Writes the value in full. False if its decimals never end, or not before its digits are more
 * than number_read takes. */
static bool decimal_write(char text[NUMBER_TEXT_SIZE], struct fraction value)
{
	struct fraction rest = {value.top % value.bottom, value.bottom};
	uint64_t digits = value.top / value.bottom;
	size_t length = (size_t)snprintf(text, NUMBER_TEXT_SIZE, "%" PRIu64, digits);

	if (rest.top)
		text[length++] = '.';
	for (; rest.top; rest.top %= rest.bottom) {
		if (length + 1 >= NUMBER_TEXT_SIZE || !fraction_multiply(&rest, 10))
			return false;
		text[length] = (char)('0' + rest.top / rest.bottom);
		if (!digits_append(&digits, &text[length++], 1))
			return false;
	}
	text[length] = '\0';
	return true;
}

/* Takes value with suffix and unit for best if that is shorter than what best holds. */
static void spelling_offer(char best[QUANTITY_TEXT_SIZE], struct fraction value, const char *suffix,
			   const char *unit)
{
	char number[NUMBER_TEXT_SIZE];
	size_t length;

	if (!decimal_write(number, value))
		return;
	length = strlen(number) + strlen(suffix) + strlen(unit);
	if (!best[0] || length < strlen(best))
		snprintf(best, QUANTITY_TEXT_SIZE, "%s%.1s%.5s", number, suffix, unit);
}

/* Offers value * factor with each suffix that leaves at least one of its thousands. */
static void spelling_offer_suffixes(char best[QUANTITY_TEXT_SIZE], struct fraction value,
				    uint64_t factor, const char *unit)
{
	for (size_t i = 0; i < ARRAY_SIZE(suffixes); i++) {
		struct fraction scaled = value;

		if (!fraction_shift_decimal(&scaled, -suffixes[i].exponent) ||
		    !fraction_multiply(&scaled, factor))
			continue;
		if (suffixes[i].exponent && scaled.top < scaled.bottom)
			continue;
		spelling_offer(best, scaled, suffixes[i].text, unit);
	}
}

/* Offers the rate in the first unit that has a whole count of it, which is then the smallest. */
static void rate_offer_whole(char best[QUANTITY_TEXT_SIZE], struct fraction per_ns)
{
	for (size_t i = 0; i < ARRAY_SIZE(rate_units) && !best[0]; i++) {
		if (rate_units[i].ns % per_ns.bottom == 0)
			spelling_offer_suffixes(best, per_ns, rate_units[i].ns, rate_units[i].name);
	}
}

static void rate_offer(char best[QUANTITY_TEXT_SIZE], struct fraction per_ns)
{
	rate_offer_whole(best, per_ns);
	if (best[0])
		return;
	for (size_t i = 0; i < ARRAY_SIZE(rate_units); i++)
		spelling_offer_suffixes(best, per_ns, rate_units[i].ns, rate_units[i].name);
}

void rate_format(char *buf, size_t size, const struct rate *rate)
{
	uint64_t common = greatest_common_divisor(rate->count, rate->period_ns);
	char best[QUANTITY_TEXT_SIZE] = "";

	if (rate->period_ns)
		rate_offer(best, (struct fraction){rate->count / common, rate->period_ns / common});
	if (best[0])
		snprintf(buf, size, "%s", best);
	else
		snprintf(buf, size, "~%g/s",
			 (double)rate->count / (double)rate->period_ns * NS_PER_SECOND);
}

void count_format(char *buf, size_t size, uint64_t count)
{
	char best[QUANTITY_TEXT_SIZE] = "";

	spelling_offer_suffixes(best, (struct fraction){count, 1}, 1, "");
	snprintf(buf, size, "%s", best);
}

void duration_format(char *buf, size_t size, uint64_t ns)
{
	char best[QUANTITY_TEXT_SIZE] = "";

	for (size_t i = 0; i < ARRAY_SIZE(duration_units); i++) {
		struct fraction value = {ns, 1};

		if (ns >= duration_units[i].ns && fraction_divide(&value, duration_units[i].ns))
			spelling_offer(best, value, "", duration_units[i].name);
	}
	snprintf(buf, size, "%s", best[0] ? best : "0s");
}

void duration_format_rounded(char *buf, size_t size, uint64_t ns)
{
	for (size_t i = 0; i < ARRAY_SIZE(duration_units); i++) {
		const struct unit *unit = &duration_units[i];
		uint64_t tenths = ns / unit->ns * 10 + ns % unit->ns * 10 / unit->ns;

		if (ns < unit->ns)
			continue;
		if (tenths < 100 && tenths % 10)
			snprintf(buf, size, "%" PRIu64 ".%" PRIu64 "%s", tenths / 10, tenths % 10,
				 unit->name);
		else
			snprintf(buf, size, "%" PRIu64 "%s", tenths / 10, unit->name);
		return;
	}
	snprintf(buf, size, "0s");
}
