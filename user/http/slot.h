/* SPDX-License-Identifier: MIT */
/* One key's place in a zone: a line of 64 bytes. Tag and state change together, by one 128-bit
 * compare-and-swap. */
#ifndef WEIR_HTTP_SLOT_H
#define WEIR_HTTP_SLOT_H

#include <stdbool.h>
#include <stdint.h>

/* tag: 55 bits of the key's keyed hash, one bit while the slot is claimed and not yet usable, and 8
 * bits for the rule that the state belongs to. Zero is a slot that was never used. */
struct slot_pair {
	uint64_t tag;
	uint64_t state;
};

static inline bool slot_pair_equals(struct slot_pair a, struct slot_pair b)
{
	return a.tag == b.tag && a.state == b.state;
}

#define SLOT_RULE_MASK 0xffULL
#define SLOT_CLAIMED   0x100ULL
#define SLOT_KEY_MASK  (~0x1ffULL)

enum slot_label_kind {
	LABEL_NONE,
	LABEL_ADDRESS, /* value is an address in network order, family and length say which */
	LABEL_HASH,    /* the key may be a secret: value's first 8 bytes are its hash, big-endian */
};

/* What people are shown. Display only: may be torn while a slot changes hands. */
struct slot_label {
	uint8_t kind;
	uint8_t family; /* WEIR_IPV4 or WEIR_IPV6 */
	uint8_t prefix_length;
	uint8_t is_peer; /* the address is the TCP peer's, as the socket says */
	uint32_t zero;
	uint8_t value[16];
};
_Static_assert(sizeof(struct slot_label) == 24, "label size");

struct zone_slot {
	struct slot_pair pair;
	uint64_t last_seen_ns;
	uint64_t passed;
	uint64_t refused;
	struct slot_label label;
} __attribute__((aligned(64)));
_Static_assert(sizeof(struct zone_slot) == 64, "slot size");

/* A tag and a state that were there together, or a tag that changed while it was read: then a
 * compare-and-swap from what was read fails. */
struct slot_pair slot_pair_read(const struct slot_pair *from);
struct slot_pair slot_read(const struct zone_slot *slot);

/* Stores to where from is. A full barrier. */
bool slot_exchange(struct slot_pair *at, struct slot_pair from, struct slot_pair to);

/* Makes a label what it should be, by words, since others read it meanwhile; written only where it
 * is another. */
void slot_label_keep(struct slot_label *to, const struct slot_label *from);

#endif
