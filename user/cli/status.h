/* SPDX-License-Identifier: MIT */
/* The counters, read once and told as totals or as rates. */
#ifndef WEIR_STATUS_H
#define WEIR_STATUS_H

#include "cli/cli.h"
#include "cli/snapshot.h"

/* 0 or -errno, as control_interfaces. */
int snapshot_take(struct control *control, struct snapshot *ret, struct failure *why);

/* The name, namespace and kind of an interface, into the object opened last. */
void report_interface(struct report *report, const struct control_interface *interface);

/* Rates in place of totals, and each period's until a signal. An exit status. */
int status_follow(uint64_t period_ns, enum report_format format);

#endif
