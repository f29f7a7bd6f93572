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

/* Carries a bucket of the epoch before over, unless a packet does it first. */
static long sweep_each(struct bpf_map *map, const void *key, struct weir_entry *entry,
		       struct weir_sweep *sweep)
{
	const struct weir_limit *limit = limit_in_force(entry);
	__u64 word = *(volatile __u64 *)&entry->word;

	(void)map;
	(void)key;
	if (!bucket_is_older(word, limit))
		return 0;
	if (__sync_val_compare_and_swap(&entry->word, word, bucket_carry(word, limit)) == word)
		sweep->rescaled++;
	return 0;
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

	bpf_for_each_map_elem(&weir_entries, sweep_each, &sweep, 0);
	argument->rescaled = sweep.rescaled;
	return 0;
}

#endif
