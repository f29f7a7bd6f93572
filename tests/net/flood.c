/* SPDX-License-Identifier: MIT */
/* A bounded flood of UDP packets from many sources, sent out of an interface of the caller's
 * network namespace without touching a socket: the kernel runs a program over live frames. */
#include <arpa/inet.h>
#include <errno.h>
#include <getopt.h>
#include <net/if.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <linux/if_ether.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/udp.h>

#include <bpf/bpf.h>

#include "flood.h"
#include "flood.skel.h"

#define NSEC_PER_SEC 1000000000ULL
#define SECONDS_MAX  600
/* One system call's. The call then takes milliseconds to end; a deadline is looked at in between.
 */
#define BURST_PACKETS  1048576
#define BATCH_FRAMES   64 /* a quarter of a veth's ring, so that none is lost for want of room */
#define FRAME_SIZE_MAX 1514
#define PAYLOAD_SIZE   18 /* fills an untagged IPv4 frame to the 60 bytes of the shortest */
#define VLAN_SIZE      4

struct request {
	const char *device, *source, *destination;
	uint8_t mac[ETH_ALEN];
	uint64_t packets; /* 0: as many as fit into seconds */
	uint64_t rate;    /* packets a second, 0: as fast as it goes */
	uint32_t sources, seconds;
	uint16_t vlan, port;
	int cpu;
	bool ipv6, many_ports;
};

struct frame {
	uint8_t bytes[FRAME_SIZE_MAX];
	uint32_t size;
};

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * NSEC_PER_SEC + now.tv_nsec;
}

static void frame_append(struct frame *frame, const void *bytes, size_t size)
{
	memcpy(frame->bytes + frame->size, bytes, size);
	frame->size += size;
}

static void frame_append_link(struct frame *frame, const struct request *want,
			      struct flood_plan *plan)
{
	static const uint8_t from[ETH_ALEN] = {2, 0, 0, 0, 0xf1, 0x0d};
	uint16_t type = htons(want->ipv6 ? ETH_P_IPV6 : ETH_P_IP);
	uint16_t tag[] = {htons(ETH_P_8021Q), htons(want->vlan)};

	frame_append(frame, want->mac, ETH_ALEN);
	frame_append(frame, from, ETH_ALEN);
	if (want->vlan)
		frame_append(frame, tag, VLAN_SIZE);
	frame_append(frame, &type, sizeof(type));
	plan->tagged = want->vlan != 0;
	if (plan->tagged)
		memcpy(plan->link, frame->bytes, sizeof(plan->link));
}

static int frame_append_ipv4(struct frame *frame, const struct request *want,
			     struct flood_plan *plan)
{
	struct iphdr ip = {.version = 4, .ihl = 5, .ttl = 64, .protocol = IPPROTO_UDP};
	uint16_t words[sizeof(ip) / 2];
	uint32_t source;
	size_t i;

	ip.tot_len = htons(sizeof(ip) + sizeof(struct udphdr) + PAYLOAD_SIZE);
	if (inet_pton(AF_INET, want->source, &source) != 1 ||
	    inet_pton(AF_INET, want->destination, &ip.daddr) != 1)
		return -EINVAL;
	memcpy(words, &ip, sizeof(ip));
	for (i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		plan->check += ntohs(words[i]);
	plan->first_source = ntohl(source);
	plan->source_offset = frame->size + offsetof(struct iphdr, saddr);
	plan->check_offset = frame->size + offsetof(struct iphdr, check);
	frame_append(frame, &ip, sizeof(ip));
	return 0;
}

/* Sources count up in the last 32 bits of the /64, so that each is another source to weir. */
static int frame_append_ipv6(struct frame *frame, const struct request *want,
			     struct flood_plan *plan)
{
	struct ipv6hdr ip = {.version = 6, .hop_limit = 64, .nexthdr = IPPROTO_UDP};

	ip.payload_len = htons(sizeof(struct udphdr) + PAYLOAD_SIZE);
	if (inet_pton(AF_INET6, want->source, &ip.saddr) != 1 ||
	    inet_pton(AF_INET6, want->destination, &ip.daddr) != 1)
		return -EINVAL;
	plan->first_source = ntohl(ip.saddr.s6_addr32[1]);
	plan->source_offset = frame->size + offsetof(struct ipv6hdr, saddr) +
			      offsetof(struct in6_addr, s6_addr32[1]);
	frame_append(frame, &ip, sizeof(ip));
	return 0;
}

static int frame_build(const struct request *want, struct frame *frame, struct flood_plan *plan)
{
	struct udphdr udp = {.source = htons(4444), .dest = htons(want->port)};
	static const uint8_t payload[PAYLOAD_SIZE];
	int err;

	udp.len = htons(sizeof(udp) + PAYLOAD_SIZE);
	frame_append_link(frame, want, plan);
	err = want->ipv6 ? frame_append_ipv6(frame, want, plan)
			 : frame_append_ipv4(frame, want, plan);
	if (err)
		return err;
	/* Over IPv6 the checksum would have to follow, over IPv4 there need be none. */
	if (want->many_ports && !want->ipv6)
		plan->port_offset = frame->size + offsetof(struct udphdr, source);
	frame_append(frame, &udp, sizeof(udp));
	frame_append(frame, payload, sizeof(payload));
	return 0;
}

static int send_burst(int program_fd, const struct frame *frame, uint32_t packets)
{
	LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = frame->bytes, .data_size_in = frame->size,
		    .repeat = packets, .batch_size = BATCH_FRAMES,
		    .flags = BPF_F_TEST_XDP_LIVE_FRAMES);

	return bpf_prog_test_run_opts(program_fd, &opts);
}

/* Until all are sent or time is over. At a rate most runs send nothing. */
static int send_all(const struct request *want, struct flood_bpf *skel, const struct frame *frame)
{
	int program_fd = bpf_program__fd(skel->progs.flood);
	uint64_t begin_ns = now_ns(), end_ns = begin_ns + want->seconds * NSEC_PER_SEC;
	uint64_t sent = 0, runs = BURST_PACKETS;
	int err = 0;

	while (!err && now_ns() < end_ns && (!want->packets || sent < want->packets)) {
		if (want->packets && !want->rate && want->packets - sent < runs)
			runs = want->packets - sent;
		err = send_burst(program_fd, frame, runs);
		sent = skel->bss->sent;
	}
	printf("{\"sent\": %llu, \"seconds\": %.6f}\n", (unsigned long long)sent,
	       (double)(now_ns() - begin_ns) / NSEC_PER_SEC);
	return err;
}

static int pin_to(int cpu)
{
	cpu_set_t cpus;

	CPU_ZERO(&cpus);
	CPU_SET(cpu, &cpus);
	return sched_setaffinity(0, sizeof(cpus), &cpus) ? -errno : 0;
}

static int flood(const struct request *want)
{
	struct flood_plan plan = {
		.sources = want->sources,
		.ifindex = if_nametoindex(want->device),
		.interval_ns = want->rate ? NSEC_PER_SEC / want->rate : 0,
		.packets = want->packets,
	};
	struct frame frame = {};
	struct flood_bpf *skel;
	int err = want->cpu < 0 ? 0 : pin_to(want->cpu);

	if (err || !plan.ifindex)
		return err ? err : -ENODEV;
	err = frame_build(want, &frame, &plan);
	if (err)
		return err;
	skel = flood_bpf__open();
	if (!skel)
		return -errno;
	memcpy((void *)&skel->rodata->plan, &plan, sizeof(plan));
	err = flood_bpf__load(skel);
	if (!err)
		err = send_all(want, skel, &frame);
	flood_bpf__destroy(skel);
	return err;
}

/* Numbers are the tests' own, but a typing error must not become a flood without end. */
static uint64_t number(const char *text, uint64_t max)
{
	char *end;
	unsigned long long value;

	errno = 0;
	value = strtoull(text, &end, 10);
	if (errno || end == text || *end || *text == '-' || value > max) {
		fprintf(stderr, "flood: '%s' is not a number up to %llu\n", text,
			(unsigned long long)max);
		exit(2);
	}
	return value;
}

static bool mac_parse(const char *text, uint8_t *ret_mac)
{
	char end;

	return sscanf(text, "%hhx:%hhx:%hhx:%hhx:%hhx:%hhx%c", &ret_mac[0], &ret_mac[1],
		      &ret_mac[2], &ret_mac[3], &ret_mac[4], &ret_mac[5], &end) == ETH_ALEN;
}

static const struct option options[] = {
	{"dev", required_argument, NULL, 'd'},     {"dst-mac", required_argument, NULL, 'm'},
	{"dst-ip", required_argument, NULL, 'i'},  {"src-ip", required_argument, NULL, 's'},
	{"sources", required_argument, NULL, 'n'}, {"seconds", required_argument, NULL, 't'},
	{"packets", required_argument, NULL, 'p'}, {"cpu", required_argument, NULL, 'c'},
	{"vlan", required_argument, NULL, 'v'},    {"dst-port", required_argument, NULL, 'q'},
	{"many-ports", no_argument, NULL, 'o'},    {"rate", required_argument, NULL, 'r'},
	{"ipv6", no_argument, NULL, '6'},          {},
};

static bool request_parse(int argc, char **argv, struct request *want)
{
	bool has_mac = false;
	int option;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (option) {
		case 'd':
			want->device = optarg;
			break;
		case 'm':
			has_mac = mac_parse(optarg, want->mac);
			break;
		case 'i':
			want->destination = optarg;
			break;
		case 's':
			want->source = optarg;
			break;
		case 'n':
			want->sources = number(optarg, UINT32_MAX);
			break;
		case 't':
			want->seconds = number(optarg, SECONDS_MAX);
			break;
		case 'p':
			want->packets = number(optarg, UINT32_MAX);
			break;
		case 'c':
			want->cpu = number(optarg, CPU_SETSIZE - 1);
			break;
		case 'v':
			want->vlan = number(optarg, 4095);
			break;
		case 'q':
			want->port = number(optarg, UINT16_MAX);
			break;
		case 'o':
			want->many_ports = true;
			break;
		case 'r':
			want->rate = number(optarg, NSEC_PER_SEC);
			break;
		case '6':
			want->ipv6 = true;
			break;
		default:
			return false;
		}
	}
	return optind == argc && has_mac && want->device && want->destination && want->source &&
	       want->sources;
}

int main(int argc, char **argv)
{
	struct request want = {.sources = 1, .seconds = 0, .port = 9, .cpu = -1};
	int err;

	if (!request_parse(argc, argv, &want)) {
		fprintf(stderr, "usage: flood --dev IFACE --dst-mac MAC --dst-ip A --src-ip A "
				"[--sources N] [--seconds S] [--packets N] [--rate R] [--cpu C] "
				"[--vlan ID] [--dst-port P] [--many-ports] "
				"[--ipv6]\n");
		return 2;
	}
	if (!want.seconds)
		want.seconds = want.packets ? 60 : 1;
	err = flood(&want);
	if (err)
		fprintf(stderr, "flood: %s\n", strerror(-err));
	return err ? 1 : 0;
}
