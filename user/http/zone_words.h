/* SPDX-License-Identifier: MIT */
/* Buckets that many keys have in common: a set's overflow, and what one prefix may take of a zone.
 * Each asks two words: it passes if either has room and is charged in each that has. Used by
 * zone*.c only.
 *
 * A word bears the low bits of the epoch whose rule it was written under. A process that did not
 * see the newest change of the rules (a worker of before a reload) is refused and writes nothing:
 * it cannot read words of after, nor could those of after read its own. */
#ifndef WEIR_HTTP_ZONE_WORDS_H
#define WEIR_HTTP_ZONE_WORDS_H

#include "http/zone_place.h"

/* Whether origin may have another slot: charged, or only looked at. */
bool zone_share_take(struct zone *zone, uint64_t origin, zone_clock clock);
bool zone_share_look(const struct zone *zone, uint64_t origin, zone_clock clock);

/* Judges a charge by its sets' overflow. A refusal takes nothing, whatever the charge's mode: the
 * words are not this key's alone. Fills in status, now_ns, pair, slot and overflow_words. */
bool zone_overflow_take(struct zone_charge *charge, const struct zone_places *places,
			zone_clock clock);
bool zone_overflow_look(struct zone_charge *charge, const struct zone_places *places,
			zone_clock clock);

/* Takes back what zone_overflow_take charged, where nobody has moved it since. */
void zone_overflow_give_back(struct zone_charge *charge, const struct zone_places *places);

#endif
