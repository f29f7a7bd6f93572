/* SPDX-License-Identifier: MIT */
/* From a zone to its successor, which nobody else uses yet. */
#include "http/zone_offenders.h"
#include "http/zone_place.h"
#include "http/zone_rules.h"

/* A cell lies at its number modulo the ring's size and is recognised by key and number, so it may
 * be copied as it is. Of more than fit, the newest. */
static void cells_copy(struct log_ring to, struct log_ring from, uint64_t written)
{
	uint64_t count = to.size < from.size ? to.size : from.size;

	if (count > written)
		count = written;
	for (uint64_t i = 1; i <= count; i++)
		to.cells[(written - i) % to.size] = from.cells[(written - i) % from.size];
}

/* The number that a rule has in the successor; the main rule's stays the main rule. */
static unsigned int rule_carried(struct zone *to, const struct zone *from, const struct rule *rule)
{
	int number;

	if (rule_equals(rule, &from->main))
		return to->main_rule;
	number = zone_rule_find(to, rule);
	return number < 0 ? to->main_rule : (unsigned int)number;
}

static void slot_carry(struct zone *to, struct zone_slot *place, struct zone *from,
		       const struct zone_slot *slot, struct slot_pair pair, uint64_t now_ns)
{
	const struct rule *rule = zone_rule_at(from, pair.tag & SLOT_RULE_MASK);
	unsigned int number = rule_carried(to, from, rule);

	place->last_seen_ns = slot->last_seen_ns;
	place->passed = slot->passed;
	place->refused = slot->refused;
	place->label = slot->label;
	if (rule->algorithm == ALGORITHM_SLIDING_LOG)
		cells_copy(zone_ring_of(to, place), zone_ring_of(from, slot), pair.state);
	else
		pair.state = rule_convert(rule, zone_rule_at(to, number), pair.state, now_ns);
	pair.tag = (pair.tag & ~SLOT_RULE_MASK) | number;
	place->pair = pair;
}

uint64_t zone_carry_over(struct zone *to, struct zone *from, uint64_t now_ns)
{
	uint64_t lost = zone_offenders_carry_over(to, from, now_ns);

	for (uint64_t i = 0; i < from->sets * ZONE_WAYS; i++) {
		const struct zone_slot *slot = &from->slots[i];
		struct slot_pair pair = slot_read(slot), free_pair;
		struct zone_places places;
		struct zone_slot *place;

		if (!zone_slot_owes(from, slot, pair, now_ns))
			continue;
		zone_places_find(to, pair.tag, &places);
		place = zone_place_free(to, &places, now_ns, &free_pair);
		if (place && to->main.algorithm == from->main.algorithm)
			slot_carry(to, place, from, slot, pair, now_ns);
		else
			lost++;
	}
	return lost;
}
