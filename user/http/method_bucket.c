/* SPDX-License-Identifier: MIT */
#include "http/method.h"

#include "bucket.h"
#include "control/limit.h"

static uint64_t minted_at(const struct rule *rule, uint64_t now_ns)
{
	return bucket_minted(bucket_ticks(now_ns), rule->limit.multiplier);
}

static uint64_t ticks_to_ns(uint64_t ticks)
{
	uint64_t ns = ticks >> BUCKET_TICK_SHIFT;

	return ticks == ns << BUCKET_TICK_SHIFT ? ns : ns + 1;
}

/* Which clock the kernel would read is of no interest: a zone has one. */
static int bucket_build(struct rule *rule, struct failure *why)
{
	return limit_build(&rule->rate, rule->capacity, 0, &rule->limit, why);
}

static uint64_t bucket_settle(const struct rule *rule, uint64_t state, uint64_t now_ns)
{
	uint64_t minted = minted_at(rule, now_ns);

	return bucket_debt(state, minted) > rule->limit.capacity_units
		       ? bucket_empty(&rule->limit, minted)
		       : state;
}

static uint64_t bucket_left(const struct rule *rule, uint64_t state, uint64_t now_ns)
{
	return bucket_tokens(state, &rule->limit, minted_at(rule, now_ns));
}

static uint64_t bucket_charge(const struct rule *rule, uint64_t state, uint64_t units,
			      uint64_t now_ns)
{
	__u64 charged = state;

	bucket_take(state, &rule->limit, bucket_cost(&rule->limit, units), minted_at(rule, now_ns),
		    &charged);
	return charged;
}

/* A charge is repaid only while the bucket would have been full without it, and that is the time
 * since at most: so much of it is surely left. The word of before the charge says when the bucket
 * would have been full, but that is no bound: a refund of an earlier charge in between moves it. */
static uint64_t bucket_refund(const struct rule *rule, uint64_t state, uint64_t units,
			      uint64_t charged_ns, uint64_t now_ns)
{
	uint64_t minted = minted_at(rule, now_ns), debt = bucket_debt(state, minted);
	uint64_t refilled = minted - minted_at(rule, charged_ns);
	uint64_t cost = bucket_cost(&rule->limit, units), left;

	left = cost > refilled ? cost - refilled : 0;
	return state - (left < debt ? left : debt);
}

/* The part of a token too: who asks on and on gets none. */
static uint64_t bucket_exhaust(const struct rule *rule, uint64_t state, uint64_t now_ns)
{
	(void)state;
	return bucket_empty(&rule->limit, minted_at(rule, now_ns));
}

static uint64_t bucket_wait_ns(const struct rule *rule, uint64_t state, uint64_t units,
			       uint64_t now_ns)
{
	return ticks_to_ns(limit_wait_ticks(state, &rule->limit, bucket_cost(&rule->limit, units),
					    bucket_ticks(now_ns)));
}

static uint64_t bucket_convert_state(const struct rule *from, const struct rule *to, uint64_t state,
				     uint64_t now_ns)
{
	state = bucket_settle(from, state, now_ns);
	return bucket_convert(state, &from->limit, &to->limit, bucket_ticks(now_ns));
}

const struct method method_bucket = {
	.build = bucket_build,
	.settle = bucket_settle,
	.left = bucket_left,
	.charge = bucket_charge,
	.refund = bucket_refund,
	.exhaust = bucket_exhaust,
	.wait_ns = bucket_wait_ns,
	.convert = bucket_convert_state,
};

uint64_t rule_hold_ns(const struct rule *rule, uint64_t state, uint64_t cost, uint64_t burst,
		      uint64_t now_ns)
{
	const struct weir_limit *limit = &rule->limit;
	uint64_t at_once, debt;

	if (algorithm_is_window(rule->algorithm) || burst >= rule->capacity ||
	    cost >= rule->capacity - burst)
		return 0;
	at_once = bucket_cost(limit, cost + burst);
	debt = bucket_debt(state, minted_at(rule, now_ns));
	if (debt <= at_once)
		return 0;
	return ticks_to_ns(limit_full_ticks(state - at_once, limit, bucket_ticks(now_ns)));
}
