/* SPDX-License-Identifier: (GPL-2.0-only OR MIT) */
/* IPv4, IPv6 with its extension headers, and what lies above: bytes -> struct packet. Pure. */
#ifndef WEIR_PARSE_IP_H
#define WEIR_PARSE_IP_H

#include <stddef.h>

#include <linux/icmpv6.h>
#include <linux/in.h>
#include <linux/in6.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/tcp.h>
#include <linux/types.h>
#include <linux/udp.h>

#include "cursor.h"
#include "weir.h"

#define PARSE_EXTENSIONS_MAX   8
#define PARSE_PROTOCOL_UNKNOWN 0xff

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

/* How much of a packet this is. An atomic fragment is whole, behind a fragment header. */
enum part { PART_WHOLE, PART_ATOMIC, PART_FIRST, PART_LATER };

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

#endif
