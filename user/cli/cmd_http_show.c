/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/every.h"
#include "cli/http_zones.h"
#include "http/key.h"
#include "http/zone_file.h"
#include "http/zone_rules.h"
#include "weir.h"

enum { ZONE, KEY };
enum { DIRECTORY, INSTANCE };

static const struct argument_spec operands[] = {
	[ZONE] = {.name = "ZONE",
		  .summary = "the zone's name, or that of shared=",
		  .kind = VALUE_TEXT,
		  .required = true},
	[KEY] = {.name = "KEY",
		 .summary = "an address, where the zone's key is one; otherwise the key's\n"
			    "text as nginx's expression gives it",
		 .kind = VALUE_TEXT,
		 .required = true},
	{.name = NULL},
};

static const struct argument_spec options[] = {
	[DIRECTORY] = ZONES_DIRECTORY_OPTION,
	[INSTANCE] = {.name = "instance",
		      .value = "NAME",
		      .summary = "the nginx it belongs to, as 'weir http zones' names it",
		      .kind = VALUE_TEXT},
	{.name = NULL},
};

/* What is asked for and what was found of it. */
struct shown {
	uint64_t hash;
	struct prefix address;        /* of address zones */
	const struct zone_slot *slot; /* NULL: not known */
	struct rule rule;
	struct answer answer;
};

static bool is_wanted(const struct http_zone *zone, const struct arguments *arguments)
{
	const struct argument *instance = &arguments->options[INSTANCE];

	return !strcmp(zone->zone, arguments->operands[ZONE].text) &&
	       (!instance->given || !strcmp(zone->instance, instance->text));
}

/* The names of the instances that have the zone, for a sentence. */
static void instances_format(char *buf, size_t size, const struct http_zones *zones,
			     const struct arguments *arguments)
{
	size_t length = 0;

	buf[0] = '\0';
	for (size_t i = 0; i < zones->count && length < size; i++) {
		if (is_wanted(&zones->zones[i], arguments))
			length += (size_t)snprintf(buf + length, size - length, "%s%s",
						   length ? ", " : "", zones->zones[i].instance);
	}
}

/* Finds the one zone that was named. An exit status. */
static int zone_choose(const struct http_zones *zones, const struct arguments *arguments,
		       const struct http_zone **ret)
{
	const char *name = arguments->operands[ZONE].text;
	size_t found = 0;
	char instances[256];
	struct failure why;

	for (size_t i = 0; i < zones->count; i++) {
		if (!is_wanted(&zones->zones[i], arguments))
			continue;
		*ret = &zones->zones[i];
		found++;
	}
	if (found == 1)
		return EXIT_DONE;
	if (!found) {
		failure_set(&why, ENOENT, "there is no such zone");
		failure_hint(&why, "'weir http zones' lists them");
		return failed(&why, "show zone '%s'", name);
	}
	instances_format(instances, sizeof(instances), zones, arguments);
	return misuse(arguments->command,
		      "cannot choose a zone '%s': several have one, name it by --instance: %s",
		      name, instances);
}

/* An address of full length, or the prefix that a source counts as. */
static bool address_of(const char *text, const struct zone_identity *identity, struct prefix *ret)
{
	struct prefix parsed;
	unsigned int least;

	if (!prefix_parse(text, &parsed))
		return false;
	least = parsed.family == WEIR_IPV4 ? 32 : identity->ipv6_prefix;
	if (parsed.length < least)
		return false;
	address_normalise(parsed.family, parsed.address, identity->ipv6_prefix, ret);
	return true;
}

static bool key_of(const char *text, const struct zone *zone, struct shown *shown)
{
	const struct zone_header *header = zone->header;

	if (!header->identity.is_address) {
		shown->hash = key_hash_text(header->secret, text, strlen(text));
		return true;
	}
	if (!address_of(text, &header->identity, &shown->address))
		return false;
	shown->hash = key_hash_address(header->secret, &shown->address);
	return true;
}

static void zone_look(struct zone *zone, struct shown *shown)
{
	struct slot_pair pair;

	shown->slot = zone_find(zone, shown->hash, &pair);
	shown->rule = zone->main;
	if (!shown->slot) {
		shown->answer = (struct answer){.limit = zone->main.capacity,
						.remaining = zone->main.capacity};
		return;
	}
	shown->rule = *zone_rule_at(zone, pair.tag & SLOT_RULE_MASK);
	zone_slot_answer(zone, shown->slot, pair, 1, monotonic_ns(), &shown->answer);
}

static void report_who(struct report *report, const struct zone *zone, const struct shown *shown)
{
	char text[PREFIX_TEXT_SIZE];

	if (zone->header->identity.is_address) {
		prefix_format(text, sizeof(text), &shown->address);
		report_string(report, "address", text);
		return;
	}
	snprintf(text, sizeof(text), "%016" PRIx64, shown->hash);
	report_string(report, "key_hash", text);
}

static void report_answer(struct report *report, const struct answer *answer)
{
	report_count(report, "remaining", answer->remaining);
	report_duration(report, "retry_after", answer->retry_after_ns);
	report_duration(report, "next_after", answer->next_after_ns);
	report_duration(report, "reset_after", answer->reset_after_ns);
}

/* Counters are the slot's: they start anew where a key lost its place and came back. */
static void report_slot(struct report *report, const struct zone_slot *slot)
{
	uint64_t now_ns = monotonic_ns();

	report_count(report, "passed", slot ? slot->passed : 0);
	report_count(report, "refused", slot ? slot->refused : 0);
	if (!slot)
		return;
	report_duration(report, "last_seen_ago",
			now_ns > slot->last_seen_ns ? now_ns - slot->last_seen_ns : 0);
	if (slot->label.kind == LABEL_ADDRESS)
		report_flag(report, "is_peer", slot->label.is_peer != 0);
}

static int report_shown(const struct http_zone *named, const struct zone *zone,
			const struct shown *shown, enum report_format format)
{
	struct report *report = report_new(format);

	report_who(report, zone, shown);
	report_string(report, "zone", named->zone);
	report_string(report, "instance", named->instance);
	report_flag(report, "known", shown->slot != NULL);
	report_string(report, "algorithm", algorithm_name(shown->rule.algorithm));
	report_object(report, "limit");
	http_rule_report(report, &shown->rule);
	report_end(report);
	report_answer(report, &shown->answer);
	report_slot(report, shown->slot);
	return report_finish(report);
}

static int zone_show(const struct http_zone *named, const struct arguments *arguments)
{
	const char *key = arguments->operands[KEY].text;
	struct zone_file *file = NULL;
	struct shown shown = {0};
	struct failure why;
	struct zone *zone;
	int status;

	if (zone_file_open_readonly(named->path, &file, &why))
		return failed(&why, "show '%s' in zone '%s'", key, named->zone);
	zone = zone_file_zone(file);
	if (key_of(key, zone, &shown)) {
		zone_look(zone, &shown);
		status = report_shown(named, zone, &shown, arguments->format);
	} else {
		status = misuse(arguments->command,
				"cannot use '%s' for zone '%s': its keys are addresses, IPv6 "
				"by /%u",
				key, named->zone, zone->header->identity.ipv6_prefix);
	}
	zone_file_close(file);
	return status;
}

static int run(const struct arguments *arguments)
{
	const struct http_zone *named = NULL;
	struct http_zones zones = {0};
	struct failure why;
	int status;

	if (http_zones_list(&arguments->options[DIRECTORY], &zones, &why))
		return failed(&why, "list the zones");
	status = zone_choose(&zones, arguments, &named);
	if (!status)
		status = zone_show(named, arguments);
	http_zones_free(&zones);
	return status;
}

const struct command command_http_show = {
	.name = "http show",
	.summary = "show one key of a zone: what it has left, its counters",
	.description =
		"Shows what a key has left in a zone, how long until a request of cost 1\n"
		"passes (retry after), until one more can be made (next after) and until all\n"
		"can (reset after). A key that is not known has everything left.",
	.examples = "weir http show login 203.0.113.9\n"
		    "weir http show account alice --json | jq .remaining\n",
	.operands = operands,
	.options = options,
	.run = run,
};
