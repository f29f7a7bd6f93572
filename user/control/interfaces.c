/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "control/control.h"
#include "control/device.h"
#include "control/records.h"

static int interface_read(const struct control *control, const struct slot *slot,
			  struct control_interface *ret, struct failure *why)
{
	struct weir_interface record;
	int err = records_read(control, slot->number, &record, why);

	if (!err)
		err = records_count(control, slot->number, &ret->counters, why);
	if (err)
		return err;
	memcpy(ret->name, record.name, sizeof(ret->name));
	memcpy(ret->netns, record.netns, sizeof(ret->netns));
	ret->generic = record.generic;
	ret->gone = !slot->ifindex;
	ret->link_id = slot->link_id;
	ret->program_id = ret->gone ? 0 : slot->program_id;
	/* It may have been renamed since. */
	device_name_now(slot->ifindex, record.netns, slot->program_id, ret->name);
	return 0;
}

int control_interfaces(struct control *control,
		       int (*visit)(const struct control_interface *interface, void *arg),
		       void *arg, struct failure *why)
{
	struct control_interface interface;
	struct slots slots;
	int err = pins_refresh(control, why);

	if (!err)
		err = slots_open(&slots, why);
	if (err)
		return err;
	for (size_t i = 0; !err && i < slots.count; i++) {
		if (slots.at[i].number >= WEIR_INTERFACES_MAX) /* none that this version made */
			continue;
		err = interface_read(control, &slots.at[i], &interface, why);
		if (!err)
			err = visit(&interface, arg);
	}
	slots_close(&slots);
	return err;
}
