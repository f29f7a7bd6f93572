/* SPDX-License-Identifier: MIT */
/* Putting a prepared file in place. Processes do so one after the other, by a lock on the
 * directory, or two who replace the same file at once would each go on with its own. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "bucket.h"
#include "http/zone_file_check.h"
#include "http/zone_file_made.h"
#include "http/zone_file_state.h"
#include "http/zone_rules.h"

/* Five seconds: the largest zone is carried over in less. */
#define LOCK_PAUSE_NS (10 * 1000 * 1000)
#define LOCK_PAUSES   500

/* Words of the epoch before. Those of others stay: they count as empty (zone_words.h). */
static void convert_words(uint64_t *words, uint64_t count, const struct rule *from,
			  const struct rule *to, uint64_t now_ns)
{
	for (uint64_t i = 0; i < count; i++) {
		uint64_t word = __atomic_load_n(&words[i], __ATOMIC_RELAXED);

		while (word && bucket_is_of(word, &from->limit) &&
		       !__atomic_compare_exchange_n(&words[i], &word,
						    rule_convert(from, to, word, now_ns), false,
						    __ATOMIC_RELAXED, __ATOMIC_RELAXED))
			;
	}
}

static bool words_keep_their_rules(const struct zone_file *file)
{
	const struct zone *zone = &file->zone;
	struct rule share;

	return rule_equals(&zone->overflow_rule, &file->settings.overflow) &&
	       !zone_share_build(zone, &file->settings.main, &share, NULL) &&
	       rule_equals(&zone->share_rule, &share);
}

/* The epoch first: if we die before the words are converted, they count as empty, not as what they
 * would say under the new rules. */
static int change_rules(struct zone_file *file, uint64_t now_ns, struct failure *why)
{
	const struct zone *before = &file->zone_before, *zone = &file->zone;
	struct zone_header *header = file->mapping.memory;
	int err;

	file->zone_before = file->zone;
	if (!words_keep_their_rules(file))
		__atomic_fetch_add(&header->words_epoch, 1, __ATOMIC_SEQ_CST);
	zone_file_keep_rule(&header->main, &file->settings.main);
	zone_file_keep_rule(&header->overflow, &file->settings.overflow);
	err = zone_attach(&file->zone, header, why);
	if (err || before->words_epoch == zone->words_epoch)
		return err;
	convert_words(zone->overflow, header->sets, &before->overflow_rule, &zone->overflow_rule,
		      now_ns);
	convert_words(zone->shares, ZONE_SHARES, &before->share_rule, &zone->share_rule, now_ns);
	return 0;
}

/* A kept file takes a changed limit without a word of its slots changed: their states name the rule
 * they belong to. Workers of before use their own copy of the old limit until they leave. Attached
 * anew, since another process may have changed the rules after ours was prepared. */
static int use_rules(struct zone_file *file, uint64_t now_ns, struct failure *why)
{
	int err = zone_attach(&file->zone, file->mapping.memory, why);

	if (err || !zone_file_difference(file->mapping.memory, &file->settings))
		return err;
	if (zone_rule_find(&file->zone, &file->settings.main) < 0)
		return failure_set(why, ENOSPC, "%s has no place for another limit", file->path);
	return change_rules(file, now_ns, why);
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

/* Whether what was looked at is still there. A new file's rename finds out by itself. */
static bool is_as_prepared(const struct zone_file *file)
{
	if (file->past == ZONE_NEW)
		return true;
	return zone_mapping_is_in_place(file->past == ZONE_KEPT ? &file->mapping : &file->before,
					&file->place);
}

static int commit_once(struct zone_file *file, uint64_t now_ns, uint64_t *ret_lost,
		       struct failure *why)
{
	int err = 0;

	if (!is_as_prepared(file))
		return failure_set(why, EEXIST, "%s is being replaced again and again", file->path);
	if (file->past == ZONE_KEPT)
		return use_rules(file, now_ns, why);
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

static int commit_in_turn(struct zone_file *file, uint64_t now_ns, uint64_t *ret_lost,
			  struct failure *why)
{
	int err = commit_once(file, now_ns, ret_lost, why);

	for (int round = 0; round < ZONE_FILE_ROUNDS_MAX && err == -EEXIST; round++) {
		*ret_lost = 0;
		err = file_prepare_again(file, why);
		if (err)
			return err;
		err = commit_once(file, now_ns, ret_lost, why);
	}
	return err;
}

/* -EBUSY. The wait is on a real clock: whoever has the lock is another process. */
static int lock_in_time(int fd)
{
	const struct timespec pause = {.tv_nsec = LOCK_PAUSE_NS};

	for (unsigned int i = 0; i < LOCK_PAUSES; i++) {
		if (!flock(fd, LOCK_EX | LOCK_NB))
			return 0;
		if (errno != EWOULDBLOCK && errno != EINTR)
			return -errno;
		nanosleep(&pause, NULL);
	}
	return -EBUSY;
}

/* A descriptor; closing it gives the lock back. */
static int directory_lock(const struct zone_file *file, struct failure *why)
{
	int fd = openat(file->place.directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int err = fd < 0 ? -errno : lock_in_time(fd);

	if (!err)
		return fd;
	if (fd >= 0)
		close(fd);
	return failure_set(why, err, "cannot lock the directory of %s: %s", file->path,
			   strerror(-err));
}

int zone_file_commit(struct zone_file *file, uint64_t now_ns, enum zone_past *ret_past,
		     uint64_t *ret_lost, struct failure *why)
{
	uint64_t lost = 0;
	int locked = directory_lock(file, why);
	int err;

	if (locked < 0)
		return locked;
	err = commit_in_turn(file, now_ns, &lost, why);
	close(locked);
	if (err)
		return err;
	file_settle(file);
	*ret_past = file->past;
	*ret_lost = lost;
	return 0;
}
