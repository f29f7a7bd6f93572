/* SPDX-License-Identifier: MIT */
#include "http/slot.h"

#include <stddef.h>

/* Every x86-64 since 2006 and every aarch64 has the instruction. There is no fallback: libatomic's
 * would be a lock that lies in one process and guards nothing between two. */
#ifndef __GCC_HAVE_SYNC_COMPARE_AND_SWAP_16
#error "a zone needs a 128-bit compare-and-swap: on x86-64 compile with -mcx16"
#endif

typedef unsigned __int128 wide __attribute__((may_alias));
typedef uint64_t label_word __attribute__((may_alias));

#define LABEL_WORDS (sizeof(struct slot_label) / sizeof(label_word))

struct slot_pair slot_pair_read(const struct slot_pair *from)
{
	struct slot_pair pair;
	uint64_t before;

	pair.tag = __atomic_load_n(&from->tag, __ATOMIC_ACQUIRE);
	do {
		before = pair.tag;
		pair.state = __atomic_load_n(&from->state, __ATOMIC_ACQUIRE);
		pair.tag = __atomic_load_n(&from->tag, __ATOMIC_ACQUIRE);
	} while (pair.tag != before);
	return pair;
}

struct slot_pair slot_read(const struct zone_slot *slot)
{
	return slot_pair_read(&slot->pair);
}

static wide wide_of(struct slot_pair pair)
{
	union {
		struct slot_pair pair;
		wide both;
	} as = {pair};

	return as.both;
}

bool slot_exchange(struct slot_pair *at, struct slot_pair from, struct slot_pair to)
{
	return __sync_bool_compare_and_swap((wide *)at, wide_of(from), wide_of(to));
}

void slot_label_keep(struct slot_label *to, const struct slot_label *from)
{
	label_word *words = (label_word *)to;
	const label_word *kept = (const label_word *)from;

	for (size_t i = 0; i < LABEL_WORDS; i++) {
		if (__atomic_load_n(&words[i], __ATOMIC_RELAXED) != kept[i])
			__atomic_store_n(&words[i], kept[i], __ATOMIC_RELAXED);
	}
}
