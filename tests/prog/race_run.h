/* SPDX-License-Identifier: MIT */
/* CPUs that run a program at the same time, and what its sources count afterwards. */
#ifndef RACE_RUN_H
#define RACE_RUN_H

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <time.h>

#include "bucket.h"
#include "frame.h"
#include "program.h"

#define RACE_CPUS_MAX     2
#define RACE_TRIES_MAX    50
#define RACE_START_NS     (1000 * SECOND_NS)
#define RACE_POSSIBLE_MAX 256
#define RACE_FIRST        0x0a000000 /* the prelude's first source */

/* A program that includes race.h, whichever variant. */
struct race {
	struct program program;
	void *skeleton;
	void (*stop)(void *skeleton);
	int prelude_fd, target_fd, drops_fd, forget_fd, sweep_fd, forget_by_update_fd;
	volatile uint32_t *first, *sources;
	volatile uint64_t *now_ns;
	void *turns; /* zero them to begin with the first source again */
	size_t turns_size;
};

/* Defines <variant>_start, which loads a program that includes race.h and puts a limit in force for
 * every source. */
#define RACE_VARIANT(variant)                                                                     \
	static void variant##_stop(void *skeleton)                                                \
	{                                                                                         \
		variant##_bpf__destroy(skeleton);                                                 \
	}                                                                                         \
                                                                                                  \
	static struct race variant##_start(uint32_t entries, uint64_t rate, uint64_t capacity)    \
	{                                                                                         \
		struct variant##_bpf *skeleton = variant##_bpf__open();                           \
		struct race race;                                                                 \
                                                                                                  \
		assert_non_null(skeleton);                                                        \
		program_size(skeleton, entries);                                                  \
		assert_int_equal(variant##_bpf__load(skeleton), 0);                               \
		race = (struct race){                                                             \
			.program = program_of(skeleton),                                          \
			.skeleton = skeleton,                                                     \
			.stop = variant##_stop,                                                   \
			.prelude_fd = bpf_program__fd(skeleton->progs.prelude),                   \
			.target_fd = bpf_map__fd(skeleton->maps.prelude_target),                  \
			.drops_fd = bpf_map__fd(skeleton->maps.weir_drops),                       \
			.forget_fd = bpf_program__fd(skeleton->progs.weir_forget_program),        \
			.sweep_fd = bpf_program__fd(skeleton->progs.weir_sweep_program),          \
			.forget_by_update_fd = bpf_program__fd(skeleton->progs.forget_by_update), \
			.first = &skeleton->data->prelude_first,                                  \
			.sources = &skeleton->data->prelude_sources,                              \
			.turns = skeleton->bss->prelude_turns,                                    \
			.turns_size = sizeof(skeleton->bss->prelude_turns),                       \
			.now_ns = (volatile uint64_t *)&skeleton->bss->race_now_ns,               \
		};                                                                                \
		race_prepare(&race, rate, capacity);                                              \
		return race;                                                                      \
	}

static inline void race_prepare(const struct race *race, uint64_t rate, uint64_t capacity)
{
	uint32_t first = 0;

	*race->now_ns = RACE_START_NS;
	assert_int_equal(
		bpf_map_update_elem(race->target_fd, &first, &race->program.run_fd, BPF_ANY), 0);
	program_configure(&race->program, limit_per_second(rate, capacity),
			  limit_per_second(1000, 1000));
}

/* Puts limit in force as successor of the one before, a microsecond ago: carrying a bucket over
 * rounds what is missing up, by less than that earns. */
static inline void race_change_limit(const struct race *race, struct weir_limit limit)
{
	const struct weir_config *config = race->program.config;

	limit_succeed(&limit, &config->copies[config->generation & 1].limits[0],
		      bucket_ticks(*race->now_ns));
	program_configure(&race->program, limit, limit_per_second(1000, 1000));
	*race->now_ns += 1000;
}

struct racer {
	const struct race *race;
	pthread_barrier_t *start;
	pthread_t thread;
	uint32_t packets;
	int cpu, err;
	double packet_ns;
};

static inline int race_repeat(const struct race *race, uint32_t packets)
{
	const struct layer layers[] = {{.kind = LAYER_ETHERNET}, IPV4(0), UDP(0), PAYLOAD(18)};
	struct frame frame;

	frame_build(&frame, layers, sizeof(layers) / sizeof(layers[0]));
	LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = frame.bytes, .data_size_in = frame.size,
		    .repeat = packets);
	return bpf_prog_test_run_opts(race->prelude_fd, &opts);
}

static inline double thread_ns(void)
{
	struct timespec used;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
	return (double)used.tv_sec * SECOND_NS + (double)used.tv_nsec;
}

static inline void *racer_run(void *argument)
{
	struct racer *racer = argument;
	cpu_set_t cpus;
	double begin_ns;

	CPU_ZERO(&cpus);
	CPU_SET(racer->cpu, &cpus);
	racer->err = -pthread_setaffinity_np(pthread_self(), sizeof(cpus), &cpus);
	pthread_barrier_wait(racer->start);
	begin_ns = thread_ns();
	if (!racer->err)
		racer->err = race_repeat(racer->race, racer->packets);
	racer->packet_ns = (thread_ns() - begin_ns) / racer->packets;
	return NULL;
}

struct racing {
	struct racer racers[RACE_CPUS_MAX];
	pthread_barrier_t start;
	int cpus;
};

/* Each CPU sends packets, from the first sources of the prelude in turn, and all at once. */
static inline void race_begin(const struct race *race, struct racing *ret, int cpus,
			      uint32_t sources, uint32_t packets)
{
	int cpu;

	*race->sources = sources;
	memset(race->turns, 0, race->turns_size);
	ret->cpus = cpus;
	assert_int_equal(pthread_barrier_init(&ret->start, NULL, cpus), 0);
	for (cpu = 0; cpu < cpus; cpu++) {
		ret->racers[cpu] = (struct racer){
			.race = race, .start = &ret->start, .packets = packets, .cpu = cpu};
		assert_int_equal(pthread_create(&ret->racers[cpu].thread, NULL, racer_run,
						&ret->racers[cpu]),
				 0);
	}
}

/* Returns how long the slowest CPU took for a packet, in its own time. */
static inline double race_end(struct racing *racing)
{
	double slowest_ns = 0;
	int cpu;

	for (cpu = 0; cpu < racing->cpus; cpu++) {
		const struct racer *racer = &racing->racers[cpu];

		assert_int_equal(pthread_join(racer->thread, NULL), 0);
		assert_int_equal(racer->err, 0);
		if (racer->packet_ns > slowest_ns)
			slowest_ns = racer->packet_ns;
	}
	pthread_barrier_destroy(&racing->start);
	return slowest_ns;
}

static inline double race_run(const struct race *race, int cpus, uint32_t sources, uint32_t packets)
{
	struct racing racing;

	race_begin(race, &racing, cpus, sources, packets);
	return race_end(&racing);
}

static inline struct weir_key race_key(uint32_t number)
{
	return (struct weir_key){
		.address = {htonl(RACE_FIRST + number)}, .family = WEIR_IPV4, .prefix_length = 32};
}

/* What waits for a source on all CPUs. */
static inline uint64_t race_pending(const struct race *race, const struct weir_key *key)
{
	struct weir_pending_set sets[RACE_POSSIBLE_MAX];
	uint64_t drops = 0;
	uint32_t index;
	int cpu, way;

	for (index = 0; index < WEIR_PENDING_SETS; index++) {
		assert_int_equal(bpf_map_lookup_elem(race->drops_fd, &index, sets), 0);
		for (cpu = 0; cpu < libbpf_num_possible_cpus(); cpu++) {
			for (way = 0; way < WEIR_PENDING_WAYS; way++) {
				const struct weir_pending *pending = &sets[cpu].ways[way];

				if (!memcmp(&pending->key, key, sizeof(*key)))
					drops += pending->drops;
			}
		}
	}
	return drops;
}

static inline struct weir_entry race_entry(const struct race *race, uint32_t number)
{
	struct weir_key key = race_key(number);
	struct weir_entry entry;

	assert_int_equal(bpf_map_lookup_elem(race->program.entries_fd, &key, &entry), 0);
	return entry;
}

static inline uint64_t race_passed(const struct race *race)
{
	return program_count(&race->program).verdicts[WEIR_PASS].packets;
}

/* Who wins a race is chance, the more so on a busy machine: a naive variant has several tries to
 * be caught, each of which begins anew. */
static inline void assert_caught(bool (*is_caught)(void))
{
	int tries = 0;

	while (!is_caught())
		assert_in_range(++tries, 1, RACE_TRIES_MAX);
}

#endif
