/* SPDX-License-Identifier: MIT */
#include "http/route.h"

#include <string.h>

#include "http/run.h"

/* How much a route is about a method, least first. */
enum method_rank { METHOD_OTHER, METHOD_ANY, METHOD_HEAD_AS_GET, METHOD_NAMED };

static bool is_alpha(char byte)
{
	return (byte | 0x20) >= 'a' && (byte | 0x20) <= 'z';
}

static bool is_scheme_byte(char byte)
{
	return is_alpha(byte) || (byte >= '0' && byte <= '9') || byte == '+' || byte == '-' ||
	       byte == '.';
}

/* The size of "scheme://authority", 0 where a run does not start with it. */
static size_t origin_size(struct run uri)
{
	size_t at = 0;

	if (!uri.size || !is_alpha(uri.bytes[0]))
		return 0;
	while (at < uri.size && is_scheme_byte(uri.bytes[at]))
		at++;
	if (uri.size - at < 3 || memcmp(uri.bytes + at, "://", 3))
		return 0;
	for (at += 3; at < uri.size; at++) {
		if (uri.bytes[at] == '/' || uri.bytes[at] == '?' || uri.bytes[at] == '#')
			break;
	}
	return at;
}

static size_t path_size(struct run uri)
{
	size_t at = 0;

	while (at < uri.size && uri.bytes[at] != '?' && uri.bytes[at] != '#')
		at++;
	return at;
}

/* The path as it is spelled. Of an absolute form without one it is "/" (RFC 9110 4.2.3). */
static struct run path_of(struct run uri)
{
	size_t origin = origin_size(uri);
	struct run path = run_skip(uri, origin);

	path.size = path_size(path);
	return origin && !path.size ? (struct run){"/", 1} : path;
}

static size_t path_decode(struct run path, char *buf)
{
	size_t used = 0;

	while (path.size)
		buf[used++] = run_decode(&path);
	return used;
}

/* The path without its last segment and the slash before it. */
static size_t parent_size(const char *path, size_t size)
{
	const char *slash = memrchr(path, '/', size);

	return slash ? (size_t)(slash - path) : 0;
}

static struct run segment_at(const char *path, size_t size, size_t at)
{
	const char *slash = memchr(path + at, '/', size - at);

	return (struct run){path + at, slash ? (size_t)(slash - path) - at : size - at};
}

/* RFC 3986 5.2.4, in place, of a path that starts with '/'. Slashes in a row are one first, so that
 * "/a//../b" is "/b", as on a file system. What is written never passes what is read. */
static size_t path_settle(char *path, size_t size)
{
	size_t used = 0, at = 0;

	while (at < size) {
		struct run segment = segment_at(path, size, at + 1);
		bool is_last = at + 1 + segment.size == size;
		bool is_up = run_is(segment, "..");
		bool is_dots = !segment.size || is_up || run_is(segment, ".");

		at += 1 + segment.size;
		if (is_up)
			used = parent_size(path, used);
		if (is_dots && !is_last)
			continue;
		path[used++] = '/';
		if (is_dots)
			break;
		memmove(path + used, segment.bytes, segment.size);
		used += segment.size;
	}
	return used;
}

size_t route_normalise(const char *uri, size_t size, char *buf)
{
	struct run path = path_of((struct run){uri, size});

	if (!path.size || path.bytes[0] != '/')
		return 0;
	size = path_settle(buf, path_decode(path, buf));
	buf[size] = '\0';
	return size;
}

bool route_pattern_parse(const char *text, char *buf, struct route *ret)
{
	bool is_exact = text[0] == '=';
	size_t size;

	text += is_exact;
	if (text[0] != '/' || strpbrk(text, "?#*"))
		return false;
	size = route_normalise(text, strlen(text), buf);
	if (!is_exact && buf[size - 1] == '/')
		size--;
	*ret = (struct route){.path = buf, .path_size = size, .is_exact = is_exact};
	return true;
}

static bool route_holds(const struct route *route, const char *path, size_t path_size)
{
	if (path_size < route->path_size || memcmp(path, route->path, route->path_size))
		return false;
	return path_size == route->path_size || (!route->is_exact && path[route->path_size] == '/');
}

static bool route_names(const struct route *route, struct run method)
{
	for (size_t i = 0; i < route->methods_count; i++) {
		if (run_is_folded(method, route->methods[i]))
			return true;
	}
	return false;
}

static enum method_rank method_rank(const struct route *route, struct run method)
{
	if (!route->methods_count)
		return METHOD_ANY;
	if (route_names(route, method))
		return METHOD_NAMED;
	if (run_is_folded(method, "HEAD") && route_names(route, (struct run){"GET", 3}))
		return METHOD_HEAD_AS_GET;
	return METHOD_OTHER;
}

static bool is_better(const struct route *route, const struct route *than, struct run method)
{
	if (route->path_size != than->path_size)
		return route->path_size > than->path_size;
	if (route->is_exact != than->is_exact)
		return route->is_exact;
	return method_rank(route, method) > method_rank(than, method);
}

size_t route_find(const struct route *routes, size_t count, const char *path, size_t path_size,
		  const char *method, size_t method_size)
{
	struct run asked = {method, method_size};
	size_t found = ROUTE_NONE;

	for (size_t i = 0; i < count; i++) {
		if (!route_holds(&routes[i], path, path_size) ||
		    method_rank(&routes[i], asked) == METHOD_OTHER)
			continue;
		if (found == ROUTE_NONE || is_better(&routes[i], &routes[found], asked))
			found = i;
	}
	return found;
}

static bool is_same_pattern(const struct route *a, const struct route *b)
{
	return a->is_exact == b->is_exact && a->path_size == b->path_size &&
	       !memcmp(a->path, b->path, a->path_size);
}

bool route_collides(const struct route *a, const struct route *b)
{
	if (!is_same_pattern(a, b))
		return false;
	for (size_t i = 0; i < a->methods_count; i++) {
		if (route_names(b, (struct run){a->methods[i], strlen(a->methods[i])}))
			return true;
	}
	return !a->methods_count && !b->methods_count;
}
