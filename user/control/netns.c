/* SPDX-License-Identifier: MIT */
#include "control/netns.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "weir.h"

#define NETNS_DIRECTORY "/run/netns/"
#define HOME_NEVER_LEFT -1

static int netns_open(const char *name, struct failure *why)
{
	char path[sizeof(NETNS_DIRECTORY) + WEIR_NETNS_SIZE];
	int fd, err;

	if (strlen(name) >= WEIR_NETNS_SIZE || strchr(name, '/') || name[0] == '.')
		return failure_set(why, EINVAL, "'%.80s' is no name of a network namespace", name);
	snprintf(path, sizeof(path), NETNS_DIRECTORY "%s", name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0)
		return fd;
	if (errno != ENOENT)
		return failure_set(why, errno, "cannot open %s: %s", path, strerror(errno));
	err = failure_set(why, ENOENT, "there is no network namespace '%s'", name);
	failure_hint(why, "'ip netns list' names those there are");
	return err;
}

static int netns_switch(int fd, const char *name, struct failure *why)
{
	int home = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	int err;

	if (home < 0)
		return failure_set(why, errno, "cannot open /proc/self/ns/net: %s",
				   strerror(errno));
	if (!setns(fd, CLONE_NEWNET))
		return home;
	err = failure_set(why, errno, "cannot enter network namespace '%s': %s", name,
			  strerror(errno));
	if (errno == EPERM)
		failure_hint(why, "entering one needs CAP_SYS_ADMIN");
	close(home);
	return err;
}

int netns_enter(const char *name, int *ret_home, struct failure *why)
{
	int fd, home;

	if (!name || !name[0]) {
		*ret_home = HOME_NEVER_LEFT;
		return 0;
	}
	fd = netns_open(name, why);
	if (fd < 0)
		return fd;
	home = netns_switch(fd, name, why);
	close(fd);
	if (home < 0)
		return home;
	*ret_home = home;
	return 0;
}

void netns_leave(int home)
{
	if (home == HOME_NEVER_LEFT)
		return;
	/* Cannot fail: whoever was allowed to enter is allowed to go back. */
	(void)setns(home, CLONE_NEWNET);
	close(home);
}
