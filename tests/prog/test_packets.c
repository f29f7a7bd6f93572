/* SPDX-License-Identifier: MIT */
/* The packet table through parse.h as it is, through the program, and through the program that
 * reads every frame from a copy of its first bytes. "test_packets write DIRECTORY" writes some of
 * its frames, for the fuzzer to begin with. */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <linux/bpf.h>
#include <stdio.h>

#include "native.h"
#include "packets.h"
#include "program.h"

#include "packets.skel.h"
#include "packets_window.skel.h"

#define CORPUS       "tests/fuzz/corpus/parse"
#define CORPUS_EVERY 4
#define CUTS_MAX     300
#define NAME_SIZE    128

static struct packets_bpf *linear_object;
static struct packets_window_bpf *window_object;
static struct program programs[2];
static struct frame frame;

static void program_begin(struct program *program)
{
	program_configure(program, limit_per_second(1000000, 1000000),
			  limit_per_second(1000000, 1000000));
}

static int programs_open(void **state)
{
	(void)state;
	linear_object = packets_bpf__open();
	window_object = packets_window_bpf__open();
	assert_non_null(linear_object);
	assert_non_null(window_object);
	program_size(linear_object, PROGRAM_ENTRIES);
	program_size(window_object, PROGRAM_ENTRIES);
	assert_return_code(packets_bpf__load(linear_object), errno);
	assert_return_code(packets_window_bpf__load(window_object), errno);
	programs[0] = program_of(linear_object);
	programs[1] = program_of(window_object);
	program_begin(&programs[0]);
	program_begin(&programs[1]);
	return 0;
}

static int programs_close(void **state)
{
	(void)state;
	packets_bpf__destroy(linear_object);
	packets_window_bpf__destroy(window_object);
	return 0;
}

static void assert_source(const struct packet_case *row, const struct packet *packet)
{
	const struct layer *ip = packet_case_ip(row);
	bool is_ipv4 = ip->kind == LAYER_IPV4;
	uint8_t source[16] = {0};

	inet_pton(is_ipv4 ? AF_INET : AF_INET6,
		  ip->source ? ip->source
		  : is_ipv4  ? FRAME_SOURCE4
			     : FRAME_SOURCE6,
		  source);
	assert_memory_equal(packet->source, source, sizeof(source));
	assert_int_equal(packet->family, is_ipv4 ? WEIR_IPV4 : WEIR_IPV6);
	assert_int_equal(packet->hop_limit, ip->hop_limit ? ip->hop_limit : 64);
}

static const struct layer *layer_with_ports(const struct packet_case *row)
{
	const struct layer *layer;

	for (layer = row->layers; layer < row->layers + FRAME_LAYERS_MAX; layer++)
		if (layer->kind == LAYER_TCP || layer->kind == LAYER_UDP)
			return layer;
	return NULL;
}

static void assert_ports(const struct packet_case *row, const struct packet *packet)
{
	bool expected = !row->is_later_fragment &&
			(row->protocol == IPPROTO_TCP || row->protocol == IPPROTO_UDP);
	const struct layer *layer = layer_with_ports(row);

	assert_int_equal(packet->has_ports, expected);
	if (!expected)
		return;
	assert_int_equal(ntohs(packet->source_port), layer->from ? layer->from : 1000);
	assert_int_equal(ntohs(packet->destination_port), layer->to ? layer->to : 2000);
	assert_int_equal(packet->tcp_flags, row->protocol == IPPROTO_TCP ? 0x02 : 0);
}

static void assert_packet(const struct packet_case *row, enum parsed parsed,
			  const struct packet *packet)
{
	assert_int_equal(parsed, row->parsed);
	assert_int_equal(packet->frame_bytes, frame.size);
	if (parsed != PARSED_IP)
		return;
	assert_source(row, packet);
	assert_ports(row, packet);
	assert_int_equal(packet->exemption, row->exemption);
	assert_int_equal(packet->protocol, row->protocol);
	assert_int_equal(packet->is_fragment, row->is_later_fragment);
}

/* The verdict of one more frame is counted, with its bytes, and no other. */
static void assert_counted(const struct weir_counters *before, const struct weir_counters *after,
			   enum weir_verdict verdict, uint64_t packets, uint64_t bytes)
{
	const struct weir_count *was, *is;
	int i;

	for (i = 0; i < WEIR_VERDICT_MAX; i++) {
		was = &before->verdicts[i];
		is = &after->verdicts[i];
		assert_int_equal(is->packets - was->packets, i == (int)verdict ? packets : 0);
		assert_int_equal(is->bytes - was->bytes, i == (int)verdict ? bytes : 0);
	}
	assert_memory_equal(before->causes, after->causes, sizeof(before->causes));
}

static void assert_verdict(const struct program *program, enum weir_verdict verdict)
{
	struct weir_counters before = program_count(program), after;

	assert_int_equal(program_run(program, frame.bytes, frame.size),
			 verdict >= WEIR_DROP_RATE ? XDP_DROP : XDP_PASS);
	after = program_count(program);
	assert_counted(&before, &after, verdict, 1, frame.size);
}

static void a_row_is_what_it_is_said_to_be(void **state)
{
	const struct packet_case *row = *state;
	struct packet packet;

	packet_case_build(row, &frame);
	assert_packet(row, native_parse(frame.bytes, frame.size, frame.size, &packet), &packet);
	assert_packet(row, native_parse_window(frame.bytes, frame.size, &packet), &packet);
	/* The kernel takes no frame without an Ethernet header for a test. */
	if (frame.size < sizeof(struct ethhdr))
		return;
	assert_verdict(&programs[0], row->verdict);
	assert_verdict(&programs[1], row->verdict);
}

/* Whether the frame's end is that of its IP packet, which says so in a length field. */
static bool ends_with_its_packet(const struct packet_case *row)
{
	return row->parsed == PARSED_IP && row->resized <= 0 && !packet_case_ip(row)->lengthless;
}

static void assert_cuts_malformed(const struct program *program)
{
	struct weir_counters before = program_count(program), after;
	uint64_t cuts = 0, bytes = 0;
	uint32_t size;

	for (size = sizeof(struct ethhdr); size < frame.size && size < CUTS_MAX; size++) {
		assert_int_equal(program_run(program, frame.bytes, size), XDP_DROP);
		cuts++;
		bytes += size;
	}
	after = program_count(program);
	assert_counted(&before, &after, WEIR_DROP_MALFORMED, cuts, bytes);
}

static void a_packet_cut_anywhere_is_malformed(void **state)
{
	const struct packet_case *row;
	struct packet packet;
	const char *family;
	uint32_t size;
	size_t i;

	(void)state;
	for (i = 0; i < PACKET_CASES; i++) {
		row = packet_case_at(i, &family);
		if (!ends_with_its_packet(row))
			continue;
		packet_case_build(row, &frame);
		for (size = 0; size < frame.size; size++)
			assert_int_equal(native_parse_window(frame.bytes, size, &packet),
					 PARSED_MALFORMED);
		assert_cuts_malformed(&programs[0]);
		assert_cuts_malformed(&programs[1]);
	}
}

/* Runs a frame of which only the first bytes are linear; -EINVAL where the kernel's test run
 * cannot do that. */
static int program_run_split(const struct program *program, uint32_t linear)
{
	struct xdp_md context = {.data_end = linear};
	LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = frame.bytes, .data_size_in = frame.size,
		    .ctx_in = &context, .ctx_size_in = sizeof(context));
	int err = bpf_prog_test_run_opts(program->run_fd, &opts);

	return err ? err : (int)opts.retval;
}

static void assert_split_verdict(enum weir_verdict verdict, uint32_t linear)
{
	struct weir_counters before = program_count(&programs[0]), after;

	assert_int_equal(program_run_split(&programs[0], linear),
			 verdict >= WEIR_DROP_RATE ? XDP_DROP : XDP_PASS);
	after = program_count(&programs[0]);
	assert_counted(&before, &after, verdict, 1, frame.size);
}

static void headers_beyond_the_linear_part_are_found(void **state)
{
	static const uint32_t linears[] = {14, 18, 22, 34, 40, 54, 62, 74, 100, 254, 256};
	const struct packet_case *row;
	const char *family;
	size_t i, k;

	(void)state;
	packet_case_build(packets_ipv4, &frame);
	if (program_run_split(&programs[0], 14) == -EINVAL) {
		print_message("# this kernel's test run does not take a frame in parts\n");
		skip();
	}
	for (i = 0; i < PACKET_CASES; i++) {
		row = packet_case_at(i, &family);
		packet_case_build(row, &frame);
		for (k = 0; k < COUNT_OF(linears) && linears[k] < frame.size; k++)
			assert_split_verdict(row->verdict, linears[k]);
	}
}

static bool corpus_read(const char *name)
{
	char path[sizeof(CORPUS) + 300];
	FILE *file;

	snprintf(path, sizeof(path), CORPUS "/%s", name);
	file = name[0] == '.' ? NULL : fopen(path, "r");
	if (!file)
		return false;
	frame.size = fread(frame.bytes, 1, sizeof(frame.bytes), file);
	fclose(file);
	return true;
}

static enum weir_verdict native_verdict(void)
{
	static const enum weir_verdict verdicts[] = {
		[PARSED_IP] = WEIR_PASS,
		[PARSED_NOT_IP] = WEIR_PASS_NOT_IP,
		[PARSED_ARP] = WEIR_PASS_EXEMPT,
		[PARSED_OPAQUE] = WEIR_PASS_OPAQUE,
		[PARSED_MALFORMED] = WEIR_DROP_MALFORMED,
	};
	struct packet packet;
	enum parsed parsed = native_parse(frame.bytes, frame.size, frame.size, &packet);

	if (parsed == PARSED_IP && packet.exemption != WEIR_EXEMPT_NONE)
		return WEIR_PASS_EXEMPT;
	assert_in_range(parsed, 0, PARSED_MALFORMED);
	return verdicts[parsed];
}

static void the_corpus_is_the_same_here_and_in_the_kernel(void **state)
{
	DIR *directory = opendir(CORPUS);
	struct dirent *entry;
	int compared = 0;

	(void)state;
	assert_non_null(directory);
	while ((entry = readdir(directory))) {
		if (!corpus_read(entry->d_name) || frame.size < sizeof(struct ethhdr))
			continue;
		assert_verdict(&programs[0], native_verdict());
		assert_verdict(&programs[1], native_verdict());
		compared++;
	}
	closedir(directory);
	assert_in_range(compared, 20, 100000);
}

static void corpus_write(const char *directory, const char *family, const char *description)
{
	char name[NAME_SIZE], path[512];
	FILE *file;
	char *at;

	snprintf(name, sizeof(name), "%s-%s", family, description);
	for (at = name; *at; at++)
		*at = isalnum(*at) ? tolower(*at) : '-';
	snprintf(path, sizeof(path), "%s/%s", directory, name);
	file = fopen(path, "w");
	assert_non_null(file);
	fwrite(frame.bytes, 1, frame.size, file);
	fclose(file);
}

static int corpus_write_all(const char *directory)
{
	const struct packet_case *row;
	const char *family;
	size_t i;

	for (i = 0; i < PACKET_CASES; i += CORPUS_EVERY) {
		row = packet_case_at(i, &family);
		packet_case_build(row, &frame);
		if (frame.size <= CUTS_MAX)
			corpus_write(directory, family, row->description);
	}
	return 0;
}

int main(int argc, char **argv)
{
	static char names[PACKET_CASES][NAME_SIZE];
	static struct CMUnitTest tests[PACKET_CASES + 3];
	const struct packet_case *row;
	const char *family;
	size_t i;

	if (argc == 3 && !strcmp(argv[1], "write"))
		return corpus_write_all(argv[2]);
	for (i = 0; i < PACKET_CASES; i++) {
		row = packet_case_at(i, &family);
		snprintf(names[i], NAME_SIZE, "%s: %s", family, row->description);
		tests[i] = (struct CMUnitTest){names[i], a_row_is_what_it_is_said_to_be, NULL, NULL,
					       (void *)row};
	}
	tests[i++] = (struct CMUnitTest)cmocka_unit_test(a_packet_cut_anywhere_is_malformed);
	tests[i++] = (struct CMUnitTest)cmocka_unit_test(headers_beyond_the_linear_part_are_found);
	tests[i] =
		(struct CMUnitTest)cmocka_unit_test(the_corpus_is_the_same_here_and_in_the_kernel);
	return cmocka_run_group_tests(tests, programs_open, programs_close);
}
