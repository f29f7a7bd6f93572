/* SPDX-License-Identifier: MIT */
/* Whose request a proxy says it is: X-Forwarded-For, and Forwarded (RFC 7239). Pure.
 *
 * Walked from right to left over all lines of the header: each address was written by the one to
 * its right, so it is believed as long as that one is trusted. The first that is not trusted is the
 * client. Junk ends the walk: then the last address believed is the client. Junk is whatever is not
 * an address, an element of Forwarded without "for" or with two, and quotes that do not pair. */
#ifndef WEIR_HTTP_FORWARDED_H
#define WEIR_HTTP_FORWARDED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "text/address.h"

enum forwarded_header { FORWARDED_NONE, FORWARDED_X_FORWARDED_FOR, FORWARDED_FORWARDED };

struct forwarded_line {
	const char *bytes;
	size_t size;
};

/* An address without its port and brackets: "192.0.2.1", "192.0.2.1:80", "2001:db8::1",
 * "[2001:db8::1]:80", and quoted forms of Forwarded's node. Full-length prefix, mapped addresses as
 * IPv4. False for zones, names, "unknown" and "_obfuscated". */
bool forwarded_node_parse(const char *bytes, size_t size, struct prefix *ret);

/* Whether one of the prefixes holds the address. */
bool prefixes_contain(const struct prefix *prefixes, size_t count, const struct prefix *address);

/* peer is who sent the request, and is trusted. lines in the order they came. Returns the client:
 * peer itself where no line says otherwise. */
struct prefix forwarded_client(enum forwarded_header header, const struct forwarded_line *lines,
			       size_t count, const struct prefix *trusted, size_t trusted_count,
			       const struct prefix *peer);

#endif
