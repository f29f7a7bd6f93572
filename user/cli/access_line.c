/* SPDX-License-Identifier: MIT */
#include "cli/access_line.h"

#include <ctype.h>
#include <string.h>
#include <time.h>

#include "http/key.h"
#include "http/route.h"
#include "text/quantity.h"
#include "weir.h"

#define STATUS_DIGITS   3
#define STATUS_REFUSED  429
#define SECONDS_DIGITS  10 /* until the year 2286 */
#define FRACTION_DIGITS 9
#define OBSERVED_SUFFIX "_OBSERVED"

const char *const access_lack_names[ACCESS_LACK_MAX] = {
	[ACCESS_LACKS_NOTHING] = "nothing",
	[ACCESS_LACKS_TIME] = "an address and a time in brackets before a quoted request",
	[ACCESS_LACKS_REQUEST] = "the end of its request",
	[ACCESS_LACKS_STATUS] = "a status after its request",
	[ACCESS_LACKS_QUOTE] = "the end of a quoted field",
};

/* Bytes of the line that were not read yet. */
struct rest {
	const char *at;
	const char *end;
};

static size_t rest_size(const struct rest *rest)
{
	return (size_t)(rest->end - rest->at);
}

/* The next quote that no backslash escapes, or NULL. */
static const char *quote_find(const struct rest *rest)
{
	const char *quote = rest->at;

	while ((quote = memchr(quote, '"', (size_t)(rest->end - quote)))) {
		const char *before = quote;

		while (before > rest->at && before[-1] == '\\')
			before--;
		if ((quote - before) % 2 == 0)
			return quote;
		quote++;
	}
	return NULL;
}

static bool time_parse(const char text[ACCESS_TIME_SIZE], uint64_t *ret_ns)
{
	char copy[ACCESS_TIME_SIZE + 1];
	struct tm tm = {0};
	const char *end;
	time_t seconds;

	memcpy(copy, text, ACCESS_TIME_SIZE);
	copy[ACCESS_TIME_SIZE] = '\0';
	end = strptime(copy, "%d/%b/%Y:%H:%M:%S %z", &tm);
	if (end != copy + ACCESS_TIME_SIZE)
		return false;
	seconds = timegm(&(struct tm){.tm_year = tm.tm_year,
				      .tm_mon = tm.tm_mon,
				      .tm_mday = tm.tm_mday,
				      .tm_hour = tm.tm_hour,
				      .tm_min = tm.tm_min,
				      .tm_sec = tm.tm_sec}) -
		  tm.tm_gmtoff;
	if (seconds < 0 || (uint64_t)seconds > UINT64_MAX / NS_PER_SECOND)
		return false;
	*ret_ns = (uint64_t)seconds * NS_PER_SECOND;
	return true;
}

static bool time_read(struct access_reader *reader, const char text[ACCESS_TIME_SIZE],
		      uint64_t *ret_ns)
{
	if (!reader->has_time || memcmp(reader->time, text, ACCESS_TIME_SIZE) != 0) {
		if (!time_parse(text, &reader->time_ns))
			return false;
		reader->has_time = true;
		memcpy(reader->time, text, ACCESS_TIME_SIZE);
	}
	*ret_ns = reader->time_ns;
	return true;
}

static struct prefix client_of(const char *bytes, size_t size)
{
	char text[PREFIX_TEXT_SIZE];
	struct prefix told, client = {0};

	if (size >= sizeof(text))
		return client;
	memcpy(text, bytes, size);
	text[size] = '\0';
	if (!prefix_parse(text, &told))
		return client;
	/* A zone's ipv6-prefix= may make it shorter. */
	if (told.length < address_bits(told.family) && told.length < KEY_IPV6_PREFIX_DEFAULT)
		return told;
	address_normalise(told.family, told.address, KEY_IPV6_PREFIX_DEFAULT, &client);
	return client;
}

/* Up to the request's quote. The time is looked for from there backwards: what is between it and
 * the address is a user's name, in which the client can write what it likes but a quote. */
static bool client_and_time_read(struct access_reader *reader, const char *bytes, const char *quote,
				 struct access_line *line)
{
	const char *time = quote - ACCESS_TIME_SIZE - 2;
	const char *space;

	if (quote - bytes < ACCESS_TIME_SIZE + 4 || time[-1] != '[' || quote[-2] != ']' ||
	    quote[-1] != ' ')
		return false;
	space = memchr(bytes, ' ', (size_t)(time - 1 - bytes));
	if (!space || space == bytes)
		return false;
	line->client = client_of(bytes, (size_t)(space - bytes));
	return time_read(reader, time, &line->time_ns);
}

/* "GET /path HTTP/1.1"; whatever else a client sends has no path. */
static void request_read(struct access_reader *reader, const char *bytes, size_t size,
			 struct access_line *line)
{
	const char *space = memchr(bytes, ' ', size);
	const char *target, *end;

	if (!space)
		return;
	target = space + 1;
	size -= (size_t)(target - bytes);
	end = memchr(target, ' ', size);
	if (end)
		size = (size_t)(end - target);
	if (size > ACCESS_PATH_MAX)
		size = ACCESS_PATH_MAX;
	line->path = reader->path;
	line->path_size = route_normalise(target, size, reader->path);
}

static bool status_read(struct rest *rest, unsigned int *ret)
{
	unsigned int status = 0;

	if (rest_size(rest) < 1 + STATUS_DIGITS || *rest->at++ != ' ')
		return false;
	for (int i = 0; i < STATUS_DIGITS; i++, rest->at++) {
		if (!isdigit((unsigned char)*rest->at))
			return false;
		status = status * 10 + (unsigned int)(*rest->at - '0');
	}
	*ret = status;
	return rest->at == rest->end || *rest->at == ' ';
}

static bool is_text(const char *text, const char *bytes, size_t size)
{
	return strlen(text) == size && !memcmp(bytes, text, size);
}

static bool ends_with(const char *suffix, const char *bytes, size_t size)
{
	size_t length = strlen(suffix);

	return size > length && !memcmp(bytes + size - length, suffix, length);
}

static enum access_outcome outcome_of(const char *bytes, size_t size)
{
	static const char *const refusals[] = {"REFUSED", "OVERFLOW", "BANNED"};
	bool is_observed = ends_with(OBSERVED_SUFFIX, bytes, size);

	if (is_observed)
		size -= sizeof(OBSERVED_SUFFIX) - 1;
	for (size_t i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++) {
		if (is_text(refusals[i], bytes, size))
			return is_observed ? ACCESS_OBSERVED : ACCESS_REFUSED;
	}
	return ACCESS_PASSED;
}

/* Adds up to max digits to *number, each beyond the first as its next place. How many. */
static size_t digits_read(struct rest *rest, size_t max, uint64_t *number)
{
	size_t digits = 0;

	for (; digits < max && rest->at < rest->end; digits++, rest->at++) {
		if (!isdigit((unsigned char)*rest->at))
			break;
		*number = *number * 10 + (uint64_t)(*rest->at - '0');
	}
	return digits;
}

/* "1764610503.123"; false for what is anything else. */
static bool msec_parse(const char *bytes, size_t size, uint64_t *ret_ns)
{
	struct rest rest = {bytes, bytes + size};
	uint64_t number = 0;
	size_t digits = 0;

	if (!digits_read(&rest, SECONDS_DIGITS, &number))
		return false;
	if (rest.at < rest.end && *rest.at == '.') {
		rest.at++;
		digits = digits_read(&rest, FRACTION_DIGITS, &number);
	}
	for (; digits < FRACTION_DIGITS; digits++)
		number *= 10;
	if (rest.at != rest.end)
		return false;
	*ret_ns = number;
	return true;
}

/* "-" is how nginx writes that there is none. */
static void field_read(const char *bytes, size_t size, struct access_line *line)
{
	static const size_t name_size = sizeof("weir=") - 1; /* as have the others */
	const char *value = bytes + name_size;
	size_t value_size = size - name_size;

	if (size <= name_size || is_text("-", value, value_size))
		return;
	if (!memcmp(bytes, "weir=", name_size)) {
		enum access_outcome outcome = outcome_of(value, value_size);

		line->outcome = outcome > line->outcome ? outcome : line->outcome;
	} else if (!memcmp(bytes, "zone=", name_size)) {
		line->zone = value;
		line->zone_size = value_size;
	} else if (!memcmp(bytes, "msec=", name_size)) {
		msec_parse(value, value_size, &line->time_ns);
	}
}

/* What stands in quotes is a client's, and no field of ours. */
static bool quoted_skip(struct rest *rest)
{
	const char *quote;

	rest->at++;
	quote = quote_find(rest);
	if (!quote)
		return false;
	rest->at = quote + 1;
	return true;
}

static bool fields_read(struct rest *rest, struct access_line *line)
{
	while (rest->at < rest->end) {
		const char *word = rest->at;

		while (rest->at < rest->end && *rest->at != ' ' && *rest->at != '"')
			rest->at++;
		field_read(word, (size_t)(rest->at - word), line);
		if (rest->at < rest->end && *rest->at == ' ')
			rest->at++;
		else if (rest->at < rest->end && !quoted_skip(rest))
			return false;
	}
	return true;
}

enum access_lack access_line_read(struct access_reader *reader, const char *bytes, size_t size,
				  struct access_line *ret)
{
	struct rest rest = {bytes, bytes + size};
	struct access_line line = {0};
	const char *quote;

	if (size && bytes[size - 1] == '\r')
		rest.end--;
	quote = quote_find(&rest);
	if (!quote || !client_and_time_read(reader, bytes, quote, &line))
		return ACCESS_LACKS_TIME;
	rest.at = quote + 1;
	quote = quote_find(&rest);
	if (!quote)
		return ACCESS_LACKS_REQUEST;
	request_read(reader, rest.at, (size_t)(quote - rest.at), &line);
	rest.at = quote + 1;
	if (!status_read(&rest, &line.status))
		return ACCESS_LACKS_STATUS;
	line.outcome = line.status == STATUS_REFUSED ? ACCESS_REFUSED : ACCESS_PASSED;
	if (!fields_read(&rest, &line))
		return ACCESS_LACKS_QUOTE;
	*ret = line;
	return ACCESS_LACKS_NOTHING;
}
