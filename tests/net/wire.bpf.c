// SPDX-License-Identifier: (GPL-2.0-only OR MIT)
/* The wire between a flooder and the server: what comes in on one interface leaves by another,
 * without the cost of a kernel's bridge. */
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

const volatile __u32 wire_ifindex = 0;

char LICENSE[] SEC("license") = "Dual MIT/GPL";

SEC("xdp.frags")
int wire(struct xdp_md *ctx)
{
	(void)ctx;
	return bpf_redirect(wire_ifindex, 0);
}
