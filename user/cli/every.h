/* SPDX-License-Identifier: MIT */
#ifndef WEIR_EVERY_H
#define WEIR_EVERY_H

#include <stdint.h>

/* CLOCK_MONOTONIC. */
uint64_t monotonic_ns(void);

/* Calls once(arg) at the end of each period, at deadlines that do not drift, until SIGINT or
 * SIGTERM, or until once returns non-zero, and returns that. 0 after a signal, -errno. */
int every(uint64_t period_ns, int (*once)(void *arg), void *arg);

#endif
