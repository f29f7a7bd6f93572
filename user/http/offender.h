/* SPDX-License-Identifier: MIT */
/* A key that is refused again and again: when it is banned, for how long, and when that is
 * forgotten. Pure; a state is 64 bits, and zero is a key that nothing is known of.
 *
 * Refusals are counted in windows of half of "within": the one of now and the one before together
 * never reach back as far as "within", so a ban is never early. It is late by no more than this:
 * it comes with the refusal that makes N of them within half of the time, and with the one that
 * makes N within the whole time, but a millisecond, counted from the first after a silence as long.
 *
 * A ban of level L lasts ban * 2^L, max at most, and the level rises by one with each. A level is
 * forgotten when as long as its ban would last has passed without a refusal since the end of the
 * last ban. (Of the last refusal only its window is known: then the time runs from that's end.) */
#ifndef WEIR_HTTP_OFFENDER_H
#define WEIR_HTTP_OFFENDER_H

#include <stdbool.h>
#include <stdint.h>

#include "text/failure.h"

#define PENALTY_REFUSALS_MAX 1000

/* N refusals within a time make a ban. Another penalty may go on with the states of one before:
 * bans last as they were made. */
struct penalty {
	uint32_t refusals;
	uint64_t within_ns;
	uint64_t ban_ns;
	uint64_t max_ns;
};

/* -ERANGE unless refusals is 1 to PENALTY_REFUSALS_MAX, within 1 s to a day, ban 1 s at least and
 * max between ban and 366 days. All below asks for a penalty that passed. */
int penalty_check(const struct penalty *penalty, struct failure *why);

/* What a refusal makes of a state. is_ban: this one made a ban, of ban_ns. */
struct offence {
	uint64_t state;
	bool is_ban;
	uint64_t ban_ns;
};

/* now_ns: of a clock that starts with the system, as all moments here. They are kept in
 * milliseconds up to 8.7 years: bans end then, and no more are made. A clock that is behind the
 * state's counts into the state's window. */
struct offence offender_refused(const struct penalty *penalty, uint64_t state, uint64_t now_ns);

/* What is left of the ban, a millisecond more than asked for at most; 0: not banned. */
uint64_t offender_ban_left_ns(uint64_t state, uint64_t now_ns);

/* What would be lost with a state: 0 nothing, OFFENDER_KEPT a ban or a level that may not be lost,
 * else the less the fewer refusals it counts, and of equally many the longer ago they were. */
#define OFFENDER_KEPT UINT64_MAX
uint64_t offender_weight(const struct penalty *penalty, uint64_t state, uint64_t now_ns);

/* Whether nothing would be lost with it. */
bool offender_is_free(const struct penalty *penalty, uint64_t state, uint64_t now_ns);

/* As they were at the last refusal, for whoever does not know the penalty. */
unsigned int offender_level(uint64_t state);
unsigned int offender_refusals(uint64_t state);

#endif
