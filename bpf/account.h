/* SPDX-License-Identifier: (GPL-2.0-only OR MIT) */
/* What a verdict leaves behind: counters, and the XDP action. */
#ifndef WEIR_ACCOUNT_H
#define WEIR_ACCOUNT_H

#include <stdbool.h>

#include "maps.h"

/* How far a place's holder in weir_drops can be ahead: it gives the place up once others had that
 * many more drops than it. */
#define PENDING_HELD_MAX 64

static __always_inline int account(enum weir_verdict verdict, __u32 frame_bytes)
{
	__u32 slot = weir_slot;
	struct weir_counters *counters = bpf_map_lookup_elem(&weir_counters, &slot);

	/* Or clang, which sees what a function returns, leaves out the check that the verifier,
	 * which does not, demands. */
	asm volatile("" : "+r"(verdict));
	if (counters && verdict < WEIR_VERDICT_MAX) {
		counters->verdicts[verdict].packets++;
		counters->verdicts[verdict].bytes += frame_bytes;
	}
	return verdict >= WEIR_DROP_RATE ? XDP_DROP : XDP_PASS;
}

__noinline int count_untracked(enum weir_cause cause)
{
	__u32 slot = weir_slot;
	struct weir_counters *counters = bpf_map_lookup_elem(&weir_counters, &slot);

	if (counters && cause < WEIR_CAUSE_MAX)
		counters->causes[cause]++;
	return WEIR_PASS_UNTRACKED;
}

/* The winner of the compare-and-swap owns the line already, so exact counting costs little. */
static __always_inline void count_passed(struct weir_entry *entry, __u64 now_ns)
{
	__sync_fetch_and_add(&entry->passed, 1);
	entry->last_seen_ns = now_ns;
}

static __always_inline void count_dropped_in_entry(struct weir_entry *entry, __u64 drops,
						   __u64 last_seen_ns)
{
	__sync_fetch_and_add(&entry->dropped, drops);
	if (entry->last_seen_ns < last_seen_ns)
		entry->last_seen_ns = last_seen_ns;
}

static __always_inline __u32 pending_set(const struct weir_key *key)
{
	__u64 hash = weir_seed ^ key->address[0] ^ ((__u64)key->address[1] << 32);

	hash *= 0x9e3779b97f4a7c15ULL; /* 2^64 / golden ratio */
	hash ^= (hash >> 32) ^ key->address[2] ^ ((__u64)key->address[3] << 32);
	hash *= 0x9e3779b97f4a7c15ULL;
	return (hash >> 32) & (WEIR_PENDING_SETS - 1);
}

static __always_inline bool key_equals(const struct weir_key *a, const struct weir_key *b)
{
	return a->address[0] == b->address[0] && a->address[1] == b->address[1] &&
	       a->address[2] == b->address[2] && a->address[3] == b->address[3] &&
	       a->family == b->family && a->prefix_length == b->prefix_length &&
	       a->class == b->class;
}

static __always_inline void pending_add(struct weir_pending *pending, __u64 now_ns)
{
	if (pending->held < PENDING_HELD_MAX)
		pending->held++;
	pending->last_seen_ns = now_ns;
	pending->drops++;
}

/* Moves what the former holder left into its entry, if that still lives, and gives the place to
 * key. */
__noinline int pending_replace(struct weir_pending *pending, const struct weir_key *key,
			       __u64 now_ns)
{
	struct weir_entry *entry;
	struct weir_key holder;

	if (!pending || !key)
		return 0;
	if (pending->drops) {
		/* 6.1's verifier takes no key from a function's argument. */
		holder = pending->key;
		entry = bpf_map_lookup_elem(&weir_entries, &holder);
		if (entry)
			count_dropped_in_entry(entry, pending->drops, pending->last_seen_ns);
	}
	/* In this order, or a reader would take the former holder's drops for key's. */
	*(volatile __u64 *)&pending->drops = 0;
	pending->key = *key;
	pending->held = 1;
	pending->last_seen_ns = now_ns;
	asm volatile("" : : : "memory");
	*(volatile __u64 *)&pending->drops = 1;
	return 0;
}

/* A drop waits on this CPU, in a place of its set that its source holds or wins. While others hold
 * both, it is counted in the entry at once: the only case in which a refusal writes a line that
 * other CPUs write, and over after PENDING_HELD_MAX of them unless the holder is as busy. */
static __always_inline void count_dropped(struct weir_entry *entry, const struct weir_key *key,
					  __u64 now_ns)
{
	__u32 index = pending_set(key);
	struct weir_pending_set *set = bpf_map_lookup_elem(&weir_drops, &index);
	struct weir_pending *weaker;

	if (!set)
		return;
	if (key_equals(&set->ways[0].key, key))
		return pending_add(&set->ways[0], now_ns);
	if (key_equals(&set->ways[1].key, key))
		return pending_add(&set->ways[1], now_ns);
	weaker = set->ways[1].held < set->ways[0].held ? &set->ways[1] : &set->ways[0];
	if (!weaker->held) {
		pending_replace(weaker, key, now_ns);
		return;
	}
	weaker->held--;
	count_dropped_in_entry(entry, 1, now_ns);
}

#endif
