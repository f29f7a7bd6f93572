/* SPDX-License-Identifier: MIT */
#include "control/drops.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void drops_append(struct drops *drops, const struct weir_pending_set *sets, int cpus)
{
	for (int cpu = 0; cpu < cpus; cpu++) {
		for (int way = 0; way < WEIR_PENDING_WAYS; way++) {
			if (sets[cpu].ways[way].drops)
				drops->at[drops->count++] = sets[cpu].ways[way];
		}
	}
}

static int drops_collect(const struct control *control, struct drops *drops, int cpus)
{
	struct weir_pending_set *sets = calloc((size_t)cpus, sizeof(*sets));
	int err = 0;

	if (!sets)
		return -ENOMEM;
	for (uint32_t index = 0; !err && index < WEIR_PENDING_SETS; index++) {
		if (bpf_map_lookup_elem(control->fds[PIN_DROPS], &index, sets))
			err = -errno;
		else
			drops_append(drops, sets, cpus);
	}
	free(sets);
	return err;
}

/* A key has no padding. */
static int compare_keys(const void *a, const void *b)
{
	const struct weir_pending *one = a, *other = b;

	return memcmp(&one->key, &other->key, sizeof(one->key));
}

static void drops_merge(struct drops *drops)
{
	size_t last = 0;

	if (!drops->count)
		return;
	qsort(drops->at, drops->count, sizeof(*drops->at), compare_keys);
	for (size_t i = 1; i < drops->count; i++) {
		struct weir_pending *merged = &drops->at[last];

		if (compare_keys(merged, &drops->at[i])) {
			drops->at[++last] = drops->at[i];
			continue;
		}
		merged->drops += drops->at[i].drops;
		if (drops->at[i].last_seen_ns > merged->last_seen_ns)
			merged->last_seen_ns = drops->at[i].last_seen_ns;
	}
	drops->count = last + 1;
}

int drops_read(const struct control *control, struct drops *ret, struct failure *why)
{
	int cpus = libbpf_num_possible_cpus();
	struct drops drops = {0};
	int err = cpus < 0 ? cpus : 0;

	if (!err) {
		drops.at = calloc((size_t)cpus * WEIR_PENDING_SETS * WEIR_PENDING_WAYS,
				  sizeof(*drops.at));
		err = drops.at ? drops_collect(control, &drops, cpus) : -ENOMEM;
	}
	if (err) {
		drops_free(&drops);
		return failure_set(why, err, "cannot read the drops: %s", strerror(-err));
	}
	drops_merge(&drops);
	*ret = drops;
	return 0;
}

void drops_free(struct drops *drops)
{
	free(drops->at);
	*drops = (struct drops){0};
}

const struct weir_pending *drops_find(const struct drops *drops, const struct weir_key *key)
{
	struct weir_pending wanted = {.key = *key};

	if (!drops->count)
		return NULL;
	return bsearch(&wanted, drops->at, drops->count, sizeof(wanted), compare_keys);
}
