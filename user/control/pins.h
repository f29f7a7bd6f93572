/* SPDX-License-Identifier: MIT */
/* Where weir lives between commands: maps, programs and links pinned in a BPF file system. */
#ifndef WEIR_PINS_H
#define WEIR_PINS_H

#include <stdbool.h>
#include <stdint.h>

#include "text/failure.h"
#include "weir.h"

#define PINS_ROOT      "/sys/fs/bpf"
#define PINS_DIRECTORY PINS_ROOT "/weir"
#define PINS_PATH_SIZE 64

enum pin {
	PIN_CONFIG,
	PIN_ENTRIES,
	PIN_DROPS,
	PIN_COUNTERS,
	PIN_BUDGETS,
	PIN_INTERFACES,
	PIN_BARRIER,
	PIN_FORGET,
	PIN_SWEEP,
	PIN_MAX
};

#define PIN_MAPS PIN_FORGET /* the pins before are maps, the others programs */

struct control {
	int fds[PIN_MAX];
	uint32_t config_id; /* of the config map, which tells one installation from the next */
	struct weir_config *config; /* shared with the kernel */
};

/* Mounts a BPF file system where there is none, if it would last. */
int pins_mount(struct failure *why);

/* Whether one is mounted that only this mount namespace sees, so that it ends with it. False when
 * that cannot be told. */
bool pins_are_private(void);

/* -ENOENT where weir may be attached out of sight: no BPF file system is mounted, and this is not
 * the first process's mount namespace, in which that means that nothing is attached. */
int pins_visible(struct failure *why);

/* Waits for weir's lock, 30 s at most: -ETIMEDOUT. Returns a descriptor that holds it until closed,
 * or -errno. */
int pins_lock(struct failure *why);

void pins_path(char path[PINS_PATH_SIZE], enum pin pin);
void pins_link_path(char path[PINS_PATH_SIZE], unsigned int slot);

/* Holds nothing: pins_close is harmless then. */
void pins_reset(struct control *control);

/* Opens every pin and checks that it has this version's layout: -EPROTO when not. */
int pins_open(struct control *ret, struct failure *why);
void pins_close(struct control *control);

/* Pins fds, none of which may be pinned yet. */
int pins_create(const int fds[PIN_MAX], struct failure *why);

/* Puts a newer program in the place of a pinned one, which is never missing meanwhile. */
int pins_replace(enum pin pin, int fd, struct failure *why);

/* Removes every pin, whichever version made it. A directory that somebody made there stays. */
int pins_remove_all(struct failure *why);

/* Opens weir again if it was detached and attached anew since: call it before using control's
 * maps. -ENOENT when it is attached nowhere any more. */
int pins_refresh(struct control *control, struct failure *why);

#endif
