/* SPDX-License-Identifier: MIT */
/* Which route of a check service a request takes. Pure.
 *
 * Paths are compared as a server that serves files would understand them, since a limit that
 * another spelling of the same path dodges is none. Upper and lower case are different paths, as in
 * RFC 3986 6.2.2.1. */
#ifndef WEIR_HTTP_ROUTE_H
#define WEIR_HTTP_ROUTE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ROUTE_NONE SIZE_MAX

struct route {
	const char *path; /* a prefix is kept without its last slash: all paths have "" */
	size_t path_size;
	bool is_exact;
	const char *const *methods; /* none: any method */
	size_t methods_count;
};

/* The path of a request-target (RFC 9112 3.2) in origin or absolute form: query and fragment cut,
 * each %XX decoded once (also what RFC 3986 6.2.2 would leave, as many servers do), slashes in a
 * row made one, then dot segments removed. A bad %XX stays. buf holds size + 1 bytes and gets a
 * zero byte at the end, which may not be the only one. Returns the path's length; 0, and leaves buf
 * alone, for what has no path that starts with '/': "", "*", "example.com:443". */
size_t route_normalise(const char *uri, size_t size, char *buf);

/* "/api": the path /api and all below it, by whole segments; "/api/" is the same. "=/api": that
 * path alone. Normalised into buf, which holds strlen(text) + 1 bytes and must last as long as the
 * route. The route is one of any method. False, and *ret as it was, for what does not start with
 * '/', for a query or a fragment, which no path has, and for '*', which would stand for itself:
 * such a path is written with %2A. */
bool route_pattern_parse(const char *text, char *buf, struct route *ret);

/* The longest pattern that holds the path, "=" before a prefix of equal length; of equal patterns
 * the one that names the method before the one without methods. One that names other methods only
 * is passed over. Naming GET names HEAD too, where no equal pattern does: it costs a server the
 * same. Methods are compared in any case: some applications take "post" for POST.
 *
 * path is as route_normalise returns it; where that is 0, only the prefix of all paths holds.
 * Returns the index, of two equals the first, or ROUTE_NONE. */
size_t route_find(const struct route *routes, size_t count, const char *path, size_t path_size,
		  const char *method, size_t method_size);

/* Whether two routes have the same pattern, and a method by the same name or no methods both: one
 * of them would never be found there. */
bool route_collides(const struct route *a, const struct route *b);

#endif
