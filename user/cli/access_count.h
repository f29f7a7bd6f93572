/* SPDX-License-Identifier: MIT */
/* What the lines of access logs add up to: by route, by the zone that decided, by client. Pure. */
#ifndef WEIR_CLI_ACCESS_COUNT_H
#define WEIR_CLI_ACCESS_COUNT_H

#include "cli/access_line.h"
#include "cli/access_table.h"

#define ACCESS_CLIENTS_MAX    1000000
#define ACCESS_ROUTES_MAX     100000
#define ACCESS_ZONES_MAX      1000
#define ACCESS_ROUTE_SIZE_MAX 128 /* longer routes are cut */
#define ACCESS_ZONE_SIZE_MAX  64
#define ACCESS_DEPTH_MAX      16

struct access_tally {
	uint64_t requests;
	uint64_t refused;
	uint64_t observed; /* would have been refused */
	uint64_t first_refused_ns, last_refused_ns;
};

/* The moments are those of lines that were read. */
struct access_counts {
	unsigned int depth; /* of routes, in segments */
	uint64_t junk;
	uint64_t from_ns, to_ns;
	uint64_t latest_ns;          /* of the line before */
	uint64_t back, back_most_ns; /* lines with an earlier time than the one before */
	struct access_tally total;
	struct access_tally nameless;      /* clients without an address */
	struct access_tally other_clients; /* for which there was no place */
	struct access_tally other_routes;
	struct access_table routes; /* all three: of struct access_tally */
	struct access_table zones;
	struct access_table clients; /* by struct prefix */
};

/* secret, of KEY_SECRET_SIZE bytes, must last as long. */
void access_counts_open(struct access_counts *counts, const uint8_t *secret, unsigned int depth);
void access_counts_close(struct access_counts *counts);

void access_count(struct access_counts *counts, const struct access_line *line);

/* Counts a request as it ended, or would have. Requests need not be in order. */
void access_tally_add(struct access_tally *tally, uint64_t time_ns, enum access_outcome outcome);

/* How much of a path is its route: as many segments as depth, and the slash after them. */
size_t access_route_size(const char *path, size_t size, unsigned int depth);

/* For access_table_top, of values that begin with a tally: most refused, then most requests; the
 * other way round. */
bool access_refused_more(const void *a, const void *b);
bool access_requested_more(const void *a, const void *b);

#endif
