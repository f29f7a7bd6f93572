/* SPDX-License-Identifier: MIT */
/* Two CPUs on the shipped program, and on naive variants of it that the same tests must catch. */
#include "race_run.h"

#include "race.skel.h"
#include "race_any.skel.h"
#include "race_lost.skel.h"
#include "race_plain.skel.h"

#define BURST      1000000
#define CLOCK_RATE 100000
#define MAP_FULL   2048
#define NEWCOMERS  20000
#define CROWD      100000
#define TRIES_MAX  50
#define SETTLED    50
#define SPENT      6000 /* of 10,000 tokens */
#define LEFT       8000 /* of 20,000 */

RACE_VARIANT(race)
RACE_VARIANT(race_any)
RACE_VARIANT(race_lost)
RACE_VARIANT(race_plain)

static uint64_t passed_in_all(const struct race *race)
{
	return program_count(&race->program).verdicts[WEIR_PASS].packets;
}

/* Two CPUs take from one bucket while nobody moves the clock. */
static void two_cpus_never_get_a_packet_more_than_the_capacity(void **state)
{
	struct race race = race_start(1024, 1000, BURST);

	(void)state;
	race_run(&race, 2, 1, BURST);
	assert_int_equal(passed_in_all(&race), BURST);
	assert_int_equal(race_entry(&race, 0).passed, BURST);
	race.stop(race.skeleton);
}

/* Who wins a race is chance, the more so on a busy machine: a naive variant has several tries to
 * be caught, each of which begins anew. */
static void assert_caught(bool (*is_caught)(void))
{
	int tries = 0;

	while (!is_caught())
		assert_in_range(++tries, 1, TRIES_MAX);
}

static bool plain_store_gives_more(void)
{
	struct race race = race_plain_start(1024, 1000, BURST);
	uint64_t passed;

	race_run(&race, 2, 1, BURST);
	passed = passed_in_all(&race);
	race.stop(race.skeleton);
	return passed > BURST;
}

static void a_plain_store_would_give_them_more(void **state)
{
	(void)state;
	assert_caught(plain_store_gives_more);
}

struct clock_hand {
	const struct race *race;
	volatile bool stop;
};

/* Moves the clock by a nanosecond a step, as fast as it can: about as fast as time goes by, so that
 * what is earned meanwhile is little beside what is sent. */
static void *clock_advance(void *argument)
{
	struct clock_hand *hand = argument;

	while (!hand->stop)
		++*hand->race->now_ns;
	return NULL;
}

/* Two CPUs send far more than there is while time goes by. Returns what the limit allows. */
static uint64_t race_against_the_clock(const struct race *race)
{
	struct clock_hand hand = {.race = race};
	pthread_t thread;
	uint64_t allowed;

	assert_int_equal(pthread_create(&thread, NULL, clock_advance, &hand), 0);
	race_run(race, 2, 1, 2 * BURST);
	hand.stop = true;
	assert_int_equal(pthread_join(thread, NULL), 0);
	allowed = BURST + (*race->now_ns - RACE_START_NS) / (SECOND_NS / CLOCK_RATE);
	assert_in_range(allowed, BURST + 1, 3 * BURST);
	return allowed;
}

static void two_cpus_never_get_more_than_the_rate_while_time_goes_by(void **state)
{
	struct race race = race_start(1024, CLOCK_RATE, BURST);
	uint64_t allowed = race_against_the_clock(&race);

	(void)state;
	assert_in_range(passed_in_all(&race), BURST, allowed);
	race.stop(race.skeleton);
}

static bool plain_store_gives_more_while_time_goes_by(void)
{
	struct race race = race_plain_start(1024, CLOCK_RATE, BURST);
	uint64_t allowed = race_against_the_clock(&race);
	uint64_t passed = passed_in_all(&race);

	race.stop(race.skeleton);
	return passed > allowed;
}

static void a_plain_store_would_give_them_more_while_time_goes_by(void **state)
{
	(void)state;
	assert_caught(plain_store_gives_more_while_time_goes_by);
}

/* Each new source has one token, and both CPUs meet it first at the same time. */
static void a_source_that_two_cpus_meet_at_once_gets_one_bucket(void **state)
{
	struct race race = race_start(2 * NEWCOMERS, 1, 1);

	(void)state;
	race_run(&race, 2, NEWCOMERS, NEWCOMERS);
	assert_int_equal(passed_in_all(&race), NEWCOMERS);
	race.stop(race.skeleton);
}

static bool overwriting_insertion_gives_some_two(void)
{
	struct race race = race_any_start(2 * NEWCOMERS, 1, 1);
	uint64_t passed;

	race_run(&race, 2, NEWCOMERS, NEWCOMERS);
	passed = passed_in_all(&race);
	race.stop(race.skeleton);
	return passed > NEWCOMERS;
}

static void an_insertion_that_overwrites_would_give_some_two(void **state)
{
	(void)state;
	assert_caught(overwriting_insertion_gives_some_two);
}

static uint64_t keys_known(const struct race *race, struct weir_key *ret_keys)
{
	struct weir_key *previous = NULL;
	uint64_t known = 0;

	while (!bpf_map_get_next_key(race->program.entries_fd, previous, &ret_keys[known]))
		previous = &ret_keys[known++];
	return known;
}

static uint64_t keys_lost(const struct race *race, const struct weir_key *keys, uint64_t count)
{
	struct weir_entry entry;
	uint64_t lost = 0;

	for (uint64_t i = 0; i < count; i++)
		lost += bpf_map_lookup_elem(race->program.entries_fd, &keys[i], &entry) != 0;
	return lost;
}

static int forget_run(int program_fd, const struct weir_key *key)
{
	struct weir_forget forget = {.key = *key};
	LIBBPF_OPTS(bpf_test_run_opts, opts, .ctx_in = &forget, .ctx_size_in = sizeof(forget));
	int err = bpf_prog_test_run_opts(program_fd, &opts);

	return err ? err : (int)opts.retval;
}

/* On a map without a free place. */
static void a_full_map_loses_nobody_by_a_change(void **state)
{
	struct weir_key *keys = test_calloc(MAP_FULL + 1, sizeof(*keys));
	struct race race = race_start(MAP_FULL, 1, 1000000);
	uint64_t known;

	(void)state;
	race_run(&race, 1, 4 * MAP_FULL, 4 * MAP_FULL);
	known = keys_known(&race, keys);
	for (uint64_t i = 0; i < known; i++)
		assert_int_equal(forget_run(race.forget_fd, &keys[i]), 0);
	assert_int_equal(keys_lost(&race, keys, known), 0);
	assert_int_equal(keys_known(&race, keys), known);
	test_free(keys);
	race.stop(race.skeleton);
}

static void an_update_would_evict_others(void **state)
{
	struct weir_key *keys = test_calloc(MAP_FULL + 1, sizeof(*keys));
	struct race race = race_start(MAP_FULL, 1, 1000000);
	uint64_t known;

	(void)state;
	race_run(&race, 1, 4 * MAP_FULL, 4 * MAP_FULL);
	known = keys_known(&race, keys);
	for (uint64_t i = 0; i < known; i++)
		forget_run(race.forget_by_update_fd, &keys[i]);
	assert_true(keys_lost(&race, keys, known) > 0);
	test_free(keys);
	race.stop(race.skeleton);
}

static void two_cpus_that_fill_the_map_refuse_nobodys_first_packet(void **state)
{
	struct race race = race_start(MAP_FULL, 1, 1);
	struct weir_counters counters;

	(void)state;
	race_run(&race, 2, CROWD, CROWD);
	counters = program_count(&race.program);
	/* And some twice: who was evicted in between has a full bucket again. */
	assert_true(counters.verdicts[WEIR_PASS].packets +
			    counters.verdicts[WEIR_PASS_UNTRACKED].packets >=
		    CROWD);
	assert_int_equal(counters.verdicts[WEIR_PASS].packets +
				 counters.verdicts[WEIR_PASS_UNTRACKED].packets +
				 counters.verdicts[WEIR_DROP_RATE].packets,
			 2 * CROWD);
	assert_int_equal(counters.verdicts[WEIR_PASS_UNTRACKED].packets,
			 counters.causes[WEIR_CAUSE_INSERT_FAILED] +
				 counters.causes[WEIR_CAUSE_ENTRY_VANISHED]);
	race.stop(race.skeleton);
}

static void who_loses_every_race_is_refused_by_name(void **state)
{
	struct race race = race_lost_start(1024, 1, 1000);
	struct weir_key key = race_key(0);
	struct weir_counters counters;

	(void)state;
	race_run(&race, 1, 1, 10); /* the first has its token with its entry */
	counters = program_count(&race.program);
	assert_int_equal(counters.verdicts[WEIR_PASS].packets, 1);
	assert_int_equal(counters.verdicts[WEIR_DROP_CONTENDED].packets, 9);
	assert_int_equal(race_pending(&race, &key), 9);
	race.stop(race.skeleton);
}

static void assert_sums(const struct race *race, uint32_t sources, uint64_t each)
{
	struct weir_counters counters = program_count(&race->program);
	uint64_t passed = 0, dropped = 0;

	for (uint32_t number = 0; number < sources; number++) {
		struct weir_key key = race_key(number);
		struct weir_entry entry = race_entry(race, number);
		uint64_t drops = entry.dropped + race_pending(race, &key);

		assert_int_equal(entry.passed + drops, each);
		passed += entry.passed;
		dropped += drops;
	}
	assert_int_equal(counters.verdicts[WEIR_PASS].packets, passed);
	assert_int_equal(counters.verdicts[WEIR_DROP_RATE].packets, dropped);
}

static void two_flooders_alternating_on_two_cpus_are_counted_exactly(void **state)
{
	struct race race = race_start(1024, 1, 5);

	(void)state;
	race_run(&race, 2, 2, 1000000);
	assert_sums(&race, 2, 1000000);
	race.stop(race.skeleton);
}

/* So many that they push each other out of the places where drops wait. */
static void crowds_of_flooders_are_counted_exactly(void **state)
{
	struct race race = race_start(20000, 1, 5);

	(void)state;
	race_run(&race, 2, 3000, 3000 * 100);
	assert_int_equal(program_count(&race.program).verdicts[WEIR_PASS].packets, 3000 * 5);
	for (uint32_t number = 0; number < 3000; number += 100) {
		struct weir_key key = race_key(number);
		struct weir_entry entry = race_entry(&race, number);

		assert_int_equal(entry.passed, 5);
		assert_int_equal(entry.dropped + race_pending(&race, &key), 195);
	}
	race.stop(race.skeleton);
}

/* What makes two CPUs twice as fast as one: a refused packet leaves no trace outside its CPU. */
static void a_refusal_writes_nothing_in_the_entry(void **state)
{
	struct race race = race_start(1024, 1, 5);
	struct weir_entry before, after;

	(void)state;
	race_run(&race, 2, 2, 1000);
	before = race_entry(&race, 0);
	*race.now_ns += 1000;
	race_run(&race, 2, 2, 1000);
	after = race_entry(&race, 0);
	assert_memory_equal(&before, &after, sizeof(before));
	race.stop(race.skeleton);
}

/* Spends part of each source's tokens, doubles the capacity and goes on on two CPUs, which
 * both find every bucket still in the old units. Returns what passes then. */
static uint64_t passed_after_change(struct race *race)
{
	uint64_t before;

	race_run(race, 1, SETTLED, SETTLED * SPENT);
	before = passed_in_all(race);
	assert_int_equal(before, SETTLED * SPENT);
	race_change_limit(race, limit_per_second(1, 20000));
	race_run(race, 2, SETTLED, SETTLED * 10000);
	return passed_in_all(race) - before;
}

static void a_changed_limit_scales_every_bucket_once(void **state)
{
	struct race race = race_start(1024, 1, 10000);

	(void)state;
	assert_int_equal(passed_after_change(&race), SETTLED * LEFT);
	race.stop(race.skeleton);
}

static bool plain_store_scales_some_wrong(void)
{
	struct race race = race_plain_start(1024, 1, 10000);
	uint64_t passed = passed_after_change(&race);

	race.stop(race.skeleton);
	return passed > SETTLED * LEFT;
}

static void a_plain_store_would_scale_some_wrong(void **state)
{
	(void)state;
	assert_caught(plain_store_scales_some_wrong);
}

static uint64_t sweep_run(const struct race *race)
{
	struct weir_sweep sweep = {0};
	LIBBPF_OPTS(bpf_test_run_opts, opts, .ctx_in = &sweep, .ctx_size_in = sizeof(sweep));

	assert_int_equal(bpf_prog_test_run_opts(race->sweep_fd, &opts), 0);
	return sweep.rescaled;
}

static void a_sweep_scales_who_sends_nothing(void **state)
{
	struct race race = race_start(1024, 1, 10000);

	(void)state;
	race_run(&race, 1, SETTLED, SETTLED * SPENT);
	race_change_limit(&race, limit_per_second(1, 20000));
	assert_int_equal(sweep_run(&race), SETTLED);
	assert_int_equal(sweep_run(&race), 0);
	race_run(&race, 2, SETTLED, SETTLED * 10000);
	assert_int_equal(passed_in_all(&race), SETTLED * (SPENT + LEFT));
	race.stop(race.skeleton);
}

/* Two bits tell epochs apart: after a sweep the fourth change is as good as the first. */
static void limits_may_change_without_end(void **state)
{
	struct race race = race_start(1024, 1, 10000);

	(void)state;
	race_run(&race, 1, SETTLED, SETTLED * SPENT);
	for (int change = 0; change < 9; change++) {
		race_change_limit(&race, limit_per_second(1, change % 2 ? 10000 : 20000));
		assert_int_equal(sweep_run(&race), SETTLED);
	}
	race_run(&race, 2, SETTLED, SETTLED * 10000);
	assert_in_range(passed_in_all(&race), SETTLED * (SPENT + LEFT - 1),
			SETTLED * (SPENT + LEFT));
	race.stop(race.skeleton);
}

/* Two changes that both missed an entry would leave it in units that nobody knows any more. */
static void a_bucket_of_a_forgotten_epoch_starts_full(void **state)
{
	struct race race = race_start(1024, 1, 10);
	struct weir_key key = race_key(0);
	struct weir_entry entry;

	(void)state;
	race_run(&race, 1, 1, 20);
	entry = race_entry(&race, 0);
	entry.word ^= 2;
	assert_int_equal(bpf_map_update_elem(race.program.entries_fd, &key, &entry, BPF_EXIST), 0);
	race_run(&race, 1, 1, 20);
	assert_int_equal(passed_in_all(&race), 10 + 10);
	assert_int_equal(program_count(&race.program).verdicts[WEIR_DROP_RATE].packets, 10 + 10);
	race.stop(race.skeleton);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(two_cpus_never_get_a_packet_more_than_the_capacity),
		cmocka_unit_test(a_plain_store_would_give_them_more),
		cmocka_unit_test(two_cpus_never_get_more_than_the_rate_while_time_goes_by),
		cmocka_unit_test(a_plain_store_would_give_them_more_while_time_goes_by),
		cmocka_unit_test(a_source_that_two_cpus_meet_at_once_gets_one_bucket),
		cmocka_unit_test(an_insertion_that_overwrites_would_give_some_two),
		cmocka_unit_test(a_full_map_loses_nobody_by_a_change),
		cmocka_unit_test(an_update_would_evict_others),
		cmocka_unit_test(two_cpus_that_fill_the_map_refuse_nobodys_first_packet),
		cmocka_unit_test(who_loses_every_race_is_refused_by_name),
		cmocka_unit_test(two_flooders_alternating_on_two_cpus_are_counted_exactly),
		cmocka_unit_test(crowds_of_flooders_are_counted_exactly),
		cmocka_unit_test(a_refusal_writes_nothing_in_the_entry),
		cmocka_unit_test(a_changed_limit_scales_every_bucket_once),
		cmocka_unit_test(a_plain_store_would_scale_some_wrong),
		cmocka_unit_test(a_sweep_scales_who_sends_nothing),
		cmocka_unit_test(limits_may_change_without_end),
		cmocka_unit_test(a_bucket_of_a_forgotten_epoch_starts_full),
	};

	return cmocka_run_group_tests_name("races", tests, NULL, NULL);
}
