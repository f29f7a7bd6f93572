/* SPDX-License-Identifier: MIT */
/* The sliding log under eight threads that share a key, and the same without a compare-and-swap,
 * which must admit too many. */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "limited.h"
#include "log_hooked.h"
#include "random.h"

#define SECOND       1000000000ULL
#define START        (1000 * SECOND)
#define THREADS      8
#define LIMIT        100
#define ATTEMPTS     20000
#define ROUNDS       20
#define NAIVE_ROUNDS 500
#define PERIOD_NS    1000000ULL
#define STAMPS       40000

typedef enum log_taken (*take_function)(const struct log_ring *ring, const struct rule *rule,
					struct slot_pair seen, uint64_t cost, uint64_t now_ns,
					enum take_mode mode, uint64_t *ret_cell);

struct crowd {
	struct limited limited;
	take_function take;
	pthread_barrier_t start;
	uint64_t admitted;
	uint64_t held; /* admitted and not given back yet */
	uint64_t held_max;
	uint64_t now_ns;
	uint64_t stamps_ns[STAMPS]; /* when each was admitted */
	uint64_t seed;
};

static uint64_t clock_still(struct crowd *crowd)
{
	(void)crowd;
	return START;
}

/* A microsecond for each look, so that no two looks see the same. */
static uint64_t clock_moving(struct crowd *crowd)
{
	return __atomic_add_fetch(&crowd->now_ns, 1000, __ATOMIC_SEQ_CST);
}

/* As a zone tries: the clock is read after the slot. */
static bool crowd_take(struct crowd *crowd, uint64_t (*clock)(struct crowd *), uint64_t *ret_cell,
		       uint64_t *ret_now_ns)
{
	struct log_ring ring = limited_ring(&crowd->limited);
	enum log_taken taken = LOG_MOVED;

	for (unsigned int i = 0; taken == LOG_MOVED && i < ATTEMPTS; i++) {
		struct slot_pair seen = slot_read(&crowd->limited.slot);

		*ret_now_ns = clock(crowd);
		taken = crowd->take(&ring, &crowd->limited.rule, seen, 1, *ret_now_ns, TAKE_CHARGE,
				    ret_cell);
	}
	return taken == LOG_ADMITTED;
}

static void *take_all(void *argument)
{
	struct crowd *crowd = argument;
	uint64_t cell, now_ns;

	pthread_barrier_wait(&crowd->start);
	for (unsigned int i = 0; i < 10 * LIMIT && crowd_take(crowd, clock_still, &cell, &now_ns);
	     i++)
		__atomic_add_fetch(&crowd->admitted, 1, __ATOMIC_SEQ_CST);
	return NULL;
}

static void held_rise(struct crowd *crowd)
{
	uint64_t held = __atomic_add_fetch(&crowd->held, 1, __ATOMIC_SEQ_CST);
	uint64_t max = __atomic_load_n(&crowd->held_max, __ATOMIC_SEQ_CST);

	while (held > max && !__atomic_compare_exchange_n(&crowd->held_max, &max, held, false,
							  __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
		;
}

/* Two at a time, so that the limit is met, and both given back. */
static void *take_and_give_back(void *argument)
{
	struct crowd *crowd = argument;
	struct log_ring ring = limited_ring(&crowd->limited);
	uint64_t cells[LIMIT / 4], now_ns;
	size_t count;

	pthread_barrier_wait(&crowd->start);
	for (unsigned int i = 0; i < ROUNDS; i++) {
		for (count = 0;
		     count < LIMIT / 4 && crowd_take(crowd, clock_still, &cells[count], &now_ns);
		     count++)
			held_rise(crowd);
		while (count--) {
			__atomic_sub_fetch(&crowd->held, 1, __ATOMIC_SEQ_CST);
			log_give_back(&ring, crowd->limited.slot.pair, cells[count]);
		}
	}
	return NULL;
}

static void *take_for_long(void *argument)
{
	struct crowd *crowd = argument;
	uint64_t cell, now_ns, number;

	pthread_barrier_wait(&crowd->start);
	for (unsigned int i = 0; i < STAMPS / THREADS; i++) {
		if (!crowd_take(crowd, clock_moving, &cell, &now_ns))
			continue;
		number = __atomic_fetch_add(&crowd->admitted, 1, __ATOMIC_SEQ_CST);
		crowd->stamps_ns[number] = now_ns;
	}
	return NULL;
}

static void crowd_run(struct crowd *crowd, take_function take, void *(*thread)(void *))
{
	pthread_t threads[THREADS];

	*crowd = (struct crowd){
		.limited =
			limited_of(ALGORITHM_SLIDING_LOG, LIMIT, (struct rate){LIMIT, PERIOD_NS}),
		.take = take,
		.now_ns = START,
	};
	assert_int_equal(pthread_barrier_init(&crowd->start, NULL, THREADS), 0);
	for (size_t i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, thread, crowd), 0);
	for (size_t i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	pthread_barrier_destroy(&crowd->start);
}

static struct crowd crowd;

static void eight_threads_are_admitted_the_limit_exactly(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < ROUNDS; i++) {
		crowd_run(&crowd, log_take, take_all);
		assert_int_equal(crowd.admitted, LIMIT);
		assert_int_equal(limited_answer(&crowd.limited, 1, START).remaining, 0);
	}
}

static bool exchange_by_look_and_store(struct slot_pair *at, struct slot_pair from,
				       struct slot_pair to)
{
	if (__atomic_load_n(&at->tag, __ATOMIC_RELAXED) != from.tag ||
	    __atomic_load_n(&at->state, __ATOMIC_RELAXED) != from.state)
		return false;
	sched_yield();
	__atomic_store_n(&at->state, to.state, __ATOMIC_RELAXED);
	__atomic_store_n(&at->tag, to.tag, __ATOMIC_RELAXED);
	return true;
}

static void without_a_compare_and_swap_they_are_admitted_more(void **state)
{
	(void)state;
	hooked_exchange = exchange_by_look_and_store;
	for (unsigned int i = 0; i < NAIVE_ROUNDS; i++) {
		crowd_run(&crowd, hooked_log_take, take_all);
		if (crowd.admitted > LIMIT)
			return;
	}
	fail_msg("the limit held in %d rounds", NAIVE_ROUNDS);
}

static void what_is_held_and_not_given_back_never_exceeds_the_limit(void **state)
{
	(void)state;
	crowd_run(&crowd, log_take, take_and_give_back);
	assert_in_range(crowd.held_max, LIMIT / 4, LIMIT);
	assert_true(limited_is_full(&crowd.limited, START));
	assert_int_equal(crowd.held, 0);
}

static int stamps_compare(const void *a, const void *b)
{
	uint64_t first = *(const uint64_t *)a, second = *(const uint64_t *)b;

	return (first > second) - (first < second);
}

static void over_many_turns_of_the_ring_no_window_has_more_than_the_limit(void **state)
{
	(void)state;
	crowd_run(&crowd, log_take, take_for_long);
	assert_true(crowd.admitted > 10 * LIMIT);
	qsort(crowd.stamps_ns, crowd.admitted, sizeof(crowd.stamps_ns[0]), stamps_compare);
	for (size_t i = LIMIT; i < crowd.admitted; i++)
		assert_true(crowd.stamps_ns[i] - crowd.stamps_ns[i - LIMIT] >= PERIOD_NS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(eight_threads_are_admitted_the_limit_exactly),
		cmocka_unit_test(without_a_compare_and_swap_they_are_admitted_more),
		cmocka_unit_test(what_is_held_and_not_given_back_never_exceeds_the_limit),
		cmocka_unit_test(over_many_turns_of_the_ring_no_window_has_more_than_the_limit),
	};

	return cmocka_run_group_tests_name("log_threads", tests, NULL, NULL);
}
