/* SPDX-License-Identifier: MIT */
/* From what a request shows to whose bucket it is. Pure. */
#ifndef WEIR_HTTP_KEY_H
#define WEIR_HTTP_KEY_H

#include <stddef.h>
#include <stdint.h>

#include "http/slot.h"
#include "text/address.h"

#define KEY_SECRET_SIZE 16

/* The bits of IPv6 addresses that are one source, unless something else is set. */
#define KEY_IPV6_PREFIX_DEFAULT 64

/* SipHash-2-4 (Aumasson and Bernstein, 2012) of size bytes. */
uint64_t key_siphash(const uint8_t secret[KEY_SECRET_SIZE], const void *bytes, size_t size);

/* Of a key's whole text, never 0. */
uint64_t key_hash_text(const uint8_t secret[KEY_SECRET_SIZE], const void *bytes, size_t size);

/* Of an address as address_normalise leaves it: equal addresses have equal hashes, none of which is
 * that of a text by construction. Never 0. */
uint64_t key_hash_address(const uint8_t secret[KEY_SECRET_SIZE], const struct prefix *address);

/* Hash of the /24 or /48 that the address lies in, never 0. */
uint64_t key_hash_origin(const uint8_t secret[KEY_SECRET_SIZE], const struct prefix *address);

/* An IPv4 or IPv6 address in network order, 4 or 16 bytes, as the source it counts as: mapped
 * (::ffff:0:0/96, RFC 4291) and NAT64 (64:ff9b::/96, RFC 6052) addresses are IPv4; IPv6 is cut to
 * ipv6_prefix bits. */
void address_normalise(uint8_t family, const uint8_t *bytes, unsigned int ipv6_prefix,
		       struct prefix *ret);

void key_label_address(const struct prefix *address, bool is_peer, struct slot_label *ret);
void key_label_hash(uint64_t hash, struct slot_label *ret);

#endif
