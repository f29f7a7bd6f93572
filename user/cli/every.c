/* SPDX-License-Identifier: MIT */
#include "cli/every.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "text/quantity.h"

uint64_t monotonic_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * NS_PER_SECOND + (uint64_t)now.tv_nsec;
}

/* -errno, else a descriptor that is readable once SIGINT or SIGTERM came. */
static int open_signals(void)
{
	sigset_t signals;
	int fd;

	sigemptyset(&signals);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGTERM);
	if (sigprocmask(SIG_BLOCK, &signals, NULL))
		return -errno;
	fd = signalfd(-1, &signals, SFD_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* The kernel keeps an interval timer's deadlines: one period after the other from the start. */
static int open_timer(uint64_t period_ns)
{
	struct timespec period = {.tv_sec = (time_t)(period_ns / NS_PER_SECOND),
				  .tv_nsec = (long)(period_ns % NS_PER_SECOND)};
	struct itimerspec timer = {.it_interval = period, .it_value = period};
	int fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);

	if (fd < 0)
		return -errno;
	if (!timerfd_settime(fd, 0, &timer, NULL))
		return fd;
	close(fd);
	return -errno;
}

static int wait_period(int timer, int signals, bool *ret_signalled)
{
	struct pollfd polled[] = {{.fd = signals, .events = POLLIN},
				  {.fd = timer, .events = POLLIN}};
	uint64_t periods;

	while (poll(polled, 2, -1) < 0) {
		if (errno != EINTR)
			return -errno;
	}
	*ret_signalled = polled[0].revents;
	if (*ret_signalled)
		return 0;
	return read(timer, &periods, sizeof(periods)) < 0 ? -errno : 0;
}

static int repeat(int timer, int signals, int (*once)(void *arg), void *arg)
{
	bool signalled;
	int err;

	do {
		err = wait_period(timer, signals, &signalled);
		if (!err && !signalled)
			err = once(arg);
	} while (!err && !signalled);
	return err;
}

int every(uint64_t period_ns, int (*once)(void *arg), void *arg)
{
	int signals = open_signals();
	int timer = open_timer(period_ns);
	int err = signals < 0 ? signals : timer;

	if (signals >= 0 && timer >= 0)
		err = repeat(timer, signals, once, arg);
	if (timer >= 0)
		close(timer);
	if (signals >= 0)
		close(signals);
	return err;
}
