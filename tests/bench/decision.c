// SPDX-License-Identifier: MIT
/* What a decision costs beside programs that do less, and what each admits beside its limit. All
 * figures of one run are of the same minutes on the same machine: read the ratios. */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <linux/if_ether.h>
#include <linux/ip.h>
#include <linux/udp.h>

#include <arpa/inet.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "control/limit.h"
#include "decision.skel.h"
#include "weir.h"

#define NS_PER_SEC    1000000000ULL
#define ROUNDS        25
#define RUN_PACKETS   200000 /* of one program in one round */
#define HOT_PACKETS   10000000
#define CPUS          2
#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

enum contender { DROP_ALL, LOOK_UP, PLAIN, WEIR, CONTENDERS };

static const char *const names[CONTENDERS] = {"drop all", "parse and look up", "plain bucket",
					      "weir"};

struct bench {
	struct decision_bpf *skel;
	int programs[CONTENDERS];
	int prelude;
	uint8_t frame[ETH_HLEN + sizeof(struct iphdr) + sizeof(struct udphdr) + 18];
};

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * NS_PER_SEC + now.tv_nsec;
}

static uint64_t coarse_tick_ns(void)
{
	struct timespec tick;

	clock_getres(CLOCK_MONOTONIC_COARSE, &tick);
	return tick.tv_sec * NS_PER_SEC + tick.tv_nsec;
}

static void pin_to(int cpu)
{
	cpu_set_t cpus;

	CPU_ZERO(&cpus);
	CPU_SET(cpu, &cpus);
	if (pthread_setaffinity_np(pthread_self(), sizeof(cpus), &cpus))
		fprintf(stderr, "bench: cannot pin a thread to CPU %d\n", cpu);
}

static void frame_build(struct bench *bench)
{
	struct ethhdr *ethernet = (struct ethhdr *)bench->frame;
	struct iphdr *ip = (struct iphdr *)(ethernet + 1);
	struct udphdr *udp = (struct udphdr *)(ip + 1);
	uint16_t ip_bytes = sizeof(bench->frame) - ETH_HLEN;

	ethernet->h_proto = htons(ETH_P_IP);
	ip->version = 4;
	ip->ihl = 5;
	ip->ttl = 64;
	ip->protocol = IPPROTO_UDP;
	ip->tot_len = htons(ip_bytes);
	ip->saddr = htonl(0x0a000000);
	udp->len = htons(ip_bytes - sizeof(*ip));
}

static void configure(struct bench *bench, uint64_t per_second, uint64_t capacity, bool precise)
{
	struct weir_config *config = &bench->skel->data_config->weir_config;
	struct weir_policy *policy = &config->copies[(config->generation + 1) & 1];
	struct rate rate = {per_second, NS_PER_SEC};

	limit_build(&rate, capacity, precise ? NS_PER_SEC : coarse_tick_ns(), &policy->limits[0],
		    NULL);
	policy->mask4 = UINT32_MAX;
	policy->key4 = 32;
	config->generation++;
}

/* Nanoseconds a packet, or 0 if the kernel would not run it. */
static double run(const struct bench *bench, int program, uint32_t packets)
{
	LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = bench->frame,
		    .data_size_in = sizeof(bench->frame), .repeat = packets);
	uint64_t begin_ns = now_ns();

	if (bpf_prog_test_run_opts(program, &opts))
		return 0;
	return (double)(now_ns() - begin_ns) / packets;
}

/* From now on the prelude gives each run the next of these sources and goes on in who's program. */
static void aim_prelude(const struct bench *bench, enum contender who, uint32_t sources)
{
	uint32_t first = 0;

	memset(bench->skel->bss->prelude_turns, 0, sizeof(bench->skel->bss->prelude_turns));
	bench->skel->data->prelude_sources = sources;
	bpf_map_update_elem(bpf_map__fd(bench->skel->maps.prelude_target), &first,
			    &bench->programs[who], BPF_ANY);
}

static double run_over(const struct bench *bench, enum contender who, uint32_t sources)
{
	if (sources == 1)
		return run(bench, bench->programs[who], RUN_PACKETS);
	aim_prelude(bench, who, sources);
	return run(bench, bench->prelude, RUN_PACKETS);
}

/* Rounds take turns, so that a disturbance falls on all; the fastest counts, as it was disturbed
 * least. */
static void measure(const struct bench *bench, uint32_t sources, double ret_ns[CONTENDERS])
{
	for (int who = 0; who < CONTENDERS; who++)
		ret_ns[who] = run_over(bench, who, sources);
	for (int round = 0; round < ROUNDS; round++) {
		for (int who = 0; who < CONTENDERS; who++) {
			double ns = run_over(bench, who, sources);

			if (ns < ret_ns[who])
				ret_ns[who] = ns;
		}
	}
}

static void print_costs(struct bench *bench, const char *title, uint64_t per_second,
			uint64_t capacity, bool precise)
{
	static const uint32_t sources[] = {1, 1000, 100000};

	printf("\n%s\n%-20s %16s %22s %22s\n", title, "", "1 source", "1,000 sources",
	       "100,000 sources");
	double ns[ARRAY_SIZE(sources)][CONTENDERS];

	configure(bench, per_second, capacity, precise);
	for (size_t i = 0; i < ARRAY_SIZE(sources); i++)
		measure(bench, sources[i], ns[i]);
	for (int who = 0; who < CONTENDERS; who++) {
		printf("%-20s", names[who]);
		for (size_t i = 0; i < ARRAY_SIZE(sources); i++)
			printf("%s%8.1f ns %5.2f x", i ? "     " : " ", ns[i][who],
			       ns[i][who] / ns[i][LOOK_UP]);
		printf("\n");
	}
}

struct hammer {
	const struct bench *bench;
	pthread_t thread;
	pthread_barrier_t *start;
	uint64_t begin_ns, end_ns;
	int program, cpu;
};

static void *hammer_run(void *argument)
{
	struct hammer *hammer = argument;

	pin_to(hammer->cpu);
	pthread_barrier_wait(hammer->start);
	hammer->begin_ns = now_ns();
	run(hammer->bench, hammer->program, HOT_PACKETS);
	hammer->end_ns = now_ns();
	return NULL;
}

static uint64_t count_passed_packets(const struct bench *bench)
{
	struct weir_counters counters[libbpf_num_possible_cpus()];
	uint64_t passed = 0;
	uint32_t slot = 0;

	bpf_map_lookup_elem(bpf_map__fd(bench->skel->maps.weir_counters), &slot, counters);
	for (int cpu = 0; cpu < libbpf_num_possible_cpus(); cpu++)
		passed += counters[cpu].verdicts[WEIR_PASS].packets;
	return passed;
}

/* All CPUs on one source; returns packets a nanosecond. */
static double hammer_all(const struct bench *bench, int program, int cpus, uint64_t *ret_ns)
{
	struct hammer hammers[CPUS];
	pthread_barrier_t start;
	uint64_t begin_ns = UINT64_MAX, end_ns = 0;
	double speed = 0;

	pthread_barrier_init(&start, NULL, cpus);
	for (int cpu = 0; cpu < cpus; cpu++) {
		hammers[cpu] = (struct hammer){
			.bench = bench, .start = &start, .program = program, .cpu = cpu};
		pthread_create(&hammers[cpu].thread, NULL, hammer_run, &hammers[cpu]);
	}
	for (int cpu = 0; cpu < cpus; cpu++) {
		pthread_join(hammers[cpu].thread, NULL);
		speed += (double)HOT_PACKETS / (hammers[cpu].end_ns - hammers[cpu].begin_ns);
		if (hammers[cpu].begin_ns < begin_ns)
			begin_ns = hammers[cpu].begin_ns;
		if (hammers[cpu].end_ns > end_ns)
			end_ns = hammers[cpu].end_ns;
	}
	pthread_barrier_destroy(&start);
	*ret_ns = end_ns - begin_ns;
	return speed;
}

/* A hot source far over its limit. */
static void print_speed_of_two(struct bench *bench)
{
	uint64_t ns;

	printf("\nOne source far over its limit (20k/s), packets a second: one CPU, two, ratio\n");
	configure(bench, 20000, 40000, false);
	for (int who = 0; who < CONTENDERS; who++) {
		double one = 0, two = 0;

		for (int round = 0; round < 5; round++) {
			double speed = hammer_all(bench, bench->programs[who], 1, &ns);

			one = speed > one ? speed : one;
			speed = hammer_all(bench, bench->programs[who], 2, &ns);
			two = speed > two ? speed : two;
		}
		printf("%-20s %8.1f M %8.1f M %5.2f x\n", names[who], one * 1000, two * 1000,
		       two / one);
	}
}

/* Refusals of two sources that alternate on both CPUs, which must not chase each other's lines. */
static void print_alternating(struct bench *bench)
{
	double speeds[2] = {0};
	uint64_t ns;

	configure(bench, 20000, 40000, false);
	for (int round = 0; round < 5; round++) {
		for (int sources = 1; sources <= 2; sources++) {
			double speed;

			aim_prelude(bench, WEIR, sources);
			speed = hammer_all(bench, bench->prelude, 2, &ns);
			if (speed > speeds[sources - 1])
				speeds[sources - 1] = speed;
		}
	}
	printf("\nTwo CPUs, weir with the prelude: one flooder, two that alternate, ratio\n"
	       "%-20s %8.1f M %8.1f M %5.2f x\n",
	       names[WEIR], speeds[0] * 1000, speeds[1] * 1000, speeds[1] / speeds[0]);
}

/* A limit that both CPUs reach together, so that their takes overlap all the time. */
static void print_admitted(struct bench *bench)
{
	static const enum contender who[] = {PLAIN, WEIR};
	const uint64_t rate = 1000000, capacity = 1000000;

	printf("\nTwo CPUs on one source, limit 1M/s, capacity 1M: admitted, allowed, ratio\n");
	for (size_t i = 0; i < ARRAY_SIZE(who); i++) {
		uint64_t admitted, allowed, ns;
		struct weir_key key;
		int entries = bpf_map__fd(bench->skel->maps.weir_entries);

		while (!bpf_map_get_next_key(entries, NULL, &key))
			bpf_map_delete_elem(entries, &key);
		configure(bench, rate, capacity, false);
		admitted = count_passed_packets(bench);
		hammer_all(bench, bench->programs[who[i]], 2, &ns);
		admitted = count_passed_packets(bench) - admitted;
		allowed = capacity + (double)rate * ns / NS_PER_SEC;
		printf("%-20s %12llu %12llu %5.2f x\n", names[who[i]], (unsigned long long)admitted,
		       (unsigned long long)allowed, (double)admitted / allowed);
	}
}

static int open_bench(struct bench *bench)
{
	int err;

	frame_build(bench);
	bench->skel = decision_bpf__open();
	if (!bench->skel)
		return -errno;
	bpf_map__set_max_entries(bench->skel->maps.weir_entries, 262144);
	err = decision_bpf__load(bench->skel);
	if (err)
		return err;
	bench->programs[DROP_ALL] = bpf_program__fd(bench->skel->progs.drop_all);
	bench->programs[LOOK_UP] = bpf_program__fd(bench->skel->progs.parse_and_look_up);
	bench->programs[PLAIN] = bpf_program__fd(bench->skel->progs.plain);
	bench->programs[WEIR] = bpf_program__fd(bench->skel->progs.weir_xdp);
	bench->prelude = bpf_program__fd(bench->skel->progs.prelude);
	return 0;
}

int main(void)
{
	struct bench bench = {0};
	int err = open_bench(&bench);

	if (err) {
		fprintf(stderr, "bench: cannot load the programs: %s\n", strerror(-err));
		return 1;
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	printf("Cost of one decision, and as a multiple of parsing and looking up. Many sources: "
	       "with\n"
	       "a prelude that changes the source, in every row.\n");
	print_costs(&bench, "all pass, coarse clock (limit 50M/s)", 50000000, 1000000000, false);
	print_costs(&bench, "all pass, precise clock (limit 50M/s)", 50000000, 1000000000, true);
	print_costs(&bench, "all refused but a few, coarse clock (limit 1/s)", 1, 1, false);
	print_speed_of_two(&bench);
	print_alternating(&bench);
	print_admitted(&bench);
	decision_bpf__destroy(bench.skel);
	return 0;
}
