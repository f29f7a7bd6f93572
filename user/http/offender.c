/* SPDX-License-Identifier: MIT */
#include "http/offender.h"

#include <errno.h>

#define NS_PER_MS  1000000ULL
#define NS_PER_SEC 1000000000ULL
#define NS_PER_DAY (86400 * NS_PER_SEC)

/* From the top: level, whether it is banned, a moment, refusals before, refusals now. */
#define COUNT_BITS  10
#define COUNT_MAX   ((1U << COUNT_BITS) - 1)
#define MOMENT_BITS 38
#define MOMENT_MAX  ((1ULL << MOMENT_BITS) - 1)
#define LEVEL_MAX   31U

#define BEFORE_SHIFT COUNT_BITS
#define MOMENT_SHIFT (2 * COUNT_BITS)
#define BANNED_SHIFT (MOMENT_SHIFT + MOMENT_BITS)
#define LEVEL_SHIFT  (BANNED_SHIFT + 1)
_Static_assert(PENALTY_REFUSALS_MAX <= COUNT_MAX, "a count holds what makes a ban");

/* A state, taken apart. */
struct offender {
	unsigned int level;
	bool is_banned;
	uint64_t moment_ms;  /* until when it is banned, else when the window of now began */
	unsigned int before; /* refusals in the window before */
	unsigned int now;    /* and in this one */
};

static struct offender state_open(uint64_t state)
{
	return (struct offender){
		.level = (unsigned int)(state >> LEVEL_SHIFT),
		.is_banned = state >> BANNED_SHIFT & 1,
		.moment_ms = state >> MOMENT_SHIFT & MOMENT_MAX,
		.before = state >> BEFORE_SHIFT & COUNT_MAX,
		.now = state & COUNT_MAX,
	};
}

static uint64_t moment_kept(uint64_t ms)
{
	return ms < MOMENT_MAX ? ms : MOMENT_MAX;
}

static uint64_t state_close(const struct offender *offender)
{
	return (uint64_t)offender->level << LEVEL_SHIFT |
	       (uint64_t)offender->is_banned << BANNED_SHIFT |
	       moment_kept(offender->moment_ms) << MOMENT_SHIFT |
	       (uint64_t)offender->before << BEFORE_SHIFT | offender->now;
}

int penalty_check(const struct penalty *penalty, struct failure *why)
{
	if (!penalty->refusals || penalty->refusals > PENALTY_REFUSALS_MAX)
		return failure_set(why, ERANGE, "refusals must be 1 to %d", PENALTY_REFUSALS_MAX);
	if (penalty->within_ns < NS_PER_SEC || penalty->within_ns > NS_PER_DAY)
		return failure_set(why, ERANGE, "within must be 1s to 24h");
	if (penalty->ban_ns < NS_PER_SEC)
		return failure_set(why, ERANGE, "ban must be 1s at least");
	if (penalty->max_ns < penalty->ban_ns || penalty->max_ns > 366 * NS_PER_DAY)
		return failure_set(why, ERANGE, "max must lie between ban and 366 days");
	return 0;
}

static uint64_t ban_of_level(const struct penalty *penalty, unsigned int level)
{
	uint64_t ban_ns = penalty->ban_ns;

	while (level-- && ban_ns < penalty->max_ns)
		ban_ns *= 2;
	return ban_ns < penalty->max_ns ? ban_ns : penalty->max_ns;
}

static void levels_forget(const struct penalty *penalty, struct offender *offender,
			  uint64_t quiet_ms)
{
	uint64_t quiet_ns = quiet_ms * NS_PER_MS;

	while (offender->level) {
		uint64_t needed_ns = ban_of_level(penalty, offender->level);

		if (quiet_ns < needed_ns)
			return;
		quiet_ns -= needed_ns;
		offender->level--;
	}
}

static void windows_move(const struct penalty *penalty, struct offender *offender, uint64_t now_ms)
{
	uint64_t window_ms = penalty->within_ns / 2 / NS_PER_MS;
	uint64_t elapsed_ms = now_ms > offender->moment_ms ? now_ms - offender->moment_ms : 0;

	if (elapsed_ms < window_ms)
		return;
	levels_forget(penalty, offender, elapsed_ms - window_ms);
	offender->before = elapsed_ms < 2 * window_ms ? offender->now : 0;
	offender->now = 0;
	offender->moment_ms = offender->before ? offender->moment_ms + window_ms : now_ms;
}

/* What a state has become by now without another refusal. */
static struct offender offender_at(const struct penalty *penalty, uint64_t state, uint64_t now_ns)
{
	struct offender offender = state_open(state);
	uint64_t now_ms = now_ns / NS_PER_MS;

	if (!offender.is_banned) {
		windows_move(penalty, &offender, now_ms);
	} else if (now_ms >= offender.moment_ms) {
		levels_forget(penalty, &offender, now_ms - offender.moment_ms);
		offender = (struct offender){.level = offender.level, .moment_ms = now_ms};
	}
	return offender;
}

static struct offence offender_ban(const struct penalty *penalty, struct offender *offender,
				   uint64_t now_ns)
{
	uint64_t ban_ns = ban_of_level(penalty, offender->level), now_ms = now_ns / NS_PER_MS;
	uint64_t until_ms = now_ms + (now_ns % NS_PER_MS + ban_ns + NS_PER_MS - 1) / NS_PER_MS;

	until_ms = moment_kept(until_ms);
	if (until_ms <= now_ms)
		return (struct offence){.state = state_close(offender)};
	/* Beyond the longest ban a level doubles nothing, and would only take longer to forget. */
	if (ban_ns < penalty->max_ns && offender->level < LEVEL_MAX)
		offender->level++;
	*offender = (struct offender){
		.level = offender->level,
		.is_banned = true,
		.moment_ms = until_ms,
	};
	return (struct offence){state_close(offender), true, ban_ns};
}

struct offence offender_refused(const struct penalty *penalty, uint64_t state, uint64_t now_ns)
{
	struct offender offender = offender_at(penalty, state, now_ns);

	/* Decided before the ban was made. */
	if (offender.is_banned)
		return (struct offence){.state = state};
	offender.now += offender.now < COUNT_MAX;
	if (offender.before + offender.now >= penalty->refusals)
		return offender_ban(penalty, &offender, now_ns);
	return (struct offence){.state = state_close(&offender)};
}

uint64_t offender_ban_left_ns(uint64_t state, uint64_t now_ns)
{
	struct offender offender = state_open(state);
	uint64_t until_ns = offender.moment_ms * NS_PER_MS;

	return offender.is_banned && now_ns < until_ns ? until_ns - now_ns : 0;
}

uint64_t offender_weight(const struct penalty *penalty, uint64_t state, uint64_t now_ns)
{
	struct offender offender = offender_at(penalty, state, now_ns);
	uint64_t refusals = offender.before + offender.now;

	if (offender.is_banned || offender.level)
		return OFFENDER_KEPT;
	return refusals ? refusals << MOMENT_BITS | moment_kept(offender.moment_ms) : 0;
}

bool offender_is_free(const struct penalty *penalty, uint64_t state, uint64_t now_ns)
{
	return !offender_weight(penalty, state, now_ns);
}

unsigned int offender_level(uint64_t state)
{
	return state_open(state).level;
}

unsigned int offender_refusals(uint64_t state)
{
	struct offender offender = state_open(state);

	return offender.before + offender.now;
}
