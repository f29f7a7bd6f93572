/* SPDX-License-Identifier: MIT */
#include "http/rule_text.h"

#include <inttypes.h>
#include <stdio.h>

/* In a window's length, of the algorithms that have windows. */
static uint64_t worst_of(const struct rule *rule)
{
	switch (rule->algorithm) {
	case ALGORITHM_FIXED_WINDOW:
		return 2 * rule->capacity;
	case ALGORITHM_SLIDING_WINDOW:
		return 2 * rule->capacity - 1;
	default:
		return rule->capacity;
	}
}

void rule_bound_format(char *buf, size_t size, const struct rule *rule)
{
	char rate[QUANTITY_TEXT_SIZE];

	if (algorithm_is_window(rule->algorithm)) {
		duration_format(rate, sizeof(rate), rule->rate.period_ns);
		snprintf(buf, size, "at most %" PRIu64 " in any %s", worst_of(rule), rate);
		return;
	}
	rate_format(rate, sizeof(rate), &rule->rate);
	snprintf(buf, size, "at most %" PRIu64 " + %s x t in any t", rule->capacity, rate);
}
