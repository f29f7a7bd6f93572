/* SPDX-License-Identifier: MIT */
#include "http/zone.h"

#include <errno.h>
#include <string.h>

#include "http/zone_offenders.h"
#include "http/zone_place.h"
#include "http/zone_rules.h"

/* Offsets of the file's parts, and its size. */
struct layout {
	uint64_t shares;
	uint64_t overflow;
	uint64_t slots;
	uint64_t cells;
	uint64_t offenders;
	uint64_t offender_details;
	uint64_t size;
};

/* Adds a part of count times size bytes, to whole pages. False where it overflows. */
static bool part_add(uint64_t *offset, uint64_t count, uint64_t size)
{
	uint64_t bytes, end;

	if (__builtin_mul_overflow(count, size, &bytes) ||
	    __builtin_add_overflow(*offset, bytes, &end) ||
	    __builtin_add_overflow(end, ZONE_PAGE_SIZE - 1, &end))
		return false;
	*offset = end & ~(ZONE_PAGE_SIZE - 1ULL);
	return true;
}

static bool layout_find(uint64_t sets, uint64_t cells_per_slot, uint64_t offenders,
			struct layout *ret)
{
	uint64_t cells, offset = 0;

	if (__builtin_mul_overflow(sets * ZONE_WAYS, cells_per_slot, &cells) ||
	    !part_add(&offset, 1, sizeof(struct zone_header)))
		return false;
	ret->shares = offset;
	if (!part_add(&offset, ZONE_SHARES, sizeof(uint64_t)))
		return false;
	ret->overflow = offset;
	if (!part_add(&offset, sets, sizeof(uint64_t)))
		return false;
	ret->slots = offset;
	if (!part_add(&offset, sets * ZONE_WAYS, sizeof(struct zone_slot)))
		return false;
	ret->cells = offset;
	if (!part_add(&offset, cells, sizeof(struct log_cell)))
		return false;
	ret->offenders = offset;
	if (!part_add(&offset, offenders, sizeof(struct slot_pair)))
		return false;
	ret->offender_details = offset;
	if (!part_add(&offset, offenders, sizeof(struct zone_offender_detail)))
		return false;
	ret->size = offset;
	return true;
}

uint64_t zone_offenders_rounded(uint64_t offenders)
{
	return (offenders + ZONE_OFFENDER_WAYS - 1) / ZONE_OFFENDER_WAYS * ZONE_OFFENDER_WAYS;
}

uint64_t zone_size(uint64_t entries, uint64_t cells_per_slot, uint64_t offenders)
{
	struct layout layout;

	if (!entries || entries > ZONE_ENTRIES_MAX || offenders > ZONE_OFFENDERS_MAX)
		return 0;
	if (!layout_find((entries + ZONE_WAYS - 1) / ZONE_WAYS, cells_per_slot,
			 zone_offenders_rounded(offenders), &layout))
		return 0;
	return layout.size;
}

static int parts_find(struct zone *zone, uint8_t *memory, struct failure *why)
{
	struct layout layout;

	zone->header = (struct zone_header *)memory;
	zone->sets = zone->header->sets;
	zone->cells_per_slot = zone->header->cells_per_slot;
	zone->offenders_count = zone->header->offenders;
	if (!zone->sets || zone->sets > ZONE_ENTRIES_MAX / ZONE_WAYS ||
	    zone->offenders_count > ZONE_OFFENDERS_MAX ||
	    zone->offenders_count % ZONE_OFFENDER_WAYS ||
	    !layout_find(zone->sets, zone->cells_per_slot, zone->offenders_count, &layout))
		return failure_set(why, EINVAL, "its size cannot be");
	zone->shares = (uint64_t *)(memory + layout.shares);
	zone->overflow = (uint64_t *)(memory + layout.overflow);
	zone->slots = (struct zone_slot *)(memory + layout.slots);
	zone->cells = (struct log_cell *)(memory + layout.cells);
	zone->offenders = (struct slot_pair *)(memory + layout.offenders);
	zone->offender_details = (struct zone_offender_detail *)(memory + layout.offender_details);
	return 0;
}

int zone_attach(struct zone *zone, void *memory, struct failure *why)
{
	int err;

	memset(zone, 0, sizeof(*zone));
	err = parts_find(zone, memory, why);
	return err ? err : zone_rules_attach(zone, why);
}

struct log_ring zone_ring_of(const struct zone *zone, const struct zone_slot *slot)
{
	return (struct log_ring){
		.slot = (struct zone_slot *)slot,
		.cells = &zone->cells[(uint64_t)(slot - zone->slots) * zone->cells_per_slot],
		.size = (uint32_t)zone->cells_per_slot,
	};
}

const struct zone_slot *zone_find(const struct zone *zone, uint64_t hash,
				  struct slot_pair *ret_pair)
{
	struct zone_places places;

	zone_places_find(zone, hash, &places);
	return zone_place_find(zone, &places, ret_pair);
}

void zone_slot_answer(struct zone *zone, const struct zone_slot *slot, struct slot_pair pair,
		      uint64_t cost, uint64_t now_ns, struct answer *ret)
{
	const struct rule *rule = zone_rule_at(zone, pair.tag & SLOT_RULE_MASK);
	struct log_ring ring;

	if (rule->algorithm != ALGORITHM_SLIDING_LOG) {
		rule_answer(rule, pair.state, cost, now_ns, ret);
		return;
	}
	ring = zone_ring_of(zone, slot);
	log_answer(&ring, rule, pair, cost, now_ns, ret);
}

bool zone_slot_owes(struct zone *zone, const struct zone_slot *slot, struct slot_pair pair,
		    uint64_t now_ns)
{
	const struct rule *rule;
	struct log_ring ring;

	if (!zone_tag_is_usable(pair.tag))
		return false;
	rule = zone_rule_at(zone, pair.tag & SLOT_RULE_MASK);
	if (rule->algorithm != ALGORITHM_SLIDING_LOG)
		return !rule_is_full(rule, pair.state, now_ns);
	ring = zone_ring_of(zone, slot);
	return !log_is_empty(&ring, rule, pair, now_ns);
}

/* A key that has no slot owes nothing, whatever the algorithm. */
static void answer_full(const struct rule *rule, uint64_t cost, struct answer *ret)
{
	*ret = (struct answer){
		.limit = rule->capacity,
		.remaining = rule->capacity,
		.retry_after_ns = cost > rule->capacity ? RULE_NEVER_NS : 0,
	};
}

void zone_answer(const struct zone_charge *charge, struct answer *ret)
{
	struct zone *zone = charge->zone;

	if (charge->status == ZONE_OVERFLOW_PASSED || charge->status == ZONE_OVERFLOW_REFUSED)
		rule_answer(&zone->overflow_rule, charge->pair.state, charge->cost, charge->now_ns,
			    ret);
	else if (charge->slot)
		zone_slot_answer(zone, charge->slot, charge->pair, charge->cost, charge->now_ns,
				 ret);
	else
		answer_full(zone_rule_at(zone, charge->rule), charge->cost, ret);
}

void zone_count(struct zone *zone, enum zone_count which)
{
	__atomic_fetch_add(&zone->header->counts[which], 1, __ATOMIC_RELAXED);
}
