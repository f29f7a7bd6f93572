/* SPDX-License-Identifier: MIT */
#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bucket.h"
#include "control/config.h"
#include "control/control.h"
#include "control/drops.h"
#include "control/entries.h"
#include "control/keys.h"
#include "control/limit.h"

#define COST_OF_A_PACKET 1

/* Rounded up, so that waiting is enough. */
static uint64_t ticks_to_ns(uint64_t ticks)
{
	return (ticks >> BUCKET_TICK_SHIFT) + !!(ticks & ((1 << BUCKET_TICK_SHIFT) - 1));
}

/* Adds what waits elsewhere. */
static void entry_complete(struct entry *entry, const struct drops *drops)
{
	const struct weir_pending *pending = drops_find(drops, &entry->key);

	if (!pending)
		return;
	entry->state.dropped += pending->drops;
	if (pending->last_seen_ns > entry->state.last_seen_ns)
		entry->state.last_seen_ns = pending->last_seen_ns;
}

static void source_describe(const struct entry *entry, const struct weir_policy *policy,
			    struct control_source *ret)
{
	const struct weir_limit *limit =
		&policy->limits[entry->state.outcome & (WEIR_LIMITS_MAX - 1)];
	uint64_t now_ticks = bucket_ticks(config_now_ns(limit));
	uint64_t cost_units = bucket_cost(limit, COST_OF_A_PACKET);
	uint64_t word = entry->state.word;

	*ret = (struct control_source){
		.key = entry->key,
		.passed = entry->state.passed,
		.dropped = entry->state.dropped,
		.last_seen_ns = entry->state.last_seen_ns,
		.tokens = limit_tokens(word, limit, now_ticks),
		.full_in_ns = ticks_to_ns(limit_full_ticks(word, limit, now_ticks)),
		.next_in_ns = ticks_to_ns(limit_wait_ticks(word, limit, cost_units, now_ticks)),
	};
	config_limit_read(limit, &ret->limit);
}

static int compare_counts(uint64_t a, uint64_t b, const struct entry *one,
			  const struct entry *other)
{
	if (a != b)
		return a > b ? -1 : 1;
	return memcmp(&one->key, &other->key, sizeof(one->key));
}

static int compare_dropped(const void *a, const void *b)
{
	const struct entry *one = a, *other = b;

	return compare_counts(one->state.dropped, other->state.dropped, one, other);
}

static int compare_passed(const void *a, const void *b)
{
	const struct entry *one = a, *other = b;

	return compare_counts(one->state.passed, other->state.passed, one, other);
}

static int compare_last_seen(const void *a, const void *b)
{
	const struct entry *one = a, *other = b;

	return compare_counts(one->state.last_seen_ns, other->state.last_seen_ns, one, other);
}

static int (*comparison(enum control_order order))(const void *, const void *)
{
	switch (order) {
	case CONTROL_BY_PASSED:
		return compare_passed;
	case CONTROL_BY_LAST_SEEN:
		return compare_last_seen;
	case CONTROL_BY_DROPS:
		break;
	}
	return compare_dropped;
}

/* Keeps the entries that packets find under the policy, with all of their drops. */
static size_t entries_select(struct entry *entries, size_t count, const struct drops *drops,
			     const struct weir_policy *policy)
{
	size_t kept = 0;

	for (size_t i = 0; i < count; i++) {
		if (!entries_key_is_of(&entries[i].key, policy))
			continue;
		entries[kept] = entries[i];
		entry_complete(&entries[kept++], drops);
	}
	return kept;
}

static int sources_describe(const struct entry *entries, size_t count,
			    const struct weir_policy *policy, struct control_source **ret,
			    struct failure *why)
{
	struct control_source *sources = calloc(count ? count : 1, sizeof(*sources));

	if (!sources)
		return failure_set(why, ENOMEM, "not enough memory");
	for (size_t i = 0; i < count; i++)
		source_describe(&entries[i], policy, &sources[i]);
	*ret = sources;
	return 0;
}

int control_sources(struct control *control, enum control_order order, size_t top,
		    struct control_source **ret, size_t *ret_count, size_t *ret_known,
		    struct failure *why)
{
	struct entry *entries = NULL;
	struct drops drops = {0};
	struct weir_policy policy;
	size_t known, count;
	int err = pins_refresh(control, why);

	if (!err)
		err = entries_read(control, &entries, &known, why);
	if (!err)
		err = drops_read(control, &drops, why);
	if (err)
		goto out;
	config_policy_read(control, &policy);
	known = entries_select(entries, known, &drops, &policy);
	if (known)
		qsort(entries, known, sizeof(*entries), comparison(order));
	count = top < known ? top : known;
	err = sources_describe(entries, count, &policy, ret, why);
	if (err)
		goto out;
	*ret_count = count;
	*ret_known = known;
out:
	drops_free(&drops);
	free(entries);
	return err;
}

int control_source(struct control *control, const struct prefix *address,
		   struct control_source *ret, struct failure *why)
{
	struct weir_policy policy;
	struct drops drops = {0};
	struct entry entry;
	int err = pins_refresh(control, why);

	if (err)
		return err;
	config_policy_read(control, &policy);
	err = keys_of(address, &policy, &entry.key, why);
	if (err)
		return err;
	if (bpf_map_lookup_elem(control->fds[PIN_ENTRIES], &entry.key, &entry.state)) {
		if (errno == ENOENT)
			return failure_set(why, ENOENT,
					   "nothing is known of it: its bucket is full");
		return failure_set(why, errno, "cannot read its entry: %s", strerror(errno));
	}
	err = drops_read(control, &drops, why);
	if (err)
		return err;
	entry_complete(&entry, &drops);
	drops_free(&drops);
	source_describe(&entry, &policy, ret);
	return 0;
}
