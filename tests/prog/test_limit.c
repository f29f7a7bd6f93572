/* SPDX-License-Identifier: MIT */
/* What the program grants as its clock moves on: a source's limit, and the budgets of what is
 * exempt until they are spent. */
#include <errno.h>
#include <linux/bpf.h>

#include "frame.h"
#include "program.h"

#include "packets.skel.h"

#define MS_NS    1000000ULL
#define GENEROUS 1000000
#define BUILD(frame, ...)                                                       \
	do {                                                                    \
		const struct layer layers[] = {__VA_ARGS__};                    \
		frame_build(frame, layers, sizeof(layers) / sizeof(layers[0])); \
	} while (0)

static struct packets_bpf *object;
static struct program program;
static struct frame frame;

static int object_open(void **state)
{
	(void)state;
	object = packets_bpf__open();
	assert_non_null(object);
	program_size(object, PROGRAM_ENTRIES);
	assert_return_code(packets_bpf__load(object), errno);
	program = program_of(object);
	return 0;
}

static int object_close(void **state)
{
	(void)state;
	packets_bpf__destroy(object);
	return 0;
}

static int sources_forget(void **state)
{
	(void)state;
	program_forget(&program);
	object->bss->test_now_ns = SECOND_NS;
	return 0;
}

static uint64_t packets_of(enum weir_verdict verdict)
{
	return program_count(&program).verdicts[verdict].packets;
}

/* Sends the frame and says by which verdict it was counted. */
static enum weir_verdict verdict_now(void)
{
	struct weir_counters before = program_count(&program), after;
	int verdict;

	assert_return_code(program_run(&program, frame.bytes, frame.size), 0);
	after = program_count(&program);
	for (verdict = 0; verdict < WEIR_VERDICT_MAX; verdict++)
		if (before.verdicts[verdict].packets != after.verdicts[verdict].packets)
			return verdict;
	fail_msg("the frame was not counted");
	return WEIR_VERDICT_MAX;
}

static void assert_verdicts(enum weir_verdict verdict, int times)
{
	while (times--)
		assert_int_equal(verdict_now(), verdict);
}

/* One packet each step until length has passed. */
static uint64_t passed_during(uint64_t length_ns, uint64_t step_ns)
{
	uint64_t before = packets_of(WEIR_PASS), end_ns = object->bss->test_now_ns + length_ns;

	for (; object->bss->test_now_ns < end_ns; object->bss->test_now_ns += step_ns)
		assert_return_code(program_run(&program, frame.bytes, frame.size), 0);
	return packets_of(WEIR_PASS) - before;
}

static void a_minute_passes_capacity_and_rate_times_a_minute(void **state)
{
	const uint64_t capacity = 20, rate = 10, seconds = 60;
	uint64_t passed;

	(void)state;
	program_configure(&program, limit_per_second(rate, capacity),
			  limit_per_second(rate, capacity));
	BUILD(&frame, ETHERNET, IPV4(), UDP());
	passed = passed_during(seconds * SECOND_NS, 10 * MS_NS);
	assert_in_range(passed, capacity + rate * seconds - 1, capacity + rate * seconds);
}

static void a_burst_passes_then_a_token_as_it_is_minted(void **state)
{
	(void)state;
	program_configure(&program, limit_per_second(10, 20), limit_per_second(10, 20));
	BUILD(&frame, ETHERNET, IPV6(), TCP());
	assert_verdicts(WEIR_PASS, 20);
	assert_verdicts(WEIR_DROP_RATE, 2);
	/* Both ends of the interval may be a nanosecond off (bucket.h). */
	object->bss->test_now_ns += 100 * MS_NS - 2;
	assert_verdicts(WEIR_DROP_RATE, 1);
	object->bss->test_now_ns += 4;
	assert_verdicts(WEIR_PASS, 1);
	assert_verdicts(WEIR_DROP_RATE, 1);
}

static void sources_do_not_share_a_bucket(void **state)
{
	(void)state;
	program_configure(&program, limit_per_second(1, 2), limit_per_second(1, 2));
	BUILD(&frame, ETHERNET, IPV4(.source = "192.0.2.1"), UDP());
	assert_verdicts(WEIR_PASS, 2);
	assert_verdicts(WEIR_DROP_RATE, 1);
	BUILD(&frame, ETHERNET, IPV4(.source = "192.0.2.2"), UDP());
	assert_verdicts(WEIR_PASS, 2);
	assert_verdicts(WEIR_DROP_RATE, 1);
}

static void addresses_of_one_64_share_a_bucket(void **state)
{
	(void)state;
	program_configure(&program, limit_per_second(1, 2), limit_per_second(1, 2));
	BUILD(&frame, ETHERNET, IPV6(.source = "2001:db8::1"), UDP());
	assert_verdicts(WEIR_PASS, 1);
	BUILD(&frame, ETHERNET, IPV6(.source = "2001:db8::ffff:0:0:1"), UDP());
	assert_verdicts(WEIR_PASS, 1);
	assert_verdicts(WEIR_DROP_RATE, 1);
	BUILD(&frame, ETHERNET, IPV6(.source = "2001:db8:0:1::1"), UDP());
	assert_verdicts(WEIR_PASS, 1);
}

/* A source's tags, extension headers and fragments are no second bucket. */
static void every_way_to_send_spends_one_bucket(void **state)
{
	(void)state;
	program_configure(&program, limit_per_second(1, 5), limit_per_second(1, 5));
	BUILD(&frame, ETHERNET, IPV6(), UDP());
	assert_verdicts(WEIR_PASS, 1);
	BUILD(&frame, ETHERNET, VLAN_AD, VLAN, IPV6(), UDP());
	assert_verdicts(WEIR_PASS, 1);
	BUILD(&frame, ETHERNET, PPPOE(), IPV6(), HOPOPTS(8), TCP());
	assert_verdicts(WEIR_PASS, 1);
	BUILD(&frame, ETHERNET, IPV6(), FRAGMENT(IPV6_LATER(1)), BYTES(IPPROTO_UDP, 8));
	assert_verdicts(WEIR_PASS, 1);
	BUILD(&frame, ETHERNET, IPV6(), DSTOPTS(248), TCP());
	assert_verdicts(WEIR_PASS, 1);
	BUILD(&frame, ETHERNET, IPV6(), UDP());
	assert_verdicts(WEIR_DROP_RATE, 1);
}

/* Beyond its budget, what is exempt spends its source's bucket like anything else. */
static void assert_budget_then_bucket(void)
{
	sources_forget(NULL);
	program_configure(&program, limit_per_second(1, 3), limit_per_second(1, 2));
	assert_verdicts(WEIR_PASS_EXEMPT, 2);
	assert_verdicts(WEIR_PASS, 3);
	assert_verdicts(WEIR_DROP_RATE, 2);
	object->bss->test_now_ns += SECOND_NS + 1;
	assert_verdicts(WEIR_PASS_EXEMPT, 1);
	assert_verdicts(WEIR_PASS, 1);
	assert_verdicts(WEIR_DROP_RATE, 1);
}

static void an_exemption_beyond_its_budget_is_its_sources(void **state)
{
	(void)state;
	BUILD(&frame, ETHERNET, IPV6(.hop_limit = 255), ICMPV6(.type = 135));
	assert_budget_then_bucket();
	BUILD(&frame, ETHERNET, IPV4(), UDP(.from = 67, .to = 68));
	assert_budget_then_bucket();
	BUILD(&frame, ETHERNET, IPV4(.hop_limit = 1), BYTES(IPPROTO_IGMP, 8));
	assert_budget_then_bucket();
	BUILD(&frame, ETHERNET, IPV6(.source = "fe80::1"), TCP());
	assert_budget_then_bucket();
}

static void arp_beyond_its_budget_is_dropped(void **state)
{
	(void)state;
	program_configure(&program, limit_per_second(1, GENEROUS), limit_per_second(1, 2));
	BUILD(&frame, ETHERNET, BYTES(ETH_P_ARP, 28));
	assert_verdicts(WEIR_PASS_EXEMPT, 2);
	assert_verdicts(WEIR_DROP_BUDGET, 2);
	object->bss->test_now_ns += SECOND_NS + 1;
	assert_verdicts(WEIR_PASS_EXEMPT, 1);
	assert_verdicts(WEIR_DROP_BUDGET, 1);
}

static void exemptions_do_not_share_a_budget(void **state)
{
	(void)state;
	program_configure(&program, limit_per_second(1, GENEROUS), limit_per_second(1, 2));
	BUILD(&frame, ETHERNET, BYTES(ETH_P_ARP, 28));
	assert_verdicts(WEIR_PASS_EXEMPT, 2);
	assert_verdicts(WEIR_DROP_BUDGET, 1);
	BUILD(&frame, ETHERNET, IPV6(.hop_limit = 255), ICMPV6(.type = 136));
	assert_verdicts(WEIR_PASS_EXEMPT, 2);
	BUILD(&frame, ETHERNET, IPV4(), UDP(.from = 67, .to = 68));
	assert_verdicts(WEIR_PASS_EXEMPT, 2);
}

static void neighbour_discovery_from_afar_spends_its_sources_bucket(void **state)
{
	(void)state;
	program_configure(&program, limit_per_second(1, 2), limit_per_second(1, GENEROUS));
	BUILD(&frame, ETHERNET, IPV6(.hop_limit = 254), ICMPV6(.type = 135));
	assert_verdicts(WEIR_PASS, 2);
	assert_verdicts(WEIR_DROP_RATE, 1);
	BUILD(&frame, ETHERNET, IPV6(.hop_limit = 255), ICMPV6(.type = 135));
	assert_verdicts(WEIR_PASS_EXEMPT, 1);
}

static void what_is_not_ip_always_passes(void **state)
{
	(void)state;
	program_configure(&program, limit_per_second(1, 1), limit_per_second(1, 1));
	BUILD(&frame, ETHERNET, BYTES(ETH_P_LLDP, 46));
	assert_verdicts(WEIR_PASS_NOT_IP, 5);
	BUILD(&frame, ETHERNET, BYTES(ETH_P_MPLS_UC, 46));
	assert_verdicts(WEIR_PASS_OPAQUE, 5);
}

static void malformed_packets_spend_nobodys_bucket(void **state)
{
	(void)state;
	program_configure(&program, limit_per_second(1, 1), limit_per_second(1, 1));
	BUILD(&frame, ETHERNET, IPV4(), UDP(.longer = 1));
	assert_verdicts(WEIR_DROP_MALFORMED, 5);
	BUILD(&frame, ETHERNET, IPV4(), UDP());
	assert_verdicts(WEIR_PASS, 1);
}

#define TEST(name) cmocka_unit_test_setup(name, sources_forget)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_minute_passes_capacity_and_rate_times_a_minute),
		TEST(a_burst_passes_then_a_token_as_it_is_minted),
		TEST(sources_do_not_share_a_bucket),
		TEST(addresses_of_one_64_share_a_bucket),
		TEST(every_way_to_send_spends_one_bucket),
		TEST(an_exemption_beyond_its_budget_is_its_sources),
		TEST(arp_beyond_its_budget_is_dropped),
		TEST(exemptions_do_not_share_a_budget),
		TEST(neighbour_discovery_from_afar_spends_its_sources_bucket),
		TEST(what_is_not_ip_always_passes),
		TEST(malformed_packets_spend_nobodys_bucket),
	};

	return cmocka_run_group_tests(tests, object_open, object_close);
}
