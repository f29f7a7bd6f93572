/* SPDX-License-Identifier: (GPL-2.0-only OR MIT) */
/* Bytes -> struct packet. Pure: no map, clock or helper, so that the same lines run in the kernel
 * and in the tests.
 *
 * The frame's length decides what is truncated, the readable bytes only whether this attempt can
 * tell. Only the first PARSE_WINDOW bytes are ever looked at, so that a frame gets the same answer
 * whether it is read in place or from a copy of those bytes. */
#ifndef WEIR_PARSE_H
#define WEIR_PARSE_H

#include <stdbool.h>
#include <stddef.h>

#include <linux/icmpv6.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/in6.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/tcp.h>
#include <linux/types.h>
#include <linux/udp.h>

#include "weir.h"

#define PARSE_WINDOW           256
#define PARSE_TAGS_MAX         2
#define PARSE_EXTENSIONS_MAX   8
#define PARSE_PROTOCOL_UNKNOWN 0xff

#define PARSE_INLINE static inline __attribute__((always_inline))

enum parsed {
	PARSED_IP,
	PARSED_NOT_IP,
	PARSED_ARP,
	PARSED_OPAQUE, /* a tunnel that is not looked into */
	PARSED_MALFORMED,
	PARSED_SHORT /* parse again, from a copy of the frame's first PARSE_WINDOW bytes */
};

struct packet {
	__be32 source[4]; /* IPv4 in the first word, the rest zero */
	__u32 frame_bytes;
	__u8 family;   /* enum weir_family */
	__u8 protocol; /* above all extension headers; PARSE_PROTOCOL_UNKNOWN if out of reach */
	__u8 hop_limit;
	bool is_fragment; /* one after the first */
	bool has_ports;
	__u8 icmp_type;
	__u8 tcp_flags;
	__be16 source_port;
	__be16 destination_port;
	enum weir_exemption exemption;
};

/* begin, end, frame_bytes and bytewise are the caller's to set. */
struct cursor {
	const __u8 *begin; /* the frame's first byte */
	const __u8 *end;   /* of what is readable here */
	__u32 frame_bytes;
	/* begin is on a BPF stack, where the verifier wants aligned loads; headers need not be. */
	bool bytewise;
	__u32 offset; /* of the next header */
	__u32 limit;  /* where the frame or the innermost length field says that the bytes end */
	enum parsed refusal; /* what it means that cursor_pull gave nothing */
};

/* How much of a packet this is. An atomic fragment is whole, behind a fragment header. */
enum part { PART_WHOLE, PART_ATOMIC, PART_FIRST, PART_LATER };

/* A value the compiler knows nothing about: what is checked is then what is used, in the same
 * register, as the verifier must see it. Constants are better left alone. */
#ifdef __bpf__
#define parse_opaque(value)                         \
	({                                          \
		__typeof__(value) opaque = (value); \
		asm volatile("" : "+r"(opaque));    \
		opaque;                             \
	})
#else
#define parse_opaque(value) (value)
#endif

/* Leaves an offset below 4096 as it is, and the verifier without an idea of it: what comes after a
 * header that may begin at several places it then follows once, not once for each place. noise is
 * any byte of the frame. */
PARSE_INLINE __u32 parse_widen(__u32 offset, __u32 noise)
{
#ifdef __bpf__
	asm volatile("%0 ^= %1; %0 ^= %1; %0 &= 0xfff" : "+r"(offset) : "r"(noise));
#endif
	(void)noise;
	return offset;
}

/* Hands out the next header's first size bytes, or false and a refusal: truncated, beyond the
 * window (then the source is known by now and no more will be), or not readable here. */
PARSE_INLINE bool cursor_pull(struct cursor *cursor, __u32 size, const __u8 **ret_header)
{
	__u32 offset = cursor->offset;
	const __u8 *header;

	if (!__builtin_constant_p(offset))
		offset = parse_opaque(offset);
	cursor->refusal = PARSED_MALFORMED;
	if (offset + size > cursor->limit)
		return false;
	cursor->refusal = PARSED_IP;
	if (offset > PARSE_WINDOW - size)
		return false;
	header = parse_opaque(cursor->begin + offset);
	cursor->refusal = PARSED_SHORT;
	if (header + size > cursor->end)
		return false;
	cursor->offset = offset + size;
	*ret_header = header;
	return true;
}

/* In the loads below the barrier keeps clang from merging the two kinds into the slower. */
PARSE_INLINE __be16 cursor_be16(const struct cursor *cursor, const __u8 *field)
{
	__be16 value;

#ifdef __bpf__
	if (!cursor->bytewise)
		return *(const __be16 *)field;
#endif
	(void)cursor;
	__builtin_memcpy(&value, parse_opaque(field), sizeof(value));
	return value;
}

PARSE_INLINE __be32 cursor_be32(const struct cursor *cursor, const __u8 *field)
{
	__be32 value;

#ifdef __bpf__
	if (!cursor->bytewise)
		return *(const __be32 *)field;
#endif
	(void)cursor;
	__builtin_memcpy(&value, parse_opaque(field), sizeof(value));
	return value;
}

PARSE_INLINE __u16 parse_swap16(__u16 value)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	return __builtin_bswap16(value);
#else
	return value;
#endif
}

PARSE_INLINE __u32 parse_swap32(__u32 value)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	return __builtin_bswap32(value);
#else
	return value;
#endif
}

PARSE_INLINE __u16 cursor_u16(const struct cursor *cursor, const __u8 *field)
{
	return parse_swap16(cursor_be16(cursor, field));
}

PARSE_INLINE bool source_is_link_local(const struct packet *packet)
{
	if (packet->family == WEIR_IPV4)
		return (packet->source[0] & parse_swap32(0xffff0000)) == parse_swap32(0xa9fe0000);
	return (packet->source[0] & parse_swap32(0xffc00000)) == parse_swap32(0xfe800000);
}

PARSE_INLINE bool source_is_unspecified(const struct packet *packet)
{
	return !(packet->source[0] | packet->source[1] | packet->source[2] | packet->source[3]);
}

/* Neighbour discovery counts only from the link itself (RFC 4861: hop limit 255) and never
 * fragmented (RFC 6980); multicast listener discovery as in RFC 3810, section 5. */
PARSE_INLINE enum weir_exemption icmpv6_exemption(const struct packet *packet, __u8 code,
						  enum part part)
{
	switch (packet->icmp_type) {
	case 133: /* router solicitation */
	case 134: /* router advertisement */
	case 135: /* neighbour solicitation */
	case 136: /* neighbour advertisement */
	case 137: /* redirect */
		if (packet->hop_limit == 255 && !code && part == PART_WHOLE)
			return WEIR_EXEMPT_NEIGHBOUR;
		break;
	case ICMPV6_MGM_QUERY:
	case ICMPV6_MGM_REPORT:
	case ICMPV6_MGM_REDUCTION:
	case ICMPV6_MLD2_REPORT:
		if (packet->hop_limit == 1 &&
		    (source_is_link_local(packet) || source_is_unspecified(packet)))
			return WEIR_EXEMPT_MULTICAST;
		break;
	}
	return packet->exemption;
}

/* From a server to a client. */
PARSE_INLINE bool ports_are_dhcp(const struct packet *packet)
{
	if (packet->family == WEIR_IPV4)
		return packet->source_port == parse_swap16(67) &&
		       packet->destination_port == parse_swap16(68);
	return packet->source_port == parse_swap16(547) &&
	       packet->destination_port == parse_swap16(546);
}

/* ICMP or ICMPv6. A first fragment may be too short to tell its type. */
PARSE_INLINE enum parsed parse_icmp(struct cursor *cursor, struct packet *ret_packet,
				    enum part part)
{
	const __u8 *header;

	if (!cursor_pull(cursor, sizeof(struct icmp6hdr), &header)) {
		if (cursor->refusal == PARSED_MALFORMED && part == PART_FIRST)
			return PARSED_IP;
		return cursor->refusal;
	}
	ret_packet->protocol =
		ret_packet->family == WEIR_IPV4 ? (int)IPPROTO_ICMP : (int)IPPROTO_ICMPV6;
	ret_packet->icmp_type = header[offsetof(struct icmp6hdr, icmp6_type)];
	if (ret_packet->family == WEIR_IPV6)
		ret_packet->exemption = icmpv6_exemption(
			ret_packet, header[offsetof(struct icmp6hdr, icmp6_code)], part);
	return PARSED_IP;
}

PARSE_INLINE void parse_ports(const struct cursor *cursor, const __u8 *header,
			      struct packet *ret_packet)
{
	ret_packet->source_port = cursor_be16(cursor, header);
	ret_packet->destination_port = cursor_be16(cursor, header + sizeof(__be16));
	ret_packet->has_ports = true;
}

/* A first fragment that does not hold the whole header is an old way round filters (RFC 1858). */
PARSE_INLINE enum parsed parse_tcp(struct cursor *cursor, struct packet *ret_packet)
{
	__u32 left = cursor->limit - cursor->offset;
	const __u8 *header;
	__u32 header_bytes;

	if (!cursor_pull(cursor, sizeof(struct tcphdr), &header))
		return cursor->refusal;
	header_bytes = (header[12] >> 4) * 4;
	if (header_bytes < sizeof(struct tcphdr) || header_bytes > left)
		return PARSED_MALFORMED;
	ret_packet->protocol = IPPROTO_TCP;
	ret_packet->tcp_flags = header[13];
	parse_ports(cursor, header, ret_packet);
	return PARSED_IP;
}

PARSE_INLINE enum parsed parse_udp(struct cursor *cursor, struct packet *ret_packet, enum part part)
{
	__u32 left = cursor->limit - cursor->offset;
	const __u8 *header;
	__u32 udp_bytes;

	if (!cursor_pull(cursor, sizeof(struct udphdr), &header))
		return cursor->refusal;
	udp_bytes = cursor_u16(cursor, header + offsetof(struct udphdr, len));
	if (!udp_bytes && ret_packet->family == WEIR_IPV6)
		udp_bytes = sizeof(struct udphdr); /* a jumbogram (RFC 2675) */
	if (udp_bytes < sizeof(struct udphdr) || (part <= PART_ATOMIC && udp_bytes > left))
		return PARSED_MALFORMED;
	ret_packet->protocol = IPPROTO_UDP;
	parse_ports(cursor, header, ret_packet);
	if (ports_are_dhcp(ret_packet))
		ret_packet->exemption = WEIR_EXEMPT_DHCP;
	return PARSED_IP;
}

/* What lies above IP and its extension headers. */
PARSE_INLINE enum parsed parse_upper(struct cursor *cursor, struct packet *ret_packet,
				     __u8 protocol, enum part part)
{
	if (part == PART_LATER) {
		ret_packet->is_fragment = true;
		ret_packet->protocol = protocol;
		return PARSED_IP;
	}
	if (protocol == IPPROTO_UDP)
		return parse_udp(cursor, ret_packet, part);
	if (protocol == IPPROTO_TCP)
		return parse_tcp(cursor, ret_packet);
	if (protocol == (ret_packet->family == WEIR_IPV4 ? (int)IPPROTO_ICMP : (int)IPPROTO_ICMPV6))
		return parse_icmp(cursor, ret_packet, part);
	if (protocol == IPPROTO_IGMP && ret_packet->family == WEIR_IPV4 &&
	    ret_packet->hop_limit == 1)
		ret_packet->exemption = WEIR_EXEMPT_MULTICAST;
	ret_packet->protocol = protocol;
	return PARSED_IP;
}

PARSE_INLINE enum parsed parse_ipv4(struct cursor *cursor, struct packet *ret_packet)
{
	const __u32 start = cursor->offset;
	const __u8 *header;
	__u32 header_bytes, total_bytes, fragment;
	enum part part = PART_WHOLE;

	if (!cursor_pull(cursor, sizeof(struct iphdr), &header))
		return cursor->refusal;
	header_bytes = (header[0] & 0xf) * 4;
	total_bytes = cursor_u16(cursor, header + offsetof(struct iphdr, tot_len));
	if (header[0] >> 4 != 4 || header_bytes < sizeof(struct iphdr) ||
	    total_bytes < header_bytes || start + total_bytes > cursor->limit)
		return PARSED_MALFORMED;
	cursor->offset = start + header_bytes;
	cursor->limit = start + total_bytes;

	ret_packet->family = WEIR_IPV4;
	ret_packet->hop_limit = header[offsetof(struct iphdr, ttl)];
	ret_packet->source[0] = cursor_be32(cursor, header + offsetof(struct iphdr, saddr));
	if (source_is_link_local(ret_packet))
		ret_packet->exemption = WEIR_EXEMPT_LINK_LOCAL;
	fragment = cursor_u16(cursor, header + offsetof(struct iphdr, frag_off));
	if (fragment & 0x1fff) /* offset */
		part = PART_LATER;
	else if (fragment & 0x2000) /* more follow */
		part = PART_FIRST;
	return parse_upper(cursor, ret_packet, header[offsetof(struct iphdr, protocol)], part);
}

/* What the number of an IPv6 extension header says of it; zero for what is none. A table instead
 * of branches, because the verifier follows every branch eight times over. */
struct parse_extension {
	bool is_one;
	__u8 unit_bytes;     /* of the length field, beyond the first 8 */
	__u16 fragment_mask; /* of the second word's bits that say which fragment this is */
	__u32 fragment_seen;
};

#define PARSE_FRAGMENT_SEEN   0x10000
#define PARSE_FRAGMENT_OFFSET 0xfff8
#define PARSE_FRAGMENT_MORE   0x1

static const struct parse_extension parse_extensions_known[256] = {
	[IPPROTO_HOPOPTS] = {.is_one = true, .unit_bytes = 8},
	[IPPROTO_ROUTING] = {.is_one = true, .unit_bytes = 8},
	[IPPROTO_DSTOPTS] = {.is_one = true, .unit_bytes = 8},
	[IPPROTO_AH] = {.is_one = true, .unit_bytes = 4},
	/* Always 8 bytes: what would be its length field is reserved. */
	[IPPROTO_FRAGMENT] = {.is_one = true,
			      .fragment_seen = PARSE_FRAGMENT_SEEN,
			      .fragment_mask = PARSE_FRAGMENT_OFFSET | PARSE_FRAGMENT_MORE},
};

/* From a fragment header's word, with PARSE_FRAGMENT_SEEN. */
PARSE_INLINE enum part part_of(__u32 fragment)
{
	if (!fragment)
		return PART_WHOLE;
	if (fragment & PARSE_FRAGMENT_OFFSET)
		return PART_LATER;
	return fragment & PARSE_FRAGMENT_MORE ? PART_FIRST : PART_ATOMIC;
}

/* Steps over one extension header; false with a refusal if it is not all there. */
PARSE_INLINE bool parse_extension(struct cursor *cursor, __u8 *protocol, __u32 *fragment)
{
	const struct parse_extension *extension = &parse_extensions_known[*protocol];
	const __u32 start = cursor->offset;
	const __u8 *header;

	if (!cursor_pull(cursor, 8, &header))
		return false;
	*fragment |= extension->fragment_seen |
		     (cursor_u16(cursor, header + 2) & extension->fragment_mask);
	*protocol = header[0];
	cursor->offset = parse_widen(start + 8 + header[1] * extension->unit_bytes, header[0]);
	cursor->refusal = PARSED_MALFORMED;
	return cursor->offset <= cursor->limit;
}

PARSE_INLINE enum parsed parse_extensions(struct cursor *cursor, struct packet *ret_packet,
					  __u8 protocol)
{
	__u32 fragment = 0;
	int i;

	for (i = 0; i < PARSE_EXTENSIONS_MAX; i++) {
		if (!parse_extensions_known[protocol].is_one || fragment & PARSE_FRAGMENT_OFFSET)
			break;
		if (!parse_extension(cursor, &protocol, &fragment))
			return cursor->refusal;
	}
	if (parse_extensions_known[protocol].is_one) {
		ret_packet->is_fragment = fragment & PARSE_FRAGMENT_OFFSET;
		return PARSED_IP;
	}
	return parse_upper(cursor, ret_packet, protocol, part_of(fragment));
}

PARSE_INLINE enum parsed parse_ipv6(struct cursor *cursor, struct packet *ret_packet)
{
	const __u8 *header;
	__u32 payload_bytes;
	__u8 protocol;
	int i;

	if (!cursor_pull(cursor, sizeof(struct ipv6hdr), &header))
		return cursor->refusal;
	payload_bytes = cursor_u16(cursor, header + offsetof(struct ipv6hdr, payload_len));
	protocol = header[offsetof(struct ipv6hdr, nexthdr)];
	if (header[0] >> 4 != 6 || cursor->offset + payload_bytes > cursor->limit)
		return PARSED_MALFORMED;
	/* A jumbogram says its length in its hop-by-hop options: it fills the frame. */
	if (payload_bytes || protocol != IPPROTO_HOPOPTS)
		cursor->limit = cursor->offset + payload_bytes;

	ret_packet->family = WEIR_IPV6;
	ret_packet->hop_limit = header[offsetof(struct ipv6hdr, hop_limit)];
	for (i = 0; i < 4; i++)
		ret_packet->source[i] =
			cursor_be32(cursor, header + offsetof(struct ipv6hdr, saddr) + 4 * i);
	if (source_is_link_local(ret_packet))
		ret_packet->exemption = WEIR_EXEMPT_LINK_LOCAL;
	return parse_extensions(cursor, ret_packet, protocol);
}

/* The Ethernet type of what a PPP protocol number (RFC 1661) carries: PPPoE's own for a network
 * protocol that is not looked into, compressed or split packets among them, and 0 for control. */
PARSE_INLINE __u16 ppp_ethertype(__u16 protocol)
{
	switch (protocol) {
	case 0x0021:
		return ETH_P_IP;
	case 0x0057:
		return ETH_P_IPV6;
	default:
		return protocol < 0x4000 ? ETH_P_PPP_SES : 0;
	}
}

/* A PPPoE session header (RFC 2516) and PPP's protocol number, of one byte if that is odd. */
PARSE_INLINE bool parse_pppoe(struct cursor *cursor, __u16 *ret_ethertype)
{
	const __u8 *header;
	__u32 payload_bytes;
	__u16 protocol;

	if (!cursor_pull(cursor, 6, &header))
		return false;
	payload_bytes = cursor_u16(cursor, header + 4);
	cursor->refusal = PARSED_MALFORMED;
	if (header[0] != 0x11 || header[1] || cursor->offset + payload_bytes > cursor->limit)
		return false;
	cursor->limit = cursor->offset + payload_bytes;

	if (!cursor_pull(cursor, 1, &header))
		return false;
	protocol = header[0];
	if (!(protocol & 1)) {
		if (!cursor_pull(cursor, 1, &header))
			return false;
		protocol = protocol << 8 | header[0];
	}
	*ret_ethertype = ppp_ethertype(protocol);
	return true;
}

/* Steps over VLAN tags; a third has no use but to hide what follows. */
PARSE_INLINE bool parse_tags(struct cursor *cursor, __u16 *ethertype)
{
	const __u8 *tag;
	int tags;

	for (tags = 0; tags <= PARSE_TAGS_MAX; tags++) {
		if (*ethertype != ETH_P_8021Q && *ethertype != ETH_P_8021AD)
			return true;
		cursor->refusal = PARSED_MALFORMED;
		if (tags == PARSE_TAGS_MAX)
			return false;
		if (!cursor_pull(cursor, 4, &tag))
			return false;
		*ethertype = cursor_u16(cursor, tag + 2);
	}
	return false;
}

PARSE_INLINE enum parsed parse_other(__u16 ethertype)
{
	switch (ethertype) {
	case ETH_P_ARP:
		return PARSED_ARP;
	case ETH_P_MPLS_UC:
	case ETH_P_MPLS_MC:
	case ETH_P_PPP_SES:
	case ETH_P_8021AH:
	case ETH_P_NSH:
	case ETH_P_MACSEC:
	case ETH_P_HSR:
	case ETH_P_BATMAN:
	case 0x22f3: /* TRILL */
		return PARSED_OPAQUE;
	default:
		return PARSED_NOT_IP;
	}
}

/* frame_bytes is written whatever the answer, the rest is meant to be read for PARSED_IP only. */
PARSE_INLINE enum parsed parse_packet(struct cursor *cursor, struct packet *ret_packet)
{
	const __u8 *header;
	__u16 ethertype;

	*ret_packet = (struct packet){
		.frame_bytes = cursor->frame_bytes,
		.protocol = PARSE_PROTOCOL_UNKNOWN,
		.exemption = WEIR_EXEMPT_NONE,
	};
	cursor->offset = 0;
	cursor->limit = cursor->frame_bytes;
	if (!cursor_pull(cursor, sizeof(struct ethhdr), &header))
		return cursor->refusal;
	ethertype = cursor_u16(cursor, header + offsetof(struct ethhdr, h_proto));
	/* The common case: with nothing between, its offsets are constants. */
	if (ethertype == ETH_P_IP)
		return parse_ipv4(cursor, ret_packet);
	if (!parse_tags(cursor, &ethertype))
		return cursor->refusal;
	if (ethertype == ETH_P_PPP_SES && !parse_pppoe(cursor, &ethertype))
		return cursor->refusal;
	cursor->offset = parse_widen(cursor->offset, header[0]);
	if (ethertype == ETH_P_IP)
		return parse_ipv4(cursor, ret_packet);
	if (ethertype == ETH_P_IPV6)
		return parse_ipv6(cursor, ret_packet);
	return parse_other(ethertype);
}

#endif
