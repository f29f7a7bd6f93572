/* SPDX-License-Identifier: MIT */
/* The sliding log's cells: how they end, are given back and change hands. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "limited.h"
#include "log_hooked.h"
#include "random.h"

#define SECOND    1000000000ULL
#define MINUTE    (60 * SECOND)
#define START     (1000 * SECOND)
#define OTHER_TAG 0x0123456789abce00ULL

static struct limited log_of(uint64_t limit)
{
	return limited_of(ALGORITHM_SLIDING_LOG, limit, (struct rate){limit, MINUTE});
}

static enum log_taken take_once(struct limited *limited, uint64_t cost, uint64_t now_ns,
				uint64_t *ret_cell)
{
	struct log_ring ring = limited_ring(limited);

	return log_take(&ring, &limited->rule, limited->slot.pair, cost, now_ns, TAKE_CHARGE,
			ret_cell);
}

static void give_back(struct limited *limited, uint64_t cell)
{
	struct log_ring ring = limited_ring(limited);

	log_give_back(&ring, limited->slot.pair, cell);
}

static uint64_t remaining(struct limited *limited, uint64_t now_ns)
{
	return limited_answer(limited, 1, now_ns).remaining;
}

static void each_charge_ends_by_itself_on_a_whole_microsecond(void **state)
{
	struct limited limited = log_of(3);

	(void)state;
	limited_take(&limited, 1, START + 1, TAKE_CHARGE);
	limited_take(&limited, 2, START + SECOND, TAKE_CHARGE);
	assert_int_equal(remaining(&limited, START + 1000 + MINUTE - 1), 0);
	assert_int_equal(remaining(&limited, START + 1000 + MINUTE), 1);
	assert_int_equal(remaining(&limited, START + SECOND + MINUTE - 1), 1);
	assert_int_equal(remaining(&limited, START + SECOND + MINUTE), 3);
}

static void what_is_given_back_can_be_taken_again(void **state)
{
	struct limited limited = log_of(10);
	uint64_t cell = 0;

	(void)state;
	limited_take(&limited, 3, START, TAKE_CHARGE);
	assert_int_equal(take_once(&limited, 7, START, &cell), LOG_ADMITTED);
	assert_int_equal(remaining(&limited, START), 0);
	give_back(&limited, cell);
	assert_int_equal(remaining(&limited, START), 7);
	give_back(&limited, cell);
	assert_int_equal(remaining(&limited, START), 7);
	assert_true(limited_take(&limited, 7, START, TAKE_CHARGE));
}

static void all_given_back_is_empty(void **state)
{
	struct limited limited = log_of(10);
	uint64_t cell = 0;

	(void)state;
	take_once(&limited, 7, START, &cell);
	assert_false(limited_is_full(&limited, START));
	give_back(&limited, cell);
	assert_true(limited_is_full(&limited, START));
	assert_int_equal(limited_answer(&limited, 10, START).retry_after_ns, 0);
}

static void a_look_has_nothing_to_give_back(void **state)
{
	struct limited limited = log_of(10);
	uint64_t look = 0, cell = 0;

	(void)state;
	limited_take(&limited, 1, START, TAKE_CHARGE);
	assert_int_equal(take_once(&limited, 0, START, &look), LOG_ADMITTED);
	assert_int_equal(take_once(&limited, 4, START, &cell), LOG_ADMITTED);
	give_back(&limited, look);
	assert_int_equal(remaining(&limited, START), 5);
}

/* Its place was taken a turn of the ring later. */
static void a_cell_that_was_written_anew_is_not_given_back(void **state)
{
	struct limited limited = log_of(LIMITED_CELLS / 2);
	uint64_t cell = 0;

	(void)state;
	take_once(&limited, 1, START, &cell);
	assert_int_equal(limited_drain(&limited, START + MINUTE), LIMITED_CELLS / 2);
	assert_int_equal(limited_drain(&limited, START + 2 * MINUTE), LIMITED_CELLS / 2);
	give_back(&limited, cell);
	assert_int_equal(remaining(&limited, START + 2 * MINUTE), 0);
}

static void take_and_give_back_often(struct limited *limited, unsigned int times, uint64_t now_ns)
{
	uint64_t cell = 0;

	while (times--) {
		assert_int_equal(take_once(limited, 1, now_ns, &cell), LOG_ADMITTED);
		give_back(limited, cell);
	}
}

static void cells_given_back_are_used_again_when_they_are_the_oldest(void **state)
{
	struct limited limited = log_of(LIMITED_CELLS);

	(void)state;
	take_and_give_back_often(&limited, 3 * LIMITED_CELLS, START);
	assert_int_equal(limited_drain(&limited, START), LIMITED_CELLS);
	assert_false(limited_take(&limited, 1, START, TAKE_CHARGE));
}

/* A charge that is still on keeps the ring from going round; the wait says so. */
static void without_a_free_cell_a_request_waits_for_the_oldest(void **state)
{
	struct limited limited = log_of(LIMITED_CELLS);
	struct answer answer;

	(void)state;
	limited_take(&limited, 1, START, TAKE_CHARGE);
	take_and_give_back_often(&limited, LIMITED_CELLS - 1, START + SECOND);
	assert_false(limited_take(&limited, 1, START + SECOND, TAKE_CHARGE));
	answer = limited_answer(&limited, 1, START + SECOND);
	assert_int_equal(answer.remaining, 0);
	assert_int_equal(answer.retry_after_ns, MINUTE - SECOND);
	assert_false(limited_would_take(&limited, 1, START + MINUTE - 1));
	assert_true(limited_would_take(&limited, 1, START + MINUTE));
}

static void a_ring_of_just_the_limit_is_enough(void **state)
{
	struct limited limited = log_of(LIMITED_CELLS);

	(void)state;
	for (uint64_t turn = 0; turn < 5; turn++) {
		uint64_t now_ns = START + turn * MINUTE;

		assert_int_equal(limited_drain(&limited, now_ns), LIMITED_CELLS);
		assert_int_equal(limited_drain(&limited, now_ns + MINUTE - 1), 0);
	}
}

static void a_slot_that_moved_is_to_be_read_again(void **state)
{
	struct limited limited = log_of(10);
	struct log_ring ring = limited_ring(&limited);
	struct slot_pair seen, stranger;
	uint64_t cell = 77;

	(void)state;
	limited_take(&limited, 1, START, TAKE_CHARGE);
	seen = stranger = limited.slot.pair;
	limited_take(&limited, 1, START, TAKE_CHARGE);
	stranger.tag = OTHER_TAG;
	assert_int_equal(log_take(&ring, &limited.rule, seen, 1, START, TAKE_CHARGE, &cell),
			 LOG_MOVED);
	assert_int_equal(log_take(&ring, &limited.rule, stranger, 1, START, TAKE_CHARGE, &cell),
			 LOG_MOVED);
	assert_int_equal(log_take(&ring, &limited.rule, seen, 11, START, TAKE_CHARGE, &cell),
			 LOG_MOVED);
	assert_int_equal(cell, 77);
	assert_int_equal(remaining(&limited, START), 8);
}

/* A few microseconds later, so that it begins right behind cells that would count. */
static void a_new_key_owes_nothing_for_the_one_before(void **state)
{
	struct limited limited = log_of(10);
	uint64_t now_ns = START + 5 * LOG_TICK_NS;

	(void)state;
	limited_drain(&limited, START);
	limited.slot.pair = (struct slot_pair){OTHER_TAG, 0};
	assert_true(limited_is_full(&limited, now_ns));
	assert_int_equal(limited_drain(&limited, now_ns), 10);
}

/* Its cells of old lie there still, under its own name. */
static void a_key_that_comes_back_to_its_slot_starts_at_once(void **state)
{
	struct limited limited = log_of(LIMITED_CELLS);
	uint64_t cell;

	(void)state;
	limited_drain(&limited, START);
	limited.slot.pair.state = 0;
	for (unsigned int i = 0; i < LIMITED_CELLS; i++)
		assert_int_equal(take_once(&limited, 1, START + MINUTE, &cell), LOG_ADMITTED);
	assert_int_equal(take_once(&limited, 1, START + MINUTE, &cell), LOG_REFUSED);
}

static void another_rule_of_the_same_key_sees_its_charges(void **state)
{
	struct limited limited = log_of(10);

	(void)state;
	limited_take(&limited, 6, START, TAKE_CHARGE);
	limited.slot.pair.tag |= 3;
	limited.rule = log_of(8).rule;
	assert_int_equal(remaining(&limited, START), 2);
	limited.rule = log_of(5).rule;
	assert_int_equal(remaining(&limited, START), 0);
	assert_int_equal(limited_answer(&limited, 1, START).retry_after_ns, MINUTE);
}

/* Else ten from before and the ten that the jump cost would fill a limit of twenty. */
static void what_a_jump_costs_is_the_limit_at_that_moment(void **state)
{
	struct limited limited = log_of(10);

	(void)state;
	limited_take(&limited, 10, START, TAKE_CHARGE);
	assert_false(limited_take(&limited, 1, START - SECOND, TAKE_CHARGE));
	limited.rule = log_of(20).rule;
	assert_int_equal(remaining(&limited, START - SECOND), 10);
}

/* What a clock of before the jump wrote never counts again, not even when it is that late. */
static void nothing_before_a_jump_counts_after_it(void **state)
{
	struct limited limited = log_of(10);
	uint64_t now_ns = START - 100 * SECOND;

	(void)state;
	limited_take(&limited, 10, START, TAKE_CHARGE);
	assert_false(limited_take(&limited, 1, now_ns, TAKE_CHARGE));
	assert_false(limited_take(&limited, 1, now_ns + MINUTE - 1, TAKE_CHARGE));
	assert_true(limited_take(&limited, 4, now_ns + MINUTE, TAKE_CHARGE));
	assert_int_equal(remaining(&limited, now_ns + MINUTE), 6);
}

static bool exchange_cells_only(struct slot_pair *at, struct slot_pair from, struct slot_pair to)
{
	return at->tag != LIMITED_TAG && slot_exchange(at, from, to);
}

/* One that writes its cell, and then dies. */
static void take_and_die(struct limited *limited, uint64_t cost)
{
	struct log_ring ring = limited_ring(limited);
	uint64_t cell;

	hooked_exchange = exchange_cells_only;
	hooked_log_take(&ring, &limited->rule, limited->slot.pair, cost, START, TAKE_CHARGE, &cell);
}

static void a_charge_of_one_that_died_is_moved_on_by_the_next(void **state)
{
	struct limited limited = log_of(10);
	struct slot_pair before;
	uint64_t cell;

	(void)state;
	limited_take(&limited, 1, START, TAKE_CHARGE);
	before = limited.slot.pair;
	take_and_die(&limited, 4);
	assert_true(limited.slot.pair.state == before.state);
	assert_int_equal(remaining(&limited, START), 5);
	assert_int_equal(take_once(&limited, 1, START, &cell), LOG_MOVED);
	assert_true(limited.slot.pair.state == before.state + 1);
	assert_int_equal(take_once(&limited, 5, START, &cell), LOG_ADMITTED);
	assert_int_equal(take_once(&limited, 1, START, &cell), LOG_REFUSED);
}

static void a_slot_whose_charger_died_is_not_empty(void **state)
{
	struct limited limited = log_of(10);

	(void)state;
	limited_take(&limited, 1, START - MINUTE, TAKE_CHARGE);
	assert_true(limited_is_full(&limited, START));
	take_and_die(&limited, 1);
	assert_false(limited_is_full(&limited, START));
	assert_true(limited_is_full(&limited, START + MINUTE));
}

static struct limited *given_away;

/* Between the look at the slot and the cell the slot becomes another key's. */
static bool exchange_too_late(struct slot_pair *at, struct slot_pair from, struct slot_pair to)
{
	given_away->slot.pair = (struct slot_pair){OTHER_TAG, 0};
	return slot_exchange(at, from, to);
}

static void a_charge_in_a_slot_that_was_given_away_is_none(void **state)
{
	struct limited limited = log_of(10);
	struct log_ring ring = limited_ring(&limited);
	uint64_t cell;

	(void)state;
	limited_take(&limited, 1, START - MINUTE, TAKE_CHARGE);
	given_away = &limited;
	hooked_exchange = exchange_too_late;
	assert_int_equal(hooked_log_take(&ring, &limited.rule, limited.slot.pair, 4, START,
					 TAKE_CHARGE, &cell),
			 LOG_MOVED);
	assert_int_equal(limited_drain(&limited, START), 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_charge_ends_by_itself_on_a_whole_microsecond),
		cmocka_unit_test(what_is_given_back_can_be_taken_again),
		cmocka_unit_test(all_given_back_is_empty),
		cmocka_unit_test(a_look_has_nothing_to_give_back),
		cmocka_unit_test(a_cell_that_was_written_anew_is_not_given_back),
		cmocka_unit_test(cells_given_back_are_used_again_when_they_are_the_oldest),
		cmocka_unit_test(without_a_free_cell_a_request_waits_for_the_oldest),
		cmocka_unit_test(a_ring_of_just_the_limit_is_enough),
		cmocka_unit_test(a_slot_that_moved_is_to_be_read_again),
		cmocka_unit_test(a_new_key_owes_nothing_for_the_one_before),
		cmocka_unit_test(a_key_that_comes_back_to_its_slot_starts_at_once),
		cmocka_unit_test(another_rule_of_the_same_key_sees_its_charges),
		cmocka_unit_test(what_a_jump_costs_is_the_limit_at_that_moment),
		cmocka_unit_test(nothing_before_a_jump_counts_after_it),
		cmocka_unit_test(a_charge_of_one_that_died_is_moved_on_by_the_next),
		cmocka_unit_test(a_slot_whose_charger_died_is_not_empty),
		cmocka_unit_test(a_charge_in_a_slot_that_was_given_away_is_none),
	};

	return cmocka_run_group_tests_name("log", tests, NULL, NULL);
}
