/* SPDX-License-Identifier: MIT */
/* Runs weir_xdp of any skeleton whose object includes weir.bpf.c. */
#ifndef PROGRAM_H
#define PROGRAM_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <cmocka.h>

#include "control/limit.h"
#include "weir.h"

#define SECOND_NS         1000000000ULL
#define PROGRAM_ENTRIES   1024
#define PROGRAM_FRAME_MAX 16384

struct program {
	int run_fd;
	int entries_fd;
	int counters_fd;
	int budgets_fd;
	struct weir_config *config;
};

/* The sources that the skeleton shall have room for; between its open and its load. */
#define program_size(skeleton, entries) \
	assert_return_code(bpf_map__set_max_entries((skeleton)->maps.weir_entries, entries), 0)

/* A loaded skeleton's program. */
#define program_of(skeleton)                                                \
	((struct program){                                                  \
		.run_fd = bpf_program__fd((skeleton)->progs.weir_xdp),      \
		.entries_fd = bpf_map__fd((skeleton)->maps.weir_entries),   \
		.counters_fd = bpf_map__fd((skeleton)->maps.weir_counters), \
		.budgets_fd = bpf_map__fd((skeleton)->maps.weir_budgets),   \
		.config = &(skeleton)->data_config->weir_config,            \
	})

static inline struct weir_limit limit_per_second(uint64_t count, uint64_t capacity)
{
	const struct rate rate = {.count = count, .period_ns = SECOND_NS};
	struct weir_limit limit;
	struct failure why;

	assert_int_equal(limit_build(&rate, capacity, 1, &limit, &why), 0);
	return limit;
}

/* Puts a policy in force while no packet is under way: keys of /32 and /64, one limit for every
 * source, one budget for every exemption of every interface. */
static inline void program_configure(const struct program *program, struct weir_limit limit,
				     struct weir_limit budget)
{
	struct weir_config *config = program->config;
	struct weir_policy *policy = &config->copies[(config->generation + 1) & 1];
	int i;

	memset(policy, 0, sizeof(*policy));
	for (i = 0; i < WEIR_LIMITS_MAX; i++)
		policy->limits[i] = limit;
	for (i = 0; i < WEIR_INTERFACES_MAX; i++)
		policy->budgets[i] = budget;
	memset(&policy->mask4, 0xff, sizeof(policy->mask4));
	memset(policy->mask6, 0xff, 8);
	policy->key4 = 32;
	policy->key6 = 64;
	config->layout = WEIR_LAYOUT;
	__atomic_store_n(&config->generation, config->generation + 1, __ATOMIC_RELEASE);
}

/* The XDP action for one frame, or -errno: EINVAL for a frame shorter than an Ethernet header. */
static inline int program_run(const struct program *program, const void *frame, uint32_t size)
{
	LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = frame, .data_size_in = size);
	int err = bpf_prog_test_run_opts(program->run_fd, &opts);

	return err ? err : (int)opts.retval;
}

/* The first interface's counters, all CPUs together. */
static inline struct weir_counters program_count(const struct program *program)
{
	struct weir_counters sum = {0}, *each;
	const uint32_t slot = 0;
	int cpus = libbpf_num_possible_cpus(), cpu, i;

	each = test_calloc(cpus, sizeof(*each));
	assert_int_equal(bpf_map_lookup_elem(program->counters_fd, &slot, each), 0);
	for (cpu = 0; cpu < cpus; cpu++) {
		for (i = 0; i < WEIR_VERDICT_MAX; i++) {
			sum.verdicts[i].packets += each[cpu].verdicts[i].packets;
			sum.verdicts[i].bytes += each[cpu].verdicts[i].bytes;
		}
		for (i = 0; i < WEIR_CAUSE_MAX; i++)
			sum.causes[i] += each[cpu].causes[i];
	}
	test_free(each);
	return sum;
}

/* Forgets every source and fills the first interface's budgets. */
static inline void program_forget(const struct program *program)
{
	const struct weir_budget full = {{0}};
	const uint32_t slot = 0;
	struct weir_key key;

	while (!bpf_map_get_next_key(program->entries_fd, NULL, &key))
		assert_int_equal(bpf_map_delete_elem(program->entries_fd, &key), 0);
	assert_int_equal(bpf_map_update_elem(program->budgets_fd, &slot, &full, BPF_ANY), 0);
}

#endif
