/* SPDX-License-Identifier: MIT */
/* Addresses and prefixes as text. */
#ifndef WEIR_ADDRESS_H
#define WEIR_ADDRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Holds whatever prefix_format writes. */
#define PREFIX_TEXT_SIZE 64

/* A whole address is a prefix of full length. */
struct prefix {
	uint8_t family;      /* WEIR_IPV4 or WEIR_IPV6 */
	uint8_t length;      /* bits: 0..32 or 0..128 */
	uint8_t address[16]; /* network order; IPv4 in the first four, the rest zero */
};

/* Of a whole address: 32, or 128. */
unsigned int address_bits(uint8_t family);

/* "192.0.2.1", "192.0.2.0/24", "2001:db8::/32". An IPv4 address mapped into IPv6 (RFC 4291
 * 2.5.5.2) is IPv4. False, with *ret left alone, for anything else: bits set beyond the length and
 * zones (fe80::1%eth0) among it. */
bool prefix_parse(const char *text, struct prefix *ret);

/* As prefix_parse reads it; without its length when that is the full one. */
void prefix_format(char *buf, size_t size, const struct prefix *prefix);

/* "24" or "/24", from 1 to max bits. */
bool prefix_length_parse(const char *text, unsigned int max, uint8_t *ret);

#endif
