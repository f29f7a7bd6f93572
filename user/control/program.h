/* SPDX-License-Identifier: MIT */
/* The kernel program as it is embedded in this binary. */
#ifndef WEIR_PROGRAM_H
#define WEIR_PROGRAM_H

#include "control/pins.h"
#include "weir.skel.h"

/* Loads the program for a slot. With shared it uses those maps; without, it makes new ones for
 * sources entries that hold policy. Free with weir_bpf__destroy. */
int program_load(const struct control *shared, unsigned int slot, const struct weir_policy *policy,
		 uint32_t sources, struct weir_bpf **ret, struct failure *why);

/* What of the program is to be pinned: the descriptors stay the program's. */
void program_fds(const struct weir_bpf *program, int fds[PIN_MAX]);

uint32_t program_id(int program_fd);

#endif
