/* SPDX-License-Identifier: MIT */
/* A network interface, in whichever network namespace, and what XDP program it runs. */
#ifndef WEIR_DEVICE_H
#define WEIR_DEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "control/control.h"
#include "text/failure.h"

#define DEVICE_DRIVER_SIZE 32

struct device {
	const char *name;
	const char *netns; /* NULL or empty: the caller's own */
	unsigned int ifindex;
	unsigned int mtu;
	uint32_t program_id; /* whoever's, 0 for none */
	char driver[DEVICE_DRIVER_SIZE];
};

struct device_link {
	int fd;
	bool generic;
	char why_not_native[128]; /* why auto chose generic, else empty */
};

/* -ENODEV when there is no such interface. */
int device_find(const char *name, const char *netns, struct device *ret, struct failure *why);

/* Attaches a program by a link, which ends when its last descriptor and pin do. Never takes
 * another program's place: -EBUSY. */
int device_attach(const struct device *device, int program_fd, enum control_mode mode,
		  struct device_link *ret, struct failure *why);

/* Says whose program stands in the way. Returns -EBUSY. */
int device_occupied(uint32_t program_id, const char *name, struct failure *why);

/* The name that the interface on which program_id runs goes by now. False when it isn't found in
 * that network namespace under that index. */
bool device_name_now(uint32_t ifindex, const char *netns, uint32_t program_id,
		     char name[WEIR_NAME_SIZE]);

#endif
