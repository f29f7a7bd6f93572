/* SPDX-License-Identifier: (GPL-2.0-only OR MIT) */
/* The shipped program with a clock that the test sets, and a change as it must not be made. */
#ifndef RACE_H
#define RACE_H

#include <linux/types.h>

__u64 race_now_ns;

#define weir_now_ns(limit) ((void)(limit), *(volatile __u64 *)&race_now_ns)
#include "weir.bpf.c"

#include "prelude.h"

/* Gives a source a full bucket by an update, which on a full map evicts another source. */
SEC("syscall")
int forget_by_update(struct weir_forget *argument)
{
	struct weir_key key = argument->key;
	struct weir_entry *entry = bpf_map_lookup_elem(&weir_entries, &key), changed;

	if (!entry)
		return 0;
	changed = *entry;
	changed.word = 0;
	return bpf_map_update_elem(&weir_entries, &key, &changed, BPF_EXIST);
}

#endif
