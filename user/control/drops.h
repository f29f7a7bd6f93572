/* SPDX-License-Identifier: MIT */
/* Drops that wait per CPU and have not reached their source's entry. */
#ifndef WEIR_DROPS_H
#define WEIR_DROPS_H

#include <stddef.h>

#include "control/pins.h"

struct drops {
	struct weir_pending *at; /* sorted by key, one for each */
	size_t count;
};

/* Read it after the entries: what moves from here into an entry meanwhile is then missing until
 * the next look, instead of counted twice. */
int drops_read(const struct control *control, struct drops *ret, struct failure *why);
void drops_free(struct drops *drops);

/* NULL when none of this source wait. */
const struct weir_pending *drops_find(const struct drops *drops, const struct weir_key *key);

#endif
