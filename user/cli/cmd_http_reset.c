/* SPDX-License-Identifier: MIT */
#include <errno.h>

#include "cli/every.h"
#include "cli/http_key.h"
#include "http/key.h"
#include "http/zone_forget.h"
#include "http/zone_offenders.h"

/* What a prefix has of the zone is known of keys named by their address only. */
static bool is_overflowed(struct zone *zone, const struct http_key *key)
{
	const struct zone_header *header = zone->header;
	struct zone_key asked = {.hash = key->hash};

	if (key->has_address)
		asked.origin = key_hash_origin(header->secret, &key->address);
	return zone_is_overflowed(zone, &asked, monotonic_ns);
}

/* The debt first: refused for it, the key might be banned anew after its ban was lifted. */
static int key_forget(const struct http_key *key, struct zone *zone,
		      struct zone_forgotten *ret_forgotten, struct zone_offender *ret_offender)
{
	struct failure why;

	if (zone_forget(zone, key->hash, monotonic_ns, ret_forgotten)) {
		failure_set(&why, EAGAIN, "it was charged between each look and the change");
		failure_hint(&why, "try again");
		return http_key_failed(key, &why);
	}
	zone_offender_find(zone, key->hash, monotonic_ns(), ret_offender);
	zone_ban_lift(zone, key->hash);
	return EXIT_DONE;
}

static int key_reset(const struct http_key *key, struct zone *zone, enum report_format format)
{
	struct zone_offender offender = {0};
	struct zone_forgotten forgotten;
	struct report *report;
	int status = key_forget(key, zone, &forgotten, &offender);

	if (status)
		return status;
	if (!forgotten.owed && is_overflowed(zone, key))
		notice("'%s' has no place of its own in zone '%s' now: it shares one with others, "
		       "which is left as it is",
		       key->text, key->named->zone);
	report = report_new(format);
	http_key_report(report, key);
	report_flag(report, "known", forgotten.is_known);
	report_count(report, "limit", forgotten.limit);
	report_count(report, "owed", forgotten.owed);
	http_ban_report(report, offender.ban_left_ns);
	report_count(report, "bans", offender.bans);
	return report_finish(report);
}

static const struct http_key_verb reset = {
	.name = "reset",
	.open = zone_file_open_writable,
	.run = key_reset,
};

static int run(const struct arguments *arguments)
{
	return http_key_run(arguments, &reset);
}

const struct command command_http_reset = {
	.name = "http reset",
	.summary = "let one key of a zone start anew: it owes nothing, no ban",
	.description =
		"Forgets what a key owes in a zone, its ban and how often it was banned, while\n"
		"nginx runs, and shows what that was. Counters stay, but for what its bans\n"
		"refused, which goes with them. A key that is not known owes nothing.",
	.examples = "weir http reset login 203.0.113.9\n"
		    "weir http reset account alice --json | jq .owed\n"
		    "weir http reset account 7f1c0e6a52d94b38 --hash\n",
	.operands = http_key_operands,
	.options = http_key_options,
	.run = run,
};
