/* SPDX-License-Identifier: MIT */
/* What an attach is going to do, and why it may not. Changes nothing. */
#include <errno.h>
#include <string.h>

#include "control/attachment.h"
#include "control/config.h"
#include "control/entries.h"
#include "control/limit.h"
#include "control/records.h"

#define KEY4_DEFAULT 32
#define KEY6_DEFAULT 64

#define BUDGET_CAPACITY_NS 1000000000ULL

/* A rate makes a limit of its own, whatever is in force. */
static int check_limit(const struct control_limit *want, struct failure *why)
{
	struct weir_limit limit;

	return want->rate.count ? config_limit_build(want, &limit, why) : 0;
}

int attachment_check(const struct control_attach *want, struct failure *why)
{
	if (!want->interface || !want->interface[0] || strlen(want->interface) >= WEIR_NAME_SIZE)
		return failure_set(why, EINVAL, "a name of an interface has 1 to %d characters",
				   WEIR_NAME_SIZE - 1);
	if (want->key4 > 32 || want->key6 > 128)
		return failure_set(why, ERANGE, "keys have at most 32 (IPv4) and 128 (IPv6) bits");
	return check_limit(&want->limit, why);
}

static int check_sources(const struct attachment *attachment, struct failure *why)
{
	uint32_t room;
	int err;

	if (!attachment->shares || !attachment->want->sources)
		return 0;
	err = entries_room(&attachment->control, &room, why);
	if (err || room == attachment->want->sources)
		return err;
	err = failure_set(why, EBUSY,
			  "there is room for %u sources, which cannot change while "
			  "weir is attached",
			  room);
	failure_hint(why, "leave --sources out, or 'weir detach --all' first: buckets then start "
			  "full");
	return err;
}

static int check_mode(const struct attachment *attachment, struct failure *why)
{
	enum control_mode mode = attachment->want->mode;
	struct weir_interface record;
	int err;

	if (!attachment->occupied || mode == CONTROL_MODE_AUTO)
		return 0;
	err = records_read(&attachment->control, attachment->slot, &record, why);
	if (err || record.generic == (mode == CONTROL_MODE_GENERIC))
		return err;
	err = failure_set(why, EBUSY, "it is attached in %s mode, which cannot change while it is",
			  record.generic ? "generic" : "native");
	failure_hint(why, "'weir detach %s%s%s' first", attachment->want->interface,
		     record.netns[0] ? " --netns " : "", record.netns);
	return err;
}

static int plan_budget(struct attachment *attachment, struct failure *why)
{
	struct control_limit budget = {.rate = {CONTROL_EXEMPT_RATE, 1000000000}};
	int err;

	if (attachment->want->exempt_rate.count)
		budget.rate = attachment->want->exempt_rate;
	else if (attachment->occupied)
		return 0;
	budget.capacity = limit_tokens_in(&budget.rate, BUDGET_CAPACITY_NS);
	err = config_limit_build(&budget, &attachment->next.budgets[attachment->slot], why);
	return err && why ? failure_set(why, err, "exempt rate: %s", why->reason) : err;
}

/* What is not wanted otherwise stays, whatever it is by now: so only under the lock. */
static int plan_limit(struct attachment *attachment, struct failure *why)
{
	struct weir_limit *next = &attachment->next.limits[WEIR_LIMIT_DEFAULT];
	struct control_limit limit = attachment->want->limit;

	if (!limit.rate.count && !attachment->shares)
		return failure_set(why, ERANGE,
				   "the first attach needs --rate, such as --rate 20k/s");
	if (!limit.rate.count && !limit.capacity)
		return 0;
	if (!limit.rate.count)
		limit.rate = (struct rate){next->rate_count, next->rate_period_ns};
	return config_limit_build(&limit, next, why);
}

static void plan_keys(struct attachment *attachment)
{
	const struct control_attach *want = attachment->want;
	uint8_t key4 = attachment->shares ? attachment->next.key4 : KEY4_DEFAULT;
	uint8_t key6 = attachment->shares ? attachment->next.key6 : KEY6_DEFAULT;

	config_keys_set(&attachment->next, want->key4 ? want->key4 : key4,
			want->key6 ? want->key6 : key6);
}

int attachment_plan(struct attachment *attachment, struct failure *why)
{
	int err = check_sources(attachment, why);

	if (!err)
		err = check_mode(attachment, why);
	if (err)
		return err;
	if (attachment->shares)
		attachment->next = *config_policy(&attachment->control);
	err = plan_limit(attachment, why);
	if (!err)
		err = plan_budget(attachment, why);
	plan_keys(attachment);
	return err;
}
