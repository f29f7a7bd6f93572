/* SPDX-License-Identifier: MIT */
/* The most that a sender who knows the algorithm gets through in any trailing minute (t - 60s, t],
 * of 100 a minute: searched over ways to send, and to be met exactly. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "limited.h"
#include "random.h"

#define SECOND        1000000000ULL
#define MINUTE        (60 * SECOND)
#define START         (100 * MINUTE)
#define LENGTH        (5 * MINUTE)
#define ADMITTED_MAX  1200
#define RANDOM_RUNS   150
#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

struct sent {
	uint64_t at_ns[ADMITTED_MAX];
	size_t count;
};

/* At first_ns after a window's begin sends up to size at once, pauses, then takes whatever it gets,
 * at every moment at which there is something, pausing step_ns at least. */
struct plan {
	uint64_t first_ns;
	uint64_t size;
	uint64_t pause_ns;
	uint64_t step_ns;
};

static const uint64_t moments_ns[] = {
	0, 1, 600000000, 30 * SECOND, 45 * SECOND, MINUTE - 600000000, MINUTE - 2, MINUTE - 1,
};
static const uint64_t sizes[] = {1, 2, 9, 10, 50, 99, 100};
static const uint64_t pauses_ns[] = {0, 1, SECOND, 6 * SECOND, MINUTE / 2, MINUTE - 1, MINUTE};
static const uint64_t steps_ns[] = {1, 7 * SECOND, MINUTE - 1};

static uint64_t trailing_max(const struct sent *sent)
{
	uint64_t max = 0;

	for (size_t first = 0, last = 0; last < sent->count; last++) {
		while (sent->at_ns[first] + MINUTE <= sent->at_ns[last])
			first++;
		if (last - first + 1 > max)
			max = last - first + 1;
	}
	return max;
}

static void send_up_to(struct limited *limited, uint64_t size, uint64_t now_ns, struct sent *sent)
{
	while (size-- && limited_take(limited, 1, now_ns, TAKE_CHARGE)) {
		assert_true(sent->count < ADMITTED_MAX);
		sent->at_ns[sent->count++] = now_ns;
	}
}

static uint64_t plan_run(const struct limited *fresh, const struct plan *plan)
{
	struct limited limited = *fresh;
	uint64_t now_ns = START + plan->first_ns;
	struct sent sent = {.count = 0};

	send_up_to(&limited, plan->size, now_ns, &sent);
	now_ns += plan->pause_ns;
	while (now_ns < START + LENGTH) {
		uint64_t wait_ns;

		send_up_to(&limited, UINT64_MAX, now_ns, &sent);
		wait_ns = limited_answer(&limited, 1, now_ns).retry_after_ns;
		now_ns += wait_ns > plan->step_ns ? wait_ns : plan->step_ns;
	}
	return trailing_max(&sent);
}

/* The plan whose number is given, of all that the tables make. */
static bool plan_at(size_t number, struct plan *ret)
{
	ret->first_ns = moments_ns[number % ARRAY_SIZE(moments_ns)];
	number /= ARRAY_SIZE(moments_ns);
	ret->size = sizes[number % ARRAY_SIZE(sizes)];
	number /= ARRAY_SIZE(sizes);
	ret->pause_ns = pauses_ns[number % ARRAY_SIZE(pauses_ns)];
	number /= ARRAY_SIZE(pauses_ns);
	ret->step_ns = steps_ns[number % ARRAY_SIZE(steps_ns)];
	return number < ARRAY_SIZE(steps_ns);
}

static uint64_t worst_of_plans(const struct limited *limited)
{
	uint64_t worst = 0, got;
	struct plan plan;

	for (size_t i = 0; plan_at(i, &plan); i++) {
		got = plan_run(limited, &plan);
		if (got > worst)
			worst = got;
	}
	return worst;
}

static uint64_t worst_at_random(const struct limited *fresh, uint64_t *seed)
{
	struct limited limited = *fresh;
	struct sent sent = {.count = 0};
	uint64_t now_ns = START;

	while (now_ns < START + LENGTH) {
		send_up_to(&limited, random_next(seed) % 120, now_ns, &sent);
		now_ns += random_next(seed) % (random_next(seed) % 2 ? MINUTE : SECOND);
	}
	return trailing_max(&sent);
}

static void assert_worst(enum algorithm algorithm, uint64_t capacity, uint64_t expected)
{
	struct limited limited = limited_of(algorithm, capacity, (struct rate){100, MINUTE});
	uint64_t seed = 29;

	assert_int_equal(worst_of_plans(&limited), expected);
	for (unsigned int run = 0; run < RANDOM_RUNS; run++)
		assert_in_range(worst_at_random(&limited, &seed), 0, expected);
}

static void a_fixed_window_admits_200(void **state)
{
	(void)state;
	assert_worst(ALGORITHM_FIXED_WINDOW, 100, 200);
}

static void a_sliding_window_admits_199(void **state)
{
	(void)state;
	assert_worst(ALGORITHM_SLIDING_WINDOW, 100, 199);
}

static void a_sliding_log_admits_100(void **state)
{
	(void)state;
	assert_worst(ALGORITHM_SLIDING_LOG, 100, 100);
}

static void a_bucket_of_10_admits_109(void **state)
{
	(void)state;
	assert_worst(ALGORITHM_TOKEN_BUCKET, 10, 109);
	assert_worst(ALGORITHM_LEAKY_BUCKET, 10, 109);
}

static void a_bucket_of_100_admits_199(void **state)
{
	(void)state;
	assert_worst(ALGORITHM_TOKEN_BUCKET, 100, 199);
	assert_worst(ALGORITHM_LEAKY_BUCKET, 100, 199);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_fixed_window_admits_200),
		cmocka_unit_test(a_sliding_window_admits_199),
		cmocka_unit_test(a_sliding_log_admits_100),
		cmocka_unit_test(a_bucket_of_10_admits_109),
		cmocka_unit_test(a_bucket_of_100_admits_199),
	};

	return cmocka_run_group_tests_name("algorithm_worst", tests, NULL, NULL);
}
