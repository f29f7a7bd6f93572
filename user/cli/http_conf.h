/* SPDX-License-Identifier: MIT */
/* An nginx configuration for one upstream behind limits by path. Whatever the arguments are, none
 * of them can say more in it than was asked for. Pure. */
#ifndef WEIR_HTTP_CONF_H
#define WEIR_HTTP_CONF_H

#include <stddef.h>
#include <stdio.h>

#include "cli/cli.h"
#include "http/algorithm.h"

#define HTTP_LIMITS_MAX  REPEATS_MAX
#define HTTP_PREFIX_SIZE 128
#define HTTP_ZONE_SIZE   32  /* the module's names have 31 characters at most */
#define HTTP_PLACE_SIZE  288 /* a host's name of 253, or unix:/ and a path */

/* Where zones are, below the directory. */
#define HTTP_CONF_ZONES "zones"

/* A location, and the zone that limits it. */
struct http_limit {
	char prefix[HTTP_PREFIX_SIZE];
	char capacity[QUANTITY_TEXT_SIZE];
	char rate[QUANTITY_TEXT_SIZE];
	char zone[HTTP_ZONE_SIZE];
	struct rule rule; /* of capacity and rate */
};

struct http_conf {
	const char *module;    /* path of the shared object */
	const char *directory; /* absolute, of all that nginx writes; NULL: its build's places */
	const char *user;      /* of the workers; NULL: whoever starts nginx */
	const char *group;
	char listen[HTTP_PLACE_SIZE];
	char upstream[HTTP_PLACE_SIZE];
	size_t limits_count;
	struct http_limit limits[HTTP_LIMITS_MAX];
};

/* "/login 5 1/s": a path's prefix, a capacity and a rate. The zone is left empty. -EINVAL, or
 * -ERANGE of capacity and rate, with why ("it is not ..."), then *ret is left alone. */
int http_limit_parse(const char *text, struct http_limit *ret, struct failure *why);

/* All three: -EINVAL, or -ERANGE of a limit, with why ("it is not ..."), then conf is left alone.
 */

/* "127.0.0.1:8080", "[::1]:8080", "name:8080", "*:8080" on every address, or
 * "unix:/run/app.sock". */
int http_conf_set_listen(struct http_conf *conf, const char *text, struct failure *why);

/* The same but "*". */
int http_conf_set_upstream(struct http_conf *conf, const char *text, struct failure *why);

/* As http_limit_parse, of a path that has none yet. The zone is named after it. */
int http_conf_add_limit(struct http_conf *conf, const char *text, struct failure *why);

void http_conf_write(const struct http_conf *conf, FILE *out);

#endif
