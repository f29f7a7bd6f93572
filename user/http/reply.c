/* SPDX-License-Identifier: MIT */
#include "http/reply.h"

#include <stdbool.h>
#include <string.h>

#define ROUNDING_NS 1000
#define DIGITS_MAX  20
/* The largest Integer of RFC 9651. */
#define INTEGER_MAX 999999999999999ULL

#define PROBLEM_TYPE  "https://iana.org/assignments/http-problem-types#quota-exceeded"
#define PROBLEM_TITLE "Request cannot be satisfied as assigned quota has been exceeded"

/* Fills buf as far as it goes, and counts on. Fields are written on every response, where snprintf
 * would be the largest part of their cost. */
struct writer {
	char *buf;
	size_t size;
	size_t used;
};

static void write_bytes(struct writer *writer, const char *bytes, size_t size)
{
	size_t room = writer->used < writer->size ? writer->size - writer->used : 0;

	if (room)
		memcpy(writer->buf + writer->used, bytes, size < room ? size : room);
	writer->used += size;
}

static void write_text(struct writer *writer, const char *text)
{
	write_bytes(writer, text, strlen(text));
}

static void write_number(struct writer *writer, uint64_t number)
{
	char digits[DIGITS_MAX];
	size_t at = sizeof(digits);

	do
		digits[--at] = (char)('0' + number % 10);
	while (number /= 10);
	write_bytes(writer, digits + at, sizeof(digits) - at);
}

static void write_name(struct writer *writer, const char *name)
{
	write_text(writer, "\"");
	write_text(writer, name);
	write_text(writer, "\"");
}

static void write_parameter(struct writer *writer, const char *name, uint64_t value)
{
	write_text(writer, name);
	write_number(writer, value < INTEGER_MAX ? value : INTEGER_MAX);
}

static size_t writer_finish(struct writer *writer)
{
	if (writer->size)
		writer->buf[writer->used < writer->size ? writer->used : writer->size - 1] = '\0';
	return writer->used;
}

uint64_t reply_seconds(uint64_t ns)
{
	return ns / NS_PER_SECOND + (ns % NS_PER_SECOND != 0);
}

/* A bucket mints up to a part in 2^31 slower than its rate. */
uint64_t reply_seconds_told(uint64_t ns)
{
	uint64_t rounding_ns = ROUNDING_NS + (ns >> 30);

	return reply_seconds(ns > rounding_ns ? ns - rounding_ns : ns);
}

static uint64_t saturated(unsigned __int128 value)
{
	return value < UINT64_MAX ? (uint64_t)value : UINT64_MAX;
}

/* From empty to full; a window's capacity is its rate's count, so it is the window's length. */
static uint64_t rule_fill_ns(const struct rule *rule)
{
	unsigned __int128 periods_ns = (unsigned __int128)rule->capacity * rule->rate.period_ns;

	return saturated((periods_ns + rule->rate.count - 1) / rule->rate.count);
}

static uint64_t rule_per_second(const struct rule *rule)
{
	return saturated((unsigned __int128)rule->rate.count * NS_PER_SECOND /
			 rule->rate.period_ns);
}

static void write_policy(struct writer *writer, const struct reply_policy *policy)
{
	uint64_t fill_ns = rule_fill_ns(policy->rule);
	bool is_short = fill_ns < NS_PER_SECOND;

	write_name(writer, policy->name);
	write_parameter(writer,
			";q=", is_short ? rule_per_second(policy->rule) : policy->rule->capacity);
	write_parameter(writer, ";w=", is_short ? 1 : reply_seconds(fill_ns));
}

static void write_limit(struct writer *writer, const struct reply_policy *policy)
{
	const struct answer *answer = &policy->answer;
	bool is_never = policy->refused && answer->retry_after_ns == RULE_NEVER_NS;

	write_name(writer, policy->name);
	write_parameter(writer, ";r=", answer->remaining);
	if (answer->next_after_ns && !is_never)
		write_parameter(writer, ";t=", reply_seconds_told(answer->next_after_ns));
}

static size_t list_write(char *buf, size_t size, const struct reply_policy *policies, size_t count,
			 void (*write_item)(struct writer *writer,
					    const struct reply_policy *policy))
{
	struct writer writer = {buf, size, 0};

	for (size_t i = 0; i < count; i++) {
		write_text(&writer, i ? ", " : "");
		write_item(&writer, &policies[i]);
	}
	return writer_finish(&writer);
}

size_t reply_policy_field(char *buf, size_t size, const struct reply_policy *policies, size_t count)
{
	return list_write(buf, size, policies, count, write_policy);
}

size_t reply_limit_field(char *buf, size_t size, const struct reply_policy *policies, size_t count)
{
	return list_write(buf, size, policies, count, write_limit);
}

static bool is_tighter(const struct reply_policy *policy, const struct reply_policy *than)
{
	if (policy->refused != than->refused)
		return policy->refused;
	if (policy->refused)
		return policy->answer.retry_after_ns > than->answer.retry_after_ns;
	return policy->answer.remaining < than->answer.remaining;
}

const struct reply_policy *reply_tightest(const struct reply_policy *policies, size_t count)
{
	const struct reply_policy *tightest = policies;

	for (size_t i = 1; i < count; i++) {
		if (is_tighter(&policies[i], tightest))
			tightest = &policies[i];
	}
	return tightest;
}

/* A refusal without a wait lost a race: asking again at once would be a second too early. */
uint64_t reply_wait_ns(const struct reply_policy *policies, size_t count)
{
	const struct reply_policy *tightest = count ? reply_tightest(policies, count) : NULL;

	if (!tightest || !tightest->refused || tightest->answer.retry_after_ns == RULE_NEVER_NS)
		return 0;
	return tightest->answer.retry_after_ns ? tightest->answer.retry_after_ns : NS_PER_SECOND;
}

static void write_violated(struct writer *writer, const struct reply_policy *policies, size_t count)
{
	bool is_first = true;

	for (size_t i = 0; i < count; i++) {
		if (!policies[i].refused)
			continue;
		write_text(writer, is_first ? ",\"violated-policies\":[" : ",");
		write_name(writer, policies[i].name);
		is_first = false;
	}
	if (!is_first)
		write_text(writer, "]");
}

size_t reply_body_problem(char *buf, size_t size, unsigned int status,
			  const struct reply_policy *policies, size_t count)
{
	struct writer writer = {buf, size, 0};

	write_text(&writer,
		   "{\"type\":\"" PROBLEM_TYPE "\",\"title\":\"" PROBLEM_TITLE "\",\"status\":");
	write_number(&writer, status);
	write_violated(&writer, policies, count);
	write_text(&writer, "}");
	return writer_finish(&writer);
}

size_t reply_body_json(char *buf, size_t size, uint64_t retry_after_seconds)
{
	struct writer writer = {buf, size, 0};

	write_text(&writer, "{\"error\": \"Too many requests\"");
	if (retry_after_seconds) {
		write_text(&writer, ", \"retryAfter\": ");
		write_number(&writer, retry_after_seconds);
	}
	write_text(&writer, "}");
	return writer_finish(&writer);
}
