/* SPDX-License-Identifier: MIT */
/* What is counted at one moment, and between two, and how fast that is. Pure. */
#ifndef WEIR_SNAPSHOT_H
#define WEIR_SNAPSHOT_H

#include "control/control.h"

struct snapshot {
	uint64_t taken_ns; /* CLOCK_MONOTONIC */
	size_t count;
	struct control_interface interfaces[WEIR_INTERFACES_MAX];
};

extern const char *const verdict_names[WEIR_VERDICT_MAX];
extern const char *const cause_names[WEIR_CAUSE_MAX];

bool verdict_is_drop(enum weir_verdict verdict);

/* What passed and what was dropped, whatever the verdicts. */
struct flow {
	struct weir_count pass;
	struct weir_count drop;
};
struct flow counters_flow(const struct weir_counters *counters);

/* In tenths: more digits would tell of the clock, not of the traffic. */
double per_second(uint64_t count, uint64_t elapsed_ns);

/* Of all interfaces. */
struct weir_counters snapshot_total(const struct snapshot *snapshot);

/* Turns now's counters into what was counted since before. An interface that was attached anew
 * meanwhile counts from zero, so nothing is ever negative. */
void snapshot_subtract(struct snapshot *now, const struct snapshot *before);

#endif
