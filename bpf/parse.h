/* SPDX-License-Identifier: (GPL-2.0-only OR MIT) */
/* Bytes -> struct packet. Pure: no map, clock or helper, so that the same lines run in the kernel
 * and in the tests.
 *
 * The frame's length decides what is truncated, the readable bytes only whether this attempt can
 * tell. Only the first PARSE_WINDOW bytes are ever looked at, so that a frame gets the same answer
 * whether it is read in place or from a copy of those bytes. */
#ifndef WEIR_PARSE_H
#define WEIR_PARSE_H

#include <stddef.h>

#include <linux/if_ether.h>

#include "cursor.h"
#include "parse_ip.h"

#define PARSE_TAGS_MAX 2

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
