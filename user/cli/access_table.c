/* SPDX-License-Identifier: MIT */
#include "cli/access_table.h"

#include <stdlib.h>
#include <string.h>

#define ROOM_MIN        256
#define PLACES_PER_ROOM 2
#define KEYS_ROOM_MIN   4096

void access_table_open(struct access_table *table, const uint8_t secret[KEY_SECRET_SIZE],
		       size_t value_size, size_t max)
{
	*table = (struct access_table){.secret = secret, .value_size = value_size, .max = max};
}

void access_table_close(struct access_table *table)
{
	free(table->places);
	free(table->entries);
	free(table->keys);
	access_table_open(table, table->secret, table->value_size, table->max);
}

static size_t entry_size(const struct access_table *table)
{
	return sizeof(struct access_entry) + table->value_size;
}

static struct access_entry *entry_at(const struct access_table *table, size_t number)
{
	return (struct access_entry *)(table->entries + number * entry_size(table));
}

static void *value_at(const struct access_table *table, size_t number)
{
	return entry_at(table, number) + 1;
}

/* Low bits choose a place, high ones are its tag. */
static uint32_t tag_of(uint64_t hash)
{
	return (uint32_t)(hash >> 32);
}

static bool is_at(const struct access_table *table, const struct access_place *place, uint64_t hash,
		  const void *key, size_t size)
{
	const struct access_entry *entry;

	if (place->tag != tag_of(hash))
		return false;
	entry = entry_at(table, place->number - 1);
	return entry->key_size == size && !memcmp(table->keys + entry->key_at, key, size);
}

/* The key's place, or a free one for it: half of them are free at least. */
static struct access_place *place_find(const struct access_table *table, uint64_t hash,
				       const void *key, size_t size)
{
	size_t mask = PLACES_PER_ROOM * table->room - 1, at = hash & mask;

	while (table->places[at].number && !is_at(table, &table->places[at], hash, key, size))
		at = (at + 1) & mask;
	return &table->places[at];
}

static void places_fill(struct access_place *places, size_t room, const struct access_table *table)
{
	size_t mask = PLACES_PER_ROOM * room - 1;

	for (size_t i = 0; i < table->count; i++) {
		uint64_t hash = entry_at(table, i)->hash;
		size_t at = hash & mask;

		while (places[at].number)
			at = (at + 1) & mask;
		places[at] = (struct access_place){(uint32_t)i + 1, tag_of(hash)};
	}
}

/* Whether there is memory for more entries. What was made larger in vain does no harm. */
static bool table_grow(struct access_table *table)
{
	size_t room = table->room ? 2 * table->room : ROOM_MIN;
	char *entries = reallocarray(table->entries, room, entry_size(table));
	struct access_place *places;

	if (!entries)
		return false;
	table->entries = entries;
	places = calloc(PLACES_PER_ROOM * room, sizeof(*places));
	if (!places)
		return false;
	places_fill(places, room, table);
	free(table->places);
	table->places = places;
	table->room = room;
	return true;
}

static bool key_append(struct access_table *table, const void *key, size_t size)
{
	size_t room = table->keys_room ? table->keys_room : KEYS_ROOM_MIN;
	char *keys;

	while (room - table->keys_size < size)
		room *= 2;
	if (room != table->keys_room) {
		keys = realloc(table->keys, room);
		if (!keys)
			return false;
		table->keys = keys;
		table->keys_room = room;
	}
	memcpy(table->keys + table->keys_size, key, size);
	table->keys_size += size;
	return true;
}

static void *entry_add(struct access_table *table, struct access_place *place, uint64_t hash,
		       const void *key, size_t size)
{
	size_t key_at = table->keys_size, number = table->count;

	if (!key_append(table, key, size))
		return NULL;
	*entry_at(table, number) = (struct access_entry){hash, key_at, size};
	memset(value_at(table, number), 0, table->value_size);
	*place = (struct access_place){(uint32_t)++table->count, tag_of(hash)};
	return value_at(table, number);
}

void *access_table_take(struct access_table *table, const void *key, size_t size)
{
	uint64_t hash = key_siphash(table->secret, key, size);
	struct access_place *place;

	if (!table->room && !table_grow(table))
		return NULL;
	place = place_find(table, hash, key, size);
	if (place->number)
		return value_at(table, place->number - 1);
	if (table->count == table->max)
		return NULL;
	if (table->count == table->room) {
		if (!table_grow(table))
			return NULL;
		place = place_find(table, hash, key, size);
	}
	return entry_add(table, place, hash, key, size);
}

const void *access_table_value(const struct access_table *table, size_t number)
{
	return value_at(table, number);
}

const void *access_table_key(const struct access_table *table, size_t number, size_t *ret_size)
{
	const struct access_entry *entry = entry_at(table, number);

	*ret_size = entry->key_size;
	return table->keys + entry->key_at;
}

/* Where the entry belongs among those sorted already: after all that do not come after it. */
static size_t rank_of(const struct access_table *table, access_order *before,
		      const uint32_t *sorted, size_t count, size_t number)
{
	const void *value = value_at(table, number);
	size_t low = 0;

	while (low < count) {
		size_t middle = low + (count - low) / 2;

		if (before(value, value_at(table, sorted[middle])))
			count = middle;
		else
			low = middle + 1;
	}
	return low;
}

size_t access_table_top(const struct access_table *table, access_order *before, uint32_t *ret,
			size_t max)
{
	size_t count = 0;

	for (size_t i = 0; i < table->count; i++) {
		size_t rank = rank_of(table, before, ret, count, i);

		if (rank == max)
			continue;
		count += count < max;
		memmove(ret + rank + 1, ret + rank, (count - rank - 1) * sizeof(*ret));
		ret[rank] = (uint32_t)i;
	}
	return count;
}
