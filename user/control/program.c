/* SPDX-License-Identifier: MIT */
#include "control/program.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "control/probe.h"

/* Kernels before 6.4 keep a log's beginning, and the reason stands at its end: room for all of it,
 * which costs nothing until it is written. */
#define VERIFIER_LOG_SIZE (16U << 20)

static int maps_share(struct weir_bpf *program, const struct control *shared)
{
	const struct {
		struct bpf_map *map;
		enum pin pin;
	} maps[PIN_MAPS] = {
		{program->maps.data_config, PIN_CONFIG},
		{program->maps.weir_entries, PIN_ENTRIES},
		{program->maps.weir_drops, PIN_DROPS},
		{program->maps.weir_counters, PIN_COUNTERS},
		{program->maps.weir_budgets, PIN_BUDGETS},
		{program->maps.weir_interfaces, PIN_INTERFACES},
		{program->maps.weir_barrier, PIN_BARRIER},
	};
	int err = 0;

	for (int i = 0; i < PIN_MAPS && !err; i++)
		err = bpf_map__reuse_fd(maps[i].map, shared->fds[maps[i].pin]);
	return err;
}

static int maps_start(struct weir_bpf *program, const struct weir_policy *policy, uint32_t sources)
{
	struct weir_config *config = &program->data_config->weir_config;

	config->layout = WEIR_LAYOUT;
	config->generation = 1;
	config->copies[1] = *policy;
	return bpf_map__set_max_entries(program->maps.weir_entries, sources);
}

static int seed_draw(uint64_t *ret)
{
	return getrandom(ret, sizeof(*ret), 0) == sizeof(*ret) ? 0 : -EIO;
}

int program_load(const struct control *shared, unsigned int slot, const struct weir_policy *policy,
		 uint32_t sources, struct weir_bpf **ret, struct failure *why)
{
	struct bpf_object_open_opts opts = {.sz = sizeof(opts),
					    .kernel_log_size = VERIFIER_LOG_SIZE};
	struct weir_bpf *program = NULL;
	uint64_t seed;
	int err;

	opts.kernel_log_buf = calloc(1, VERIFIER_LOG_SIZE);
	if (!opts.kernel_log_buf)
		return failure_set(why, ENOMEM, "not enough memory");
	/* What matters of libbpf's messages is in the error and the log. */
	libbpf_set_print(NULL);
	program = weir_bpf__open_opts(&opts);
	err = program ? seed_draw(&seed) : -errno;
	if (!err) {
		program->rodata->weir_slot = slot;
		program->rodata->weir_seed = seed;
		err = shared ? maps_share(program, shared) : maps_start(program, policy, sources);
	}
	if (!err)
		err = weir_bpf__load(program);
	if (err) {
		err = probe_load(err, opts.kernel_log_buf, why);
		weir_bpf__destroy(program);
	} else {
		*ret = program;
	}
	free(opts.kernel_log_buf);
	return err;
}

void program_fds(const struct weir_bpf *program, int fds[PIN_MAX])
{
	fds[PIN_CONFIG] = bpf_map__fd(program->maps.data_config);
	fds[PIN_ENTRIES] = bpf_map__fd(program->maps.weir_entries);
	fds[PIN_DROPS] = bpf_map__fd(program->maps.weir_drops);
	fds[PIN_COUNTERS] = bpf_map__fd(program->maps.weir_counters);
	fds[PIN_BUDGETS] = bpf_map__fd(program->maps.weir_budgets);
	fds[PIN_INTERFACES] = bpf_map__fd(program->maps.weir_interfaces);
	fds[PIN_BARRIER] = bpf_map__fd(program->maps.weir_barrier);
	fds[PIN_FORGET] = bpf_program__fd(program->progs.weir_forget_program);
	fds[PIN_SWEEP] = bpf_program__fd(program->progs.weir_sweep_program);
}

uint32_t program_id(int program_fd)
{
	struct bpf_prog_info program = {0};
	uint32_t size = sizeof(program);

	return bpf_obj_get_info_by_fd(program_fd, &program, &size) ? 0 : program.id;
}
