/* SPDX-License-Identifier: MIT */
/* A weir_zone of an nginx configuration, in words. Pure. */
#ifndef WEIR_NGINX_CONF_ZONE_H
#define WEIR_NGINX_CONF_ZONE_H

#include "cli/nginx_conf.h"
#include "http/algorithm.h"

/* Texts are the zone's own, or NULL. */
struct conf_zone {
	const char *name; /* the directive's */
	enum algorithm algorithm;
	bool has_rule;    /* else its words say no limit */
	struct rule rule; /* the default's where the limit is in variables */
	bool is_observed;
	bool is_address; /* a key is $weir_address */
	char *limit;     /* "5, then 1 per second", or the words themselves without a rule */
	char *per;       /* whose: "client address" */
};

/* The zone that directive, a weir_zone with a name, defines among those of the same http block, of
 * which http is the first. -ENOMEM; -EINVAL or -ERANGE with why where the words are not as the
 * module takes them: then *ret is filled in all the same, as far as it goes. */
int conf_zone_read(const struct nginx_directive *directive, const struct nginx_directive *http,
		   struct conf_zone *ret, struct failure *why);
void conf_zone_free(struct conf_zone *zone);

/* "10 refusals within 1m: banned for 15m, at most 1d" of a weir_penalty, to be freed. -ENOMEM;
 * -EINVAL or -ERANGE with why as above, then the text is the directive's words. */
int conf_penalty_format(const struct nginx_directive *directive, char **ret, struct failure *why);

/* The value of "name=" among a directive's words from the third on, or NULL. */
const char *conf_parameter_find(const struct nginx_directive *directive, const char *name);

/* Whether the flag is one of those words. */
bool conf_has_flag(const struct nginx_directive *directive, const char *flag);

/* The words from number first on with some text between, to be freed; NULL without memory. */
char *conf_words_join(const struct nginx_directive *directive, size_t first, const char *between);

#endif
