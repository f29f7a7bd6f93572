// SPDX-License-Identifier: MIT
/* Limits that change while two CPUs take tokens. */
#include "race_run.h"

#include "race.skel.h"
#include "race_plain.skel.h"

#define SETTLED 50
#define SPENT   6000 /* of 10,000 tokens */
#define LEFT    8000 /* of 20,000 */

RACE_VARIANT(race)
RACE_VARIANT(race_plain)

/* Spends part of each source's tokens, doubles the capacity and goes on on two CPUs, which
 * both find every bucket still in the old units. Returns what passes then. */
static uint64_t passed_after_change(struct race *race)
{
	uint64_t before;

	race_run(race, 1, SETTLED, SETTLED * SPENT);
	before = race_passed(race);
	assert_int_equal(before, SETTLED * SPENT);
	race_change_limit(race, limit_per_second(1, 20000));
	race_run(race, 2, SETTLED, SETTLED * 10000);
	return race_passed(race) - before;
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
	assert_int_equal(race_passed(&race), SETTLED * (SPENT + LEFT));
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
	assert_in_range(race_passed(&race), SETTLED * (SPENT + LEFT - 1), SETTLED * (SPENT + LEFT));
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
	assert_int_equal(race_passed(&race), 10 + 10);
	assert_int_equal(program_count(&race.program).verdicts[WEIR_DROP_RATE].packets, 10 + 10);
	race.stop(race.skeleton);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_changed_limit_scales_every_bucket_once),
		cmocka_unit_test(a_plain_store_would_scale_some_wrong),
		cmocka_unit_test(a_sweep_scales_who_sends_nothing),
		cmocka_unit_test(limits_may_change_without_end),
		cmocka_unit_test(a_bucket_of_a_forgotten_epoch_starts_full),
	};

	return cmocka_run_group_tests_name("changes", tests, NULL, NULL);
}
