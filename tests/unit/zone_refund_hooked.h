/* SPDX-License-Identifier: MIT */
/* The shipped zone_refund.c once more, as hooked_zone_refund, with a store that heeds nobody in
 * the place of its compare-and-swap. */
#ifndef WEIR_ZONE_REFUND_HOOKED_H
#define WEIR_ZONE_REFUND_HOOKED_H

#include "http/zone.h"

static inline bool hooked_store(struct slot_pair *at, struct slot_pair from, struct slot_pair to)
{
	(void)from;
	*at = to;
	return true;
}

#define slot_exchange hooked_store
#define zone_refund   hooked_zone_refund
void zone_refund(struct zone_charge *charge, zone_clock clock);
#include "http/zone_refund.c"
#undef slot_exchange
#undef zone_refund

#endif
