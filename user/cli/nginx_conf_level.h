/* SPDX-License-Identifier: MIT */
/* A level of an nginx configuration (http, server, location) with what of weir's it inherits. Pure.
 */
#ifndef WEIR_NGINX_CONF_LEVEL_H
#define WEIR_NGINX_CONF_LEVEL_H

#include <stdbool.h>

#include "cli/nginx_conf.h"

struct conf_level {
	const char *server;
	const struct nginx_directive *inside; /* its first directive */
	const struct nginx_directive *weir;   /* the first of the limits in force, or NULL */
	const char *headers;                  /* weir_headers */
	const char *status;                   /* weir_refusal_status */
	bool hides;                           /* weir_reveal off */
	bool is_internal;
	bool is_named;   /* as a limit's */
	bool is_checked; /* the same */
	bool returns;    /* before anything is limited */
};

/* What holds around http, with the module's defaults. */
struct conf_level conf_level_outermost(void);

/* The level that block opens inside outer; server, is_internal and is_named are as outer's. */
struct conf_level conf_level_inside(const struct conf_level *outer,
				    const struct nginx_directive *block);

/* What a refusal carries there: "Retry-After, RateLimit"; NULL: nothing. */
const char *conf_level_fields(const struct conf_level *level);

/* Whether RateLimit-Policy is sent there. */
bool conf_level_shows_policy(const struct conf_level *level);

#endif
