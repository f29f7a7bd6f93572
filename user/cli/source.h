/* SPDX-License-Identifier: MIT */
#ifndef WEIR_SOURCE_H
#define WEIR_SOURCE_H

#include "cli/cli.h"
#include "control/control.h"

/* A source's counters and the state of its bucket, into the object opened last. Without a
 * last_seen_ns nothing is said of when. */
void report_source(struct report *report, const struct control_source *source, uint64_t now_ns);

#endif
