/* SPDX-License-Identifier: MIT */
#include "cli/nginx_conf_use.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/nginx_conf_zone.h"
#include "http/reply.h"

#define HOLD           "; held back beyond the first"
#define HOLD_TEXT_SIZE (sizeof(HOLD) + QUANTITY_TEXT_SIZE)

static bool has_notice(const struct nginx_limits *limits, const char *notice)
{
	for (size_t i = 0; i < limits->notices_count; i++) {
		if (!strcmp(limits->notices[i], notice))
			return true;
	}
	return false;
}

/* Takes the notice. 0 or -ENOMEM. */
static int notice_keep(struct nginx_limits *limits, char *notice)
{
	size_t count = limits->notices_count;
	char **notices = reallocarray(limits->notices, count + 1, sizeof(*notices));

	if (!notices) {
		free(notice);
		return -ENOMEM;
	}
	notices[count] = notice;
	limits->notices = notices;
	limits->notices_count++;
	return 0;
}

void conf_notice_add(struct conf_listing *listing, const struct nginx_directive *directive,
		     const char *format, ...)
{
	char *notice = NULL, sentence[320];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(sentence, sizeof(sentence), format, arguments);
	va_end(arguments);
	if (asprintf(&notice, "%s:%u: %s", directive->file, directive->line, sentence) < 0)
		listing->err = -ENOMEM;
	else if (has_notice(listing->limits, notice))
		free(notice);
	else if (notice_keep(listing->limits, notice))
		listing->err = -ENOMEM;
}

char *conf_text_copied(struct conf_listing *listing, const char *text)
{
	char *copy = text ? strdup(text) : NULL;

	if (text && !copy)
		listing->err = -ENOMEM;
	return copy;
}

char *conf_text_owned(struct conf_listing *listing, char *text)
{
	if (!text)
		listing->err = -ENOMEM;
	return text;
}

/* The directive of the name for the zone, which is its first word. */
static const struct nginx_directive *zone_directive(const struct nginx_directive *directive,
						    const char *name, const char *zone)
{
	for (; (directive = nginx_directive_find(directive, name)); directive = directive->next) {
		if (nginx_directive_has(directive, 1, zone))
			return directive;
	}
	return NULL;
}

static char *policy_format(struct conf_listing *listing, const struct conf_zone *zone)
{
	const struct reply_policy policy = {.name = zone->name, .rule = &zone->rule};
	char text[REPLY_POLICY_SIZE + 1];

	if (reply_policy_field(text, sizeof(text), &policy, 1) >= sizeof(text))
		return NULL;
	return conf_text_copied(listing, text);
}

/* "; held back beyond the first 21", of what is not refused but let wait; else empty. */
static void hold_format(char buf[HOLD_TEXT_SIZE], struct conf_listing *listing,
			const struct conf_use *use, const struct conf_zone *zone)
{
	const char *delay = conf_parameter_find(use->directive, "delay");
	bool waits = delay || zone->algorithm == ALGORITHM_LEAKY_BUCKET;
	uint64_t burst = 0;

	buf[0] = '\0';
	if (!zone->has_rule || !waits || conf_has_flag(use->directive, "nodelay"))
		return;
	if (delay && strcmp(delay, "0") && !count_parse(delay, &burst))
		conf_notice_add(listing, use->directive, "'%s' is not a count", delay);
	else if (burst)
		snprintf(buf, HOLD_TEXT_SIZE, HOLD " %" PRIu64, burst + 1);
	else
		snprintf(buf, HOLD_TEXT_SIZE, HOLD);
}

static char *limit_format(struct conf_listing *listing, const struct conf_use *use,
			  const struct conf_zone *zone)
{
	char hold[HOLD_TEXT_SIZE];
	char *text = NULL;

	hold_format(hold, listing, use, zone);
	if (asprintf(&text, "%s%s", zone->limit, hold) < 0)
		text = NULL;
	return conf_text_owned(listing, text);
}

static char *cost_format(struct conf_listing *listing, const struct conf_use *use)
{
	const char *cost = conf_parameter_find(use->directive, "cost");
	const char *refund = conf_parameter_find(use->directive, "refund-on");
	char *text = NULL;
	uint64_t count;

	if (cost && strcmp(cost, "0") && !strchr(cost, '$') && !count_parse(cost, &count))
		conf_notice_add(listing, use->directive, "'%s' is not a cost", cost);
	if (asprintf(&text, "%s%s%s", cost ? cost : "1", refund ? ", given back on " : "",
		     refund ? refund : "") < 0)
		text = NULL;
	return conf_text_owned(listing, text);
}

static char *ban_format(struct conf_listing *listing, const char *zone)
{
	const struct nginx_directive *penalty = zone_directive(listing->http, "weir_penalty", zone);
	struct failure why;
	char *text = NULL;
	int err;

	if (!penalty)
		return NULL;
	err = conf_penalty_format(penalty, &text, &why);
	if (err == -ENOMEM)
		listing->err = err;
	else if (err)
		conf_notice_add(listing, penalty, "%s", why.reason);
	return text;
}

/* The place for another limit, or NULL. */
static struct nginx_limit *limit_new(struct conf_listing *listing)
{
	struct nginx_limits *limits = listing->limits;
	size_t count = limits->count;

	if (!(count & (count - 1))) { /* full: room doubles */
		size_t room = count ? 2 * count : 1;
		struct nginx_limit *grown = reallocarray(limits->limits, room, sizeof(*grown));

		if (!grown) {
			listing->err = -ENOMEM;
			return NULL;
		}
		limits->limits = grown;
	}
	limits->limits[count] = (struct nginx_limit){0};
	limits->count++;
	return &limits->limits[count];
}

/* What the zone says of the limit. */
static void zone_describe(struct conf_listing *listing, const struct conf_use *use,
			  struct nginx_limit *limit, const struct conf_zone *zone)
{
	limit->limit = limit_format(listing, use, zone);
	limit->per = conf_text_copied(listing, zone->per);
	limit->algorithm = algorithm_name(zone->algorithm);
	limit->is_observed = zone->is_observed;
	limit->is_address = zone->is_address;
	if (zone->is_observed)
		return;
	limit->ban = ban_format(listing, use->zone);
	limit->status = conf_text_copied(listing, use->level->status);
	limit->fields = conf_level_fields(use->level);
	if (zone->has_rule && conf_level_shows_policy(use->level))
		limit->policy = policy_format(listing, zone);
}

static void zone_look(struct conf_listing *listing, const struct conf_use *use,
		      struct nginx_limit *limit)
{
	const struct nginx_directive *defined =
		zone_directive(listing->http, "weir_zone", use->zone);
	struct conf_zone zone;
	struct failure why;
	int err;

	if (!defined) {
		conf_notice_add(listing, use->directive, "there is no zone '%s'", use->zone);
		return;
	}
	err = conf_zone_read(defined, listing->http, &zone, &why);
	if (err == -ENOMEM)
		listing->err = err;
	else if (err)
		conf_notice_add(listing, defined, "zone '%s': %s", use->zone, why.reason);
	if (err != -ENOMEM)
		zone_describe(listing, use, limit, &zone);
	conf_zone_free(&zone);
}

void conf_use_add(struct conf_listing *listing, const struct conf_use *use)
{
	struct nginx_limit *limit = limit_new(listing);

	if (!limit)
		return;
	limit->server = conf_text_copied(listing, use->level->server);
	limit->route = conf_text_copied(listing, use->route);
	limit->methods = conf_text_copied(listing, use->methods);
	limit->zone = conf_text_copied(listing, use->zone);
	limit->cost = cost_format(listing, use);
	limit->is_internal = use->level->is_internal;
	limit->is_named = use->level->is_named;
	limit->is_checked = use->level->is_checked;
	limit->is_hidden = use->level->hides;
	zone_look(listing, use, limit);
}
