/* SPDX-License-Identifier: MIT */
/* The limits of weir's module in an nginx configuration: where each is in force, in words. Pure.
 *
 * Inheritance is nginx's: a level with weir directives of its own drops those around it. What
 * answers with return before anything else is not limited, so it is not listed. */
#ifndef WEIR_NGINX_CONF_LIMITS_H
#define WEIR_NGINX_CONF_LIMITS_H

#include <stdbool.h>
#include <stddef.h>

#include "cli/nginx_conf.h"

/* One zone on one route. */
struct nginx_limit {
	char *server;  /* its names, "a.example, b.example", or what it listens on */
	char *route;   /* "/api/", "= /login", "~ ^/x"; "everything else" of a server; the pattern
			* of a weir_route */
	char *methods; /* of a weir_route, "GET, POST", or NULL: all */
	char *zone;
	char *limit;           /* "5, then 1 per second", "100 per minute" */
	char *per;             /* "client address"; NULL where there is no such zone */
	char *cost;            /* "1", "$cost", "1, given back on 2xx" */
	const char *algorithm; /* NULL as per */
	char *status;          /* of a refusal, "429"; NULL of one that is only observed */
	const char *fields;    /* what a refusal carries: "Retry-After, RateLimit"; NULL: nothing */
	char *ban;             /* the zone's penalty, or NULL */
	char *policy;          /* in RateLimit-Policy: "\"login\";q=5;w=5", the default's where a
				* variable sets it; NULL where no field tells it */
	bool is_address;       /* per $weir_address, perhaps among others */
	bool is_observed;
	bool is_internal; /* no client asks for the route: @name, or internal */
	bool is_named;    /* server is names, and not the catch-all "_" */
	bool is_checked;  /* the route is a weir_route: a front asks about it */
	bool is_hidden;   /* weir_reveal off: no reply tells of the limit */
};

struct nginx_limits {
	struct nginx_limit *limits;
	size_t count;
	char **notices; /* "FILE:LINE: ...", what could not be made out */
	size_t notices_count;
	unsigned int ipv6_prefix; /* the bits that $weir_address keeps of IPv6 */
};

/* 0 or -ENOMEM, then there is nothing to free. Everything is the list's own, but for the names of
 * algorithms and fields. */
int nginx_limits_list(const struct nginx_conf *conf, struct nginx_limits *ret);
void nginx_limits_free(struct nginx_limits *limits);

/* What one of a list has of its own. */
void nginx_limit_free(struct nginx_limit *limit);

#endif
