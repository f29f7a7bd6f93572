/* SPDX-License-Identifier: MIT */
/* Offenders under two and eight threads, each with a view of its own, as processes have. */
#include "offenders_made.h"

#include <pthread.h>

#define THREADS_MAX 8
#define CROWD_KEYS  64

/* What everybody does at once, and what came of it. */
static struct {
	pthread_barrier_t start;
	struct zone *zone;
	uint64_t keys;
	unsigned int tries;
	uint64_t begun[CROWD_KEYS + 1]; /* refusals, counted before they are told */
	uint64_t bans[CROWD_KEYS + 1];
	uint64_t early;  /* bans of whoever had too few */
	uint64_t unseen; /* bans that their maker did not see */
} crowd;

static void add(uint64_t *to, uint64_t count)
{
	__atomic_fetch_add(to, count, __ATOMIC_SEQ_CST);
}

static void *offend_at_once(void *unused)
{
	uint64_t draw = (uintptr_t)&unused | 1;
	struct zone view;

	(void)unused;
	made_view(&view, crowd.zone);
	pthread_barrier_wait(&crowd.start);
	for (unsigned int i = 0; i < crowd.tries; i++) {
		uint64_t number = made_hash(draw + i) % crowd.keys + 1;
		struct zone_key key = made_charge(&view, number, 1).key;
		uint64_t ban_ns;

		if (ban_left(&view, number))
			continue;
		add(&crowd.begun[number], 1);
		if (zone_offend(&view, &ten, &key, made_clock(), &ban_ns) != OFFENCE_BANNED)
			continue;
		add(&crowd.bans[number], 1);
		add(&crowd.unseen, !ban_left(&view, number));
		add(&crowd.early,
		    __atomic_load_n(&crowd.begun[number], __ATOMIC_SEQ_CST) < REFUSALS);
	}
	return NULL;
}

static void crowd_run(void *(*what)(void *), struct zone *zone, unsigned int threads, uint64_t keys,
		      unsigned int tries)
{
	pthread_t ids[THREADS_MAX];

	memset(&crowd, 0, sizeof(crowd));
	crowd.zone = zone;
	crowd.keys = keys;
	crowd.tries = tries;
	pthread_barrier_init(&crowd.start, NULL, threads);
	for (unsigned int i = 0; i < threads; i++)
		assert_int_equal(pthread_create(&ids[i], NULL, what, NULL), 0);
	for (unsigned int i = 0; i < threads; i++)
		pthread_join(ids[i], NULL);
	pthread_barrier_destroy(&crowd.start);
}

/* Bans that were made are there, and no others; who had too few refusals has none. */
static void assert_bans_hold(const struct zone *zone, uint64_t keys)
{
	uint64_t bans = 0;

	for (uint64_t number = 1; number <= keys; number++) {
		assert_int_equal(ban_left(zone, number) != 0, crowd.bans[number] != 0);
		bans += crowd.bans[number];
	}
	assert_int_equal(made_count(zone, ZONE_COUNT_BANS), bans);
	assert_int_equal(crowd.early, 0);
	assert_int_equal(crowd.unseen, 0);
}

static void *count_at_once(void *unused)
{
	static const struct penalty most = {PENALTY_REFUSALS_MAX, MINUTE, MINUTE, MINUTE};
	struct zone view;

	(void)unused;
	made_view(&view, crowd.zone);
	pthread_barrier_wait(&crowd.start);
	for (unsigned int i = 0; i < crowd.tries; i++) {
		struct zone_key key = made_charge(&view, 1, 1).key;
		uint64_t ban_ns;

		zone_offend(&view, &most, &key, made_clock(), &ban_ns);
	}
	return NULL;
}

static void of_a_key_that_has_its_entry_no_refusal_is_lost(void **state)
{
	(void)state;
	for (unsigned int threads = 2; threads <= THREADS_MAX; threads *= 4) {
		for (unsigned int round = 0; round < 50; round++) {
			struct zone zone = made_zone_of(ONE_SET);
			unsigned int tries = PENALTY_REFUSALS_MAX / threads - 1;

			offend_times(&zone, 1, 1);
			crowd_run(count_at_once, &zone, threads, 1, tries);
			assert_int_equal(made_count(&zone, ZONE_COUNT_OFFENDERS_FULL), 0);
			assert_int_equal(refusals_of(&zone, 1), 1 + threads * tries);
			made_free(&zone);
		}
	}
}

/* A key may have as many entries as a set: of one refusal more than all can hold without a ban, it
 * is banned. */
static void refused_at_once_a_key_is_banned_however_it_is_spread(void **state)
{
	(void)state;
	for (unsigned int threads = 2; threads <= THREADS_MAX; threads *= 4) {
		for (unsigned int round = 0; round < 100; round++) {
			struct zone zone = made_zone_of(ONE_SET);

			crowd_run(offend_at_once, &zone, threads, 1, ONE_SET * REFUSALS);
			assert_true(crowd.bans[1]);
			assert_bans_hold(&zone, 1);
			made_free(&zone);
		}
	}
}

static void many_keys_in_few_places_keep_their_bans(void **state)
{
	(void)state;
	for (unsigned int threads = 2; threads <= THREADS_MAX; threads *= 4) {
		for (unsigned int round = 0; round < 20; round++) {
			struct zone zone = made_zone_of(2 * ONE_SET);

			crowd_run(offend_at_once, &zone, threads, CROWD_KEYS, 3000);
			assert_bans_hold(&zone, CROWD_KEYS);
			assert_in_range(made_count(&zone, ZONE_COUNT_BANS), 1, 2 * ONE_SET);
			made_free(&zone);
		}
	}
}

static void many_keys_with_places_enough_are_all_banned(void **state)
{
	(void)state;
	for (unsigned int threads = 2; threads <= THREADS_MAX; threads *= 4) {
		struct zone zone = made_zone_of(1024);

		crowd_run(offend_at_once, &zone, threads, CROWD_KEYS, CROWD_KEYS * 200);
		assert_bans_hold(&zone, CROWD_KEYS);
		for (uint64_t number = 1; number <= CROWD_KEYS; number++)
			assert_true(crowd.bans[number]);
		assert_int_equal(made_count(&zone, ZONE_COUNT_OFFENDERS_FULL), 0);
		made_free(&zone);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(of_a_key_that_has_its_entry_no_refusal_is_lost),
		cmocka_unit_test(refused_at_once_a_key_is_banned_however_it_is_spread),
		cmocka_unit_test(many_keys_in_few_places_keep_their_bans),
		cmocka_unit_test(many_keys_with_places_enough_are_all_banned),
	};

	return cmocka_run_group_tests_name("zone_offenders_threads", tests, NULL, NULL);
}
