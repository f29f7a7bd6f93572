/* SPDX-License-Identifier: MIT */
#include "http/algorithm.h"

#include <errno.h>
#include <string.h>

#include "http/log.h"
#include "http/method.h"

#define WINDOW_MIN_NS (NS_PER_SECOND / 1000)
#define WINDOW_MAX_NS NS_PER_YEAR

typedef unsigned __int128 wide;

static int log_build(struct rule *rule, struct failure *why)
{
	if (rule->capacity > LOG_COST_MAX)
		return failure_set(why, ERANGE,
				   "a limit of %llu is more than a log counts; the largest is %u",
				   (unsigned long long)rule->capacity, LOG_COST_MAX);
	return 0;
}

/* The rest of it is log.h's. */
static const struct method method_log = {.build = log_build};

static const struct algorithm_kind {
	const char *name;
	const struct method *method;
	bool is_window;
} kinds[ALGORITHM_MAX] = {
	[ALGORITHM_TOKEN_BUCKET] = {"token-bucket", &method_bucket, false},
	[ALGORITHM_LEAKY_BUCKET] = {"leaky-bucket", &method_bucket, false},
	[ALGORITHM_FIXED_WINDOW] = {"fixed-window", &method_window, true},
	[ALGORITHM_SLIDING_WINDOW] = {"sliding-window", &method_window, true},
	[ALGORITHM_SLIDING_LOG] = {"sliding-log", &method_log, true},
};

static const struct method *method_of(const struct rule *rule)
{
	return kinds[rule->algorithm].method;
}

const char *algorithm_name(enum algorithm algorithm)
{
	return algorithm < ALGORITHM_MAX ? kinds[algorithm].name : NULL;
}

bool algorithm_parse(const char *text, enum algorithm *ret)
{
	for (unsigned int i = 0; i < ALGORITHM_MAX; i++) {
		if (!strcmp(kinds[i].name, text)) {
			*ret = (enum algorithm)i;
			return true;
		}
	}
	return false;
}

bool algorithm_is_window(enum algorithm algorithm)
{
	return algorithm < ALGORITHM_MAX && kinds[algorithm].is_window;
}

static bool rate_in_range(const struct rate *rate)
{
	return rate->count && (wide)rate->count * RULE_UNIT_MIN_NS <= rate->period_ns &&
	       (wide)rate->count * RULE_UNIT_MAX_NS >= rate->period_ns;
}

static int window_check(const struct rule *rule, struct failure *why)
{
	if (rule->rate.period_ns < WINDOW_MIN_NS || rule->rate.period_ns > WINDOW_MAX_NS)
		return failure_set(why, ERANGE, "the window must lie between 1ms and 1 year");
	if (rule->rate.count != rule->capacity)
		return failure_set(why, ERANGE, "a window's capacity must be its limit");
	return 0;
}

int rule_build(enum algorithm algorithm, uint64_t capacity, const struct rate *rate,
	       struct rule *ret, struct failure *why)
{
	struct rule rule = {.algorithm = algorithm, .capacity = capacity, .rate = *rate};
	int err = 0;

	if (!algorithm_name(algorithm))
		return failure_set(why, ERANGE, "there is no such algorithm");
	if (!capacity)
		return failure_set(why, ERANGE, "the %s must be at least 1",
				   algorithm_is_window(algorithm) ? "limit" : "capacity");
	if (algorithm_is_window(algorithm))
		err = window_check(&rule, why);
	if (!err && !rate_in_range(rate))
		err = failure_set(why, ERANGE, "the rate must lie between 1/year and 1M/s");
	if (!err)
		err = method_of(&rule)->build(&rule, why);
	if (!err)
		*ret = rule;
	return err;
}

/* A window's length matters, not only its rate. */
static bool rates_admit_the_same(const struct rule *a, const struct rule *b)
{
	if (algorithm_is_window(a->algorithm))
		return a->rate.period_ns == b->rate.period_ns;
	return (wide)a->rate.count * b->rate.period_ns == (wide)b->rate.count * a->rate.period_ns;
}

bool rule_equals(const struct rule *a, const struct rule *b)
{
	return a->algorithm == b->algorithm && a->capacity == b->capacity &&
	       rates_admit_the_same(a, b);
}

struct taken rule_take(const struct rule *rule, uint64_t state, uint64_t cost, uint64_t now_ns,
		       enum take_mode mode)
{
	const struct method *method = method_of(rule);
	struct taken taken = {.state = method->settle(rule, state, now_ns)};

	taken.admitted = cost_wanted(cost) <= method->left(rule, taken.state, now_ns);
	if (taken.admitted && cost)
		taken.state = method->charge(rule, taken.state, cost, now_ns);
	else if (!taken.admitted && cost && mode == TAKE_CHARGE_REFUSED)
		taken.state = method->exhaust(rule, taken.state, now_ns);
	return taken;
}

/* A charge from the future: the clock went back, and what has become of it is unknown. */
uint64_t rule_refund(const struct rule *rule, uint64_t state, uint64_t cost, uint64_t charged_ns,
		     uint64_t now_ns)
{
	const struct method *method = method_of(rule);

	if (charged_ns > now_ns)
		return state;
	return method->refund(rule, method->settle(rule, state, now_ns), cost, charged_ns, now_ns);
}

void rule_answer(const struct rule *rule, uint64_t state, uint64_t cost, uint64_t now_ns,
		 struct answer *ret)
{
	const struct method *method = method_of(rule);
	uint64_t limit = rule->capacity, left;

	state = method->settle(rule, state, now_ns);
	left = method->left(rule, state, now_ns);
	*ret = (struct answer){
		.limit = limit,
		.remaining = left,
		.retry_after_ns = RULE_NEVER_NS,
		.reset_after_ns = method->wait_ns(rule, state, limit, now_ns),
	};
	if (cost_wanted(cost) <= limit)
		ret->retry_after_ns = method->wait_ns(rule, state, cost_wanted(cost), now_ns);
	if (left < limit)
		ret->next_after_ns = method->wait_ns(rule, state, left + 1, now_ns);
}

uint64_t rule_convert(const struct rule *from, const struct rule *to, uint64_t state,
		      uint64_t now_ns)
{
	return state ? method_of(from)->convert(from, to, state, now_ns) : 0;
}

bool rule_is_full(const struct rule *rule, uint64_t state, uint64_t now_ns)
{
	const struct method *method = method_of(rule);

	state = method->settle(rule, state, now_ns);
	return method->left(rule, state, now_ns) == rule->capacity;
}

/* From clock zero nothing is rounded in a key's favour, and every window is still whole. */
uint64_t rule_full_after_ns(const struct rule *rule)
{
	const struct method *method = method_of(rule);

	if (rule->algorithm == ALGORITHM_SLIDING_LOG)
		return rule->rate.period_ns + LOG_TICK_NS - 1;
	return method->wait_ns(rule, method->exhaust(rule, 0, 0), rule->capacity, 0);
}
