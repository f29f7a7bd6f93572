/* SPDX-License-Identifier: MIT */
/* The sliding log: a ring of cells, one for each admitted request, and the key's state, the number
 * of cells written so far. Without a lock: a request is charged by one 128-bit compare-and-swap of
 * the cell that the state points at, and the state moves on afterwards, by whoever sees that it
 * has not yet. A process that dies in between leaves a charge, never a lock. */
#ifndef WEIR_HTTP_LOG_H
#define WEIR_HTTP_LOG_H

#include "http/algorithm.h"
#include "http/slot.h"

#define LOG_COST_MAX 32767
#define LOG_TICK_NS  1000 /* a charge is forgotten up to this much later than to the nanosecond */

/* id says which key and which number of cell it was written for, so that cells of a key before are
 * never taken for this one's. */
struct log_cell {
	uint64_t id;
	uint64_t word; /* microsecond, cost, and whether nothing before it counts */
} __attribute__((aligned(16)));
_Static_assert(sizeof(struct log_cell) == 16, "cell size");

struct log_ring {
	struct zone_slot *slot;
	struct log_cell *cells;
	uint32_t size; /* at least the rule's limit */
};

enum log_taken { LOG_ADMITTED, LOG_REFUSED, LOG_MOVED };

/* One attempt, for the slot as it was read (seen), with a now_ns read after it. LOG_MOVED: the slot
 * is another's or has moved on; read it again. ret_cell is what log_give_back needs. */
enum log_taken log_take(const struct log_ring *ring, const struct rule *rule, struct slot_pair seen,
			uint64_t cost, uint64_t now_ns, enum take_mode mode, uint64_t *ret_cell);

/* Takes back what log_take charged; nothing where the cell is no longer the one it wrote. The cell
 * stays in the ring until those before it are over: for races lost at once, not for requests whose
 * outcome is known later. */
void log_give_back(const struct log_ring *ring, struct slot_pair seen, uint64_t cell);

void log_answer(const struct log_ring *ring, const struct rule *rule, struct slot_pair seen,
		uint64_t cost, uint64_t now_ns, struct answer *ret);

/* The state after which nothing charged before counts. Not 0: a key that begins again may reach the
 * numbers of charges that still count. */
uint64_t log_forgotten(uint64_t state);

bool log_is_empty(const struct log_ring *ring, const struct rule *rule, struct slot_pair seen,
		  uint64_t now_ns);

#endif
