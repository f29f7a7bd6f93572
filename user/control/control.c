/* SPDX-License-Identifier: MIT */
#include "control/control.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "control/config.h"
#include "control/entries.h"
#include "control/pins.h"
#include "control/probe.h"
#include "control/slots.h"

int control_open(struct control **ret, struct failure *why)
{
	struct control *control;
	int err = probe_privileges(why);

	if (err)
		return err;
	libbpf_set_print(NULL);
	err = pins_visible(why);
	if (!err)
		err = slots_check(why);
	if (err)
		return err;
	control = malloc(sizeof(*control));
	if (!control)
		return failure_set(why, ENOMEM, "not enough memory");
	err = pins_open(control, why);
	if (err)
		free(control);
	else
		*ret = control;
	return err;
}

void control_close(struct control *control)
{
	if (!control)
		return;
	pins_close(control);
	free(control);
}

int control_settings(struct control *control, struct control_settings *ret, struct failure *why)
{
	struct weir_policy policy;
	uint32_t sources;
	int err = pins_refresh(control, why);

	if (!err)
		err = entries_room(control, &sources, why);
	if (err)
		return err;
	config_policy_read(control, &policy);
	config_limit_read(&policy.limits[WEIR_LIMIT_DEFAULT], &ret->limit);
	ret->coarse_clock = policy.limits[WEIR_LIMIT_DEFAULT].clock == WEIR_CLOCK_COARSE;
	ret->key4 = policy.key4;
	ret->key6 = policy.key6;
	ret->sources = sources;
	return 0;
}

static int limit_set_locked(struct control *control, unsigned int id,
			    const struct weir_limit *limit, struct failure *why)
{
	struct weir_policy next;
	int err = pins_refresh(control, why);

	if (err)
		return err;
	next = *config_policy(control);
	next.limits[id] = *limit;
	return config_change(control, &next, why);
}

int control_limit_set(struct control *control, unsigned int id, const struct control_limit *want,
		      struct control_limit *ret, struct failure *why)
{
	struct weir_limit built;
	int lock, err;

	if (id != WEIR_LIMIT_DEFAULT)
		return failure_set(why, EINVAL, "there is no limit %u", id);
	err = config_limit_build(want, &built, why);
	if (err)
		return err;
	lock = pins_lock(why);
	if (lock < 0)
		return lock;
	err = limit_set_locked(control, id, &built, why);
	close(lock);
	if (!err)
		config_limit_read(&built, ret);
	return err;
}
