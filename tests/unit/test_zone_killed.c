/* SPDX-License-Identifier: MIT */
/* Processes that are killed in the middle of updates leave no lock, no second slot and no amnesty.
 */
#include "zone_made.h"

#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "random.h"

#define WORKERS     3
#define GENERATIONS 50 /* WORKERS are killed in each */
#define KEYS        40
#define LIMIT       200

/* What the workers tell. Written after the answer: a killed one tells too little. */
struct told {
	uint64_t admitted[KEYS + 1];
};

static uint64_t steady_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * NS_PER_SEC + (uint64_t)now.tv_nsec;
}

static void work_for_ever(const struct zone *zone, struct told *told, uint64_t seed)
{
	struct zone view;

	made_view(&view, zone);
	for (;;) {
		uint64_t number = random_next(&seed) % KEYS + 1;

		if (made_take(&view, number, 1) == ZONE_PASSED)
			__atomic_fetch_add(&told->admitted[number], 1, __ATOMIC_RELAXED);
	}
}

static pid_t worker_start(const struct zone *zone, struct told *told, uint64_t seed)
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		work_for_ever(zone, told, seed);
		_exit(1);
	}
	return pid;
}

static uint64_t answers_of(const struct zone *zone)
{
	return made_count(zone, ZONE_COUNT_PASSED) + made_count(zone, ZONE_COUNT_REFUSED);
}

static void wait_for_answers(const struct zone *zone, uint64_t count)
{
	uint64_t wanted = answers_of(zone) + count, deadline = steady_now_ns() + 10 * NS_PER_SEC;

	while (answers_of(zone) < wanted) {
		assert_true(steady_now_ns() < deadline);
		sched_yield();
	}
}

/* Each is killed after so many more answers of all as the seed says. */
static void generation_run(const struct zone *zone, struct told *told, uint64_t *seed)
{
	pid_t workers[WORKERS];

	for (unsigned int i = 0; i < WORKERS; i++)
		workers[i] = worker_start(zone, told, random_next(seed) | 1);
	for (unsigned int i = 0; i < WORKERS; i++) {
		wait_for_answers(zone, random_next(seed) % 24);
		assert_int_equal(kill(workers[i], SIGKILL), 0);
		assert_int_equal(waitpid(workers[i], NULL, 0), workers[i]);
	}
}

static void zone_empty(struct zone *zone)
{
	uint64_t slots = zone->sets * ZONE_WAYS;

	memset(zone->slots, 0, slots * sizeof(*zone->slots));
	memset(zone->cells, 0, slots * zone->cells_per_slot * sizeof(*zone->cells));
}

/* The clock stands still. Sets are all but full, so that places are fought for. */
static void killed_workers_leave_every_key_with_its_limit(enum algorithm algorithm)
{
	struct rule rule = made_rule_of(algorithm, LIMIT);
	uint64_t seed = 7;
	struct told *told;
	struct zone zone;

	made_zone(&zone, KEYS + 8, &rule, 1);
	told = mmap(NULL, sizeof(*told), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(told, MAP_FAILED);
	for (unsigned int i = 0; i < GENERATIONS; i++) {
		/* Half of them begin with an empty zone, so that many die while they insert, the
		 * others while most keys are at their limit. */
		if (i % 2 == 0) {
			zone_empty(&zone);
			memset(told->admitted, 0, sizeof(told->admitted));
		}
		generation_run(&zone, told, &seed);
		for (uint64_t number = 1; number <= KEYS; number++) {
			assert_true(made_slots(&zone, number, 0) <= 1);
			assert_true(told->admitted[number] <= LIMIT);
		}
	}
	/* A second later the last claims of the dead are free, and everything goes on. */
	made_now_ns += 2 * NS_PER_SEC;
	for (uint64_t number = 1; number <= KEYS; number++) {
		made_take_all(&zone, number, LIMIT + 1);
		assert_int_not_equal(made_take(&zone, number, 1), ZONE_PASSED);
		assert_true(made_slots(&zone, number, 0) <= 1);
	}
	assert_int_equal(made_count(&zone, ZONE_COUNT_CONTENDED), 0);
	munmap(told, sizeof(*told));
	made_free(&zone);
}

static void workers_killed_with_buckets(void **state)
{
	(void)state;
	killed_workers_leave_every_key_with_its_limit(ALGORITHM_TOKEN_BUCKET);
}

static void workers_killed_with_logs(void **state)
{
	(void)state;
	killed_workers_leave_every_key_with_its_limit(ALGORITHM_SLIDING_LOG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(workers_killed_with_buckets),
		cmocka_unit_test(workers_killed_with_logs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
