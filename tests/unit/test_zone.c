/* SPDX-License-Identifier: MIT */
/* Who gets a slot, and who is judged by what. */
#include "zone_made.h"

#include "http/zone_place.h"
#include "random.h"

/* A bucket's rate is rounded down by 2^-31 at most: ten seconds may take so much longer. */
#define BUCKET_SLACK_NS 5

static void every_algorithm_admits_its_limit_and_no_more(void **state)
{
	(void)state;
	for (int algorithm = 0; algorithm < ALGORITHM_MAX; algorithm++) {
		struct rule rule = made_rule_of((enum algorithm)algorithm, 7);
		struct zone zone;

		made_zone(&zone, 64, &rule, 1);
		assert_int_equal(made_take_all(&zone, 1, 20), 7);
		assert_int_equal(made_take_all(&zone, 2, 20), 7);
		assert_int_equal(made_slots(&zone, 1, 0), 1);
		assert_int_equal(made_count(&zone, ZONE_COUNT_PASSED), 14);
		assert_int_equal(made_count(&zone, ZONE_COUNT_REFUSED), 26);
		made_free(&zone);
	}
}

static void an_answer_says_how_the_slot_stands_after_the_charge(void **state)
{
	(void)state;
	for (int algorithm = 0; algorithm < ALGORITHM_MAX; algorithm++) {
		struct rule rule = made_rule_of((enum algorithm)algorithm, 7);
		struct zone_charge charge;
		struct answer answer;
		struct zone zone;

		made_zone(&zone, 64, &rule, 1);
		charge = made_charge(&zone, 1, 3);
		assert_true(zone_take_all(&charge, 1, made_clock));
		zone_answer(&charge, &answer);
		assert_int_equal(answer.limit, 7);
		assert_int_equal(answer.remaining, 4);
		assert_int_equal(answer.retry_after_ns, 0);
		made_free(&zone);
	}
}

static void what_a_request_shows_is_kept_with_its_slot(void **state)
{
	struct rule rule = made_rule_of(ALGORITHM_TOKEN_BUCKET, 2);
	const struct zone_slot *slot;
	struct slot_pair pair;
	struct zone zone;
	uint64_t number = 5;

	(void)state;
	made_zone(&zone, 64, &rule, 1);
	made_take_all(&zone, number, 5);
	slot = zone_find(&zone, made_hash(number), &pair);
	assert_non_null(slot);
	assert_int_equal(slot->passed, 2);
	assert_int_equal(slot->refused, 3);
	assert_int_equal(slot->last_seen_ns, made_now_ns);
	assert_int_equal(slot->label.kind, LABEL_HASH);
	assert_memory_equal(slot->label.value, &number, sizeof(number));
	assert_null(zone_find(&zone, made_hash(6), &pair));
	made_free(&zone);
}

/* Until no slot of the key's sets is free. */
static uint64_t fill(struct zone *zone)
{
	uint64_t number = 1000;

	while (made_slots_used(zone) < zone->sets * ZONE_WAYS)
		made_take(zone, ++number, zone->main.capacity);
	return number;
}

static void a_key_of_full_sets_is_judged_by_their_overflow(void **state)
{
	struct rule rule = made_rule_of(ALGORITHM_TOKEN_BUCKET, 1000);
	struct zone zone;

	(void)state;
	made_zone(&zone, 64, &rule, 3);
	fill(&zone);
	for (unsigned int i = 0; i < 3; i++)
		assert_int_equal(made_take(&zone, 1, 1), ZONE_OVERFLOW_PASSED);
	assert_int_equal(made_take(&zone, 1, 1), ZONE_OVERFLOW_REFUSED);
	made_now_ns += 10 * NS_PER_SEC - 1;
	assert_int_equal(made_take(&zone, 1, 1), ZONE_OVERFLOW_REFUSED);
	made_now_ns += 1 + BUCKET_SLACK_NS;
	assert_int_equal(made_take(&zone, 1, 1), ZONE_OVERFLOW_PASSED);
	assert_int_equal(made_take(&zone, 1, 1), ZONE_OVERFLOW_REFUSED);
	made_free(&zone);
}

/* One of the key's two words, as somebody of the same set has left it. */
static void overflow_leave(struct zone *zone, uint64_t number, unsigned int which, uint64_t left)
{
	const struct rule *rule = &zone->overflow_rule;
	struct zone_places places;

	zone_places_find(zone, made_hash(number), &places);
	zone->overflow[places.sets[which]] =
		rule_take(rule, 0, rule->capacity - left, made_now_ns, TAKE_CHARGE).state;
}

static void an_overflow_answer_is_the_roomier_words(void **state)
{
	struct rule rule = made_rule_of(ALGORITHM_TOKEN_BUCKET, 1000);

	(void)state;
	for (unsigned int which = 0; which < 2; which++) {
		struct zone_charge charge;
		struct answer answer;
		struct zone zone;

		made_zone(&zone, 64, &rule, 3);
		fill(&zone);
		overflow_leave(&zone, 1, which, 2);
		charge = made_charge(&zone, 1, 1);
		assert_true(zone_take_all(&charge, 1, made_clock));
		zone_answer(&charge, &answer);
		assert_int_equal(answer.limit, 3);
		assert_int_equal(answer.remaining, 2);
		made_free(&zone);
	}
}

static void an_overflow_says_when_it_has_room(void **state)
{
	struct rule rule = made_rule_of(ALGORITHM_TOKEN_BUCKET, 1000);
	struct zone_charge charge;
	struct answer answer;
	struct zone zone;

	(void)state;
	made_zone(&zone, 64, &rule, 3);
	fill(&zone);
	charge = made_charge(&zone, 1, 2);
	assert_true(zone_take_all(&charge, 1, made_clock));
	assert_false(zone_take_all(&charge, 1, made_clock));
	zone_answer(&charge, &answer);
	assert_in_range(answer.retry_after_ns, 10 * NS_PER_SEC, 10 * NS_PER_SEC + BUCKET_SLACK_NS);
	made_free(&zone);
}

static void a_slot_is_taken_over_only_when_nothing_is_owed(void **state)
{
	static const enum algorithm algorithms[] = {ALGORITHM_TOKEN_BUCKET, ALGORITHM_FIXED_WINDOW,
						    ALGORITHM_SLIDING_LOG};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(algorithms); i++) {
		struct rule rule = made_rule_of(algorithms[i], 8);
		struct slot_pair pair;
		struct zone zone;

		made_now_ns = made_now_ns / (8 * NS_PER_SEC) * 8 * NS_PER_SEC;
		made_zone(&zone, 4, &rule, 1);
		for (uint64_t number = 1; number <= 4; number++)
			assert_int_equal(made_take(&zone, number, 8), ZONE_PASSED);
		made_now_ns += 8 * NS_PER_SEC - 1;
		assert_int_equal(made_take(&zone, 5, 8), ZONE_OVERFLOW_REFUSED);
		made_now_ns += 1 + BUCKET_SLACK_NS;
		assert_int_equal(made_take(&zone, 5, 8), ZONE_PASSED);
		assert_int_equal(made_slots(&zone, 5, 0), 1);
		assert_int_equal(zone_find(&zone, made_hash(5), &pair)->passed, 1);
		assert_int_equal(made_take(&zone, 5, 1), ZONE_REFUSED);
		made_free(&zone);
	}
}

static void what_is_known_of_a_key_is_kept_while_other_slots_were_never_used(void **state)
{
	struct rule rule = made_rule_of(ALGORITHM_TOKEN_BUCKET, 1);
	struct slot_pair pair;
	struct zone zone;

	(void)state;
	made_zone(&zone, 4, &rule, 1);
	for (uint64_t number = 1; number <= 4; number++) {
		assert_int_equal(made_take(&zone, number, 1), ZONE_PASSED);
		made_now_ns += 2 * NS_PER_SEC;
	}
	for (uint64_t number = 1; number <= 4; number++)
		assert_non_null(zone_find(&zone, made_hash(number), &pair));
	made_free(&zone);
}

/* No rate admits a key again sooner because others came in between. */
static void being_pushed_out_is_no_amnesty(void **state)
{
	struct rule rule = made_rule_of(ALGORITHM_TOKEN_BUCKET, 4);
	uint64_t passed[16] = {0}, seed = 1, began = made_now_ns;
	struct zone zone;

	(void)state;
	made_zone(&zone, 4, &rule, 1);
	for (unsigned int i = 0; i < 20000; i++) {
		uint64_t number = random_next(&seed) % 16;

		passed[number] += made_take(&zone, number + 1, 1) == ZONE_PASSED;
		made_now_ns += random_next(&seed) % (NS_PER_SEC / 8);
	}
	for (size_t i = 0; i < 16; i++)
		assert_true(passed[i] <= 4 + (made_now_ns - began) / NS_PER_SEC);
	made_free(&zone);
}

static enum zone_status take_from(struct zone *zone, uint64_t number, uint64_t origin)
{
	struct zone_charge charge = made_charge(zone, number, 1);

	charge.key.origin = origin;
	zone_take_all(&charge, 1, made_clock);
	return charge.status;
}

static void one_prefix_gets_its_share_and_others_still_find_place(void **state)
{
	struct rule rule = made_rule_of(ALGORITHM_TOKEN_BUCKET, 1000);
	uint64_t origin = made_hash(77), passed = 0;
	struct zone zone;

	(void)state;
	made_zone(&zone, 1024, &rule, 1);
	for (uint64_t number = 1; number <= 4096; number++)
		passed += take_from(&zone, number, origin) == ZONE_PASSED;
	assert_int_equal(passed, 1024 / ZONE_SHARE_PART);
	assert_int_equal(made_slots_used(&zone), 1024 / ZONE_SHARE_PART);
	assert_int_equal(made_count(&zone, ZONE_COUNT_SHARE_EXCEEDED), 4096 - passed);
	for (uint64_t number = 10001; number <= 10200; number++)
		assert_int_equal(take_from(&zone, number, made_hash(number)), ZONE_PASSED);
	/* Who has a slot is not asked for a share. */
	assert_int_equal(take_from(&zone, 1, origin), ZONE_PASSED);
	made_free(&zone);
}

/* One in ZONE_SHARES has one word for both. */
static void a_prefix_whose_words_are_one_gets_its_whole_share(void **state)
{
	struct rule rule = made_rule_of(ALGORITHM_TOKEN_BUCKET, 1000);
	uint64_t origin = 5ULL << 32 | 5, passed = 0;
	struct zone zone;

	(void)state;
	made_zone(&zone, 1024, &rule, 1);
	for (uint64_t number = 1; number <= 512; number++)
		passed += take_from(&zone, number, origin) == ZONE_PASSED;
	assert_int_equal(passed, 1024 / ZONE_SHARE_PART);
	made_free(&zone);
}

static void a_share_refills_in_the_time_a_slot_takes_to_be_free(void **state)
{
	struct rule rule = made_rule_of(ALGORITHM_TOKEN_BUCKET, 800);
	uint64_t origin = made_hash(77), passed = 0;
	struct zone zone;

	(void)state;
	made_zone(&zone, 64, &rule, 1);
	for (uint64_t number = 1; number <= 8; number++)
		passed += take_from(&zone, number, origin) == ZONE_PASSED;
	assert_int_equal(passed, 8);
	assert_int_equal(take_from(&zone, 9, origin), ZONE_OVERFLOW_PASSED);
	made_now_ns += 101 * NS_PER_SEC;
	assert_int_equal(take_from(&zone, 10, origin), ZONE_PASSED);
	made_free(&zone);
}

static void a_cost_that_inserts_nothing(void **state)
{
	struct rule rule = made_rule_of(ALGORITHM_TOKEN_BUCKET, 5);
	struct zone_charge charge;
	struct answer answer;
	struct zone zone;

	(void)state;
	made_zone(&zone, 64, &rule, 100);
	assert_int_equal(made_take(&zone, 1, 0), ZONE_PASSED);
	charge = made_charge(&zone, 1, 6);
	assert_false(zone_take_all(&charge, 1, made_clock));
	assert_int_equal(charge.status, ZONE_REFUSED);
	zone_answer(&charge, &answer);
	assert_int_equal(answer.remaining, 5);
	assert_true(answer.retry_after_ns == RULE_NEVER_NS);
	assert_int_equal(made_slots_used(&zone), 0);
	/* Full sets whose overflow could bear it change nothing about that. */
	fill(&zone);
	assert_int_equal(made_take(&zone, 1, 6), ZONE_REFUSED);
	made_free(&zone);
}

static void a_cost_of_zero_looks_only(void **state)
{
	(void)state;
	for (int algorithm = 0; algorithm < ALGORITHM_MAX; algorithm++) {
		struct rule rule = made_rule_of((enum algorithm)algorithm, 2);
		struct zone zone;

		made_zone(&zone, 64, &rule, 1);
		assert_int_equal(made_take(&zone, 1, 1), ZONE_PASSED);
		assert_int_equal(made_take(&zone, 1, 0), ZONE_PASSED);
		assert_int_equal(made_take(&zone, 1, 1), ZONE_PASSED);
		assert_int_equal(made_take(&zone, 1, 0), ZONE_REFUSED);
		made_free(&zone);
	}
}

static void a_key_without_key_bits_has_a_slot_too(void **state)
{
	struct rule rule = made_rule_of(ALGORITHM_TOKEN_BUCKET, 1);
	struct zone_charge charge;
	struct zone zone;

	(void)state;
	made_zone(&zone, 64, &rule, 1);
	charge = made_charge(&zone, 1, 1);
	charge.key.hash = SLOT_CLAIMED | 1;
	assert_true(zone_take_all(&charge, 1, made_clock));
	assert_false(zone_take_all(&charge, 1, made_clock));
	made_free(&zone);
}

static struct zone *other_zone;

static void take_as_another(void)
{
	uint64_t began = made_now_ns;

	made_take(other_zone, 1, 1);
	made_now_ns = began;
}

/* Whoever else always comes first. */
static uint64_t contended_clock(void)
{
	take_as_another();
	return made_now_ns;
}

static void who_loses_every_race_is_refused_and_counted(void **state)
{
	struct rule rule = made_rule(ALGORITHM_TOKEN_BUCKET, 1000, 1, NS_PER_SEC);
	struct zone zone, view;
	struct zone_charge charge;

	(void)state;
	made_zone(&zone, 64, &rule, 1);
	made_view(&view, &zone);
	other_zone = &view;
	charge = made_charge(&zone, 1, 1);
	assert_false(zone_take_all(&charge, 1, contended_clock));
	assert_int_equal(charge.status, ZONE_REFUSED);
	assert_int_equal(made_count(&zone, ZONE_COUNT_CONTENDED), 1);
	made_free(&zone);
}

static void sizes_that_cannot_be_are_refused(void **state)
{
	struct rule rule = made_rule_of(ALGORITHM_TOKEN_BUCKET, 1);
	struct zone zone;

	(void)state;
	assert_int_equal(zone_size(0, 0, 0), 0);
	assert_int_equal(zone_size(ZONE_ENTRIES_MAX + 1, 0, 0), 0);
	assert_int_equal(zone_size(ZONE_ENTRIES_MAX, UINT64_MAX / ZONE_ENTRIES_MAX, 0), 0);
	assert_int_equal(zone_size(ZONE_ENTRIES_MAX, UINT64_MAX, 0), 0);
	assert_int_equal(zone_size(64, UINT64_MAX / 64 / 16, 0), 0);
	assert_int_equal(zone_size(65, 0, 0), zone_size(68, 0, 0));
	assert_int_equal(zone_size(64, 8, 0) - zone_size(64, 0, 0),
			 64 * 8 * sizeof(struct log_cell));
	assert_int_equal(zone_size(64, 0, 0) % 4096, 0);

	made_zone(&zone, 64, &rule, 1);
	zone.header->sets = 0;
	assert_int_equal(zone_attach(&zone, zone.header, NULL), -EINVAL);
	zone.header->sets = UINT64_MAX / 2;
	assert_int_equal(zone_attach(&zone, zone.header, NULL), -EINVAL);
	made_free(&zone);
}

/* At half of the entries nobody is left over; at three quarters one choice of a set, or two that
 * depend on each other, would leave one key in twenty. */
static void keys_spread_over_their_sets(void **state)
{
	struct rule rule = made_rule_of(ALGORITHM_TOKEN_BUCKET, 1);
	unsigned int left_over = 0;
	struct zone zone;

	(void)state;
	made_zone(&zone, 4096, &rule, 1);
	for (uint64_t number = 1; number <= 2048; number++)
		assert_int_equal(made_take(&zone, number, 1), ZONE_PASSED);
	for (uint64_t number = 2049; number <= 3072; number++)
		left_over += made_take(&zone, number, 1) != ZONE_PASSED;
	assert_true(left_over < 3072 / 100);
	made_free(&zone);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_algorithm_admits_its_limit_and_no_more),
		cmocka_unit_test(an_answer_says_how_the_slot_stands_after_the_charge),
		cmocka_unit_test(what_a_request_shows_is_kept_with_its_slot),
		cmocka_unit_test(a_key_of_full_sets_is_judged_by_their_overflow),
		cmocka_unit_test(an_overflow_answer_is_the_roomier_words),
		cmocka_unit_test(an_overflow_says_when_it_has_room),
		cmocka_unit_test(a_slot_is_taken_over_only_when_nothing_is_owed),
		cmocka_unit_test(what_is_known_of_a_key_is_kept_while_other_slots_were_never_used),
		cmocka_unit_test(being_pushed_out_is_no_amnesty),
		cmocka_unit_test(one_prefix_gets_its_share_and_others_still_find_place),
		cmocka_unit_test(a_prefix_whose_words_are_one_gets_its_whole_share),
		cmocka_unit_test(a_share_refills_in_the_time_a_slot_takes_to_be_free),
		cmocka_unit_test(a_cost_that_inserts_nothing),
		cmocka_unit_test(a_cost_of_zero_looks_only),
		cmocka_unit_test(a_key_without_key_bits_has_a_slot_too),
		cmocka_unit_test(who_loses_every_race_is_refused_and_counted),
		cmocka_unit_test(sizes_that_cannot_be_are_refused),
		cmocka_unit_test(keys_spread_over_their_sets),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
