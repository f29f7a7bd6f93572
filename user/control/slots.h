/* SPDX-License-Identifier: MIT */
/* A slot is one attached interface: it is taken exactly while its link is pinned. */
#ifndef WEIR_SLOTS_H
#define WEIR_SLOTS_H

#include <stddef.h>
#include <stdint.h>

#include "text/failure.h"

#define SLOTS_LINK_PREFIX "link_"

struct slot {
	unsigned int number;
	int link_fd;
	uint32_t link_id;
	uint32_t program_id;
	uint32_t ifindex; /* 0: the interface is gone */
};

struct slots {
	struct slot *at; /* in order of attaching */
	size_t count;
};

/* 0 when weir is attached somewhere, -ENOENT when nowhere. */
int slots_check(struct failure *why);

/* Says that weir is attached nowhere. Returns -ENOENT. */
int slots_none(struct failure *why);

/* Opens every pinned XDP link and skips what else is there; none is no failure. Numbers may exceed
 * WEIR_INTERFACES_MAX, then without a record. */
int slots_open(struct slots *ret, struct failure *why);
void slots_close(struct slots *slots);

/* A program belongs to one slot only, so its id tells whose interface it was found on. NULL for a
 * program that is not weir's, and for id 0. */
struct slot *slots_find_program(const struct slots *slots, uint32_t program_id);

/* -ENOSPC when every slot is taken. */
int slots_find_free(unsigned int *ret_number, struct failure *why);

/* Detaches the interface even if others hold its link, and frees the slot: both or neither. */
int slots_release(struct slot *slot, struct failure *why);

#endif
