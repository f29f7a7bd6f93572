/* SPDX-License-Identifier: MIT */
#include "cli/http_key.h"

#include <stdio.h>
#include <string.h>

#include "http/key.h"

enum { ZONE, KEY };
enum { DIRECTORY, INSTANCE };

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
	{.name = NULL},
};

static bool is_wanted(const struct http_zone *zone, const struct arguments *arguments)
{
	return http_zone_is(zone, &arguments->operands[ZONE], &arguments->options[INSTANCE]);
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
		       const char *verb, const struct http_zone **ret)
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
		http_zone_unknown(&why);
		return failed(&why, "%s zone '%s'", verb, name);
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
	least = parsed.family == WEIR_IPV6 ? identity->ipv6_prefix : address_bits(WEIR_IPV4);
	if (parsed.length < least)
		return false;
	address_normalise(parsed.family, parsed.address, identity->ipv6_prefix, ret);
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
	key->hash = key_hash_address(header->secret, &key->address);
	return true;
}

static int key_run(struct http_key *key, const struct arguments *arguments)
{
	struct zone_file *file = NULL;
	struct failure why;
	struct zone *zone;
	int status;

	if (key->verb->open(key->named->path, &file, &why))
		return http_key_failed(key, &why);
	zone = zone_file_zone(file);
	if (key_find(key, zone->header))
		status = key->verb->run(key, zone, arguments->format);
	else
		status = misuse(arguments->command,
				"cannot use '%s' for zone '%s': its keys are addresses, IPv6 "
				"by /%u",
				key->text, key->named->zone, zone->header->identity.ipv6_prefix);
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

void http_key_report(struct report *report, const struct http_key *key, const struct zone *zone)
{
	char text[PREFIX_TEXT_SIZE];

	if (zone->header->identity.is_address) {
		prefix_format(text, sizeof(text), &key->address);
		report_string(report, "address", text);
	} else {
		http_hash_format(text, sizeof(text), key->hash);
		report_string(report, "key_hash", text);
	}
	report_string(report, "zone", key->named->zone);
	report_string(report, "instance", key->named->instance);
}
