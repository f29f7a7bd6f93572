// SPDX-License-Identifier: (GPL-2.0-only OR MIT)
/* The program: parse, classify, decide, account. Read this first. */
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

#include "account.h"
#include "bucket.h"
#include "change.h"
#include "classify.h"
#include "maps.h"
#include "parse.h"
#include "weir.h"

/* Takes that another CPU may win in a row before a packet is refused: refusing keeps the limit. */
#define TAKE_ATTEMPTS 32

/* The seams of the tests: they define these before including this file. */
#ifndef weir_now_ns
#define weir_now_ns(limit) \
	((limit)->clock == WEIR_CLOCK_COARSE ? bpf_ktime_get_coarse_ns() : bpf_ktime_get_ns())
#endif
#ifndef weir_swap
#define weir_swap(word, expected, wanted) __sync_val_compare_and_swap(word, expected, wanted)
#endif
#ifndef WEIR_INSERT_FLAGS
#define WEIR_INSERT_FLAGS BPF_NOEXIST
#endif
#ifndef WEIR_PARSE_LINEAR
#define WEIR_PARSE_LINEAR 1
#endif

char LICENSE[] SEC("license") = "Dual MIT/GPL";

/* Headers beyond the linear part: some drivers deliver that empty. */
__noinline enum parsed parse_window(struct xdp_md *ctx, struct packet *packet)
{
	__u8 window[PARSE_WINDOW] = {};
	struct cursor cursor = {
		.begin = window,
		.frame_bytes = bpf_xdp_get_buff_len(ctx),
		.bytewise = true,
	};
	__u32 size = cursor.frame_bytes;

	if (!packet)
		return PARSED_SHORT;
	if (size > PARSE_WINDOW)
		size = PARSE_WINDOW;
	/* From 1 on, in a form that 6.1's verifier sees: it learns nothing from "not 0". */
	size = ((parse_opaque(size) - 1) & (PARSE_WINDOW - 1)) + 1;
	if (bpf_xdp_load_bytes(ctx, 0, window, size))
		return PARSED_SHORT;
	cursor.end = window + size;
	return parse_packet(&cursor, packet);
}

static __always_inline enum parsed parse_frame(struct xdp_md *ctx, struct packet *packet)
{
	struct cursor cursor = {
		.begin = (const __u8 *)(long)ctx->data,
		.end = (const __u8 *)(long)ctx->data_end,
		.frame_bytes = bpf_xdp_get_buff_len(ctx),
	};
	enum parsed parsed = PARSED_SHORT;

	if (WEIR_PARSE_LINEAR)
		parsed = parse_packet(&cursor, packet);
	return parsed == PARSED_SHORT ? parse_window(ctx, packet) : parsed;
}

/* Whether the interface's budget for this kind of traffic has room: WEIR_PASS_EXEMPT or
 * WEIR_DROP_BUDGET. */
__noinline int exempt(enum weir_exemption kind)
{
	struct view view = policy_view();
	const struct weir_limit *limit =
		&view.policy->budgets[weir_slot & (WEIR_INTERFACES_MAX - 1)];
	__u64 now_ns = weir_now_ns(limit);
	__u32 slot = weir_slot;
	struct weir_budget *budget = bpf_map_lookup_elem(&weir_budgets, &slot);
	__u64 minted, word, next, seen;
	int attempt;

	if (!view.generation || !budget || kind >= WEIR_EXEMPT_MAX)
		return count_untracked(WEIR_CAUSE_NO_LIMIT);
	if (now_ns >= BUCKET_NOW_MAX_NS)
		return count_untracked(WEIR_CAUSE_CLOCK_SPENT);
	minted = bucket_minted(bucket_ticks(now_ns), limit->multiplier);
	word = *(volatile __u64 *)&budget->words[kind];
	for (attempt = 0; attempt < TAKE_ATTEMPTS; attempt++) {
		/* A changed budget starts full. */
		if (!bucket_take(bucket_is_of(word, limit) ? word : bucket_full(limit), limit,
				 bucket_cost(limit, 1), minted, &next))
			return WEIR_DROP_BUDGET;
		seen = weir_swap(&budget->words[kind], word, next);
		if (seen == word)
			return WEIR_PASS_EXEMPT;
		word = seen;
	}
	return WEIR_DROP_BUDGET;
}

/* Takes a token where judge could not at once: another CPU was faster, or the limit has changed.
 * Apart from it because the verifier follows every attempt. */
__noinline int judge_again(struct weir_entry *entry, const struct weir_key *key, __u64 now_ns)
{
	struct view view = policy_view();
	const struct weir_limit *limit;
	__u64 word, current, next;
	int attempt;

	if (!entry || !key)
		return WEIR_PASS_UNTRACKED;
	for (attempt = 0; attempt < TAKE_ATTEMPTS; attempt++) {
		limit = limit_of(entry, &view);
		word = *(volatile __u64 *)&entry->word;
		if (bucket_is_newer(word, limit)) {
			/* The policy moved on while this packet was looking at it. */
			view = policy_view();
			continue;
		}
		current = bucket_in_force(word, limit);
		if (!bucket_take(current, limit, bucket_cost(limit, 1),
				 bucket_minted(bucket_ticks(now_ns), limit->multiplier), &next)) {
			count_dropped(entry, key, now_ns);
			return WEIR_DROP_RATE;
		}
		if (weir_swap(&entry->word, word, next) == word) {
			count_passed(entry, now_ns);
			return WEIR_PASS;
		}
	}
	count_dropped(entry, key, now_ns);
	return WEIR_DROP_CONTENDED;
}

/* One token from a source's bucket. */
static __always_inline enum weir_verdict judge(struct weir_entry *entry, const struct weir_key *key,
					       struct view view)
{
	const struct weir_limit *limit = limit_of(entry, &view);
	__u64 now_ns = weir_now_ns(limit);
	__u64 word = *(volatile __u64 *)&entry->word;
	__u64 next;

	if (now_ns >= BUCKET_NOW_MAX_NS)
		return count_untracked(WEIR_CAUSE_CLOCK_SPENT);
	if (!bucket_is_of(word, limit))
		return judge_again(entry, key, now_ns);
	if (!bucket_take(word, limit, bucket_cost(limit, 1),
			 bucket_minted(bucket_ticks(now_ns), limit->multiplier), &next)) {
		count_dropped(entry, key, now_ns);
		return WEIR_DROP_RATE;
	}
	if (weir_swap(&entry->word, word, next) != word)
		return judge_again(entry, key, now_ns);
	count_passed(entry, now_ns);
	return WEIR_PASS;
}

/* A source without an entry gets one, with its first token taken. */
__noinline int admit(const struct weir_key *key)
{
	struct view view = policy_view();
	struct weir_entry fresh = {.outcome = classify(view.generation), .passed = 1};
	const struct weir_limit *limit =
		&view.policy->limits[fresh.outcome & (WEIR_LIMITS_MAX - 1)];
	struct weir_entry *entry;
	struct weir_key own;
	int err; /* no wider: 6.1 does not extend its sign */

	if (!key)
		return WEIR_PASS_UNTRACKED;
	own = *key; /* verifiers before 6.2 take no map key from a function's argument */
	fresh.last_seen_ns = weir_now_ns(limit);
	if (fresh.last_seen_ns >= BUCKET_NOW_MAX_NS)
		return count_untracked(WEIR_CAUSE_CLOCK_SPENT);
	if (!bucket_take(bucket_full(limit), limit, bucket_cost(limit, 1),
			 bucket_minted(bucket_ticks(fresh.last_seen_ns), limit->multiplier),
			 &fresh.word))
		return count_untracked(WEIR_CAUSE_NO_LIMIT);
	err = bpf_map_update_elem(&weir_entries, &own, &fresh, WEIR_INSERT_FLAGS);
	if (!err)
		return WEIR_PASS;
	if (err != -17 /* EEXIST: another CPU inserted it first */)
		return count_untracked(WEIR_CAUSE_INSERT_FAILED);
	entry = bpf_map_lookup_elem(&weir_entries, &own);
	if (!entry)
		return count_untracked(WEIR_CAUSE_ENTRY_VANISHED);
	return judge(entry, &own, view);
}

static __always_inline enum weir_verdict decide(const struct packet *packet)
{
	struct view view = policy_view();
	struct weir_entry *entry;
	struct weir_key key;

	if (!view.generation)
		return count_untracked(WEIR_CAUSE_NO_LIMIT);
	if (packet->exemption != WEIR_EXEMPT_NONE) {
		int verdict = exempt(packet->exemption);

		if (verdict != WEIR_DROP_BUDGET)
			return verdict;
	}
	key_of(packet, view.policy, &key);
	entry = bpf_map_lookup_elem(&weir_entries, &key);
	if (!entry)
		return admit(&key);
	return judge(entry, &key, view);
}

SEC("xdp.frags")
int weir_xdp(struct xdp_md *ctx)
{
	struct packet packet = {};

	switch (parse_frame(ctx, &packet)) {
	case PARSED_IP:
		return account(decide(&packet), packet.frame_bytes);
	case PARSED_NOT_IP:
		return account(WEIR_PASS_NOT_IP, packet.frame_bytes);
	case PARSED_ARP:
		return account(exempt(WEIR_EXEMPT_ARP), packet.frame_bytes);
	case PARSED_OPAQUE:
		return account(WEIR_PASS_OPAQUE, packet.frame_bytes);
	case PARSED_MALFORMED:
		return account(WEIR_DROP_MALFORMED, packet.frame_bytes);
	case PARSED_SHORT:
		break;
	}
	return account(count_untracked(WEIR_CAUSE_UNREADABLE), bpf_xdp_get_buff_len(ctx));
}
