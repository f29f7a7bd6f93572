/* SPDX-License-Identifier: MIT */
/* The limiting algorithms, one contract: state, cost and now in; admitted or not, and the state to
 * store, out. Pure: no clock, no memory, no lock. A key's state is one 64-bit word, zero when
 * nothing is owed, whose meaning belongs to the rule that wrote it; a sliding log keeps a cell for
 * each admitted request besides (log.h).
 *
 *   token-bucket    bucket.h's word                   at most capacity + rate * t in any t
 *   leaky-bucket    the same, and excess is held
 *   fixed-window    window's number, count            at most 2 * limit in any window's length
 *   sliding-window  window's number, count before, count: the count before weighs by the share
 *                   of it that a window ending now still covers; at most 2 * limit - 1
 *   sliding-log     number of cells written           at most limit
 *
 * Moments are nanoseconds of one clock that does not go back, below 2^58. Where it does go back, a
 * state from the future counts as nothing left at this moment: a jump costs one refill at most. */
#ifndef WEIR_HTTP_ALGORITHM_H
#define WEIR_HTTP_ALGORITHM_H

#include <stdbool.h>
#include <stdint.h>

#include "text/failure.h"
#include "text/quantity.h"
#include "weir.h"

#define RULE_NEVER_NS UINT64_MAX

/* How long one unit takes at the highest rate of a rule, 1M/s, and at the lowest, 1/year. */
#define RULE_UNIT_MIN_NS 1000ULL
#define RULE_UNIT_MAX_NS NS_PER_YEAR

enum algorithm {
	ALGORITHM_TOKEN_BUCKET,
	ALGORITHM_LEAKY_BUCKET,
	ALGORITHM_FIXED_WINDOW,
	ALGORITHM_SLIDING_WINDOW,
	ALGORITHM_SLIDING_LOG,
	ALGORITHM_MAX
};

/* How much one key may do. Of buckets: capacity, refilled at rate. Of windows: rate.count is the
 * limit, rate.period_ns the window's length, capacity the limit too. */
struct rule {
	enum algorithm algorithm;
	uint64_t capacity;
	struct rate rate;
	struct weir_limit limit; /* of buckets */
	uint8_t count_bits;      /* of windows: what a count takes in the state */
};

enum take_mode {
	TAKE_CHARGE,         /* a refusal charges nothing */
	TAKE_CHARGE_REFUSED, /* a refusal takes what is there */
};

struct taken {
	bool admitted;
	uint64_t state; /* as it stands now: to be stored where it is not the one read */
};

/* What a client is told. */
struct answer {
	uint64_t limit;
	uint64_t remaining;      /* whole units that could be taken now */
	uint64_t retry_after_ns; /* until cost can be taken: waiting it is enough, one ns less is
				  * not. RULE_NEVER_NS where cost exceeds the limit */
	uint64_t next_after_ns;  /* until remaining grows by one; 0 when it is the limit */
	uint64_t reset_after_ns; /* until nothing is owed */
};

/* "token-bucket" and so on; NULL beyond the last. */
const char *algorithm_name(enum algorithm algorithm);
bool algorithm_parse(const char *text, enum algorithm *ret);
bool algorithm_is_window(enum algorithm algorithm);

/* -ERANGE with a reason that names the bound: a rate outside 1/year to 1M/s, a capacity or limit of
 * zero, a bucket that takes over 4.5 years to fill, a window outside 1ms to 1 year, a limit whose
 * counts do not fit beside the window's number, a log's limit above LOG_COST_MAX. */
int rule_build(enum algorithm algorithm, uint64_t capacity, const struct rate *rate,
	       struct rule *ret, struct failure *why);

/* Whether both admit the same. */
bool rule_equals(const struct rule *a, const struct rule *b);

/* What a cost asks to be there. */
static inline uint64_t cost_wanted(uint64_t cost)
{
	return cost ? cost : 1;
}

/* Not for logs (log_take). A cost of zero looks only: admitted when one unit is there. A cost above
 * the limit is refused. now_ns must have been read after state was. */
struct taken rule_take(const struct rule *rule, uint64_t state, uint64_t cost, uint64_t now_ns,
		       enum take_mode mode);

/* The state, as it is now, with a charge given back that was admitted under the same rule at
 * charged_ns: as if that charge had never been made, or less. A window gives back the whole of it
 * while it counts. A bucket keeps what it was refilled by since, for that may have repaid the
 * charge: taking the whole cost off would let others' charges pass that there was no room for. */
uint64_t rule_refund(const struct rule *rule, uint64_t state, uint64_t cost, uint64_t charged_ns,
		     uint64_t now_ns);

/* Not for logs (log_answer). */
void rule_answer(const struct rule *rule, uint64_t state, uint64_t cost, uint64_t now_ns,
		 struct answer *ret);

/* How long a request that was just admitted is to be held, so that it leaves at the rate: state is
 * the one after it was charged, burst how much excess passes at once. The excess of a request is
 * what was owed before it. Buckets only; windows are 0. */
uint64_t rule_hold_ns(const struct rule *rule, uint64_t state, uint64_t cost, uint64_t burst,
		      uint64_t now_ns);

/* The state under another rule of the same algorithm: what is owed stays owed, in units; at most
 * the new capacity. Rounded so that it never admits a unit more. Not for logs: theirs stays. */
uint64_t rule_convert(const struct rule *from, const struct rule *to, uint64_t state,
		      uint64_t now_ns);

/* Whether nothing is owed, so that the state may be forgotten. Not for logs (log_is_empty). */
bool rule_is_full(const struct rule *rule, uint64_t state, uint64_t now_ns);

/* The longest time from anything owed to nothing owed. */
uint64_t rule_full_after_ns(const struct rule *rule);

#endif
