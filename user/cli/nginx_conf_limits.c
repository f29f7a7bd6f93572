/* SPDX-License-Identifier: MIT */
#include "cli/nginx_conf_limits.h"

#include <stdlib.h>
#include <string.h>

#include "cli/nginx_conf_level.h"
#include "cli/nginx_conf_use.h"
#include "cli/nginx_conf_zone.h"
#include "http/key.h"
#include "weir.h"

/* The limits in force on a level, which is the route's. */
static void limits_add(struct conf_listing *listing, const struct conf_level *level,
		       const char *route)
{
	const struct nginx_directive *weir = level->weir;

	for (; !level->returns && weir; weir = nginx_directive_find(weir->next, "weir")) {
		if (weir->words_count < 2)
			conf_notice_add(listing, weir, "weir names no zone");
		else if (strcmp(weir->words[1], "off"))
			conf_use_add(listing, &(struct conf_use){.directive = weir,
								 .level = level,
								 .zone = weir->words[1],
								 .route = route});
	}
}

/* "GET, POST" of "GET,POST"; NULL of NULL. */
static char *methods_format(struct conf_listing *listing, const char *methods)
{
	char *text = NULL, *end;

	if (!methods)
		return NULL;
	text = conf_text_owned(listing, malloc(2 * strlen(methods) + 1));
	for (end = text; text && *methods; methods++) {
		*end++ = *methods;
		if (*methods == ',')
			*end++ = ' ';
	}
	if (text)
		*end = '\0';
	return text;
}

/* weir_route PATTERN ZONE... [methods=] [cost=] */
static void route_add(struct conf_listing *listing, const struct conf_level *level,
		      const struct nginx_directive *route)
{
	char *methods = methods_format(listing, conf_parameter_find(route, "methods"));
	size_t zones = 0;

	for (size_t i = 2; i < route->words_count; i++) {
		if (strchr(route->words[i], '='))
			continue;
		conf_use_add(listing, &(struct conf_use){.directive = route,
							 .level = level,
							 .zone = route->words[i],
							 .route = route->words[1],
							 .methods = methods});
		zones++;
	}
	if (!zones)
		conf_notice_add(listing, route, "weir_route names no zone");
	free(methods);
}

static void routes_add(struct conf_listing *listing, const struct conf_level *level)
{
	const struct nginx_directive *route = level->inside;

	for (; (route = nginx_directive_find(route, "weir_route")); route = route->next)
		route_add(listing, level, route);
}

static bool is_named(const struct nginx_directive *location)
{
	return location->words_count > 1 && location->words[1][0] == '@';
}

static void locations_add(struct conf_listing *listing, const struct conf_level *outer);

/* In a weir_check location the routes are those that are asked about, and its own path is not one
 * that a client asks for. */
static void location_add(struct conf_listing *listing, const struct conf_level *outer,
			 const struct nginx_directive *location)
{
	const struct nginx_directive *check = nginx_directive_find(location->inside, "weir_check");
	struct conf_level level = conf_level_inside(outer, location);
	char *route = conf_text_owned(listing, conf_words_join(location, 1, " "));

	level.is_internal = is_named(location) || nginx_directive_find(level.inside, "internal");
	if (route && !check)
		limits_add(listing, &level, route);
	free(route);
	if (check && nginx_directive_has(check, 1, "app"))
		conf_notice_add(listing, check, "what an application asks for is not known here");
	if (check)
		level.is_internal = false;
	level.is_checked = true;
	routes_add(listing, &level);
	level.is_checked = false;
	locations_add(listing, &level);
}

static void locations_add(struct conf_listing *listing, const struct conf_level *outer)
{
	const struct nginx_directive *location = outer->inside;

	for (; (location = nginx_directive_find(location, "location")); location = location->next)
		location_add(listing, outer, location);
}

/* NULL where it has none. */
static const struct nginx_directive *names_of(const struct nginx_directive *server)
{
	const struct nginx_directive *names = nginx_directive_find(server->inside, "server_name");

	return names && names->words_count > 1 && names->words[1][0] ? names : NULL;
}

/* Its names, or what it listens on first. */
static char *server_name(struct conf_listing *listing, const struct nginx_directive *server)
{
	const struct nginx_directive *names = names_of(server);
	const struct nginx_directive *listen = nginx_directive_find(server->inside, "listen");

	if (names)
		return conf_text_owned(listing, conf_words_join(names, 1, ", "));
	return conf_text_copied(listing, listen && listen->words_count > 1 ? listen->words[1] : "");
}

/* Whether a location takes every path that no other does. */
static bool has_location_for_all(const struct nginx_directive *inside)
{
	const struct nginx_directive *location = inside;

	for (; (location = nginx_directive_find(location, "location")); location = location->next) {
		if (nginx_directive_has(location, 1, "/") ||
		    nginx_directive_has(location, 1, "^~/") ||
		    (nginx_directive_has(location, 1, "^~") &&
		     nginx_directive_has(location, 2, "/")))
			return true;
	}
	return false;
}

static void server_add(struct conf_listing *listing, const struct conf_level *http,
		       const struct nginx_directive *server)
{
	struct conf_level level = conf_level_inside(http, server);
	char *name = server_name(listing, server);

	level.server = name;
	level.is_named = name && names_of(server) && strcmp(name, "_");
	if (name && !level.returns) {
		locations_add(listing, &level);
		if (!has_location_for_all(level.inside))
			limits_add(listing, &level,
				   nginx_directive_find(level.inside, "location")
					   ? "everything else"
					   : "everything");
	}
	free(name);
}

static unsigned int ipv6_prefix_of(const struct nginx_directive *http)
{
	const struct nginx_directive *address = nginx_directive_find(http, "weir_address");
	const char *text = address ? conf_parameter_find(address, "ipv6-prefix") : NULL;
	uint8_t length;

	return text && prefix_length_parse(text, address_bits(WEIR_IPV6), &length)
		       ? length
		       : KEY_IPV6_PREFIX_DEFAULT;
}

static void http_add(struct conf_listing *listing, const struct nginx_directive *block)
{
	const struct conf_level outside = conf_level_outermost();
	struct conf_level level = conf_level_inside(&outside, block);
	const struct nginx_directive *server = block->inside;

	listing->http = block->inside;
	listing->limits->ipv6_prefix = ipv6_prefix_of(block->inside);
	for (; (server = nginx_directive_find(server, "server")); server = server->next)
		server_add(listing, &level, server);
}

int nginx_limits_list(const struct nginx_conf *conf, struct nginx_limits *ret)
{
	struct nginx_limits limits = {.ipv6_prefix = KEY_IPV6_PREFIX_DEFAULT};
	struct conf_listing listing = {.limits = &limits};
	const struct nginx_directive *http = conf->first;

	for (; (http = nginx_directive_find(http, "http")); http = http->next)
		http_add(&listing, http);
	if (listing.err)
		nginx_limits_free(&limits);
	else
		*ret = limits;
	return listing.err;
}

void nginx_limit_free(struct nginx_limit *limit)
{
	free(limit->server);
	free(limit->route);
	free(limit->methods);
	free(limit->zone);
	free(limit->limit);
	free(limit->per);
	free(limit->cost);
	free(limit->status);
	free(limit->ban);
	free(limit->policy);
}

void nginx_limits_free(struct nginx_limits *limits)
{
	for (size_t i = 0; i < limits->count; i++)
		nginx_limit_free(&limits->limits[i]);
	for (size_t i = 0; i < limits->notices_count; i++)
		free(limits->notices[i]);
	free(limits->limits);
	free(limits->notices);
}
