/* SPDX-License-Identifier: MIT */
#include "cli/http_key.h"

#include <stdlib.h>
#include <string.h>

#include "cli/every.h"
#include "http/key.h"
#include "http/zone_offenders.h"

enum { ZONE, KEY };
enum { DIRECTORY, INSTANCE, HASH };

#define HASH_DIGITS 16

const struct argument_spec http_key_operands[] = {
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

const struct argument_spec http_key_options[] = {
	[DIRECTORY] = ZONES_DIRECTORY_OPTION,
	[INSTANCE] = ZONES_INSTANCE_OPTION,
	[HASH] = {.name = "hash",
		  .summary = "KEY is the 16 hex digits that 'weir http top', logs and\n"
			     "$weir_key_hash show",
		  .kind = VALUE_FLAG},
	{.name = NULL},
};

/* Finds the one zone that was named. An exit status. */
static int zone_choose(const struct http_zones *zones, const struct arguments *arguments,
		       const char *verb, const struct http_zone **ret)
{
	const struct http_wanted wanted = {&arguments->options[DIRECTORY],
					   &arguments->operands[ZONE],
					   &arguments->options[INSTANCE]};
	char instances[HTTP_INSTANCES_SIZE];
	size_t found = 0;
	struct failure why;

	for (size_t i = 0; i < zones->count; i++) {
		if (!http_zone_is(&zones->zones[i], &wanted))
			continue;
		*ret = &zones->zones[i];
		found++;
	}
	if (found == 1)
		return EXIT_DONE;
	if (!found) {
		http_zone_unknown(zones, &wanted, &why);
		return failed(&why, "%s zone '%s'", verb, wanted.zone->text);
	}
	http_instances_format(instances, zones, wanted.zone);
	return misuse(arguments->command,
		      "cannot choose a zone '%s': several have one, name it by --instance: %s",
		      wanted.zone->text, instances);
}

/* An address of full length, or the prefix that a source counts as. */
static bool address_of(const char *text, const struct zone_identity *identity, struct prefix *ret)
{
	struct prefix parsed;
	unsigned int least;

	if (!prefix_parse(text, &parsed))
		return false;
	least = parsed.family == WEIR_IPV6 ? identity->ipv6_prefix : address_bits(WEIR_IPV4);
	if (parsed.length < least)
		return false;
	address_normalise(parsed.family, parsed.address, identity->ipv6_prefix, ret);
	return true;
}

/* Whether text is a hash as http_hash_format writes it. */
static bool hash_parse(const char *text, uint64_t *ret)
{
	if (strlen(text) != HASH_DIGITS || text[strspn(text, "0123456789abcdefABCDEF")])
		return false;
	*ret = strtoull(text, NULL, 16);
	return true;
}

/* Reads key's text as a key of the zone. */
static bool key_find(struct http_key *key, const struct zone_header *header)
{
	if (!header->identity.is_address) {
		key->hash = key_hash_text(header->secret, key->text, strlen(key->text));
		return true;
	}
	if (!address_of(key->text, &header->identity, &key->address))
		return false;
	key->has_address = true;
	key->hash = key_hash_address(header->secret, &key->address);
	return true;
}

static bool is_known(const struct http_key *key, const struct zone *zone)
{
	struct zone_offender offender;
	struct slot_pair pair;

	return zone_find(zone, key->hash, &pair) ||
	       zone_offender_find(zone, key->hash, monotonic_ns(), &offender);
}

/* A text that nobody sent, but looks like what the other commands show. */
static void hash_suspect(const struct http_key *key, const struct zone *zone)
{
	uint64_t hash;

	if (!key->has_address && hash_parse(key->text, &hash) && !is_known(key, zone))
		notice("no key with the text '%s' is known: if it is a key's hash, add --hash",
		       key->text);
}

/* Why the text is no key of the zone. EXIT_MISUSE. */
static int key_misused(const struct http_key *key, const struct arguments *arguments,
		       const struct zone_header *header)
{
	if (arguments->options[HASH].given)
		return misuse(arguments->command,
			      "cannot use '%s' for --hash: it is not %d hex digits", key->text,
			      HASH_DIGITS);
	return misuse(arguments->command,
		      "cannot use '%s' for zone '%s': its keys are addresses, IPv6 by /%u, or "
		      "hashes with --hash",
		      key->text, key->named->zone, header->identity.ipv6_prefix);
}

static int zone_run(struct http_key *key, const struct arguments *arguments, struct zone *zone)
{
	bool is_hash = arguments->options[HASH].given;

	if (!(is_hash ? hash_parse(key->text, &key->hash) : key_find(key, zone->header)))
		return key_misused(key, arguments, zone->header);
	if (!is_hash)
		hash_suspect(key, zone);
	return key->verb->run(key, zone, arguments->format);
}

static int key_run(struct http_key *key, const struct arguments *arguments)
{
	struct zone_file *file = NULL;
	struct failure why;
	int status;

	if (key->verb->open(key->named->path, &file, &why))
		return http_key_failed(key, &why);
	status = zone_run(key, arguments, zone_file_zone(file));
	zone_file_close(file);
	return status;
}

int http_key_run(const struct arguments *arguments, const struct http_key_verb *verb)
{
	struct http_key key = {.verb = verb, .text = arguments->operands[KEY].text};
	struct http_zones zones = {0};
	struct failure why;
	int status;

	if (http_zones_list(&arguments->options[DIRECTORY], &zones, &why))
		return failed(&why, "list the zones");
	status = zone_choose(&zones, arguments, verb->name, &key.named);
	if (!status)
		status = key_run(&key, arguments);
	http_zones_free(&zones);
	return status;
}

int http_key_failed(const struct http_key *key, const struct failure *why)
{
	return failed(why, "%s '%s' in zone '%s'", key->verb->name, key->text, key->named->zone);
}

void http_key_report(struct report *report, const struct http_key *key)
{
	char text[PREFIX_TEXT_SIZE];

	if (key->has_address) {
		prefix_format(text, sizeof(text), &key->address);
		report_string(report, "address", text);
	} else {
		http_hash_format(text, sizeof(text), key->hash);
		report_string(report, "key_hash", text);
	}
	report_string(report, "zone", key->named->zone);
	report_string(report, "instance", key->named->instance);
}
