/* SPDX-License-Identifier: MIT */
#include "control/slots.h"

#include <bpf/bpf.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "control/pins.h"

/* Slot numbers of other versions are read too, so that detach works on them. */
static bool link_name_parse(const char *name, unsigned int *ret_number)
{
	char canonical[sizeof(SLOTS_LINK_PREFIX) + 20]; /* digits of 64 bits */
	size_t prefix = strlen(SLOTS_LINK_PREFIX);
	unsigned long number;

	if (strncmp(name, SLOTS_LINK_PREFIX, prefix))
		return false;
	number = strtoul(name + prefix, NULL, 10);
	snprintf(canonical, sizeof(canonical), SLOTS_LINK_PREFIX "%lu", number);
	if (strcmp(name, canonical) || number > UINT16_MAX)
		return false;
	*ret_number = (unsigned int)number;
	return true;
}

/* Maps, programs and links answer a query alike, the first field being another type in each; only
 * the name of the descriptor tells which of them it is. */
static int link_query(int fd, struct bpf_link_info *ret)
{
	uint32_t size = sizeof(*ret);
	char path[32], name[32] = "";

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (readlink(path, name, sizeof(name) - 1) < 0)
		return -errno;
	if (!strstr(name, "link")) /* bpf_link, or bpf-link */
		return -EMEDIUMTYPE;
	if (bpf_obj_get_info_by_fd(fd, ret, &size))
		return -errno;
	return ret->type == BPF_LINK_TYPE_XDP ? 0 : -EMEDIUMTYPE;
}

/* -EMEDIUMTYPE for what is no XDP link, so not weir's. */
static int slot_open(unsigned int number, struct slot *ret, struct failure *why)
{
	struct slot slot = {.number = number};
	struct bpf_link_info link = {0};
	char path[PINS_PATH_SIZE];
	int err;

	pins_link_path(path, number);
	slot.link_fd = bpf_obj_get(path);
	if (slot.link_fd < 0)
		return failure_set(why, errno, "cannot open %s: %s", path, strerror(errno));
	err = link_query(slot.link_fd, &link);
	if (err) {
		close(slot.link_fd);
		return failure_set(why, err, "cannot read %s: %s", path, strerror(-err));
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
	if (err == -ENOENT || err == -EMEDIUMTYPE) /* detached meanwhile, or foreign */
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
		if (pin->d_type == DT_REG && link_name_parse(pin->d_name, &number))
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

	failure_hint(why, "'weir attach IFACE --rate RATE' attaches it");
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

/* Whatever is pinned there takes it, a foreign object too. */
static bool slot_is_free(unsigned int number)
{
	char path[PINS_PATH_SIZE];
	struct stat pin;

	pins_link_path(path, number);
	return lstat(path, &pin) && errno == ENOENT;
}

int slots_find_free(unsigned int *ret_number, struct failure *why)
{
	int err;

	for (unsigned int number = 0; number < WEIR_INTERFACES_MAX; number++) {
		if (slot_is_free(number)) {
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
	int err;

	/* First, as it is what may fail, on a read-only file system. */
	pins_link_path(path, slot->number);
	if (unlink(path) && errno != ENOENT)
		return failure_set(why, errno, "cannot remove %s: %s", path, strerror(errno));
	/* Closing would not do: whoever else opened the pin would keep the program attached. */
	if (!bpf_link_detach(slot->link_fd) || errno == ENOLINK)
		return 0;
	err = failure_set(why, errno, "the kernel does not detach it: %s", strerror(errno));
	bpf_obj_pin(slot->link_fd, path);
	return err;
}
