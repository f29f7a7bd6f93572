/* SPDX-License-Identifier: MIT */
/* Limits as the commands take and tell them. */
#ifndef WEIR_CLI_LIMITS_H
#define WEIR_CLI_LIMITS_H

#include "cli/cli.h"
#include "control/control.h"

#define CAPACITY_HELP                                                                            \
	"the burst: what a source may send at once;\ntwo seconds' worth of the rate where left " \
	"out"

/* The limit of a rate and a capacity, two seconds' worth of the rate where that was not given.
 * -ERANGE with a reason. */
int limit_choose(const struct rate *rate, const struct argument *capacity,
		 struct control_limit *ret, struct failure *why);

/* Into the object opened last. */
void report_limit(struct report *report, const struct control_limit *limit);

#endif
