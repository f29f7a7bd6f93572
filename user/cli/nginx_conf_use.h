/* SPDX-License-Identifier: MIT */
/* One use of a zone, described. Used by nginx_conf_limits.c only. Pure. */
#ifndef WEIR_NGINX_CONF_USE_H
#define WEIR_NGINX_CONF_USE_H

#include "cli/nginx_conf_level.h"
#include "cli/nginx_conf_limits.h"

struct conf_listing {
	struct nginx_limits *limits;
	const struct nginx_directive *http; /* the first in the http block */
	int err;                            /* the first, 0 or -ENOMEM */
};

struct conf_use {
	const struct nginx_directive *directive; /* a weir or a weir_route */
	const struct conf_level *level;
	const char *zone;
	const char *route;
	const char *methods; /* or NULL */
};

/* Adds a row for the use, and notices of what could not be read. */
void conf_use_add(struct conf_listing *listing, const struct conf_use *use);

/* Adds "FILE:LINE: <sentence>" of the directive, unless it is there already. */
void conf_notice_add(struct conf_listing *listing, const struct nginx_directive *directive,
		     const char *format, ...) __attribute__((format(printf, 3, 4)));

/* The text to own, or NULL of NULL and without memory. */
char *conf_text_copied(struct conf_listing *listing, const char *text);

/* Takes the text, which is NULL without memory. */
char *conf_text_owned(struct conf_listing *listing, char *text);

#endif
