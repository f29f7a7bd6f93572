/* SPDX-License-Identifier: MIT */
/* Detaching: of maps it needs none but that of the names, and that only for an interface that is
 * gone, so that it works on what any version attached. */
#include <errno.h>
#include <unistd.h>

#include "control/control.h"
#include "control/device.h"
#include "control/probe.h"
#include "control/records.h"

static int explain_absent(const struct control *control, const struct slots *slots,
			  struct failure *why)
{
	char attached[160] = "";
	int err;

	if (!slots->count)
		return slots_none(why);
	if (control)
		records_list(control, slots, attached, sizeof(attached));
	err = failure_set(why, ENOENT, "weir is not attached to it");
	if (attached[0])
		failure_hint(why, "it is attached to %s", attached);
	return err;
}

/* By the program that runs on the interface, so that it does not matter from which namespace or
 * under which name it was attached; by its record only when it is gone. */
static int find(const char *interface, const char *netns, const struct slots *slots,
		struct slot **ret, struct failure *why)
{
	struct control control;
	struct device device = {0};
	bool opened;

	device_find(interface, netns, &device, NULL);
	*ret = slots_find_program(slots, device.program_id);
	if (*ret)
		return 0;
	opened = !pins_open(&control, NULL);
	if (opened)
		*ret = records_find_gone(&control, slots, interface, netns);
	if (!*ret)
		explain_absent(opened ? &control : NULL, slots, why);
	if (opened)
		pins_close(&control);
	return *ret ? 0 : -ENOENT;
}

static int release_all(struct slots *slots, unsigned int *ret_detached, struct failure *why)
{
	int err = 0;

	for (*ret_detached = 0; !err && *ret_detached < slots->count; ++*ret_detached)
		err = slots_release(&slots->at[*ret_detached], why);
	return err;
}

static int detach_from(const char *interface, const char *netns, struct slots *slots,
		       unsigned int *ret_detached, struct failure *why)
{
	struct slot *slot;
	int err;

	if (!interface)
		return release_all(slots, ret_detached, why);
	err = find(interface, netns, slots, &slot, why);
	if (!err)
		err = slots_release(slot, why);
	*ret_detached = !err;
	return err;
}

static int detach_locked(const char *interface, const char *netns, unsigned int *ret_detached,
			 struct failure *why)
{
	unsigned int detached = 0;
	struct slots slots;
	int err = slots_open(&slots, why);

	if (err)
		return err;
	err = detach_from(interface, netns, &slots, &detached, why);
	slots_close(&slots);
	if (err)
		return err;
	if (slots_check(NULL) == -ENOENT)
		pins_remove_all(NULL); /* what stays is in nobody's way */
	*ret_detached = detached;
	return 0;
}

int control_detach(const char *interface, const char *netns, unsigned int *ret_detached,
		   struct failure *why)
{
	int err = probe_privileges(why);
	int lock;

	if (!err)
		err = pins_visible(why);
	if (err)
		return err;
	lock = pins_lock(why);
	if (lock < 0)
		return lock;
	err = detach_locked(interface, netns, ret_detached, why);
	close(lock);
	return err;
}
