/* SPDX-License-Identifier: MIT */
/* One key of one zone, as the commands that are about one find it and tell it. */
#ifndef WEIR_CLI_HTTP_KEY_H
#define WEIR_CLI_HTTP_KEY_H

#include "cli/cli.h"
#include "cli/http_zones.h"
#include "http/zone_file.h"

/* ZONE and KEY; --dir, --instance and --hash. */
extern const struct argument_spec http_key_operands[];
extern const struct argument_spec http_key_options[];

struct http_key;

struct http_key_verb {
	const char *name; /* "show", for sentences */
	int (*open)(const char *path, struct zone_file **ret, struct failure *why);
	/* An exit status. */
	int (*run)(const struct http_key *key, struct zone *zone, enum report_format format);
};

struct http_key {
	const struct http_key_verb *verb; /* what is done to it */
	const struct http_zone *named;
	const char *text; /* as typed */
	uint64_t hash;
	bool has_address;
	struct prefix address; /* where the key is known by it */
};

/* Does it to the key that the arguments name. An exit status. */
int http_key_run(const struct arguments *arguments, const struct http_key_verb *verb);

/* Fails with the sentence of a key's verb that did not come about. EXIT_FAILED. */
int http_key_failed(const struct http_key *key, const struct failure *why);

/* Address or hash, zone and instance, into the object opened last. */
void http_key_report(struct report *report, const struct http_key *key);

#endif
