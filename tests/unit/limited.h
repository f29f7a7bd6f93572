/* SPDX-License-Identifier: MIT */
/* One key under any algorithm, without a zone: a take is tried until it is through, as a zone
 * does. */
#ifndef WEIR_LIMITED_H
#define WEIR_LIMITED_H

#include "http/log.h"

#define LIMITED_CELLS 256
#define LIMITED_TAG   0x5eed5eed5eed5e00ULL

struct limited {
	struct rule rule;
	struct zone_slot slot;
	struct log_cell cells[LIMITED_CELLS];
};

static inline struct log_ring limited_ring(struct limited *limited)
{
	return (struct log_ring){&limited->slot, limited->cells, LIMITED_CELLS};
}

static inline bool limited_is_log(const struct limited *limited)
{
	return limited->rule.algorithm == ALGORITHM_SLIDING_LOG;
}

static inline struct limited limited_of(enum algorithm algorithm, uint64_t capacity,
					struct rate rate)
{
	struct limited limited = {.slot.pair.tag = LIMITED_TAG};

	assert_int_equal(rule_build(algorithm, capacity, &rate, &limited.rule, NULL), 0);
	return limited;
}

static inline bool limited_take_log(struct limited *limited, uint64_t cost, uint64_t now_ns,
				    enum take_mode mode)
{
	struct log_ring ring = limited_ring(limited);
	enum log_taken taken;
	uint64_t cell;

	do
		taken = log_take(&ring, &limited->rule, slot_read(&limited->slot), cost, now_ns,
				 mode, &cell);
	while (taken == LOG_MOVED);
	return taken == LOG_ADMITTED;
}

static inline bool limited_take(struct limited *limited, uint64_t cost, uint64_t now_ns,
				enum take_mode mode)
{
	uint64_t *state = &limited->slot.pair.state;
	struct taken taken;

	if (limited_is_log(limited))
		return limited_take_log(limited, cost, now_ns, mode);
	taken = rule_take(&limited->rule, *state, cost, now_ns, mode);
	*state = taken.state;
	return taken.admitted;
}

/* Not for logs. */
static inline void limited_refund(struct limited *limited, uint64_t cost, uint64_t charged_ns,
				  uint64_t now_ns)
{
	uint64_t *state = &limited->slot.pair.state;

	*state = rule_refund(&limited->rule, *state, cost, charged_ns, now_ns);
}

static inline struct answer limited_answer(struct limited *limited, uint64_t cost, uint64_t now_ns)
{
	struct log_ring ring = limited_ring(limited);
	struct answer answer;

	if (limited_is_log(limited))
		log_answer(&ring, &limited->rule, limited->slot.pair, cost, now_ns, &answer);
	else
		rule_answer(&limited->rule, limited->slot.pair.state, cost, now_ns, &answer);
	return answer;
}

static inline bool limited_is_full(struct limited *limited, uint64_t now_ns)
{
	struct log_ring ring = limited_ring(limited);

	if (limited_is_log(limited))
		return log_is_empty(&ring, &limited->rule, limited->slot.pair, now_ns);
	return rule_is_full(&limited->rule, limited->slot.pair.state, now_ns);
}

/* On a copy, so that nothing is charged. */
static inline bool limited_would_take(const struct limited *limited, uint64_t cost, uint64_t now_ns)
{
	struct limited copy = *limited;

	return limited_take(&copy, cost, now_ns, TAKE_CHARGE);
}

/* All that is there, one by one. */
static inline uint64_t limited_drain(struct limited *limited, uint64_t now_ns)
{
	uint64_t taken = 0;

	while (limited_take(limited, 1, now_ns, TAKE_CHARGE))
		taken++;
	return taken;
}

#endif
