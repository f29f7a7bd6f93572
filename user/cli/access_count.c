/* SPDX-License-Identifier: MIT */
#include "cli/access_count.h"

#include <string.h>

#define NO_PATH "-"

void access_counts_open(struct access_counts *counts, const uint8_t *secret, unsigned int depth)
{
	size_t size = sizeof(struct access_tally);

	*counts = (struct access_counts){.depth = depth};
	access_table_open(&counts->routes, secret, size, ACCESS_ROUTES_MAX);
	access_table_open(&counts->zones, secret, size, ACCESS_ZONES_MAX);
	access_table_open(&counts->clients, secret, size, ACCESS_CLIENTS_MAX);
}

void access_counts_close(struct access_counts *counts)
{
	access_table_close(&counts->routes);
	access_table_close(&counts->zones);
	access_table_close(&counts->clients);
}

size_t access_route_size(const char *path, size_t size, unsigned int depth)
{
	const char *end = path + size, *at = path;

	for (; at && at < end && depth; depth--)
		at = memchr(at + 1, '/', (size_t)(end - at - 1));
	if (at && at < end)
		size = (size_t)(at + 1 - path);
	return size < ACCESS_ROUTE_SIZE_MAX ? size : ACCESS_ROUTE_SIZE_MAX;
}

static void refusal_add(struct access_tally *tally, uint64_t time_ns)
{
	if (!tally->refused || time_ns < tally->first_refused_ns)
		tally->first_refused_ns = time_ns;
	if (!tally->refused || time_ns > tally->last_refused_ns)
		tally->last_refused_ns = time_ns;
	tally->refused++;
}

void access_tally_add(struct access_tally *tally, uint64_t time_ns, enum access_outcome outcome)
{
	tally->requests++;
	tally->observed += outcome == ACCESS_OBSERVED;
	if (outcome == ACCESS_REFUSED)
		refusal_add(tally, time_ns);
}

static void line_add(struct access_tally *tally, const struct access_line *line)
{
	access_tally_add(tally, line->time_ns, line->outcome);
}

static void keyed_add(struct access_table *table, const void *key, size_t size,
		      struct access_tally *others, const struct access_line *line)
{
	struct access_tally *tally = access_table_take(table, key, size);

	line_add(tally ? tally : others, line);
}

static void route_add(struct access_counts *counts, const struct access_line *line)
{
	const char *route = line->path_size ? line->path : NO_PATH;
	size_t size = line->path_size
			      ? access_route_size(line->path, line->path_size, counts->depth)
			      : sizeof(NO_PATH) - 1;

	keyed_add(&counts->routes, route, size, &counts->other_routes, line);
}

static void client_add(struct access_counts *counts, const struct access_line *line)
{
	if (line->client.family)
		keyed_add(&counts->clients, &line->client, sizeof(line->client),
			  &counts->other_clients, line);
	else
		line_add(&counts->nameless, line);
}

/* So many zones as to have no place are no nginx's. */
static void zone_add(struct access_counts *counts, const struct access_line *line)
{
	size_t size =
		line->zone_size < ACCESS_ZONE_SIZE_MAX ? line->zone_size : ACCESS_ZONE_SIZE_MAX;
	struct access_tally others = {0};

	if (size)
		keyed_add(&counts->zones, line->zone, size, &others, line);
}

static void time_add(struct access_counts *counts, uint64_t time_ns)
{
	if (!counts->total.requests || time_ns < counts->from_ns)
		counts->from_ns = time_ns;
	if (time_ns > counts->to_ns)
		counts->to_ns = time_ns;
	if (time_ns < counts->latest_ns) {
		counts->back++;
		if (counts->latest_ns - time_ns > counts->back_most_ns)
			counts->back_most_ns = counts->latest_ns - time_ns;
	}
	counts->latest_ns = time_ns;
}

void access_count(struct access_counts *counts, const struct access_line *line)
{
	time_add(counts, line->time_ns);
	line_add(&counts->total, line);
	route_add(counts, line);
	zone_add(counts, line);
	client_add(counts, line);
}

bool access_refused_more(const void *a, const void *b)
{
	const struct access_tally *left = a, *right = b;

	if (left->refused != right->refused)
		return left->refused > right->refused;
	return left->requests > right->requests;
}

bool access_requested_more(const void *a, const void *b)
{
	const struct access_tally *left = a, *right = b;

	if (left->requests != right->requests)
		return left->requests > right->requests;
	return left->refused > right->refused;
}
