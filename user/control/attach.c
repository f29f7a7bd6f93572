/* SPDX-License-Identifier: MIT */
/* Attaching. Everything that can fail comes before what others can see, and what was made before a
 * failure is undone. A new link is pinned last, since without it nothing counts as attached: what
 * a killed attach leaves is discarded by the next one. */
#include <bpf/bpf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "control/attachment.h"
#include "control/config.h"
#include "control/probe.h"
#include "control/program.h"
#include "control/records.h"

static int find_slot(struct attachment *attachment, struct failure *why)
{
	const struct device *device = &attachment->device;

	attachment->occupied = slots_find_program(&attachment->slots, device->program_id);
	if (attachment->occupied && attachment->occupied->number < WEIR_INTERFACES_MAX) {
		attachment->slot = attachment->occupied->number;
		return 0;
	}
	if (device->program_id)
		return device_occupied(device->program_id, device->name, why);
	return slots_find_free(&attachment->slot, why);
}

/* Opens what is attached already. Without a single link, pins are what a killed attach left. */
static int open_shared(struct attachment *attachment, struct failure *why)
{
	int err;

	if (!attachment->slots.count)
		return pins_remove_all(why);
	err = pins_open(&attachment->control, why);
	attachment->shares = !err;
	return err;
}

static int load(struct attachment *attachment, struct failure *why)
{
	uint32_t sources = attachment->want->sources;

	return program_load(attachment->shares ? &attachment->control : NULL, attachment->slot,
			    &attachment->next, sources ? sources : CONTROL_SOURCES_DEFAULT,
			    &attachment->program, why);
}

static int program_fd(const struct attachment *attachment)
{
	return bpf_program__fd(attachment->program->progs.weir_xdp);
}

/* The programs that change entries are the newest too. */
static int replace_changers(const struct attachment *attachment, struct failure *why)
{
	int fds[PIN_MAX];
	int err;

	program_fds(attachment->program, fds);
	err = pins_replace(PIN_FORGET, fds[PIN_FORGET], why);
	return err ? err : pins_replace(PIN_SWEEP, fds[PIN_SWEEP], why);
}

static int replace_program(struct attachment *attachment, struct failure *why)
{
	int err = config_prepare(&attachment->control, &attachment->next, why);

	if (!err)
		err = replace_changers(attachment, why);
	if (err)
		return err;
	if (bpf_link_update(attachment->occupied->link_fd, program_fd(attachment), NULL))
		return failure_set(why, errno, "the kernel does not replace the program: %s",
				   strerror(errno));
	config_publish(&attachment->control, &attachment->next);
	return 0;
}

static int pin_maps(struct attachment *attachment, struct failure *why)
{
	int fds[PIN_MAX];
	int err;

	program_fds(attachment->program, fds);
	err = pins_create(fds, why);
	return err ? err : pins_open(&attachment->control, why);
}

/* A budget that is in force on no interface yet hurts nobody, should what follows fail. */
static int publish_budget(struct attachment *attachment, struct failure *why)
{
	struct weir_policy policy = *config_policy(&attachment->control);

	policy.budgets[attachment->slot] = attachment->next.budgets[attachment->slot];
	return config_change(&attachment->control, &policy, why);
}

static void record_make(const struct attachment *attachment, bool generic,
			struct weir_interface *ret)
{
	const char *netns = attachment->device.netns;

	*ret = (struct weir_interface){.ifindex = attachment->device.ifindex, .generic = generic};
	snprintf(ret->name, sizeof(ret->name), "%s", attachment->device.name);
	snprintf(ret->netns, sizeof(ret->netns), "%s", netns ? netns : "");
}

/* Pins the link, then puts the limits in force. */
static int keep_link(struct attachment *attachment, const struct device_link *link,
		     struct failure *why)
{
	struct weir_interface record;
	char path[PINS_PATH_SIZE];
	int err;

	record_make(attachment, link->generic, &record);
	err = records_write(&attachment->control, attachment->slot, &record, why);
	if (err)
		return err;
	pins_link_path(path, attachment->slot);
	if (bpf_obj_pin(link->fd, path))
		return failure_set(why, errno, "cannot make %s: %s", path, strerror(errno));
	err = config_change(&attachment->control, &attachment->next, why);
	if (err)
		unlink(path);
	return err;
}

static void warn(const struct device_link *link, char *buf, size_t size)
{
	if (link->why_not_native[0])
		snprintf(buf, size,
			 "generic mode, since %s: several times slower, as each packet first "
			 "gets a socket buffer; what GRO merges counts as one",
			 link->why_not_native);
	else if (link->generic)
		snprintf(buf, size,
			 "in generic mode what GRO merges counts as one packet: 'ethtool -K "
			 "IFACE gro off' lets every one count");
	else if (pins_are_private())
		snprintf(buf, size,
			 "only this mount namespace sees " PINS_ROOT
			 ": the limit ends when the namespace does");
}

static int attach_new(struct attachment *attachment, struct control_attach_result *result,
		      struct failure *why)
{
	struct device_link link;
	int err = attachment->shares ? publish_budget(attachment, why) : pin_maps(attachment, why);

	if (!err)
		err = records_clear(&attachment->control, attachment->slot, why);
	if (!err)
		err = device_attach(&attachment->device, program_fd(attachment),
				    attachment->want->mode, &link, why);
	if (err)
		return err;
	err = keep_link(attachment, &link, why);
	if (err)
		bpf_link_detach(link.fd);
	close(link.fd);
	result->generic = link.generic;
	warn(&link, result->warning, sizeof(result->warning));
	return err;
}

static int attach_again(struct attachment *attachment, struct control_attach_result *result,
			struct failure *why)
{
	struct weir_interface record;
	int err = records_read(&attachment->control, attachment->slot, &record, why);

	if (err)
		return err;
	result->attached = CONTROL_ATTACHED_REPLACED;
	result->generic = record.generic;
	err = replace_program(attachment, why);
	if (err)
		return err;
	/* It may have been renamed or moved since. Nothing else depends on the record. */
	record_make(attachment, record.generic, &record);
	records_write(&attachment->control, attachment->slot, &record, NULL);
	return 0;
}

/* An interface that is gone gives its slot up once a new one of its name is attached. */
static void release_gone(struct attachment *attachment)
{
	const struct control_attach *want = attachment->want;
	struct slot *slot = records_find_gone(&attachment->control, &attachment->slots,
					      want->interface, want->netns);

	if (slot)
		slots_release(slot, NULL);
}

static void compare(const struct attachment *attachment, const struct weir_policy *before,
		    struct control_attach_result *result)
{
	const struct weir_policy *next = &attachment->next;

	config_limit_read(&next->limits[WEIR_LIMIT_DEFAULT], &result->limit);
	result->program_id = program_id(program_fd(attachment));
	if (!attachment->shares)
		return;
	result->limit_changed = !config_limit_equals(&before->limits[WEIR_LIMIT_DEFAULT],
						     &next->limits[WEIR_LIMIT_DEFAULT]);
	result->keys_changed = before->key4 != next->key4 || before->key6 != next->key6;
}

static int attach_planned(struct attachment *attachment, struct control_attach_result *ret,
			  struct failure *why)
{
	struct control_attach_result result = {0};
	struct weir_policy before = {0};
	int err;

	if (attachment->shares)
		before = *config_policy(&attachment->control);
	err = load(attachment, why);
	if (err)
		return err;
	if (attachment->occupied)
		err = attach_again(attachment, &result, why);
	else
		err = attach_new(attachment, &result, why);
	if (!err) {
		release_gone(attachment);
		compare(attachment, &before, &result);
		*ret = result;
	} else if (!attachment->shares) {
		pins_remove_all(NULL);
	}
	weir_bpf__destroy(attachment->program);
	return err;
}

static int attach_locked(struct attachment *attachment, struct control_attach_result *ret,
			 struct failure *why)
{
	const struct control_attach *want = attachment->want;
	int err = device_find(want->interface, want->netns, &attachment->device, why);

	if (!err)
		err = slots_open(&attachment->slots, why);
	if (err)
		return err;
	err = find_slot(attachment, why);
	if (!err)
		err = open_shared(attachment, why);
	if (!err)
		err = attachment_plan(attachment, why);
	if (!err)
		err = attach_planned(attachment, ret, why);
	pins_close(&attachment->control);
	slots_close(&attachment->slots);
	return err;
}

int control_attach(const struct control_attach *want, struct control_attach_result *ret,
		   struct failure *why)
{
	struct attachment attachment = {.want = want};
	int lock, err;

	pins_reset(&attachment.control);
	err = attachment_check(want, why);
	if (!err)
		err = probe_privileges(why);
	if (!err)
		err = pins_mount(why);
	if (err)
		return err;
	lock = pins_lock(why);
	if (lock < 0)
		return lock;
	err = attach_locked(&attachment, ret, why);
	close(lock);
	return err;
}
