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
#define LATEST     64 /* sources, which no map of that size has evicted yet */
#define CROWD      100000
#define NEWCOMERS  20000

RACE_VARIANT(race)
RACE_VARIANT(race_any)
RACE_VARIANT(race_lost)
RACE_VARIANT(race_plain)

/* Two CPUs take from one bucket while nobody moves the clock. */
static void two_cpus_never_get_a_packet_more_than_the_capacity(void **state)
{
	struct race race = race_start(1024, 1000, BURST);

	(void)state;
	race_run(&race, 2, 1, BURST);
	assert_int_equal(race_passed(&race), BURST);
	assert_int_equal(race_entry(&race, 0).passed, BURST);
	race.stop(race.skeleton);
}

static bool plain_store_gives_more(void)
{
	struct race race = race_plain_start(1024, 1000, BURST);
	uint64_t passed;

	race_run(&race, 2, 1, BURST);
	passed = race_passed(&race);
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
	assert_in_range(race_passed(&race), BURST, allowed);
	race.stop(race.skeleton);
}

static bool plain_store_gives_more_while_time_goes_by(void)
{
	struct race race = race_plain_start(1024, CLOCK_RATE, BURST);
	uint64_t allowed = race_against_the_clock(&race);
	uint64_t passed = race_passed(&race);

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
	assert_int_equal(race_passed(&race), NEWCOMERS);
	race.stop(race.skeleton);
}

static bool overwriting_insertion_gives_some_two(void)
{
	struct race race = race_any_start(2 * NEWCOMERS, 1, 1);
	uint64_t passed;

	race_run(&race, 2, NEWCOMERS, NEWCOMERS);
	passed = race_passed(&race);
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

/* On a map without a free place, two CPUs send for the sources seen last and everyone is forgotten
 * meanwhile. */
static void a_full_map_loses_nobody_by_a_change(void **state)
{
	struct weir_key *keys = test_calloc(MAP_FULL + 1, sizeof(*keys));
	struct race race = race_start(MAP_FULL, 1, 1000000);
	struct racing racing;
	uint64_t known;

	(void)state;
	race_run(&race, 1, 4 * MAP_FULL, 4 * MAP_FULL);
	known = keys_known(&race, keys);
	*race.first += 4 * MAP_FULL - LATEST;
	race_begin(&race, &racing, 2, LATEST, 500000);
	for (uint64_t i = 0; i < known; i++)
		assert_int_equal(forget_run(race.forget_fd, &keys[i]), 0);
	race_end(&racing);
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
	};

	return cmocka_run_group_tests_name("races", tests, NULL, NULL);
}
