/* SPDX-License-Identifier: MIT */
/* Limits that change under a key's state, and the numbers they have in a zone. */
#include "zone_made.h"

#include "http/zone_words.h"

static struct rule per_hour(uint64_t capacity)
{
	return made_rule(ALGORITHM_TOKEN_BUCKET, capacity, 1, 3600 * NS_PER_SEC);
}

static uint64_t remaining_under(struct zone *zone, uint64_t number, const struct rule *rule,
				uint64_t cost)
{
	struct zone_charge charge = made_charge(zone, number, cost);
	struct answer answer;
	int found = zone_rule_find(zone, rule);

	assert_true(found >= 0);
	charge.rule = (unsigned int)found;
	zone_take_all(&charge, 1, made_clock);
	zone_answer(&charge, &answer);
	assert_int_equal(answer.limit, rule->capacity);
	return answer.remaining;
}

static void a_raised_capacity_keeps_the_debt_and_a_lowered_one_clamps_it(void **state)
{
	struct rule main = per_hour(10), raised = per_hour(100), lowered = per_hour(5);
	struct zone zone;

	(void)state;
	made_zone(&zone, 64, &main, 1);
	assert_int_equal(remaining_under(&zone, 1, &main, 7), 3);
	assert_int_equal(remaining_under(&zone, 1, &raised, 1), 92);
	assert_int_equal(remaining_under(&zone, 1, &lowered, 1), 0);
	assert_int_equal(remaining_under(&zone, 1, &main, 1), 4);
	made_free(&zone);
}

/* A request that is refused, or refused by another zone, is the only one that comes: the debt must
 * be paid at the new rate all the same. */
static void a_refusal_moves_the_debt_to_the_rule_in_force(void **state)
{
	struct rule slow = per_hour(10),
		    fast = made_rule(ALGORITHM_TOKEN_BUCKET, 10, 1, NS_PER_SEC);
	struct zone zone;

	(void)state;
	made_zone(&zone, 64, &slow, 1);
	assert_int_equal(remaining_under(&zone, 1, &slow, 10), 0);
	assert_int_equal(remaining_under(&zone, 1, &fast, 2), 0);
	made_now_ns += 3 * NS_PER_SEC + 10;
	assert_int_equal(remaining_under(&zone, 1, &fast, 0), 3);
	made_free(&zone);
}

static void a_look_moves_the_debt_to_the_rule_in_force(void **state)
{
	struct rule slow = per_hour(10),
		    fast = made_rule(ALGORITHM_TOKEN_BUCKET, 10, 1, NS_PER_SEC);
	struct zone zone, other;
	struct zone_charge charges[2];

	(void)state;
	made_zone(&zone, 64, &slow, 1);
	made_zone(&other, 64, &slow, 1);
	made_take(&zone, 1, 10);
	made_take(&other, 1, 10);
	charges[0] = made_charge(&zone, 1, 1);
	charges[0].rule = (unsigned int)zone_rule_find(&zone, &fast);
	charges[1] = made_charge(&other, 1, 1);
	assert_false(zone_take_all(charges, 2, made_clock));
	made_now_ns += NS_PER_SEC + 10;
	assert_false(zone_take_all(charges, 2, made_clock));
	assert_int_equal(charges[0].status, ZONE_PASSED);
	assert_int_equal(charges[1].status, ZONE_REFUSED);
	made_free(&zone);
	made_free(&other);
}

static void a_log_keeps_its_charges_under_another_limit(void **state)
{
	struct rule main = made_rule(ALGORITHM_SLIDING_LOG, 10, 10, 60 * NS_PER_SEC);
	struct rule lowered = made_rule(ALGORITHM_SLIDING_LOG, 4, 4, 60 * NS_PER_SEC);
	struct zone zone;

	(void)state;
	made_zone(&zone, 64, &main, 1);
	for (unsigned int i = 0; i < 3; i++)
		remaining_under(&zone, 1, &main, 1);
	assert_int_equal(remaining_under(&zone, 1, &lowered, 1), 0);
	assert_int_equal(remaining_under(&zone, 1, &lowered, 1), 0);
	assert_int_equal(remaining_under(&zone, 1, &main, 1), 5);
	made_free(&zone);
}

static void a_rule_has_one_number_in_every_process(void **state)
{
	struct rule main = per_hour(10), other = per_hour(11), third = per_hour(12);
	struct zone zone, view;

	(void)state;
	made_zone(&zone, 64, &main, 1);
	made_view(&view, &zone);
	assert_int_equal(zone.main_rule, 0);
	assert_int_equal(zone_rule_find(&zone, &main), 0);
	assert_int_equal(zone_rule_find(&zone, &other), 1);
	assert_int_equal(zone_rule_find(&view, &third), 2);
	assert_int_equal(zone_rule_find(&view, &other), 1);
	assert_int_equal(zone_rule_find(&zone, &third), 2);
	assert_int_equal(zone_rule_find(&zone, &other), 1);
	made_free(&zone);
}

/* As a view that was attached before reads it. */
static void a_rule_that_another_process_added_is_read_when_met(void **state)
{
	struct rule main = per_hour(10), other = per_hour(100);
	struct zone zone, view;
	struct slot_pair pair;
	struct answer answer;
	const struct zone_slot *slot;

	(void)state;
	made_zone(&zone, 64, &main, 1);
	made_view(&view, &zone);
	remaining_under(&zone, 1, &other, 30);
	slot = zone_find(&view, made_hash(1), &pair);
	zone_slot_answer(&view, slot, pair, 1, made_now_ns, &answer);
	assert_int_equal(answer.limit, 100);
	assert_int_equal(answer.remaining, 70);
	made_free(&zone);
}

static void a_changed_main_rule_gets_a_number_of_its_own(void **state)
{
	struct rule main = per_hour(10), changed = per_hour(20);
	struct zone zone, view;

	(void)state;
	made_zone(&zone, 64, &main, 1);
	made_take(&zone, 1, 10);
	zone.header->main = made_kept(&changed);
	made_view(&view, &zone);
	assert_int_equal(view.main_rule, 1);
	assert_int_equal(made_take_all(&view, 1, 20), 10);
	assert_int_equal(made_take_all(&view, 2, 30), 20);
	made_free(&zone);
}

/* As a commit does that changes the rules of the words too. */
static void change_overflow(struct zone *after, struct zone *zone, uint64_t capacity)
{
	struct rule changed = made_rule(ALGORITHM_TOKEN_BUCKET, capacity, 1, NS_PER_SEC);

	zone->header->words_epoch++;
	zone->header->overflow = made_kept(&changed);
	made_view(after, zone);
}

/* All slots in debt, and nothing left in overflow. */
static void drain(struct zone *zone)
{
	for (uint64_t i = 1; i <= 1000; i++)
		made_take(zone, i, 1);
	assert_int_equal(made_take(zone, 1001, 1), ZONE_OVERFLOW_REFUSED);
}

static unsigned int passed_by_overflow(struct zone *zone, uint64_t first, unsigned int keys)
{
	unsigned int passed = 0;

	while (keys--)
		passed += made_take(zone, first++, 1) == ZONE_OVERFLOW_PASSED;
	return passed;
}

static void overflow_whose_rule_changed_refuses_workers_of_before(void **state)
{
	struct rule main = per_hour(1);
	struct zone zone, after;
	uint64_t words[16];

	(void)state;
	made_zone(&zone, 64, &main, 10);
	drain(&zone);
	change_overflow(&after, &zone, 1000);
	memcpy(words, zone.overflow, sizeof(words));
	assert_int_equal(passed_by_overflow(&zone, 2000, 20), 0);
	assert_memory_equal(words, zone.overflow, sizeof(words));
	memset(zone.overflow, 0, sizeof(words));
	assert_int_equal(passed_by_overflow(&zone, 2000, 20), 0);
	assert_int_equal(passed_by_overflow(&after, 2000, 20), 20);
	memcpy(words, zone.overflow, sizeof(words));
	assert_int_equal(passed_by_overflow(&zone, 3000, 20), 0);
	assert_memory_equal(words, zone.overflow, sizeof(words));
	made_free(&zone);
}

/* It is told to come back when a token is there, not at a moment of other units. */
static void a_worker_of_before_tells_an_empty_overflow(void **state)
{
	struct rule main = per_hour(1);
	struct zone zone, after;
	struct zone_charge charge;
	struct answer answer;

	(void)state;
	made_zone(&zone, 64, &main, 10);
	drain(&zone);
	change_overflow(&after, &zone, 1000);
	charge = made_charge(&zone, 2000, 1);
	assert_false(zone_take_all(&charge, 1, made_clock));
	zone_answer(&charge, &answer);
	assert_int_equal(answer.remaining, 0);
	assert_in_range(answer.retry_after_ns, 10 * NS_PER_SEC, 10 * NS_PER_SEC + 10);
	made_free(&zone);
}

static void a_word_of_another_epoch_is_empty_and_refilled_from_now_on(void **state)
{
	struct rule main = per_hour(1);
	struct zone zone, after;

	(void)state;
	made_zone(&zone, 64, &main, 10);
	drain(&zone);
	change_overflow(&after, &zone, 5);
	/* Moments that are long past in the units of now. */
	for (uint64_t i = 0; i < zone.sets; i++)
		zone.overflow[i] = 4;
	assert_int_equal(passed_by_overflow(&after, 2000, 200), 0);
	made_now_ns += NS_PER_SEC + 10;
	assert_in_range(passed_by_overflow(&after, 2000, 200), 1, 16);
	made_free(&zone);
}

/* Four changes later the low bits are the same again. */
static void a_worker_of_four_changes_before_is_refused_too(void **state)
{
	struct rule main = per_hour(1);
	struct zone zone, after;

	(void)state;
	made_zone(&zone, 64, &main, 10);
	drain(&zone);
	memset(zone.overflow, 0, zone.sets * sizeof(uint64_t));
	for (unsigned int i = 0; i < 4; i++)
		change_overflow(&after, &zone, 1000);
	assert_int_equal(passed_by_overflow(&zone, 2000, 20), 0);
	assert_int_equal(passed_by_overflow(&after, 2000, 20), 20);
	made_free(&zone);
}

static void a_share_whose_rule_changed_is_neither_read_nor_charged_by_workers_of_before(
	void **state)
{
	struct rule main = per_hour(1);
	const uint64_t origin = 0x500000007;
	struct zone zone, after;
	uint64_t word;

	(void)state;
	made_zone(&zone, 64, &main, 10);
	assert_true(zone_share_take(&zone, origin, made_clock));
	word = zone.shares[7];
	change_overflow(&after, &zone, 5);
	assert_true(zone_share_take(&zone, origin, made_clock));
	assert_true(zone_share_look(&zone, origin, made_clock));
	assert_true(zone_share_take(&zone, 0x900000009, made_clock));
	assert_int_equal(zone.shares[7], word);
	assert_int_equal(zone.shares[9], 0);
	assert_true(zone_share_take(&after, 0x900000009, made_clock));
	made_free(&zone);
}

/* Who only looks finds it full in time. */
static void a_look_at_a_word_of_another_epoch_begins_its_refill(void **state)
{
	struct rule main = per_hour(1);
	const uint64_t origin = 0x500000007;
	struct zone zone, after;

	(void)state;
	made_zone(&zone, 64, &main, 10);
	assert_true(zone_share_take(&zone, origin, made_clock));
	zone.shares[7] = zone.shares[5] |= 1ULL << 62;
	change_overflow(&after, &zone, 5);
	assert_false(zone_share_look(&after, origin, made_clock));
	made_now_ns += 3600 * NS_PER_SEC;
	assert_true(zone_share_look(&after, origin, made_clock));
	made_free(&zone);
}

static void raise_capacity(struct zone *after, struct zone *zone, uint64_t capacity)
{
	struct rule raised = per_hour(capacity);

	zone->header->main = made_kept(&raised);
	made_view(after, zone);
}

static void a_refusal_by_a_worker_of_before_a_raised_capacity_forgives_nothing(void **state)
{
	struct rule main = per_hour(10);
	struct zone zone, after;
	struct zone_charge charge;

	(void)state;
	made_zone(&zone, 64, &main, 1);
	made_take(&zone, 1, 1);
	raise_capacity(&after, &zone, 100);
	assert_int_equal(made_take_all(&after, 1, 200), 99);
	assert_int_equal(made_take(&zone, 1, 1), ZONE_REFUSED);
	assert_int_equal(made_take_all(&after, 1, 200), 0);
	charge = made_charge(&zone, 1, 1);
	charge.mode = TAKE_CHARGE_REFUSED;
	assert_false(zone_take_all(&charge, 1, made_clock));
	assert_int_equal(made_take_all(&after, 1, 200), 0);
	made_free(&zone);
}

static void a_look_by_a_worker_of_before_a_raised_capacity_forgives_nothing(void **state)
{
	struct rule main = per_hour(10);
	struct zone zone, other, after;
	struct zone_charge charges[2];

	(void)state;
	made_zone(&zone, 64, &main, 1);
	made_zone(&other, 64, &main, 1);
	raise_capacity(&after, &zone, 100);
	assert_int_equal(made_take_all(&after, 1, 200), 100);
	charges[0] = made_charge(&zone, 1, 1);
	charges[1] = made_charge(&other, 1, 1);
	assert_false(zone_take_all(charges, 2, made_clock));
	assert_int_equal(charges[0].status, ZONE_REFUSED);
	assert_int_equal(made_take_all(&after, 1, 200), 0);
	made_free(&zone);
	made_free(&other);
}

static void a_full_list_of_rules_says_so(void **state)
{
	struct rule main = per_hour(10), rule;
	struct zone zone, view;

	(void)state;
	made_zone(&zone, 64, &main, 1);
	/* Somebody died while he wrote this one. */
	zone.header->rules[7].ready = 1;
	for (uint64_t i = 1; i < ZONE_RULES_MAX - 1; i++) {
		rule = per_hour(100 + i);
		assert_int_equal(zone_rule_find(&zone, &rule), i < 7 ? i : i + 1);
	}
	rule = per_hour(1000);
	assert_int_equal(zone_rule_find(&zone, &rule), -ENOSPC);
	rule = per_hour(101);
	assert_int_equal(zone_rule_find(&zone, &rule), 1);
	rule = per_hour(1001);
	zone.header->main = made_kept(&rule);
	assert_int_equal(zone_attach(&view, zone.header, NULL), -ENOSPC);
	made_free(&zone);
}

static void a_tag_whose_rule_cannot_be_read_counts_as_the_first(void **state)
{
	struct rule main = per_hour(10);
	struct zone zone, view;
	struct slot_pair pair;
	struct zone_slot *slot;

	(void)state;
	made_zone(&zone, 64, &main, 1);
	made_take(&zone, 1, 4);
	slot = (struct zone_slot *)zone_find(&zone, made_hash(1), &pair);
	slot->pair.tag |= 200;
	zone.header->rules[200] = (struct zone_rule){.capacity = 0, .ready = RULE_READABLE};
	made_view(&view, &zone);
	assert_int_equal(made_take_all(&view, 1, 10), 6);
	made_free(&zone);
}

static void limits_that_cannot_be_are_refused(void **state)
{
	struct rule main = per_hour(10);
	struct zone zone;

	(void)state;
	made_zone(&zone, 64, &main, 1);
	zone.header->overflow.rate_period_ns = 0;
	assert_int_equal(zone_attach(&zone, zone.header, NULL), -EINVAL);
	zone.header->overflow = made_kept(&main);
	zone.header->identity.algorithm = ALGORITHM_MAX;
	assert_int_equal(zone_attach(&zone, zone.header, NULL), -EINVAL);
	zone.header->identity.algorithm = ALGORITHM_SLIDING_LOG;
	assert_int_equal(zone_attach(&zone, zone.header, NULL), -EINVAL);
	zone.header->identity.algorithm = ALGORITHM_TOKEN_BUCKET;
	zone.header->main.capacity = 0;
	assert_int_equal(zone_attach(&zone, zone.header, NULL), -EINVAL);
	made_free(&zone);
}

/* The share's rate is derived from it, for the smallest and the largest zones that can be. */
static void every_rule_has_a_share(void **state)
{
	static const struct {
		uint64_t capacity, count, period_ns;
	} rules[] = {
		{1, 1, 1000},
		{1, 1, 365 * 86400 * NS_PER_SEC},
		{4, 1, 365 * 86400 * NS_PER_SEC},
		{1000000, 1000000, NS_PER_SEC},
		{144115188075855ULL, 1, 1000},
	};
	static const uint64_t entries[] = {4, 8, 64, 1 << 20};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rules) * ARRAY_SIZE(entries); i++) {
		size_t at = i / ARRAY_SIZE(entries);
		uint64_t wanted = entries[i % ARRAY_SIZE(entries)];
		struct rule rule = made_rule(ALGORITHM_TOKEN_BUCKET, rules[at].capacity,
					     rules[at].count, rules[at].period_ns);
		struct zone zone;

		made_zone(&zone, wanted, &rule, 1);
		assert_int_equal(zone.share_rule.capacity, wanted < 8 ? 1 : wanted / 8);
		made_free(&zone);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_raised_capacity_keeps_the_debt_and_a_lowered_one_clamps_it),
		cmocka_unit_test(a_refusal_moves_the_debt_to_the_rule_in_force),
		cmocka_unit_test(a_look_moves_the_debt_to_the_rule_in_force),
		cmocka_unit_test(a_log_keeps_its_charges_under_another_limit),
		cmocka_unit_test(a_rule_has_one_number_in_every_process),
		cmocka_unit_test(a_rule_that_another_process_added_is_read_when_met),
		cmocka_unit_test(a_changed_main_rule_gets_a_number_of_its_own),
		cmocka_unit_test(overflow_whose_rule_changed_refuses_workers_of_before),
		cmocka_unit_test(a_worker_of_before_tells_an_empty_overflow),
		cmocka_unit_test(a_word_of_another_epoch_is_empty_and_refilled_from_now_on),
		cmocka_unit_test(a_worker_of_four_changes_before_is_refused_too),
		cmocka_unit_test(
			a_share_whose_rule_changed_is_neither_read_nor_charged_by_workers_of_before),
		cmocka_unit_test(a_look_at_a_word_of_another_epoch_begins_its_refill),
		cmocka_unit_test(
			a_refusal_by_a_worker_of_before_a_raised_capacity_forgives_nothing),
		cmocka_unit_test(a_look_by_a_worker_of_before_a_raised_capacity_forgives_nothing),
		cmocka_unit_test(a_full_list_of_rules_says_so),
		cmocka_unit_test(a_tag_whose_rule_cannot_be_read_counts_as_the_first),
		cmocka_unit_test(limits_that_cannot_be_are_refused),
		cmocka_unit_test(every_rule_has_a_share),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
