/* SPDX-License-Identifier: MIT */
#include "cli/limits.h"

#include "control/limit.h"

#define CAPACITY_DEFAULT_NS 2000000000ULL

static uint64_t capacity_default(const struct rate *rate)
{
	unsigned __int128 tokens =
		(unsigned __int128)rate->count * CAPACITY_DEFAULT_NS / rate->period_ns;

	return tokens ? (uint64_t)tokens : 1;
}

int limit_choose(const struct rate *rate, const struct argument *capacity,
		 struct control_limit *ret, struct failure *why)
{
	struct control_limit limit = {.rate = *rate};
	struct weir_limit built;
	int err;

	limit.capacity = capacity->given ? capacity->number : capacity_default(rate);
	err = limit_build(rate, limit.capacity, 0, &built, why);
	if (!err)
		*ret = limit;
	return err;
}

void report_limit(struct report *report, const struct control_limit *limit)
{
	char rate[QUANTITY_TEXT_SIZE];

	rate_format(rate, sizeof(rate), &limit->rate);
	report_string(report, "rate", rate);
	report_count(report, "capacity", limit->capacity);
}
