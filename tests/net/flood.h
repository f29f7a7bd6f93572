/* SPDX-License-Identifier: (GPL-2.0-only OR MIT) */
/* What the flood's program is told before it is loaded. */
#ifndef FLOOD_H
#define FLOOD_H

#include <linux/types.h>

#define FLOOD_LINK_BYTES 18 /* Ethernet and one VLAN tag */

struct flood_plan {
	__u32 ifindex;       /* where each frame leaves */
	__u32 source_offset; /* of the bytes that count up: an IPv4 source, or an IPv6 source's /64
			      */
	__u32 check_offset;  /* of the IPv4 header checksum, 0: none */
	__u32 port_offset;   /* of the UDP source port, 0: it stays */
	__u32 first_source;  /* host byte order */
	__u32 sources;       /* first_source and the ones after it, in turn */
	__u32 interval_ns;   /* between two packets, 0: as fast as it goes */
	__u8 link[FLOOD_LINK_BYTES]; /* of a tagged frame */
	__u8 tagged;
	__u64 packets; /* to send in all, 0: no end */
	__u32 check;   /* sum of the IPv4 header without its source address */
};

#endif
