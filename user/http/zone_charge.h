/* SPDX-License-Identifier: MIT */
/* One zone's part in a request: each fills in what zone_take_all writes. Used by zone*.c only. */
#ifndef WEIR_HTTP_ZONE_CHARGE_H
#define WEIR_HTTP_ZONE_CHARGE_H

#include "http/zone.h"

/* Whether it would pass. Charges and inserts nothing. */
bool zone_charge_look(struct zone_charge *charge, zone_clock clock);

bool zone_charge_take(struct zone_charge *charge, zone_clock clock);

/* Undoes zone_charge_take, where nobody has moved the state since: one refused too many rather than
 * one admitted. */
void zone_charge_give_back(struct zone_charge *charge);

#endif
