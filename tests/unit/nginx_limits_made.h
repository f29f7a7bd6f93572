/* SPDX-License-Identifier: MIT */
/* The limits of configurations that are in memory. */
#ifndef WEIR_NGINX_LIMITS_MADE_H
#define WEIR_NGINX_LIMITS_MADE_H

#include <stdio.h>

#include <cmocka.h>

#include "cli/nginx_conf_limits.h"
#include "nginx_conf_made.h"

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

#define ZONE_A "weir_zone a key=$weir_address capacity=5 rate=1/s; "
#define ZONE_B "weir_zone b key=$weir_address algorithm=fixed-window limit=100 per=60s; "

/* Of "http { <inside> }"; to be freed. */
static inline void limits_read(const char *inside, struct nginx_limits *ret)
{
	struct failure why = {0};
	struct nginx_conf conf;
	char *text = NULL;

	assert_true(asprintf(&text, "http { %s\n}", inside) > 0);
	if (made_conf_read((struct made_file[]){{"n", text}, {0}}, &conf, &why))
		fail_msg("'%s': %s", text, why.reason);
	assert_int_equal(nginx_limits_list(&conf, ret), 0);
	nginx_conf_free(&conf);
	free(text);
}

/* The one limit of a server's only location, where zone z is defined so. */
static inline void zone_limit_read(const char *zone, const char *weir, struct nginx_limits *ret)
{
	char *text = NULL;

	assert_true(asprintf(&text, "weir_zone z %s; server { location / { weir z %s; } }", zone,
			     weir) > 0);
	limits_read(text, ret);
	free(text);
	assert_int_equal(ret->count, 1);
}

static inline void assert_text(const char *text, const char *expected)
{
	if (!expected)
		assert_null(text);
	else if (!text)
		fail_msg("nothing, not '%s'", expected);
	else
		assert_string_equal(text, expected);
}

static inline void assert_notices(const struct nginx_limits *limits, const char *expected)
{
	assert_int_equal(limits->notices_count, expected ? 1 : 0);
	if (expected)
		assert_string_equal(limits->notices[0], expected);
}

#endif
