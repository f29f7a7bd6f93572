/* SPDX-License-Identifier: MIT */
/* A bucket that comes under another limit, checked exactly in 128 bits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "bucket.h"
#include "control/limit.h"
#include "random.h"

#define NOW_TICKS     (1ULL << 50)
#define ROUNDS        200
#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

typedef unsigned __int128 wide;

static const struct {
	struct rate rate;
	uint64_t capacity;
} limits[] = {
	{{1, NS_PER_YEAR}, 1},           {{1, NS_PER_YEAR}, 4},
	{{5, 60 * NS_PER_SECOND}, 10},   {{1, NS_PER_SECOND}, 1},
	{{3, 7 * NS_PER_SECOND}, 400},   {{1000, NS_PER_SECOND}, 2000},
	{{999999, NS_PER_SECOND}, 1000}, {{1, 10}, 7},
	{{1, 10}, 14000000000000000ULL},
};

static struct weir_limit limit_at(size_t i)
{
	struct weir_limit limit;

	assert_int_equal(limit_build(&limits[i].rate, limits[i].capacity, 0, &limit, NULL), 0);
	return limit;
}

static uint64_t debt_at(uint64_t word, const struct weir_limit *limit)
{
	return bucket_debt(word, bucket_minted(NOW_TICKS, limit->multiplier));
}

/* Less than one step of the word more than what was missing, or the capacity. */
static void assert_moved(uint64_t debt, const struct weir_limit *from, const struct weir_limit *to)
{
	uint64_t word = bucket_minted(NOW_TICKS, from->multiplier) + debt;
	uint64_t moved = debt_at(bucket_convert(word, from, to, NOW_TICKS), to);
	wide exact = (wide)debt << to->token_shift;
	wide got = (wide)moved << from->token_shift;
	wide step = (wide)(BUCKET_EPOCH_MASK + 1) << from->token_shift;

	assert_true(moved <= to->capacity_units);
	if (moved == to->capacity_units)
		assert_true(exact + step > got);
	else
		assert_true(got >= exact && got < exact + step);
}

static void as_much_is_missing_as_was_and_never_less(void **state)
{
	uint64_t seed = 47;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(limits) * ARRAY_SIZE(limits); i++) {
		struct weir_limit from = limit_at(i / ARRAY_SIZE(limits));
		struct weir_limit to = limit_at(i % ARRAY_SIZE(limits));

		assert_moved(BUCKET_EPOCH_MASK + 1, &from, &to);
		assert_moved(from.capacity_units, &from, &to);
		for (unsigned int round = 0; round < ROUNDS; round++) {
			uint64_t debt = (random_next(&seed) >> random_next(&seed) % 60) %
					from.capacity_units;

			assert_moved(debt & ~BUCKET_EPOCH_MASK, &from, &to);
		}
	}
}

static void a_full_bucket_stays_full(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(limits); i++) {
		struct weir_limit from = limit_at(i), to = limit_at(ARRAY_SIZE(limits) - 1 - i);

		assert_int_equal(bucket_convert(0, &from, &to, NOW_TICKS), 0);
		assert_int_equal(bucket_convert(bucket_minted(NOW_TICKS, from.multiplier), &from,
						&to, NOW_TICKS),
				 0);
	}
}

static void an_empty_bucket_holds_no_token(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(limits); i++) {
		struct weir_limit limit = limit_at(i);
		uint64_t minted = bucket_minted(NOW_TICKS, limit.multiplier);
		uint64_t word = bucket_empty(&limit, minted);

		assert_int_equal(bucket_tokens(word, &limit, minted), 0);
		assert_int_equal(bucket_tokens(word + 4, &limit, minted), 0);
		assert_int_equal(bucket_tokens(0, &limit, minted), limit.capacity);
		assert_int_equal(bucket_tokens(word, &limit, minted + bucket_cost(&limit, 1) - 4),
				 0);
		assert_int_equal(bucket_tokens(word, &limit, minted + bucket_cost(&limit, 1)), 1);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(as_much_is_missing_as_was_and_never_less),
		cmocka_unit_test(a_full_bucket_stays_full),
		cmocka_unit_test(an_empty_bucket_holds_no_token),
	};

	return cmocka_run_group_tests_name("bucket_convert", tests, NULL, NULL);
}
