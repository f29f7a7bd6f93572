/* SPDX-License-Identifier: MIT */
#include "cli/source.h"

void report_source(struct report *report, const struct control_source *source, uint64_t now_ns)
{
	report_count(report, "passed", source->passed);
	report_count(report, "dropped", source->dropped);
	report_real(report, "tokens", source->tokens);
	report_duration(report, "next_in", source->next_in_ns);
	report_duration(report, "full_in", source->full_in_ns);
	if (source->last_seen_ns)
		report_duration(report, "last_seen_ago",
				now_ns > source->last_seen_ns ? now_ns - source->last_seen_ns : 0);
}
