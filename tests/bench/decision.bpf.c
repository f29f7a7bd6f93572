// SPDX-License-Identifier: (GPL-2.0-only OR MIT)
/* weir beside programs that do less: nothing at all, only parse and look up, or a token bucket as
 * most samples write it. */
#include "weir.bpf.c"

#include "../prog/prelude.h"

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
	struct plain_bucket fresh = {.tokens = limit->capacity, .last_ns = now_ns}, *bucket;
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
