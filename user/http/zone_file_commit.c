/* SPDX-License-Identifier: MIT */
/* Putting a prepared file in place. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "http/zone_file_check.h"
#include "http/zone_file_made.h"
#include "http/zone_file_state.h"

/* The words of buckets that others take from meanwhile, under another rule. */
static void convert_words(uint64_t *words, uint64_t count, const struct rule *from,
			  const struct rule *to, uint64_t now_ns)
{
	if (rule_equals(from, to))
		return;
	for (uint64_t i = 0; i < count; i++) {
		uint64_t word = __atomic_load_n(&words[i], __ATOMIC_RELAXED);

		while (word && !__atomic_compare_exchange_n(
				       &words[i], &word, rule_convert(from, to, word, now_ns),
				       false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
			;
	}
}

/* A kept file takes a changed limit without a word of its slots changed: their states name the rule
 * they belong to. Workers of before use their own copy of the old limit until they leave. */
static int use_rules(struct zone_file *file, uint64_t now_ns, struct failure *why)
{
	struct zone_header *header = file->mapping.memory;
	int err;

	if (!zone_file_difference(header, &file->settings))
		return 0;
	if (zone_rule_find(&file->zone, &file->settings.main) < 0)
		return failure_set(why, ENOSPC, "%s has no place for another limit", file->path);
	file->zone_before = file->zone;
	zone_file_keep_rule(&header->main, &file->settings.main);
	zone_file_keep_rule(&header->overflow, &file->settings.overflow);
	err = zone_attach(&file->zone, header, why);
	if (err)
		return err;
	convert_words(file->zone.overflow, header->sets, &file->zone_before.overflow_rule,
		      &file->zone.overflow_rule, now_ns);
	convert_words(file->zone.shares, ZONE_SHARES, &file->zone_before.share_rule,
		      &file->zone.share_rule, now_ns);
	return 0;
}

static int carry_over(struct zone_file *file, uint64_t now_ns, uint64_t *ret_lost,
		      struct failure *why)
{
	int err = zone_attach(&file->zone_before, file->before.memory, why);

	if (!err)
		*ret_lost = zone_carry_over(&file->zone, &file->zone_before, now_ns);
	return err;
}

static int set_aside(const struct zone_file *file)
{
	char aside[NAME_MAX + 1];

	snprintf(aside, sizeof(aside), "%.128s.aside", file->place.base);
	return renameat(file->place.directory, file->place.base, file->place.directory, aside);
}

/* -EEXIST: another process has put its own file there. */
static int put_in_place(struct zone_file *file, struct failure *why)
{
	const struct zone_file_place *place = &file->place;
	bool is_vacant = file->past == ZONE_NEW || file->past == ZONE_SET_ASIDE;
	int err = file->past == ZONE_SET_ASIDE ? set_aside(file) : 0;

	if (!err)
		err = renameat2(place->directory, file->made, place->directory, place->base,
				is_vacant ? RENAME_NOREPLACE : 0);
	if (err)
		return failure_set(why, errno, "cannot put %s in place: %s", file->path,
				   strerror(errno));
	file->made[0] = '\0';
	return 0;
}

/* Only sharers still need the file itself, for its lock. */
static void file_settle(struct zone_file *file)
{
	zone_mapping_close(&file->before);
	if (!file->settings.shared) {
		close(file->mapping.fd);
		file->mapping.fd = -1;
	}
	close(file->place.directory);
	file->place.directory = -1;
}

static int commit_once(struct zone_file *file, uint64_t now_ns, uint64_t *ret_lost,
		       struct failure *why)
{
	struct zone_header *header = file->mapping.memory;
	int err = 0;

	if (file->past == ZONE_KEPT)
		return use_rules(file, now_ns, why);
	header->created_ns = now_ns;
	if (file->past == ZONE_RESIZED)
		err = carry_over(file, now_ns, ret_lost, why);
	return err ? err : put_in_place(file, why);
}

/* Another process was first: its file is looked at in turn. On failure ours stays as it is. */
static int file_prepare_again(struct zone_file *file, struct failure *why)
{
	struct zone_file *again, ours;
	int err = zone_file_prepare(&file->settings, &again, why);

	if (err)
		return err;
	ours = *file;
	*file = *again;
	*again = ours;
	zone_file_close(again);
	return 0;
}

int zone_file_commit(struct zone_file *file, uint64_t now_ns, enum zone_past *ret_past,
		     uint64_t *ret_lost, struct failure *why)
{
	uint64_t lost = 0;
	int err = commit_once(file, now_ns, &lost, why);

	for (int round = 0; round < ZONE_FILE_ROUNDS_MAX && err == -EEXIST; round++) {
		err = file_prepare_again(file, why);
		if (err)
			return err;
		err = commit_once(file, now_ns, &lost, why);
	}
	if (err)
		return err;
	file_settle(file);
	*ret_past = file->past;
	*ret_lost = lost;
	return 0;
}
