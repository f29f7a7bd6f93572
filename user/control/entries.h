/* SPDX-License-Identifier: MIT */
/* The map of sources, read without refreshing what is read. */
#ifndef WEIR_ENTRIES_H
#define WEIR_ENTRIES_H

#include <stddef.h>

#include "control/pins.h"

struct entry {
	struct weir_key key;
	struct weir_entry state;
};

/* How many entries there is room for. */
int entries_room(const struct control *control, uint32_t *ret, struct failure *why);

/* Every entry. The caller frees *ret. */
int entries_read(const struct control *control, struct entry **ret, size_t *ret_count,
		 struct failure *why);

/* Whether the key has the length that the policy gives its family. */
bool entries_key_is_of(const struct weir_key *key, const struct weir_policy *policy);

/* Deletes the entries that no packet finds under the policy's key lengths. Those it cannot delete
 * stay until they are evicted, unseen. */
void entries_delete_foreign(const struct control *control, const struct weir_policy *policy);

#endif
