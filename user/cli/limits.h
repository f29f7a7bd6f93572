/* SPDX-License-Identifier: MIT */
/* Limits as the commands take and tell them. */
#ifndef WEIR_CLI_LIMITS_H
#define WEIR_CLI_LIMITS_H

#include "cli/cli.h"
#include "control/control.h"

#define CAPACITY_HELP                                                                            \
	"the burst: what a source may send at once;\ntwo seconds' worth of the rate where left " \
	"out"

/* Into the object opened last. */
void report_limit(struct report *report, const struct control_limit *limit);

#endif
