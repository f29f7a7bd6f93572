/* SPDX-License-Identifier: MIT */
#include "http/zone_stale.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

/* "login.123.0.new" of "login". */
static bool is_made_for(const char *name, const char *base)
{
	size_t length = strlen(base), whole = strlen(name);
	size_t suffix = sizeof(ZONE_STALE_SUFFIX) - 1;

	return whole > length + suffix && !strncmp(name, base, length) && name[length] == '.' &&
	       !strcmp(name + whole - suffix, ZONE_STALE_SUFFIX);
}

/* While the exclusive lock is held its process, if it lives, cannot go on with it. */
static void remove_unless_locked(int directory, const char *name)
{
	int fd = openat(directory, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);

	if (fd < 0)
		return;
	if (!flock(fd, LOCK_EX | LOCK_NB))
		unlinkat(directory, name, 0);
	close(fd);
}

void zone_stale_remove(const struct zone_file_place *place)
{
	int fd = openat(place->directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *stream = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *entry;

	if (!stream) {
		if (fd >= 0)
			close(fd);
		return;
	}
	while ((entry = readdir(stream))) {
		if (is_made_for(entry->d_name, place->base))
			remove_unless_locked(place->directory, entry->d_name);
	}
	closedir(stream);
}
