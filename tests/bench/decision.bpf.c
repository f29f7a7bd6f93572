// SPDX-License-Identifier: (GPL-2.0-only OR MIT)
/* weir beside programs that do less: nothing at all, only parse and look up, or a token bucket as
 * most samples write it. */
#include "weir.bpf.c"

/* Sources that the prelude goes through, 10.0.0.0 and those after it. */
__u32 bench_sources = 1;
__u32 bench_turn;

struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} bench_target SEC(".maps");

struct plain_bucket {
	__u64 tokens;
	__u64 last_ns;
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 262144);
	__type(key, struct weir_key);
	__type(value, struct plain_bucket);
} plain_buckets SEC(".maps");

SEC("xdp.frags")
int prelude(struct xdp_md *ctx)
{
	__u8 *begin = (__u8 *)(long)ctx->data;
	__u8 *end = (__u8 *)(long)ctx->data_end;
	__u32 turn = bench_turn;

	if (begin + ETH_HLEN + sizeof(struct iphdr) > end)
		return XDP_ABORTED;
	*(__be32 *)(begin + ETH_HLEN + offsetof(struct iphdr, saddr)) =
		parse_swap32(0x0a000000 + turn);
	bench_turn = turn + 1 >= bench_sources ? 0 : turn + 1;
	bpf_tail_call(ctx, &bench_target, 0);
	return XDP_ABORTED;
}

SEC("xdp.frags")
int drop_all(struct xdp_md *ctx)
{
	return account(WEIR_DROP_RATE, bpf_xdp_get_buff_len(ctx));
}

SEC("xdp.frags")
int parse_and_look_up(struct xdp_md *ctx)
{
	struct view view = policy_view();
	struct packet packet = {};
	struct weir_entry *entry;
	struct weir_key key;

	if (parse_frame(ctx, &packet) != PARSED_IP)
		return account(WEIR_DROP_MALFORMED, packet.frame_bytes);
	key_of(&packet, view.policy, &key);
	entry = bpf_map_lookup_elem(&weir_entries, &key);
	return account(entry ? WEIR_PASS : WEIR_PASS_UNTRACKED, packet.frame_bytes);
}

/* Tokens and time of the last refill in two words, read, changed and written back. */
SEC("xdp.frags")
int plain(struct xdp_md *ctx)
{
	struct view view = policy_view();
	const struct weir_limit *limit = &view.policy->limits[WEIR_LIMIT_DEFAULT];
	__u64 now_ns = weir_now_ns(limit), earned;
	struct plain_bucket fresh = { .tokens = limit->capacity, .last_ns = now_ns }, *bucket;
	struct packet packet = {};
	struct weir_key key;

	if (parse_frame(ctx, &packet) != PARSED_IP)
		return account(WEIR_DROP_MALFORMED, packet.frame_bytes);
	key_of(&packet, view.policy, &key);
	bucket = bpf_map_lookup_elem(&plain_buckets, &key);
	if (!bucket) {
		bpf_map_update_elem(&plain_buckets, &key, &fresh, BPF_ANY);
		return account(WEIR_PASS, packet.frame_bytes);
	}
	earned = (now_ns - bucket->last_ns) * limit->rate_count / limit->rate_period_ns;
	if (earned) {
		bucket->last_ns = now_ns;
		bucket->tokens += earned;
		if (bucket->tokens > limit->capacity)
			bucket->tokens = limit->capacity;
	}
	if (!bucket->tokens)
		return account(WEIR_DROP_RATE, packet.frame_bytes);
	bucket->tokens--;
	return account(WEIR_PASS, packet.frame_bytes);
}
