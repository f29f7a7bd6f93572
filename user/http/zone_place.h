/* SPDX-License-Identifier: MIT */
/* Where a key's slot is, and how it gets one. Used by zone*.c only.
 *
 * A key never has two usable slots, though anybody may insert at any moment and nobody holds a
 * lock. It gets one in three steps:
 *
 * Claim: a free slot becomes (key | SLOT_CLAIMED, nonce) by compare-and-swap. No two claims have
 * the same nonce. Nothing is ever charged to a claim.
 *
 * Scan: all places of the key are read. A usable slot wins, and claims are withdrawn (to zero). Of
 * several claims the one in the lowest place stays, the others are withdrawn; then all is read
 * again.
 *
 * Promote: when a scan that began after a claim was known has seen that claim and nothing else of
 * the key, the claim is made usable, from exactly its nonce.
 *
 * Whoever meets claims of his own key does the same with them: their owner may be dead.
 *
 * Why there are no two: let claims P and Q be promoted in this order, P still usable when Q is. The
 * scan before Q's promotion read P's place while P was not usable, and it was not claimed either,
 * so P was claimed after that reading. Q's claim was known before that scan, so it is older than
 * P's. Hence the scan before P's promotion, which began after P's claim, read Q's place while Q was
 * claimed (Q is promoted later, and its nonce says that it was never anything else in between). So
 * it did not see P alone, and P was not promoted. */
#ifndef WEIR_HTTP_ZONE_PLACE_H
#define WEIR_HTTP_ZONE_PLACE_H

#include "http/zone.h"

#define ZONE_PLACES (2 * ZONE_WAYS)

/* The slots that may be a key's: two sets, by independent mixes of the tag's key bits, so that a
 * slot's tag alone says where else its key may be. */
struct zone_places {
	uint64_t key; /* the tag's key bits, not 0 */
	uint64_t sets[2];
	unsigned int count; /* ZONE_PLACES, or ZONE_WAYS in a zone of one set */
};

static inline uint64_t zone_tag_key(uint64_t tag)
{
	return tag & SLOT_KEY_MASK;
}

static inline bool zone_tag_is_usable(uint64_t tag)
{
	return tag && !(tag & SLOT_CLAIMED);
}

static inline struct zone_slot *zone_place_slot(const struct zone *zone,
						const struct zone_places *places, unsigned int i)
{
	return &zone->slots[places->sets[i / ZONE_WAYS] * ZONE_WAYS + i % ZONE_WAYS];
}

void zone_places_find(const struct zone *zone, uint64_t hash, struct zone_places *ret);

/* The key's usable slot, or NULL. */
struct zone_slot *zone_place_find(const struct zone *zone, const struct zone_places *places,
				  struct slot_pair *ret_pair);

/* A slot that the key may take, of the set that has more of them, or NULL: never used, with nothing
 * owed, or claimed by somebody who did not come back for a second. A state newer than now_ns counts
 * as owed. */
struct zone_slot *zone_place_free(struct zone *zone, const struct zone_places *places,
				  uint64_t now_ns, struct slot_pair *ret_pair);

/* Whether somebody has a claim for the key. */
bool zone_place_is_claimed(const struct zone *zone, const struct zone_places *places);

/* Claims a slot as it was read by zone_place_free. False: it has changed. */
bool zone_place_claim(struct zone *zone, const struct zone_places *places, struct zone_slot *slot,
		      struct slot_pair seen, uint64_t now_ns);

/* Brings claims of the key to an end: its usable slot, with nothing owed under that rule where it
 * is new, or NULL when there was none to promote. */
struct zone_slot *zone_place_resolve(struct zone *zone, const struct zone_places *places,
				     unsigned int rule, struct slot_pair *ret_pair);

/* A slot's cells. */
struct log_ring zone_ring_of(const struct zone *zone, const struct zone_slot *slot);

#endif
