/* SPDX-License-Identifier: MIT */
/* The BPF file system that the pins live in, and weir's lock on it. */
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "control/pins.h"

/* A directory that lies below the file system which is yet to be mounted. */
#define MOUNT_LOCK_DIRECTORY "/sys/fs"

#define LOCK_TIMEOUT_S 30
#define LOCK_RETRY_MS  20

enum mount_namespace { NAMESPACE_FIRST, NAMESPACE_OTHER, NAMESPACE_UNKNOWN };

/* A line of mountinfo: see proc_pid_mountinfo(5). */
struct mount_line {
	unsigned int id;
	dev_t device;
};

static bool mount_line_read(FILE *mounts, struct mount_line *ret)
{
	unsigned int major_number, minor_number;
	char line[4096];

	while (fgets(line, sizeof(line), mounts)) {
		if (sscanf(line, "%u %*u %u:%u", &ret->id, &major_number, &minor_number) != 3)
			continue;
		ret->device = makedev(major_number, minor_number);
		return true;
	}
	return false;
}

/* Whether the first process has a mount with the id, or where that is 0 of the device. */
static bool first_process_has(FILE *mounts, unsigned int id, dev_t device)
{
	struct mount_line line;

	rewind(mounts);
	while (mount_line_read(mounts, &line)) {
		if (id ? line.id == id : line.device == device)
			return true;
	}
	return false;
}

/* Told by a mount's id, which no two namespaces share: /proc/1/ns/mnt is not always readable. */
static enum mount_namespace mount_namespace(void)
{
	enum mount_namespace ours = NAMESPACE_UNKNOWN;
	FILE *own = fopen("/proc/self/mountinfo", "re");
	FILE *first = fopen("/proc/1/mountinfo", "re");
	struct mount_line line;

	if (own && first && mount_line_read(own, &line))
		ours = first_process_has(first, line.id, 0) ? NAMESPACE_FIRST : NAMESPACE_OTHER;
	if (own)
		fclose(own);
	if (first)
		fclose(first);
	return ours;
}

static bool bpffs_is_mounted(void)
{
	struct statfs fs;

	return !statfs(PINS_ROOT, &fs) && (unsigned long)fs.f_type == BPF_FS_MAGIC;
}

static int explain_unseen(enum mount_namespace ours, struct failure *why)
{
	int err = failure_set(why, ENOENT, "no BPF file system is mounted on " PINS_ROOT "%s",
			      ours == NAMESPACE_OTHER ? " in this mount namespace" : "");

	if (ours == NAMESPACE_OTHER)
		failure_hint(why,
			     "under 'ip netns exec' /sys is private and all that is pinned "
			     "there ends with it: run weir outside with --netns NAME, or enter "
			     "with 'nsenter --net=/run/netns/NAME'");
	else
		failure_hint(why, "'mount -t bpf bpf " PINS_ROOT "', not under 'ip netns exec' "
				  "though, where it would end with the command: there run weir "
				  "outside with --netns NAME, or enter with 'nsenter --net=...'");
	return err;
}

int pins_visible(struct failure *why)
{
	enum mount_namespace ours;

	if (bpffs_is_mounted())
		return 0;
	ours = mount_namespace();
	return ours == NAMESPACE_FIRST ? 0 : explain_unseen(ours, why);
}

static int flock_timed(int fd)
{
	for (int tries = LOCK_TIMEOUT_S * 1000 / LOCK_RETRY_MS; tries; tries--) {
		if (!flock(fd, LOCK_EX | LOCK_NB))
			return 0;
		if (errno != EWOULDBLOCK && errno != EINTR)
			return -errno;
		poll(NULL, 0, LOCK_RETRY_MS);
	}
	return -ETIMEDOUT;
}

static int lock_open(const char *path, struct failure *why)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int err;

	if (fd < 0)
		return failure_set(why, errno, "cannot open %s: %s", path, strerror(errno));
	err = flock_timed(fd);
	if (!err)
		return fd;
	close(fd);
	if (err == -ETIMEDOUT)
		return failure_set(why, err, "another weir command has held the lock for %d s",
				   LOCK_TIMEOUT_S);
	return failure_set(why, err, "cannot lock %s: %s", path, strerror(-err));
}

static int mount_bpffs(struct failure *why)
{
	int err;

	if (!mount("bpf", PINS_ROOT, "bpf", MS_NOSUID | MS_NODEV | MS_NOEXEC, "mode=0700"))
		return 0;
	err = failure_set(why, errno, "cannot mount a BPF file system on " PINS_ROOT ": %s",
			  strerror(errno));
	failure_hint(why, "'mount -t bpf bpf " PINS_ROOT "' as root");
	return err;
}

int pins_mount(struct failure *why)
{
	int lock, err = pins_visible(why);

	if (err || bpffs_is_mounted())
		return err;
	/* Two that mount at once would hide one's pins under the other's mount. */
	lock = lock_open(MOUNT_LOCK_DIRECTORY, why);
	if (lock < 0)
		return lock;
	err = bpffs_is_mounted() ? 0 : mount_bpffs(why);
	close(lock);
	return err;
}

int pins_lock(struct failure *why)
{
	return lock_open(PINS_ROOT, why);
}

bool pins_are_private(void)
{
	struct stat root;
	bool private;
	FILE *first;

	if (mount_namespace() != NAMESPACE_OTHER || stat(PINS_ROOT, &root))
		return false;
	first = fopen("/proc/1/mountinfo", "re");
	if (!first)
		return false;
	private = !first_process_has(first, 0, root.st_dev);
	fclose(first);
	return private;
}
