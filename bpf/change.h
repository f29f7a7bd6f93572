/* SPDX-License-Identifier: (GPL-2.0-only OR MIT) */
/* What user space changes in entries, done here so that an entry is only ever changed in place. */
#ifndef WEIR_CHANGE_H
#define WEIR_CHANGE_H

#include "bucket.h"
#include "classify.h"
#include "maps.h"

struct bpf_map;

static __always_inline const struct weir_limit *limit_in_force(const struct weir_entry *entry)
{
	return &policy_view().policy->limits[entry->outcome & (WEIR_LIMITS_MAX - 1)];
}

static __always_inline void entry_fill(struct weir_entry *entry)
{
	*(volatile __u64 *)&entry->word = bucket_full(limit_in_force(entry));
}

static long forget_each(struct bpf_map *map, const void *key, struct weir_entry *entry,
			struct weir_forget *forget)
{
	(void)map;
	(void)key;
	entry_fill(entry);
	forget->forgotten++;
	return 0;
}

/* Brings a bucket into the epoch in force, unless a packet does it first. No change is under way
 * meanwhile, so that a word that looks newer is one of long ago. */
static long sweep_each(struct bpf_map *map, const void *key, struct weir_entry *entry,
		       struct weir_sweep *sweep)
{
	const struct weir_limit *limit = limit_in_force(entry);
	__u64 word = *(volatile __u64 *)&entry->word;

	(void)map;
	(void)key;
	if (bucket_is_of(word, limit))
		return 0;
	if (__sync_val_compare_and_swap(&entry->word, word, bucket_in_force(word, limit)) == word)
		sweep->rescaled++;
	return 0;
}

/* A changed budget starts full. */
static __always_inline void sweep_budget(__u32 slot)
{
	const struct weir_limit *limit =
		&policy_view().policy->budgets[slot & (WEIR_INTERFACES_MAX - 1)];
	struct weir_budget *budget = bpf_map_lookup_elem(&weir_budgets, &slot);
	__u64 word;
	int kind;

	for (kind = 0; budget && kind < WEIR_EXEMPT_MAX; kind++) {
		word = *(volatile __u64 *)&budget->words[kind];
		if (!bucket_is_of(word, limit))
			__sync_val_compare_and_swap(&budget->words[kind], word, bucket_full(limit));
	}
}

/* Gives a source, or everyone, a full bucket. */
SEC("syscall")
int weir_forget_program(struct weir_forget *argument)
{
	struct weir_forget forget = *argument;
	struct weir_entry *entry;

	if (forget.everyone) {
		forget.forgotten = 0;
		bpf_for_each_map_elem(&weir_entries, forget_each, &forget, 0);
		argument->forgotten = forget.forgotten;
		return 0;
	}
	entry = bpf_map_lookup_elem(&weir_entries, &forget.key);
	if (entry)
		entry_fill(entry);
	argument->forgotten = !!entry;
	return 0;
}

/* Leaves no bucket of an older epoch behind, so that two bits tell epochs apart. */
SEC("syscall")
int weir_sweep_program(struct weir_sweep *argument)
{
	struct weir_sweep sweep = {};
	__u32 slot;

	for (slot = 0; slot < WEIR_INTERFACES_MAX; slot++)
		sweep_budget(slot);
	bpf_for_each_map_elem(&weir_entries, sweep_each, &sweep, 0);
	argument->rescaled = sweep.rescaled;
	return 0;
}

#endif
