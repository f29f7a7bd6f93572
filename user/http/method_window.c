/* SPDX-License-Identifier: MIT */
/* Fixed and sliding windows, aligned to the clock's zero. A fixed window is a sliding one that
 * forgets the count before, so both share everything but the moment at which a window ends.
 *
 * What weighs on a sliding window at e nanoseconds into it is previous * (period - e) + current *
 * period, in units times nanoseconds, compared with limit * period: 2^63 * 2^55 at most. */
#include "http/method.h"

#include <errno.h>

#include "bucket.h"

#define STATE_BITS 64

typedef unsigned __int128 wide;

struct window {
	uint64_t number;
	uint64_t previous; /* always 0 in a fixed window */
	uint64_t current;
};

static unsigned int bits_of(uint64_t number)
{
	return number ? 64 - (unsigned int)__builtin_clzll(number) : 0;
}

static bool is_sliding(const struct rule *rule)
{
	return rule->algorithm == ALGORITHM_SLIDING_WINDOW;
}

static uint64_t smaller_of(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint64_t elapsed_at(const struct rule *rule, uint64_t now_ns)
{
	return now_ns % rule->rate.period_ns;
}

/* Bits for each of the state's counts, beside a number that never runs out. */
static unsigned int count_bits_max(const struct rule *rule)
{
	unsigned int bits = STATE_BITS - bits_of((BUCKET_NOW_MAX_NS - 1) / rule->rate.period_ns);

	return is_sliding(rule) ? bits / 2 : bits;
}

static int window_build(struct rule *rule, struct failure *why)
{
	unsigned int bits_max = count_bits_max(rule);

	rule->count_bits = (uint8_t)bits_of(rule->capacity);
	if (rule->count_bits > bits_max)
		return failure_set(why, ERANGE,
				   "a limit of %llu is more than can be counted in windows this "
				   "short; the largest is %llu",
				   (unsigned long long)rule->capacity, (1ULL << bits_max) - 1);
	return 0;
}

static struct window window_read(const struct rule *rule, uint64_t state)
{
	uint64_t mask = (1ULL << rule->count_bits) - 1;
	struct window window = {.current = smaller_of(state & mask, rule->capacity)};

	state >>= rule->count_bits;
	if (is_sliding(rule)) {
		window.previous = smaller_of(state & mask, rule->capacity);
		state >>= rule->count_bits;
	}
	window.number = state;
	return window;
}

static uint64_t window_write(const struct rule *rule, const struct window *window)
{
	uint64_t state = window->number;

	if (!window->previous && !window->current)
		return 0;
	if (is_sliding(rule))
		state = state << rule->count_bits | window->previous;
	return state << rule->count_bits | window->current;
}

/* What of a window's count still weighs in the one after it. */
static uint64_t carried(const struct rule *rule, uint64_t current)
{
	return is_sliding(rule) ? current : 0;
}

static void window_roll(const struct rule *rule, struct window *window, uint64_t number)
{
	if (window->number == number)
		return;
	window->previous = window->number + 1 == number ? carried(rule, window->current) : 0;
	window->current = 0;
	window->number = number;
}

/* As if the limit had been taken evenly over the last period: nothing is left now, and a sliding
 * window regains it at its rate. */
static struct window window_spent(const struct rule *rule, uint64_t now_ns)
{
	uint64_t limit = rule->capacity, period_ns = rule->rate.period_ns;
	struct window window = {.number = now_ns / period_ns, .current = limit};

	if (is_sliding(rule)) {
		window.previous = limit;
		window.current = (uint64_t)((wide)limit * elapsed_at(rule, now_ns) / period_ns);
	}
	return window;
}

static uint64_t window_settle(const struct rule *rule, uint64_t state, uint64_t now_ns)
{
	struct window window = window_read(rule, state);
	uint64_t number = now_ns / rule->rate.period_ns;

	if (window.number > number)
		window = window_spent(rule, now_ns);
	else
		window_roll(rule, &window, number);
	return window_write(rule, &window);
}

static uint64_t window_left(const struct rule *rule, uint64_t state, uint64_t now_ns)
{
	struct window window = window_read(rule, state);
	uint64_t period_ns = rule->rate.period_ns, free;
	wide weight;

	if (!window.previous)
		return rule->capacity - window.current;
	weight = (wide)window.previous * (period_ns - elapsed_at(rule, now_ns));
	free = (uint64_t)(((wide)rule->capacity * period_ns - weight) / period_ns);
	return free > window.current ? free - window.current : 0;
}

static uint64_t window_charge(const struct rule *rule, uint64_t state, uint64_t units,
			      uint64_t now_ns)
{
	struct window window = window_read(rule, state);

	window.number = now_ns / rule->rate.period_ns;
	window.current += units;
	return window_write(rule, &window);
}

/* From the count that has it, if that still weighs. */
static uint64_t window_refund(const struct rule *rule, uint64_t state, uint64_t units,
			      uint64_t charged_ns, uint64_t now_ns)
{
	struct window window = window_read(rule, state);
	uint64_t number = now_ns / rule->rate.period_ns;
	uint64_t charged = charged_ns / rule->rate.period_ns;

	if (charged == number)
		window.current -= smaller_of(units, window.current);
	else if (charged + 1 == number)
		window.previous -= smaller_of(units, window.previous);
	return window_write(rule, &window);
}

static uint64_t window_exhaust(const struct rule *rule, uint64_t state, uint64_t now_ns)
{
	return window_charge(rule, state, window_left(rule, state, now_ns), now_ns);
}

/* How far into a window previous has faded enough for units in it; the period where not before its
 * end. */
static uint64_t faded_at_ns(const struct rule *rule, uint64_t previous, uint64_t units)
{
	uint64_t period_ns = rule->rate.period_ns;
	wide room;

	if (units > rule->capacity)
		return period_ns;
	room = (wide)(rule->capacity - units) * period_ns;
	if ((wide)previous * period_ns <= room)
		return 0;
	return period_ns - (uint64_t)(room / previous);
}

static uint64_t window_wait_ns(const struct rule *rule, uint64_t state, uint64_t units,
			       uint64_t now_ns)
{
	struct window window = window_read(rule, state);
	uint64_t elapsed_ns = elapsed_at(rule, now_ns);
	uint64_t at_ns = faded_at_ns(rule, window.previous, window.current + units);

	if (at_ns <= elapsed_ns)
		return 0;
	if (at_ns < rule->rate.period_ns)
		return at_ns - elapsed_ns;
	return rule->rate.period_ns - elapsed_ns +
	       faded_at_ns(rule, carried(rule, window.current), units);
}

/* Within windows of one length the counts stay where they are. Where they do not fit, whatever
 * weighs now counts as taken in the present window. */
static uint64_t window_convert(const struct rule *from, const struct rule *to, uint64_t state,
			       uint64_t now_ns)
{
	uint64_t period_ns = to->rate.period_ns, owed;
	struct window window;

	state = window_settle(from, state, now_ns);
	window = window_read(from, state);
	owed = from->capacity - window_left(from, state, now_ns);
	if (owed >= to->capacity)
		window = window_spent(to, now_ns);
	else if (from->rate.period_ns != period_ns || window.previous > to->capacity)
		window = (struct window){.number = now_ns / period_ns, .current = owed};
	return window_write(to, &window);
}

const struct method method_window = {
	.build = window_build,
	.settle = window_settle,
	.left = window_left,
	.charge = window_charge,
	.refund = window_refund,
	.exhaust = window_exhaust,
	.wait_ns = window_wait_ns,
	.convert = window_convert,
};
