/* SPDX-License-Identifier: MIT */
/* From a rate and a capacity to the numbers bucket.h works with. Pure. */
#ifndef WEIR_LIMIT_H
#define WEIR_LIMIT_H

#include <stdint.h>

#include "text/failure.h"
#include "text/quantity.h"
#include "weir.h"

/* What rate mints in span_ns, at least 1. */
uint64_t limit_tokens_in(const struct rate *rate, uint64_t span_ns);

/* Writes the limit of capacity tokens refilled at rate, epoch 0, with nothing before it.
 * clock_tick_ns is the coarse clock's step (clock_getres): the coarse clock is chosen where two
 * steps' worth of tokens is at most 1 % of the capacity. -ERANGE with a reason when the rate lies
 * outside 1/year to 100M/s, the capacity is zero, or filling it takes over 4.5 years. */
int limit_build(const struct rate *rate, uint64_t capacity, uint64_t clock_tick_ns,
		struct weir_limit *ret, struct failure *why);

/* Makes limit the successor of previous from now on: next epoch, and how to carry buckets over. */
void limit_succeed(struct weir_limit *limit, const struct weir_limit *previous, uint64_t now_ticks);

/* Ticks from now_ticks until cost_units can be taken: waiting them is enough, one fewer is not.
 * UINT64_MAX when never. */
uint64_t limit_wait_ticks(uint64_t word, const struct weir_limit *limit, uint64_t cost_units,
			  uint64_t now_ticks);

/* Ticks until the bucket is full. */
uint64_t limit_full_ticks(uint64_t word, const struct weir_limit *limit, uint64_t now_ticks);

/* Tokens in the bucket now. */
double limit_tokens(uint64_t word, const struct weir_limit *limit, uint64_t now_ticks);

#endif
