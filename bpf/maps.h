/* SPDX-License-Identifier: (GPL-2.0-only OR MIT) */
/* Every map. All are pinned and shared by the programs of all interfaces. */
#ifndef WEIR_MAPS_H
#define WEIR_MAPS_H

#include <bpf/bpf_helpers.h>

#include "weir.h"

/* Where this program's interface keeps its counters and budgets; fixed at load. */
const volatile __u32 weir_slot = 0;

/* Keys the hash of weir_drops, so that nobody can aim at a place; random at load. */
const volatile __u64 weir_seed = 0;

/* The policy in force and the next one: read without a helper call, written through mmap. */
struct weir_config weir_config SEC(".data.config");

/* Sources. The loader sets the size; when full, the least recently used gives way to the newest.
 * Entries are changed in place: an update would take a free node and could evict a foreign one. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1);
	__type(key, struct weir_key);
	__type(value, struct weir_entry);
} weir_entries SEC(".maps");

/* Drops that have not reached their source's entry: fixed size, never evicted unread. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, WEIR_PENDING_SETS);
	__type(key, __u32);
	__type(value, struct weir_pending_set);
} weir_drops SEC(".maps");

/* Packets and bytes by verdict, one element per interface slot. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, WEIR_INTERFACES_MAX);
	__type(key, __u32);
	__type(value, struct weir_counters);
} weir_counters SEC(".maps");

/* Exemption buckets, one element per interface slot. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, WEIR_INTERFACES_MAX);
	__type(key, __u32);
	__type(value, struct weir_budget);
} weir_budgets SEC(".maps");

/* Which interface holds a slot; user space alone reads and writes it. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, WEIR_INTERFACES_MAX);
	__type(key, __u32);
	__type(value, struct weir_interface);
} weir_interfaces SEC(".maps");

/* Holds nothing: updating a map of maps returns only when every program that was running has
 * ended, which is how user space waits for packets in flight. */
struct weir_barrier_inner {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
};

struct weir_barrier_inner weir_nothing SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 1);
	__type(key, __u32);
	__array(values, struct weir_barrier_inner);
} weir_barrier SEC(".maps") = {
	.values = {&weir_nothing},
};

#endif
