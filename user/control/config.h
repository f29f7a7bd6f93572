/* SPDX-License-Identifier: MIT */
/* The policy: its two copies, and how one takes the other's place under traffic. */
#ifndef WEIR_CONFIG_H
#define WEIR_CONFIG_H

#include "control/control.h"
#include "control/pins.h"

/* The policy in force; it stays so while the lock is held. */
const struct weir_policy *config_policy(const struct control *control);

/* A copy of it, for those who do not hold the lock. */
void config_policy_read(const struct control *control, struct weir_policy *ret);

/* The clocks as the program sees them; limit says which one. */
uint64_t config_now_ns(const struct weir_limit *limit);

/* limit_build with this machine's coarse clock. A capacity of 0 is two seconds' worth of the rate,
 * at least 1. */
int config_limit_build(const struct control_limit *limit, struct weir_limit *ret,
		       struct failure *why);
void config_limit_read(const struct weir_limit *limit, struct control_limit *ret);
bool config_limit_equals(const struct weir_limit *a, const struct weir_limit *b);

/* Sources are addresses of these many bits. */
void config_keys_set(struct weir_policy *policy, uint8_t key4, uint8_t key6);

/* Puts next in force: a copy of the policy in force with limits replaced by what
 * config_limit_build made. Nothing happens if both are equal. Fails before anything is changed or
 * not at all. Hold the lock. */
int config_change(struct control *control, const struct weir_policy *next, struct failure *why);

/* Its two halves: the one that may fail, and the one that may not. */
int config_prepare(const struct control *control, const struct weir_policy *next,
		   struct failure *why);
void config_publish(struct control *control, const struct weir_policy *next);

#endif
