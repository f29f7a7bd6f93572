/* SPDX-License-Identifier: MIT */
/* The zone files that are there, as the commands on HTTP name and tell them. */
#ifndef WEIR_CLI_HTTP_ZONES_H
#define WEIR_CLI_HTTP_ZONES_H

#include "cli/cli.h"
#include "http/algorithm.h"

#define ZONES_DIRECTORY_OPTION                                                                \
	{                                                                                     \
		.name = "dir", .value = "DIR",                                                \
		.summary = "where the zones are, nginx's weir_dir; default\n" ZONE_DIRECTORY, \
		.kind = VALUE_TEXT                                                            \
	}

#define ZONES_INSTANCE_OPTION                                                        \
	{                                                                            \
		.name = "instance", .value = "NAME",                                 \
		.summary = "the nginx it belongs to, as 'weir http zones' names it", \
		.kind = VALUE_TEXT                                                   \
	}

/* A file DIR/instance/zone; all three are to be freed by http_zones_free. */
struct http_zone {
	char *instance;
	char *zone;
	char *path;
};

struct http_zones {
	struct http_zone *zones; /* by instance, then zone */
	size_t count;
};

/* Those in the directory given by ZONES_DIRECTORY_OPTION. Without the default directory there are
 * none: no nginx has made it. */
int http_zones_list(const struct argument *given, struct http_zones *ret, struct failure *why);
void http_zones_free(struct http_zones *zones);

/* Which zones a command is about; what is not given is any. */
struct http_wanted {
	const struct argument *directory;
	const struct argument *zone;
	const struct argument *instance;
};

bool http_zone_is(const struct http_zone *zone, const struct http_wanted *wanted);

/* Says why none of the zones is wanted, with a hint where to look. */
void http_zone_unknown(const struct http_zones *zones, const struct http_wanted *wanted,
		       struct failure *why);

/* Says that there are no zones at all in the directory, with a hint where others may be. */
void http_zones_missing(const struct argument *directory, struct failure *why);

#define HTTP_INSTANCES_SIZE 160

/* The names of the instances that have a zone, "main, other", as far as there is room. */
void http_instances_format(char buf[HTTP_INSTANCES_SIZE], const struct http_zones *zones,
			   const struct argument *zone);

/* "100,20/s" of buckets, "100,1m" of windows, as a zone's default= takes it. */
void http_rule_format(char *buf, size_t size, const struct rule *rule);

/* Capacity and rate, or limit and per, into the object opened last. */
void http_rule_report(struct report *report, const struct rule *rule);

/* 16 digits. */
void http_hash_format(char *buf, size_t size, uint64_t hash);

/* last_seen_ago; a moment that is not yet is now. */
void http_last_seen_report(struct report *report, uint64_t last_seen_ns, uint64_t now_ns);

/* banned_for, null where it is not. */
void http_ban_report(struct report *report, uint64_t ban_left_ns);

#endif
