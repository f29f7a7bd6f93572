/* SPDX-License-Identifier: MIT */
#include "control/entries.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Entries asked for at once: the kernel gives whole hash buckets, so one must fit. */
#define BATCH 4096

struct batch {
	struct weir_key keys[BATCH];
	struct weir_entry states[BATCH];
	uint32_t position; /* the kernel's */
	bool started;
};

/* Returns how many were read, 0 at the end, or -errno. */
static int batch_read(int fd, struct batch *batch)
{
	uint32_t count = BATCH;
	int err = 0;

	if (bpf_map_lookup_batch(fd, batch->started ? &batch->position : NULL, &batch->position,
				 batch->keys, batch->states, &count, NULL))
		err = -errno;
	batch->started = true;
	if (err == -ENOENT) /* the last ones; asking again gives ENOENT and none */
		return (int)count;
	return err ? err : (int)count;
}

struct entry_list {
	struct entry *at;
	size_t count;
	size_t room;
};

static int list_append(struct entry_list *list, const struct batch *batch, size_t count)
{
	if (list->count + count > list->room) {
		size_t room = 2 * list->room + count;
		struct entry *grown = reallocarray(list->at, room, sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		list->at = grown;
		list->room = room;
	}
	for (size_t i = 0; i < count; i++)
		list->at[list->count++] = (struct entry){batch->keys[i], batch->states[i]};
	return 0;
}

static int list_fill(struct entry_list *list, int fd, struct batch *batch)
{
	int count;

	while ((count = batch_read(fd, batch)) > 0) {
		int err = list_append(list, batch, (size_t)count);

		if (err)
			return err;
	}
	return count;
}

int entries_read(const struct control *control, struct entry **ret, size_t *ret_count,
		 struct failure *why)
{
	struct batch *batch = calloc(1, sizeof(*batch));
	struct entry_list list = {0};
	int err = -ENOMEM;

	if (batch)
		err = list_fill(&list, control->fds[PIN_ENTRIES], batch);
	free(batch);
	if (err) {
		free(list.at);
		return failure_set(why, err, "cannot read the sources: %s", strerror(-err));
	}
	*ret = list.at;
	*ret_count = list.count;
	return 0;
}

int entries_room(const struct control *control, uint32_t *ret, struct failure *why)
{
	struct bpf_map_info map = {0};
	uint32_t size = sizeof(map);

	if (bpf_obj_get_info_by_fd(control->fds[PIN_ENTRIES], &map, &size))
		return failure_set(why, errno, "cannot read how many sources there is room for: %s",
				   strerror(errno));
	*ret = map.max_entries;
	return 0;
}

bool entries_key_is_of(const struct weir_key *key, const struct weir_policy *policy)
{
	return key->prefix_length == (key->family == WEIR_IPV4 ? policy->key4 : policy->key6);
}

void entries_delete_foreign(const struct control *control, const struct weir_policy *policy)
{
	struct entry *entries;
	size_t count;

	if (entries_read(control, &entries, &count, NULL))
		return;
	for (size_t i = 0; i < count; i++) {
		if (!entries_key_is_of(&entries[i].key, policy))
			bpf_map_delete_elem(control->fds[PIN_ENTRIES], &entries[i].key);
	}
	free(entries);
}
