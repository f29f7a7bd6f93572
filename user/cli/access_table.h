/* SPDX-License-Identifier: MIT */
/* Values by keys of any bytes, as many as there may be: what comes once it is full has no place.
 * Keys are hashed with a secret, so that nobody can write log lines that make it slow. Pure. */
#ifndef WEIR_CLI_ACCESS_TABLE_H
#define WEIR_CLI_ACCESS_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "http/key.h"

/* A key's own, with its value behind it. */
struct access_entry {
	uint64_t hash;
	size_t key_at; /* in keys */
	size_t key_size;
};

struct access_place {
	uint32_t number; /* the entry's + 1; 0: free */
	uint32_t tag;    /* of its hash, so that most others' entries are not looked at */
};

/* Entries are numbered from 0 in the order they came. */
struct access_table {
	const uint8_t *secret; /* of KEY_SECRET_SIZE bytes */
	size_t value_size;     /* a multiple of 8 */
	size_t max;
	size_t count;
	size_t room; /* of entries; there are twice as many places */
	struct access_place *places;
	char *entries;
	char *keys;
	size_t keys_size, keys_room;
};

/* Takes no memory yet. secret must last as long. */
void access_table_open(struct access_table *table, const uint8_t secret[KEY_SECRET_SIZE],
		       size_t value_size, size_t max);
void access_table_close(struct access_table *table);

/* The key's value, zeroes where the key is new, good until the next call. NULL where it is new and
 * there are max others, or no memory for it. */
void *access_table_take(struct access_table *table, const void *key, size_t size);

const void *access_table_value(const struct access_table *table, size_t number);
const void *access_table_key(const struct access_table *table, size_t number, size_t *ret_size);

/* Whether a comes before b. */
typedef bool access_order(const void *a, const void *b);

/* The numbers of the first max entries in that order, of equals those that came first. Returns how
 * many there are. */
size_t access_table_top(const struct access_table *table, access_order *before, uint32_t *ret,
			size_t max);

#endif
