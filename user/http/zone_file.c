/* SPDX-License-Identifier: MIT */
/* Preparing looks at what is there and makes a new file beside it where that does not fit;
 * committing renames. Between the two the old file serves on, untouched.
 *
 * Who shares a file holds a shared lock on it for as long as it is mapped (flock belongs to the
 * open file, which workers inherit: the lock outlives the master). Who wants to replace it must
 * get the exclusive lock and keeps it until the new file is in place. */
#include "http/zone_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "http/zone_directory.h"
#include "http/zone_file_check.h"
#include "http/zone_file_made.h"
#include "http/zone_file_state.h"
#include "http/zone_stale.h"

#define NAMES_MAX 1000

static int no_memory(struct failure *why)
{
	return failure_set(why, ENOMEM, "not enough memory");
}

/* The name is a zone's, or empty where it is not known yet. */
static struct zone_file *file_new(const char *path, const char *name)
{
	struct zone_file *file = calloc(1, sizeof(*file));
	const char *slash;

	if (!file)
		return NULL;
	file->place.directory = -1;
	file->mapping = file->before = ZONE_MAPPING_NONE;
	file->path = strdup(path);
	file->name = strdup(name);
	if (!file->path || !file->name) {
		zone_file_close(file);
		return NULL;
	}
	slash = strrchr(file->path, '/');
	file->place.path = file->path;
	file->place.base = slash ? slash + 1 : file->path;
	return file;
}

/* The directory that the file lies in. */
static int file_enter(struct zone_file *file,
		      int (*open_directory)(const char *path, int *ret, struct failure *why),
		      struct failure *why)
{
	size_t length = (size_t)(file->place.base - file->path);
	char *directory = length ? strndup(file->path, length) : strdup(".");
	int err;

	if (!directory)
		return no_memory(why);
	err = open_directory(directory, &file->place.directory, why);
	free(directory);
	return err;
}

/* Lost: somebody put another file in place meanwhile. */
static int lock(struct zone_file *file, int how, struct failure *why)
{
	if (flock(file->before.fd, how | LOCK_NB))
		return failure_set(why, EEXIST, "%s is shared, and in use by another instance",
				   file->path);
	if (!zone_mapping_is_in_place(&file->before, &file->place))
		return failure_set(why, EAGAIN, "%s is being replaced again and again", file->path);
	return 0;
}

/* A shared file is used as it is by all, or by nobody. */
static int lock_shared(struct zone_file *file, const char *difference, struct failure *why)
{
	int err = lock(file, difference ? LOCK_EX : LOCK_SH, why);

	if (err != -EEXIST)
		return err;
	if (difference)
		failure_set(why, err,
			    "%s is shared, and in use by another instance with another %s",
			    file->path, difference);
	failure_hint(why, "the same parameters in all that share it; to change them, stop all");
	return err;
}

static enum zone_past past_of(const struct zone_header *header, const struct zone_file *file,
			      enum zone_content content)
{
	if (content == CONTENT_FOREIGN)
		return ZONE_SET_ASIDE;
	if (content == CONTENT_OTHER_LAYOUT)
		return ZONE_OTHER_KEY;
	if (!file->settings.shared && strcmp(header->name, file->name) != 0)
		return ZONE_SET_ASIDE;
	return zone_file_compare(header, &file->settings);
}

/* What is there. */
static int file_judge(struct zone_file *file, struct failure *why)
{
	const struct zone_header *header = file->before.memory;
	const char *difference;
	enum zone_content content;

	content = zone_file_check_header(header, file->before.size, &difference);
	file->past = past_of(header, file, content);
	if (!file->settings.shared)
		return 0;
	difference =
		content == CONTENT_ZONE ? zone_file_difference(header, &file->settings) : "layout";
	if (!difference && file->past != ZONE_KEPT)
		difference = "boot";
	if (difference && file->past == ZONE_KEPT)
		file->past = ZONE_RESIZED;
	return lock_shared(file, difference, why);
}

static int file_look(struct zone_file *file, struct failure *why)
{
	int err;

	for (int round = 0; round < ZONE_FILE_ROUNDS_MAX; round++) {
		file->past = ZONE_NEW;
		err = zone_mapping_open(&file->place, &file->before, why);
		if (err)
			return err == -ENOENT ? 0 : err;
		err = file_judge(file, why);
		if (err != -EAGAIN)
			return err;
		zone_mapping_close(&file->before);
	}
	return -EAGAIN;
}

/* Locked from then on: to sharers when it is in place, and to zone_stale_remove until then, which
 * may take it for a dead process' file in the moment before. */
static int create_locked(struct zone_file *file, const struct zone_file_place *made,
			 struct failure *why)
{
	const struct zone_settings *settings = &file->settings;
	uint64_t size = zone_size(settings->entries, settings->cells_per_slot, settings->offenders);
	int err = zone_mapping_create(made, size, &file->mapping, why);

	if (err)
		return err;
	if (!flock(file->mapping.fd, LOCK_SH | LOCK_NB) &&
	    zone_mapping_is_in_place(&file->mapping, made))
		return 0;
	zone_mapping_close(&file->mapping);
	return failure_set(why, EEXIST, "cannot make a file beside %s: it was removed", file->path);
}

static int create_beside(struct zone_file *file, struct failure *why)
{
	struct zone_file_place made = file->place;
	int err = -EEXIST;

	made.base = file->made;
	for (int i = 0; i < NAMES_MAX && err == -EEXIST; i++) {
		snprintf(file->made, sizeof(file->made), "%.128s.%ld.%d" ZONE_STALE_SUFFIX,
			 file->place.base, (long)getpid(), i);
		err = create_locked(file, &made, why);
	}
	if (err)
		file->made[0] = '\0';
	return err;
}

static int file_make(struct zone_file *file, struct failure *why)
{
	const struct zone_header *before = file->before.memory;
	int err;

	zone_stale_remove(&file->place);
	err = create_beside(file, why);
	if (!err)
		err = zone_file_initialise(file->mapping.memory, &file->settings,
					   file->past == ZONE_RESIZED ? before->secret : NULL, why);
	return err ? err : zone_attach(&file->zone, file->mapping.memory, why);
}

static int file_prepare(struct zone_file *file, struct failure *why)
{
	int err = file_enter(file, zone_directory_open, why);

	if (!err)
		err = zone_file_boot_id(file->settings.identity.boot_id, why);
	if (!err)
		err = file_look(file, why);
	if (err)
		return err;
	if (file->past != ZONE_KEPT)
		return file_make(file, why);
	file->mapping = file->before;
	file->before = ZONE_MAPPING_NONE;
	return zone_attach(&file->zone, file->mapping.memory, why);
}

int zone_file_prepare(const struct zone_settings *settings, struct zone_file **ret,
		      struct failure *why)
{
	struct zone_file *file;
	int err = zone_file_check_settings(settings, why);

	if (err)
		return err;
	file = file_new(settings->path, settings->name);
	if (!file)
		return no_memory(why);
	file->settings = *settings;
	file->settings.name = file->name;
	file->settings.path = file->path;
	err = file_prepare(file, why);
	if (err)
		zone_file_close(file);
	else
		*ret = file;
	return err;
}

struct zone *zone_file_zone(struct zone_file *file)
{
	return &file->zone;
}

void zone_file_close(struct zone_file *file)
{
	if (!file)
		return;
	if (file->made[0])
		unlinkat(file->place.directory, file->made, 0);
	zone_mapping_close(&file->mapping);
	zone_mapping_close(&file->before);
	if (file->place.directory >= 0)
		close(file->place.directory);
	free(file->path);
	free(file->name);
	free(file);
}

/* Moments of another boot say nothing now. */
static int check_readable(const struct zone_file *file, struct failure *why)
{
	const struct zone_header *header = file->mapping.memory;
	uint8_t boot_id[sizeof(header->identity.boot_id)];
	const char *what;
	int err;

	if (zone_file_check_header(header, file->mapping.size, &what) != CONTENT_ZONE)
		return failure_set(why, EPROTO, "%s: %s", file->path, what);
	err = zone_file_boot_id(boot_id, why);
	if (!err && memcmp(boot_id, header->identity.boot_id, sizeof(boot_id)) != 0)
		err = failure_set(why, ESTALE, "%s is from before the system started", file->path);
	return err;
}

static int open_by(const char *path,
		   int (*map)(const struct zone_file_place *place, struct zone_mapping *ret,
			      struct failure *why),
		   struct zone_file **ret, struct failure *why)
{
	struct zone_file *file = file_new(path, "");
	int err;

	if (!file)
		return no_memory(why);
	err = file_enter(file, zone_directory_open_readonly, why);
	if (!err)
		err = map(&file->place, &file->mapping, why);
	if (!err)
		err = check_readable(file, why);
	if (!err)
		err = zone_attach(&file->zone, file->mapping.memory, why);
	if (err)
		zone_file_close(file);
	else
		*ret = file;
	return err;
}

int zone_file_open_readonly(const char *path, struct zone_file **ret, struct failure *why)
{
	return open_by(path, zone_mapping_open_readonly, ret, why);
}

int zone_file_open_writable(const char *path, struct zone_file **ret, struct failure *why)
{
	return open_by(path, zone_mapping_open_writable, ret, why);
}
