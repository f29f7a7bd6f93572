/* SPDX-License-Identifier: MIT */
/* What is told of access logs. Pure: it goes into a report. */
#ifndef WEIR_CLI_ACCESS_REPORT_H
#define WEIR_CLI_ACCESS_REPORT_H

#include "cli/access_count.h"
#include "cli/access_simulate.h"
#include "text/report.h"

#define ACCESS_TOP_MAX 1000

/* Lists are of top rows at most. Moments are ISO 8601 in UTC. */
void access_report(struct report *report, const struct access_counts *counts, size_t top);

/* A list, a row for each limit; nothing where there are none. */
void access_report_simulations(struct report *report, const struct access_simulation *simulations,
			       size_t count, size_t top);

#endif
