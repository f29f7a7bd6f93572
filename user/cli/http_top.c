/* SPDX-License-Identifier: MIT */
#include "cli/http_top.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "http/key.h"
#include "http/zone_offenders.h"
#include "http/zone_place.h"

/* Who has a row already when the slots are gone through: hashes in order, none twice. */
struct offenders {
	uint64_t *hashes;
	size_t count;
};

/* One zone on its way into a top. */
struct pass {
	struct http_top *top;
	const struct http_zone *named;
	struct zone *zone;
	uint64_t now_ns;
	struct offenders offenders;
};

int http_top_begin(struct http_top *top, enum http_top_order order, size_t wanted)
{
	*top = (struct http_top){.order = order, .wanted = wanted};
	top->rows = reallocarray(NULL, wanted, 2 * sizeof(*top->rows));
	return top->rows ? 0 : -ENOMEM;
}

void http_top_free(struct http_top *top)
{
	free(top->rows);
	*top = (struct http_top){0};
}

static uint64_t rank_of(const struct http_top_row *row, enum http_top_order order)
{
	switch (order) {
	case HTTP_TOP_BY_REFUSED:
		return row->refused;
	case HTTP_TOP_BY_PASSED:
		return row->passed;
	case HTTP_TOP_BY_LAST_SEEN:
		break;
	}
	return row->last_seen_ns;
}

/* The larger first. */
static int compare_numbers(uint64_t a, uint64_t b)
{
	return (a < b) - (a > b);
}

static int compare_rows(const void *a, const void *b, void *arg)
{
	const struct http_top_row *first = a, *second = b;
	enum http_top_order order = *(const enum http_top_order *)arg;
	int compared = compare_numbers(rank_of(first, order), rank_of(second, order));

	if (!compared)
		compared = compare_numbers(first->last_seen_ns, second->last_seen_ns);
	return compared ? compared : strcmp(first->key, second->key);
}

void http_top_end(struct http_top *top)
{
	qsort_r(top->rows, top->count, sizeof(*top->rows), compare_rows, &top->order);
	if (top->count < top->wanted)
		return;
	top->count = top->wanted;
	top->floor = rank_of(&top->rows[top->wanted - 1], top->order);
	top->is_full = true;
}

/* Whether a key as told by its counters may be among those wanted: most are not, and need no name
 * found. */
static bool is_wanted(const struct http_top *top, const struct http_top_row *row)
{
	return !top->is_full || rank_of(row, top->order) >= top->floor;
}

static void row_add(struct http_top *top, const struct http_top_row *row)
{
	top->rows[top->count++] = *row;
	if (top->count == 2 * top->wanted)
		http_top_end(top);
}

/* A label may be torn, or that of the key before: what it names has another hash then. */
static bool label_names_address(const struct pass *pass, const struct slot_label *label,
				uint64_t hash, struct prefix *ret)
{
	struct prefix prefix = {.family = label->family, .length = label->prefix_length};

	if (label->kind != LABEL_ADDRESS ||
	    (label->family != WEIR_IPV4 && label->family != WEIR_IPV6) ||
	    label->prefix_length > address_bits(label->family))
		return false;
	memcpy(prefix.address, label->value, sizeof(prefix.address));
	*ret = prefix;
	return !((key_hash_address(pass->zone->header->secret, &prefix) ^ hash) & SLOT_KEY_MASK);
}

/* The hash whole, where the label has it. */
static uint64_t hash_whole(const struct slot_label *label, uint64_t hash)
{
	uint64_t big_endian;

	memcpy(&big_endian, label->value, sizeof(big_endian));
	if (label->kind == LABEL_HASH && !((be64toh(big_endian) ^ hash) & SLOT_KEY_MASK))
		return be64toh(big_endian);
	return hash;
}

static void row_name(const struct pass *pass, const struct slot_label *label, uint64_t hash,
		     struct http_top_row *row)
{
	struct prefix prefix;

	row->named = pass->named;
	if (label_names_address(pass, label, hash, &prefix))
		prefix_format(row->key, sizeof(row->key), &prefix);
	else
		http_hash_format(row->key, sizeof(row->key), hash_whole(label, hash));
}

/* All but the name. */
static void row_count(const struct pass *pass, const struct zone_slot *slot, struct slot_pair pair,
		      struct http_top_row *row)
{
	struct answer answer;

	zone_slot_answer(pass->zone, slot, pair, 1, pass->now_ns, &answer);
	row->passed = slot->passed;
	row->refused += slot->refused;
	row->remaining = answer.remaining;
	if (row->last_seen_ns < slot->last_seen_ns)
		row->last_seen_ns = slot->last_seen_ns;
}

static void offender_add(struct pass *pass, const struct zone_offender *offender)
{
	struct http_top_row row = {
		.refused = offender->refused,
		.remaining = pass->zone->main.capacity,
		.ban_left_ns = offender->ban_left_ns,
		.last_seen_ns = offender->last_seen_ns,
	};
	struct slot_pair pair;
	const struct zone_slot *slot = zone_find(pass->zone, offender->hash, &pair);

	if (slot)
		row_count(pass, slot, pair, &row);
	else if (!offender->ban_left_ns)
		return;
	pass->top->known++;
	if (!is_wanted(pass->top, &row))
		return;
	row_name(pass, &offender->label, offender->hash, &row);
	row_add(pass->top, &row);
}

static int compare_hashes(const void *a, const void *b)
{
	return compare_numbers(*(const uint64_t *)a, *(const uint64_t *)b);
}

/* As a slot's tag knows them. */
static int compare_keys(const void *a, const void *b)
{
	return compare_numbers(*(const uint64_t *)a & SLOT_KEY_MASK,
			       *(const uint64_t *)b & SLOT_KEY_MASK);
}

/* A key may have two entries. */
static void offenders_sort(struct offenders *offenders)
{
	size_t count = 0;

	qsort(offenders->hashes, offenders->count, sizeof(*offenders->hashes), compare_hashes);
	for (size_t i = 0; i < offenders->count; i++) {
		if (!i || offenders->hashes[i] != offenders->hashes[i - 1])
			offenders->hashes[count++] = offenders->hashes[i];
	}
	offenders->count = count;
}

static int offenders_list(const struct pass *pass, struct offenders *ret)
{
	const struct zone *zone = pass->zone;
	struct offenders offenders = {0};

	if (!zone->offenders_count)
		return 0;
	offenders.hashes = reallocarray(NULL, zone->offenders_count, sizeof(*offenders.hashes));
	if (!offenders.hashes)
		return -ENOMEM;
	for (uint64_t at = 0; at < zone->offenders_count; at++) {
		struct zone_offender offender;

		if (zone_offender_read(zone, at, pass->now_ns, &offender))
			offenders.hashes[offenders.count++] = offender.hash;
	}
	offenders_sort(&offenders);
	*ret = offenders;
	return 0;
}

static void offenders_add(struct pass *pass)
{
	for (size_t i = 0; i < pass->offenders.count; i++) {
		struct zone_offender offender;

		if (zone_offender_find(pass->zone, pass->offenders.hashes[i], pass->now_ns,
				       &offender))
			offender_add(pass, &offender);
	}
}

static bool is_offender(const struct pass *pass, uint64_t key)
{
	const struct offenders *offenders = &pass->offenders;

	return offenders->count && bsearch(&key, offenders->hashes, offenders->count,
					   sizeof(*offenders->hashes), compare_keys);
}

static void slot_add(struct pass *pass, const struct zone_slot *slot)
{
	struct slot_pair pair = slot_read(slot);
	struct http_top_row row = {0};
	struct slot_label label;

	if (!zone_tag_is_usable(pair.tag) || is_offender(pass, zone_tag_key(pair.tag)))
		return;
	row_count(pass, slot, pair, &row);
	pass->top->known++;
	if (!is_wanted(pass->top, &row))
		return;
	label = slot->label;
	row_name(pass, &label, zone_tag_key(pair.tag), &row);
	row_add(pass->top, &row);
}

int http_top_add(struct http_top *top, const struct http_zone *named, struct zone *zone,
		 uint64_t now_ns)
{
	struct pass pass = {.top = top, .named = named, .zone = zone, .now_ns = now_ns};
	int err = offenders_list(&pass, &pass.offenders);

	if (err)
		return err;
	offenders_add(&pass);
	for (uint64_t i = 0; i < zone->sets * ZONE_WAYS; i++)
		slot_add(&pass, &zone->slots[i]);
	free(pass.offenders.hashes);
	return 0;
}
