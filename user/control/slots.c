/* SPDX-License-Identifier: MIT */
#include "control/slots.h"

#include <bpf/bpf.h>
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "control/pins.h"

/* Slot numbers of other versions are read too, so that detach works on them. */
static bool link_name_parse(const char *name, unsigned int *ret_number)
{
	size_t prefix = strlen(SLOTS_LINK_PREFIX);
	unsigned long number;
	char *end;

	if (strncmp(name, SLOTS_LINK_PREFIX, prefix) || !name[prefix])
		return false;
	number = strtoul(name + prefix, &end, 10);
	if (*end || number > UINT16_MAX)
		return false;
	*ret_number = (unsigned int)number;
	return true;
}

static int slot_open(unsigned int number, struct slot *ret, struct failure *why)
{
	struct slot slot = {.number = number};
	struct bpf_link_info link = {0};
	uint32_t size = sizeof(link);
	char path[PINS_PATH_SIZE];
	int err;

	pins_link_path(path, number);
	slot.link_fd = bpf_obj_get(path);
	if (slot.link_fd < 0)
		return failure_set(why, errno, "cannot open %s: %s", path, strerror(errno));
	if (bpf_obj_get_info_by_fd(slot.link_fd, &link, &size)) {
		err = failure_set(why, errno, "cannot read %s: %s", path, strerror(errno));
		close(slot.link_fd);
		return err;
	}
	slot.link_id = link.id;
	slot.program_id = link.prog_id;
	slot.ifindex = link.xdp.ifindex;
	*ret = slot;
	return 0;
}

static int slots_append(struct slots *slots, unsigned int number, struct failure *why)
{
	struct slot *grown = reallocarray(slots->at, slots->count + 1, sizeof(*grown));
	int err;

	if (!grown)
		return failure_set(why, ENOMEM, "not enough memory");
	slots->at = grown;
	err = slot_open(number, &slots->at[slots->count], why);
	if (err == -ENOENT) /* detached while we were looking */
		return 0;
	if (!err)
		slots->count++;
	return err;
}

static int compare_links(const void *a, const void *b)
{
	const struct slot *one = a, *other = b;

	return (one->link_id > other->link_id) - (one->link_id < other->link_id);
}

int slots_open(struct slots *ret, struct failure *why)
{
	DIR *directory = opendir(PINS_DIRECTORY);
	struct slots slots = {0};
	struct dirent *pin;
	unsigned int number;
	int err = 0;

	if (!directory && errno != ENOENT)
		return failure_set(why, errno, "cannot read " PINS_DIRECTORY ": %s",
				   strerror(errno));
	while (!err && directory && (pin = readdir(directory))) {
		if (link_name_parse(pin->d_name, &number))
			err = slots_append(&slots, number, why);
	}
	if (directory)
		closedir(directory);
	if (err) {
		slots_close(&slots);
		return err;
	}
	if (slots.count)
		qsort(slots.at, slots.count, sizeof(*slots.at), compare_links);
	*ret = slots;
	return 0;
}

void slots_close(struct slots *slots)
{
	for (size_t i = 0; i < slots->count; i++)
		close(slots->at[i].link_fd);
	free(slots->at);
	*slots = (struct slots){0};
}

int slots_none(struct failure *why)
{
	int err = failure_set(why, ENOENT, "weir is not attached to any interface");

	failure_hint(why, "'weir attach INTERFACE --rate RATE' attaches it");
	return err;
}

int slots_check(struct failure *why)
{
	struct slots slots;
	size_t count;
	int err = slots_open(&slots, why);

	if (err)
		return err;
	count = slots.count;
	slots_close(&slots);
	return count ? 0 : slots_none(why);
}

struct slot *slots_find_program(const struct slots *slots, uint32_t program_id)
{
	for (size_t i = 0; program_id && i < slots->count; i++) {
		if (slots->at[i].ifindex && slots->at[i].program_id == program_id)
			return &slots->at[i];
	}
	return NULL;
}

static bool slot_is_taken(const struct slots *slots, unsigned int number)
{
	for (size_t i = 0; i < slots->count; i++) {
		if (slots->at[i].number == number)
			return true;
	}
	return false;
}

int slots_find_free(const struct slots *slots, unsigned int *ret_number, struct failure *why)
{
	int err;

	for (unsigned int number = 0; number < WEIR_INTERFACES_MAX; number++) {
		if (!slot_is_taken(slots, number)) {
			*ret_number = number;
			return 0;
		}
	}
	err = failure_set(why, ENOSPC, "weir is attached to %u interfaces, which is the most",
			  WEIR_INTERFACES_MAX);
	failure_hint(why, "'weir status' lists them, 'weir detach' frees one");
	return err;
}

int slots_release(struct slot *slot, struct failure *why)
{
	char path[PINS_PATH_SIZE];

	/* Closing would not do: whoever else opened the pin would keep the program attached. */
	if (bpf_link_detach(slot->link_fd) && errno != ENOLINK)
		return failure_set(why, errno, "the kernel does not detach it: %s",
				   strerror(errno));
	pins_link_path(path, slot->number);
	if (unlink(path) && errno != ENOENT)
		return failure_set(why, errno, "cannot remove %s: %s", path, strerror(errno));
	return 0;
}
