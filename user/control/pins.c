/* SPDX-License-Identifier: MIT */
#include "control/pins.h"

#include <bpf/bpf.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "control/slots.h"

/* What a map must look like to be this version's; entries 0: any number. */
struct pin_shape {
	const char *name;
	enum bpf_map_type type;
	uint32_t key_size;
	uint32_t value_size;
	uint32_t entries;
};

static const struct pin_shape shapes[PIN_MAX] = {
	[PIN_CONFIG] = {"config", BPF_MAP_TYPE_ARRAY, 4, sizeof(struct weir_config), 1},
	[PIN_ENTRIES] = {"entries", BPF_MAP_TYPE_LRU_HASH, sizeof(struct weir_key),
			 sizeof(struct weir_entry), 0},
	[PIN_DROPS] = {"drops", BPF_MAP_TYPE_PERCPU_ARRAY, 4, sizeof(struct weir_pending_set),
		       WEIR_PENDING_SETS},
	[PIN_COUNTERS] = {"counters", BPF_MAP_TYPE_PERCPU_ARRAY, 4, sizeof(struct weir_counters),
			  WEIR_INTERFACES_MAX},
	[PIN_BUDGETS] = {"budgets", BPF_MAP_TYPE_ARRAY, 4, sizeof(struct weir_budget),
			 WEIR_INTERFACES_MAX},
	[PIN_INTERFACES] = {"interfaces", BPF_MAP_TYPE_ARRAY, 4, sizeof(struct weir_interface),
			    WEIR_INTERFACES_MAX},
	[PIN_BARRIER] = {"barrier", BPF_MAP_TYPE_ARRAY_OF_MAPS, 4, 4, 1},
	[PIN_FORGET] = {.name = "forget"},
	[PIN_SWEEP] = {.name = "sweep"},
};

void pins_path(char path[PINS_PATH_SIZE], enum pin pin)
{
	snprintf(path, PINS_PATH_SIZE, PINS_DIRECTORY "/%s", shapes[pin].name);
}

void pins_link_path(char path[PINS_PATH_SIZE], unsigned int slot)
{
	snprintf(path, PINS_PATH_SIZE, PINS_DIRECTORY "/" SLOTS_LINK_PREFIX "%u", slot);
}

static int refuse_layout(struct failure *why, const char *what)
{
	int err = failure_set(why, EPROTO,
			      "weir was attached by a version that is not "
			      "compatible with this one: %s",
			      what);

	failure_hint(why, "'weir detach --all', then attach again: buckets start full, limits and "
			  "counters have to be set anew");
	return err;
}

/* Without any link weir is attached nowhere: a detach or a crash removed the rest. */
static int explain_missing(struct failure *why, const char *name, int err)
{
	char what[64];

	if (err == -ENOENT && slots_check(why) == -ENOENT)
		return -ENOENT;
	if (err != -ENOENT)
		return failure_set(why, err, "cannot open " PINS_DIRECTORY "/%s: %s", name,
				   strerror(-err));
	snprintf(what, sizeof(what), "%s is missing", name);
	return refuse_layout(why, what);
}

static int map_check(int fd, const struct pin_shape *shape, uint32_t *ret_id, struct failure *why)
{
	struct bpf_map_info map = {0};
	uint32_t size = sizeof(map);
	char what[64];

	if (bpf_obj_get_info_by_fd(fd, &map, &size))
		return failure_set(why, errno, "cannot read " PINS_DIRECTORY "/%s: %s", shape->name,
				   strerror(errno));
	if (map.type == shape->type && map.key_size == shape->key_size &&
	    map.value_size == shape->value_size &&
	    (!shape->entries || map.max_entries == shape->entries)) {
		*ret_id = map.id;
		return 0;
	}
	snprintf(what, sizeof(what), "the layout of %s differs", shape->name);
	return refuse_layout(why, what);
}

static int pin_open(struct control *control, enum pin pin, struct failure *why)
{
	char path[PINS_PATH_SIZE];
	uint32_t id = 0;
	int err;

	pins_path(path, pin);
	control->fds[pin] = bpf_obj_get(path);
	if (control->fds[pin] < 0)
		return explain_missing(why, shapes[pin].name, -errno);
	if (pin >= PIN_MAPS)
		return 0;
	err = map_check(control->fds[pin], &shapes[pin], &id, why);
	if (!err && pin == PIN_CONFIG)
		control->config_id = id;
	return err;
}

static int config_map(struct control *control, struct failure *why)
{
	void *config = mmap(NULL, sizeof(struct weir_config), PROT_READ | PROT_WRITE, MAP_SHARED,
			    control->fds[PIN_CONFIG], 0);
	char what[64];

	if (config == MAP_FAILED)
		return failure_set(why, errno, "cannot map the configuration: %s", strerror(errno));
	control->config = config;
	if (control->config->layout == WEIR_LAYOUT)
		return 0;
	snprintf(what, sizeof(what), "its maps have layout %u, this has %d",
		 control->config->layout, WEIR_LAYOUT);
	return refuse_layout(why, what);
}

void pins_reset(struct control *control)
{
	*control = (struct control){0};
	for (int pin = 0; pin < PIN_MAX; pin++)
		control->fds[pin] = -1;
}

int pins_open(struct control *ret, struct failure *why)
{
	struct control control;
	int err = 0;

	pins_reset(&control);
	for (int pin = 0; pin < PIN_MAX && !err; pin++)
		err = pin_open(&control, pin, why);
	if (!err)
		err = config_map(&control, why);
	if (err)
		pins_close(&control);
	else
		*ret = control;
	return err;
}

void pins_close(struct control *control)
{
	if (control->config)
		munmap(control->config, sizeof(struct weir_config));
	for (int pin = 0; pin < PIN_MAX; pin++) {
		if (control->fds[pin] >= 0)
			close(control->fds[pin]);
	}
	pins_reset(control);
}

int pins_create(const int fds[PIN_MAX], struct failure *why)
{
	char path[PINS_PATH_SIZE];

	if (mkdir(PINS_DIRECTORY, 0700) && errno != EEXIST)
		return failure_set(why, errno, "cannot make " PINS_DIRECTORY ": %s",
				   strerror(errno));
	for (int pin = 0; pin < PIN_MAX; pin++) {
		pins_path(path, pin);
		if (bpf_obj_pin(fds[pin], path))
			return failure_set(why, errno, "cannot make %s: %s", path, strerror(errno));
	}
	return 0;
}

int pins_replace(enum pin pin, int fd, struct failure *why)
{
	char path[PINS_PATH_SIZE], next[PINS_PATH_SIZE + 4];

	pins_path(path, pin);
	snprintf(next, sizeof(next), "%s_new", path);
	unlink(next); /* an attach may have crashed here */
	if (bpf_obj_pin(fd, next) || rename(next, path))
		return failure_set(why, errno, "cannot replace %s: %s", path, strerror(errno));
	return 0;
}

int pins_remove_all(struct failure *why)
{
	DIR *directory = opendir(PINS_DIRECTORY);
	struct dirent *pin;

	if (!directory && errno == ENOENT)
		return 0;
	if (!directory)
		return failure_set(why, errno, "cannot read " PINS_DIRECTORY ": %s",
				   strerror(errno));
	while ((pin = readdir(directory))) {
		if (pin->d_name[0] != '.')
			unlinkat(dirfd(directory), pin->d_name, 0);
	}
	closedir(directory);
	if (rmdir(PINS_DIRECTORY) && errno != ENOTEMPTY)
		return failure_set(why, errno, "cannot remove " PINS_DIRECTORY ": %s",
				   strerror(errno));
	return 0;
}

static bool config_is_current(const struct control *control)
{
	struct bpf_map_info map = {0};
	uint32_t size = sizeof(map);
	char path[PINS_PATH_SIZE];
	int fd, err;

	pins_path(path, PIN_CONFIG);
	fd = bpf_obj_get(path);
	if (fd < 0)
		return false;
	err = bpf_obj_get_info_by_fd(fd, &map, &size);
	close(fd);
	return !err && map.id == control->config_id;
}

int pins_refresh(struct control *control, struct failure *why)
{
	struct control fresh;
	int err;

	if (config_is_current(control))
		return 0;
	err = pins_open(&fresh, why);
	if (err)
		return err;
	pins_close(control);
	*control = fresh;
	return 0;
}
