/* SPDX-License-Identifier: MIT */
/* Which source an address belongs to. */
#ifndef WEIR_KEYS_H
#define WEIR_KEYS_H

#include "control/control.h"

/* address is a whole address or a source's prefix: -EINVAL for other lengths. */
int keys_of(const struct prefix *address, const struct weir_policy *policy, struct weir_key *ret,
	    struct failure *why);

#endif
