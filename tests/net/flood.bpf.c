// SPDX-License-Identifier: (GPL-2.0-only OR MIT)
/* Turns one frame into a flood: each run gives it the next source and sends it out, or drops it
 * where none is due. */
#include <stdbool.h>

#include <linux/bpf.h>

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "flood.h"

const volatile struct flood_plan plan = {};

#define PORT_MIN 1024
#define PORTS    50000

/* What a pause of the sender may make up for in a burst. */
#define LAG_MAX_NS 20000

__u64 sent;
__u64 due_ns;
__u32 turn;

char LICENSE[] SEC("license") = "Dual MIT/GPL";

static __always_inline __u32 next_source(void)
{
	__u32 source = plan.first_source + turn;

	if (++turn >= plan.sources)
		turn = 0;
	return source;
}

static __always_inline bool is_due(void)
{
	__u64 now_ns;

	if (plan.packets && sent >= plan.packets)
		return false;
	if (!plan.interval_ns)
		return true;
	now_ns = bpf_ktime_get_ns();
	if (now_ns < due_ns)
		return false;
	if (due_ns + LAG_MAX_NS < now_ns)
		due_ns = now_ns - LAG_MAX_NS;
	due_ns += plan.interval_ns;
	return true;
}

/* RFC 1071, over the fixed part computed before and the two halves of the source. */
static __always_inline __be16 check_with(__u32 source)
{
	__u32 sum = plan.check + (source >> 16) + (source & 0xffff);

	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	return bpf_htons(~sum & 0xffff);
}

/* The largest offset of a source or port: Ethernet, one VLAN tag, IPv6. */
#define OFFSET_MAX 63

/* Whoever receives a tagged frame takes the tag out of the very memory that is sent again. */
static __always_inline bool write_link(__u8 *begin, const __u8 *end)
{
	int i;

	if (begin + FLOOD_LINK_BYTES > end)
		return false;
	for (i = 0; i < FLOOD_LINK_BYTES; i++)
		begin[i] = plan.link[i];
	return true;
}

SEC("xdp")
int flood(struct xdp_md *ctx)
{
	__u8 *begin = (__u8 *)(long)ctx->data;
	__u8 *end = (__u8 *)(long)ctx->data_end;
	__u8 *source = begin + (plan.source_offset & OFFSET_MAX);
	__u8 *check = begin + (plan.check_offset & OFFSET_MAX);
	__u8 *port = begin + (plan.port_offset & OFFSET_MAX);
	__u32 address;

	if (source + sizeof(__be32) > end || check + sizeof(__be16) > end ||
	    port + sizeof(__be16) > end || !is_due())
		return XDP_DROP;
	if (plan.tagged && !write_link(begin, end))
		return XDP_DROP;
	address = next_source();
	sent++;
	*(__be32 *)source = bpf_htonl(address);
	if (plan.check_offset)
		*(__be16 *)check = check_with(address);
	if (plan.port_offset)
		*(__be16 *)port = bpf_htons(PORT_MIN + sent % PORTS);
	return bpf_redirect(plan.ifindex, 0);
}
