/* SPDX-License-Identifier: MIT */
#include "cli/nginx_conf_publish.h"

#include <stdlib.h>
#include <string.h>

static bool is_same(const char *a, const char *b)
{
	return a && b ? !strcmp(a, b) : a == b;
}

static void text_drop(char **text)
{
	free(*text);
	*text = NULL;
}

/* The path behind a modifier, or NULL where the route has none such. */
static char *path_behind(char *route, const char *modifier)
{
	size_t length = strlen(modifier);

	if (strncmp(route, modifier, length))
		return NULL;
	return route + length + strspn(route + length, " ");
}

static void modifier_drop(struct nginx_limit *limit, const char *modifier)
{
	char *path = path_behind(limit->route, modifier);

	if (path)
		memmove(limit->route, path, strlen(path) + 1);
}

static size_t unmet_drop(struct nginx_limits *limits)
{
	size_t kept = 0, internal = 0;

	for (size_t i = 0; i < limits->count; i++) {
		struct nginx_limit *limit = &limits->limits[i];

		internal += limit->is_internal && !limit->is_observed;
		if (limit->is_internal || limit->is_observed)
			nginx_limit_free(limit);
		else
			limits->limits[kept++] = *limit;
	}
	limits->count = kept;
	return internal;
}

static void servers_name(struct nginx_limits *limits)
{
	const char *first = NULL;
	bool differ = false;

	for (size_t i = 0; i < limits->count; i++) {
		struct nginx_limit *limit = &limits->limits[i];

		if (!limit->is_named || limit->is_checked)
			text_drop(&limit->server);
		if (!first)
			first = limit->server;
		differ |= limit->server && strcmp(limit->server, first);
	}
	for (size_t i = 0; !differ && i < limits->count; i++)
		text_drop(&limits->limits[i].server);
}

/* Whether a row of the server is of the path and what is below it. */
static bool has_prefix(const struct nginx_limits *limits, const char *server, const char *path)
{
	for (size_t i = 0; i < limits->count; i++) {
		if (is_same(limits->limits[i].server, server) &&
		    !strcmp(limits->limits[i].route, path))
			return true;
	}
	return false;
}

/* All of an exact route at once: one that is written as a path would be taken for a prefix. */
static void exact_write(struct nginx_limits *limits, size_t first, const char *path)
{
	const char *server = limits->limits[first].server;

	/* The first is last: path points into it. */
	for (size_t i = limits->count; i-- > first;) {
		struct nginx_limit *limit = &limits->limits[i];
		const char *other = path_behind(limit->route, "=");

		if (other && is_same(limit->server, server) && !strcmp(other, path))
			modifier_drop(limit, "=");
	}
}

static void routes_write(struct nginx_limits *limits)
{
	for (size_t i = 0; i < limits->count; i++)
		modifier_drop(&limits->limits[i], "^~");
	for (size_t i = 0; i < limits->count; i++) {
		struct nginx_limit *limit = &limits->limits[i];
		const char *path = path_behind(limit->route, "=");

		if (path && !has_prefix(limits, limit->server, path))
			exact_write(limits, i, path);
	}
}

static bool reads_same(const struct nginx_limit *a, const struct nginx_limit *b)
{
	return is_same(a->route, b->route) && is_same(a->server, b->server) &&
	       is_same(a->methods, b->methods) && is_same(a->limit, b->limit) &&
	       is_same(a->per, b->per) && is_same(a->cost, b->cost) &&
	       is_same(a->status, b->status) && is_same(a->fields, b->fields) &&
	       is_same(a->ban, b->ban) && is_same(a->policy, b->policy);
}

static void repeats_drop(struct nginx_limits *limits)
{
	size_t kept = 0;

	for (size_t i = 0; i < limits->count; i++) {
		struct nginx_limit *limit = &limits->limits[i];
		size_t at = 0;

		while (at < kept && !reads_same(&limits->limits[at], limit))
			at++;
		if (at < kept)
			nginx_limit_free(limit);
		else
			limits->limits[kept++] = *limit;
	}
	limits->count = kept;
}

size_t nginx_limits_publish(struct nginx_limits *limits)
{
	size_t internal = unmet_drop(limits);

	servers_name(limits);
	routes_write(limits);
	repeats_drop(limits);
	return internal;
}
