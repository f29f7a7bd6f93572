/* SPDX-License-Identifier: MIT */
/* One attach under way, shared by what plans it and what does it. */
#ifndef WEIR_ATTACHMENT_H
#define WEIR_ATTACHMENT_H

#include "control/control.h"
#include "control/device.h"
#include "control/pins.h"
#include "control/slots.h"

struct weir_bpf;

struct attachment {
	const struct control_attach *want;
	struct device device;
	struct slots slots;
	struct slot *occupied; /* the slot of weir's program on the interface, or NULL */
	unsigned int slot;
	struct control control;
	bool shares; /* whether control was there before */
	struct weir_policy next;
	struct weir_bpf *program;
};

/* Refuses what is wrong whatever is attached. */
int attachment_check(const struct control_attach *want, struct failure *why);

/* Works out the policy to put in force, and refuses what cannot be changed now. */
int attachment_plan(struct attachment *attachment, struct failure *why);

#endif
