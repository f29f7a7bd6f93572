/* SPDX-License-Identifier: MIT */
#include "http/zone_directory.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DIRECTORY_MODE 0755

/* How many directories, from the last upwards, only we or root may write to. */
#define OWN_DEPTH 2

/* A path on the way down. */
struct walk {
	const char *path;
	const char *rest; /* not walked yet */
	bool makes_missing;
	bool only_reads;
	int fd; /* of what was walked */
};

/* How many names are left. */
static unsigned int names_left(const char *rest)
{
	unsigned int count = 0;

	for (const char *at = rest; *at; at++)
		count += *at != '/' && (at == rest || at[-1] == '/');
	return count;
}

/* Cuts the next name off; -ENAMETOOLONG. Empty at the end. */
static int name_next(struct walk *walk, char name[NAME_MAX + 1])
{
	size_t length;

	walk->rest += strspn(walk->rest, "/");
	length = strcspn(walk->rest, "/");
	if (length > NAME_MAX)
		return -ENAMETOOLONG;
	memcpy(name, walk->rest, length);
	name[length] = '\0';
	walk->rest += length;
	return 0;
}

static bool is_link(int above, const char *name)
{
	struct stat status;

	return !fstatat(above, name, &status, AT_SYMLINK_NOFOLLOW) && S_ISLNK(status.st_mode);
}

static int refuse_open(const struct walk *walk, const char *name, int err, struct failure *why)
{
	if (is_link(walk->fd, name))
		return failure_set(why, ELOOP, "'%s' of %s is a symbolic link", name, walk->path);
	return failure_set(why, err, "cannot open '%s' of %s: %s", name, walk->path, strerror(err));
}

/* O_PATH: what may only be passed through need not be readable. */
static int descend(const struct walk *walk, const char *name)
{
	return openat(walk->fd, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/* Whoever makes it first, it is judged afterwards as any other. The mode is set apart from making
 * it, for a umask does not bind what we state; and not by name, where a link may be by now. */
static int make(const struct walk *walk, const char *name)
{
	int fd, err;

	if (mkdirat(walk->fd, name, DIRECTORY_MODE))
		return errno == EEXIST ? 0 : -errno;
	fd = openat(walk->fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	err = fchmod(fd, DIRECTORY_MODE) ? -errno : 0;
	close(fd);
	return err;
}

static bool others_write(const struct stat *status, unsigned int left)
{
	if (left < OWN_DEPTH)
		return status->st_mode & (S_IWGRP | S_IWOTH);
	return (status->st_mode & S_IWOTH) && !(status->st_mode & S_ISVTX);
}

static bool may_own(const struct walk *walk, uid_t owner)
{
	return !owner || owner == geteuid() || (walk->only_reads && !geteuid());
}

/* What was descended to. */
static int judge(const struct walk *walk, const char *name, struct failure *why)
{
	unsigned int left = names_left(walk->rest);
	const char *path = walk->path;
	struct stat status;

	if (fstat(walk->fd, &status))
		return failure_set(why, errno, "cannot read '%s' of %s: %s", name, path,
				   strerror(errno));
	if (left < OWN_DEPTH && !may_own(walk, status.st_uid))
		return failure_set(why, EPERM, "'%s' of %s belongs to user %u, not to root or %u",
				   name, path, status.st_uid, geteuid());
	if (!others_write(&status, left))
		return 0;
	failure_set(why, EPERM, "'%s' of %s may be written by others (mode %04o)", name, path,
		    status.st_mode & 07777);
	failure_hint(why, "chmod go-w, or another directory");
	return -EPERM;
}

static int step(struct walk *walk, const char *name, struct failure *why)
{
	int fd = descend(walk, name), err = 0;

	if (fd < 0 && errno == ENOENT && walk->makes_missing) {
		err = make(walk, name);
		if (err)
			return failure_set(why, err, "cannot make '%s' of %s: %s", name, walk->path,
					   strerror(-err));
		fd = descend(walk, name);
	}
	if (fd < 0)
		return refuse_open(walk, name, errno, why);
	close(walk->fd);
	walk->fd = fd;
	return judge(walk, name, why);
}

static int walk_down(struct walk *walk, struct failure *why)
{
	char name[NAME_MAX + 1];
	int err;

	do {
		err = name_next(walk, name);
		if (err)
			return failure_set(why, err, "'%s': %s", walk->path, strerror(-err));
		if (name[0])
			err = step(walk, name, why);
	} while (!err && name[0]);
	return err;
}

/* From where the path begins to its end, of which walk->fd then is a descriptor. */
static int walk_path(struct walk *walk, struct failure *why)
{
	int err;

	walk->rest = walk->path;
	walk->fd = open(walk->path[0] == '/' ? "/" : ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (walk->fd < 0)
		return failure_set(why, errno, "cannot open %s: %s", walk->path, strerror(errno));
	err = walk_down(walk, why);
	if (err)
		close(walk->fd);
	return err;
}

int zone_directory_open(const char *path, int *ret, struct failure *why)
{
	struct walk walk = {.path = path};
	int err = walk_path(&walk, why);

	if (!err)
		*ret = walk.fd;
	return err;
}

int zone_directory_open_readonly(const char *path, int *ret, struct failure *why)
{
	struct walk walk = {.path = path, .only_reads = true};
	int err = walk_path(&walk, why);

	if (!err)
		*ret = walk.fd;
	return err;
}

int zone_directory_make(const char *path, struct failure *why)
{
	struct walk walk = {.path = path, .makes_missing = true};
	int err = walk_path(&walk, why);

	if (!err)
		close(walk.fd);
	return err;
}
