/* SPDX-License-Identifier: MIT */
#include "cli/limits.h"

void report_limit(struct report *report, const struct control_limit *limit)
{
	char rate[QUANTITY_TEXT_SIZE];

	rate_format(rate, sizeof(rate), &limit->rate);
	report_string(report, "rate", rate);
	report_count(report, "capacity", limit->capacity);
}
