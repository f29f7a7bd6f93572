/* SPDX-License-Identifier: (GPL-2.0-only OR MIT) */
/* A test run repeats one frame: this gives each run the next source and goes on in another program
 * of the same object. */
#ifndef PRELUDE_H
#define PRELUDE_H

#define PRELUDE_CPUS 8

/* 10.0.0.0 and those after it take turns, each CPU by itself; next starts them anew. */
__u32 prelude_first = 0x0a000000;
__u32 prelude_sources = 1;

struct {
	__u32 next;
	__u8 line[WEIR_CACHE_LINE - sizeof(__u32)];
} prelude_turns[PRELUDE_CPUS] = {};

struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} prelude_target SEC(".maps");

SEC("xdp.frags")
int prelude(struct xdp_md *ctx)
{
	__u32 *next = &prelude_turns[bpf_get_smp_processor_id() & (PRELUDE_CPUS - 1)].next;
	__u8 *begin = (__u8 *)(long)ctx->data;
	__u8 *end = (__u8 *)(long)ctx->data_end;
	__u32 turn = *next;

	if (begin + ETH_HLEN + sizeof(struct iphdr) > end)
		return XDP_ABORTED;
	*(__be32 *)(begin + ETH_HLEN + offsetof(struct iphdr, saddr)) =
		parse_swap32(prelude_first + turn);
	*next = turn + 1 >= prelude_sources ? 0 : turn + 1;
	bpf_tail_call(ctx, &prelude_target, 0);
	return XDP_ABORTED;
}

#endif
