/* SPDX-License-Identifier: MIT */
/* What is kept for each slot: whose it is, its counters, its budgets' buckets. */
#ifndef WEIR_RECORDS_H
#define WEIR_RECORDS_H

#include "control/pins.h"
#include "control/slots.h"

int records_read(const struct control *control, unsigned int slot, struct weir_interface *ret,
		 struct failure *why);

/* Counters at zero and full budgets, for whoever takes the slot next. */
int records_clear(const struct control *control, unsigned int slot, struct failure *why);
int records_write(const struct control *control, unsigned int slot,
		  const struct weir_interface *record, struct failure *why);

/* Summed over the CPUs. */
int records_count(const struct control *control, unsigned int slot, struct weir_counters *ret,
		  struct failure *why);

/* An interface of this name that is gone, or NULL. The record of one that is not gone proves
 * nothing: the name may be another one's by now, or belong to another network namespace. */
struct slot *records_find_gone(const struct control *control, const struct slots *slots,
			       const char *name, const char *netns);

/* "eth0, eth1 (netns blue), eth0 (in another network namespace)": the last one is not where its
 * record says. */
void records_list(const struct control *control, const struct slots *slots, char *buf, size_t size);

#endif
