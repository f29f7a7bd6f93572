/* SPDX-License-Identifier: MIT */
/* The first of all keys in some order, in memory for twice as many as are wanted: a zone may have
 * hundreds of millions. */
#ifndef WEIR_CLI_HTTP_TOP_H
#define WEIR_CLI_HTTP_TOP_H

#include "cli/http_zones.h"
#include "http/zone.h"
#include "text/address.h"

enum http_top_order { HTTP_TOP_BY_REFUSED, HTTP_TOP_BY_PASSED, HTTP_TOP_BY_LAST_SEEN };

struct http_top_row {
	const struct http_zone *named;
	char key[PREFIX_TEXT_SIZE]; /* an address, or a hash in 16 digits */
	uint64_t passed;
	uint64_t refused; /* by its slot and by its bans */
	uint64_t remaining;
	uint64_t ban_left_ns;
	uint64_t last_seen_ns;
};

/* All but rows, count and known is for http_top.c. */
struct http_top {
	enum http_top_order order;
	size_t wanted;
	struct http_top_row *rows;
	size_t count;
	uint64_t known; /* keys met */
	bool is_full; /* as many as are wanted were met, and who is below floor is not among them */
	uint64_t floor;
};

/* wanted: not 0. -ENOMEM. */
int http_top_begin(struct http_top *top, enum http_top_order order, size_t wanted);

/* Adds a zone's keys: those with a slot, and those that are banned without one. named must outlive
 * top. -ENOMEM, then some are missing. */
int http_top_add(struct http_top *top, const struct http_zone *named, struct zone *zone,
		 uint64_t now_ns);

/* Leaves the rows that are wanted, in order. */
void http_top_end(struct http_top *top);

void http_top_free(struct http_top *top);

#endif
