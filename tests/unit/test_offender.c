/* SPDX-License-Identifier: MIT */
/* Who is banned, how long, and when that is forgotten. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "http/offender.h"

#define MS     1000000ULL
#define SEC    (1000 * MS)
#define MINUTE (60 * SEC)
#define HOUR   (60 * MINUTE)
#define DAY    (24 * HOUR)
#define YEAR   (366 * DAY)

#define MOMENT_MAX_MS ((1ULL << 38) - 1)
#define START         (1000 * SEC)

static const struct penalty ten = {10, MINUTE, 15 * MINUTE, 24 * HOUR};

static bool refuse(const struct penalty *penalty, uint64_t *state, uint64_t now_ns)
{
	struct offence offence = offender_refused(penalty, *state, now_ns);

	*state = offence.state;
	return offence.is_ban;
}

/* So many refusals at once; whether the last made a ban, and none before it. */
static bool refuse_times(const struct penalty *penalty, uint64_t *state, unsigned int times,
			 uint64_t now_ns)
{
	for (unsigned int i = 1; i < times; i++)
		assert_false(refuse(penalty, state, now_ns));
	return refuse(penalty, state, now_ns);
}

/* Bans the key and returns how long. */
static uint64_t ban(const struct penalty *penalty, uint64_t *state, uint64_t now_ns)
{
	assert_true(refuse_times(penalty, state, penalty->refusals, now_ns));
	return offender_ban_left_ns(*state, now_ns);
}

static void the_tenth_refusal_bans_and_the_ninth_does_not(void **unused)
{
	uint64_t state = 0;

	(void)unused;
	assert_false(refuse_times(&ten, &state, 9, START));
	assert_int_equal(offender_ban_left_ns(state, START), 0);
	assert_int_equal(offender_refusals(state), 9);
	assert_true(refuse(&ten, &state, START));
	assert_int_equal(offender_ban_left_ns(state, START), 15 * MINUTE);
	assert_int_equal(offender_level(state), 1);
}

static void the_first_refusal_bans_where_one_is_enough(void **unused)
{
	static const struct penalty one = {1, SEC, SEC, SEC};
	uint64_t state = 0;

	(void)unused;
	assert_true(refuse(&one, &state, 0));
	assert_int_equal(offender_ban_left_ns(state, 0), SEC);
}

static void a_thousand_refusals_are_counted(void **unused)
{
	static const struct penalty most = {1000, MINUTE, MINUTE, HOUR};
	uint64_t state = 0;

	(void)unused;
	assert_true(refuse_times(&most, &state, 1000, START));
}

static void ten_within_the_time_ban_and_ten_in_a_little_more_do_not(void **unused)
{
	uint64_t within = 0, beyond = 0;

	(void)unused;
	assert_false(refuse(&ten, &within, START));
	assert_false(refuse_times(&ten, &within, 8, START + MINUTE - MS));
	assert_true(refuse(&ten, &within, START + MINUTE - 1));
	assert_false(refuse(&ten, &beyond, START));
	assert_false(refuse_times(&ten, &beyond, 9, START + MINUTE));
}

static void a_ban_ends_to_the_nanosecond_when_it_should(void **unused)
{
	uint64_t state = 0;

	(void)unused;
	ban(&ten, &state, START);
	assert_int_equal(offender_ban_left_ns(state, START + 15 * MINUTE - 1), 1);
	assert_int_equal(offender_ban_left_ns(state, START + 15 * MINUTE), 0);
	state = 0;
	assert_int_equal(ban(&ten, &state, START + 1), 15 * MINUTE + MS - 1);
}

static void a_refusal_decided_before_the_ban_changes_nothing(void **unused)
{
	uint64_t state = 0, banned;

	(void)unused;
	ban(&ten, &state, START);
	banned = state;
	assert_false(refuse_times(&ten, &state, 50, START + 15 * MINUTE - 1));
	assert_int_equal(state, banned);
}

static void after_a_ban_counting_begins_anew(void **unused)
{
	uint64_t state = 0, end = START + 15 * MINUTE;

	(void)unused;
	ban(&ten, &state, START);
	assert_false(refuse_times(&ten, &state, 9, end));
	assert_true(refuse(&ten, &state, end));
}

static void bans_double_up_to_the_longest(void **unused)
{
	static const uint64_t minutes[] = {15, 30, 60, 120, 240, 480, 960, 1440, 1440};
	uint64_t state = 0, now = START;

	(void)unused;
	for (size_t i = 0; i < 60; i++) {
		uint64_t longest = minutes[i < 8 ? i : 8] * MINUTE;

		assert_int_equal(ban(&ten, &state, now), longest);
		assert_int_equal(offender_level(state), i < 7 ? i + 1 : 7);
		now += longest;
	}
}

static void is_ban_says_how_long(void **unused)
{
	static const struct penalty one = {1, SEC, 2 * SEC, 3 * SEC};
	struct offence first = offender_refused(&one, 0, START + 1);
	struct offence second = offender_refused(&one, first.state, START + HOUR / 1000);

	(void)unused;
	assert_true(first.is_ban);
	assert_int_equal(first.ban_ns, 2 * SEC);
	assert_true(second.is_ban);
	assert_int_equal(second.ban_ns, 3 * SEC);
}

/* What the next ban would be, if it were made so long after the start. */
static uint64_t next_ban(uint64_t state, uint64_t after_ns)
{
	return ban(&ten, &state, START + after_ns);
}

static void a_level_is_forgotten_in_the_time_of_its_ban(void **unused)
{
	uint64_t state = 0, end = 15 * MINUTE;

	(void)unused;
	ban(&ten, &state, START);
	assert_int_equal(next_ban(state, end), 30 * MINUTE);
	assert_int_equal(next_ban(state, end + 30 * MINUTE - MS), 30 * MINUTE);
	assert_int_equal(next_ban(state, end + 30 * MINUTE), 15 * MINUTE);
}

/* Three bans, the last from 45 minutes on for an hour: then two hours, one, and a half. */
static void levels_are_forgotten_one_after_the_other(void **unused)
{
	uint64_t state = 0, end = 105 * MINUTE;

	(void)unused;
	ban(&ten, &state, START);
	ban(&ten, &state, START + 15 * MINUTE);
	assert_int_equal(ban(&ten, &state, START + 45 * MINUTE), HOUR);
	assert_int_equal(next_ban(state, end + 2 * HOUR - MS), 2 * HOUR);
	assert_int_equal(next_ban(state, end + 2 * HOUR), HOUR);
	assert_int_equal(next_ban(state, end + 3 * HOUR - MS), HOUR);
	assert_int_equal(next_ban(state, end + 3 * HOUR), 30 * MINUTE);
	assert_int_equal(next_ban(state, end + 3 * HOUR + 30 * MINUTE - MS), 30 * MINUTE);
	assert_int_equal(next_ban(state, end + 3 * HOUR + 30 * MINUTE), 15 * MINUTE);
}

/* However many there were: a day for the level of a day, then those below. */
static void the_longest_bans_are_forgotten_as_one(void **unused)
{
	uint64_t state = 0, now = START;

	(void)unused;
	for (int bans = 0; bans < 60; bans++)
		now += ban(&ten, &state, now);
	assert_int_equal(next_ban(state, now - START + DAY - MS), DAY);
	assert_int_equal(next_ban(state, now - START + DAY), 16 * HOUR);
}

static void a_refusal_keeps_a_level_from_being_forgotten(void **unused)
{
	uint64_t state = 0, end = START + 15 * MINUTE;

	(void)unused;
	ban(&ten, &state, START);
	assert_false(refuse(&ten, &state, end + 29 * MINUTE));
	assert_int_equal(next_ban(state, 15 * MINUTE + 58 * MINUTE), 30 * MINUTE);
	/* From the end of the half minute that the refusal was counted in. */
	assert_int_equal(next_ban(state, 74 * MINUTE + 30 * SEC - MS), 30 * MINUTE);
	assert_int_equal(next_ban(state, 74 * MINUTE + 30 * SEC), 15 * MINUTE);
}

static void nothing_is_lost_only_with_what_is_forgotten(void **unused)
{
	uint64_t state = 0, end = START + 15 * MINUTE;

	(void)unused;
	assert_true(offender_is_free(&ten, 0, START));
	assert_false(refuse(&ten, &state, START));
	assert_false(offender_is_free(&ten, state, START));
	assert_false(offender_is_free(&ten, state, START + MINUTE - 1));
	assert_true(offender_is_free(&ten, state, START + MINUTE));
	state = 0;
	ban(&ten, &state, START);
	assert_int_equal(offender_weight(&ten, state, START), OFFENDER_KEPT);
	assert_int_equal(offender_weight(&ten, state, end), OFFENDER_KEPT);
	assert_int_equal(offender_weight(&ten, state, end + 30 * MINUTE - 1), OFFENDER_KEPT);
	assert_true(offender_is_free(&ten, state, end + 30 * MINUTE));
}

static void fewer_refusals_weigh_less_and_of_equal_ones_the_older(void **unused)
{
	uint64_t two = 0, three = 0, later = 0;

	(void)unused;
	refuse_times(&ten, &three, 3, START);
	refuse_times(&ten, &two, 2, START + 10 * SEC);
	refuse_times(&ten, &later, 2, START + 20 * SEC);
	assert_true(offender_weight(&ten, two, START + 20 * SEC) <
		    offender_weight(&ten, three, START + 20 * SEC));
	assert_true(offender_weight(&ten, two, START + 20 * SEC) <
		    offender_weight(&ten, later, START + 20 * SEC));
	assert_true(offender_weight(&ten, three, START + 20 * SEC) < OFFENDER_KEPT);
}

/* The end of a ban is a moment, which no clock moves: behind by some it has as much more left. */
static void a_clock_that_goes_back_does_not_move_the_end_of_a_ban(void **unused)
{
	uint64_t state = 0;

	(void)unused;
	ban(&ten, &state, START);
	assert_false(refuse(&ten, &state, START - HOUR / 10));
	assert_int_equal(offender_ban_left_ns(state, START - SEC), 15 * MINUTE + SEC);
	assert_int_equal(offender_ban_left_ns(state, START), 15 * MINUTE);
}

/* It is made by the clock of its last refusal, and ends as much earlier as that one is behind. */
static void a_clock_that_is_behind_counts_in_the_same_window(void **unused)
{
	uint64_t state = 0;

	(void)unused;
	assert_false(refuse_times(&ten, &state, 9, START));
	assert_true(refuse(&ten, &state, START - 3 * SEC));
	assert_int_equal(offender_ban_left_ns(state, START), 15 * MINUTE - 3 * SEC);
}

static void a_shorter_list_of_refusals_bans_who_is_beyond_it(void **unused)
{
	static const struct penalty three = {3, MINUTE, HOUR, HOUR};
	uint64_t state = 0;

	(void)unused;
	refuse_times(&ten, &state, 7, START);
	assert_true(refuse(&three, &state, START));
	assert_int_equal(offender_ban_left_ns(state, START), HOUR);
}

static void counts_stop_at_their_largest(void **unused)
{
	static const struct penalty most = {1000, DAY, SEC, SEC};
	uint64_t state = 0, now = MOMENT_MAX_MS * MS;

	/* Where the moments end no ban is made, so nothing else stops the count. */
	(void)unused;
	for (int i = 0; i < 3000; i++)
		assert_false(refuse(&most, &state, now));
	assert_int_equal(offender_refusals(state), 1023);
	assert_int_equal(offender_level(state), 0);
}

static void where_the_moments_end_no_ban_is_made(void **unused)
{
	uint64_t state = 0, last = MOMENT_MAX_MS * MS;

	(void)unused;
	assert_int_equal(ban(&ten, &state, last - MS), MS);
	assert_int_equal(offender_ban_left_ns(state, last), 0);
	assert_false(refuse_times(&ten, &state, 20, last));
	assert_false(refuse_times(&ten, &state, 20, UINT64_MAX));
	assert_int_equal(offender_ban_left_ns(UINT64_MAX, UINT64_MAX), 0);
}

static void a_longest_ban_of_a_year_is_kept(void **unused)
{
	static const struct penalty year = {1, SEC, YEAR, YEAR};
	uint64_t state = 0;

	(void)unused;
	assert_int_equal(ban(&year, &state, 7 * YEAR), YEAR);
}

static uint64_t seed = 0x9e3779b97f4a7c15ULL;

/* xorshift, Marsaglia 2003. */
static uint64_t draw(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed;
}

/* What really happened. */
struct history {
	uint64_t at[512];
	size_t count;
};

static size_t refusals_since(const struct history *history, uint64_t now_ns, uint64_t span_ns)
{
	size_t count = 0;

	for (size_t i = 0; i < history->count; i++)
		count += now_ns - history->at[i] < span_ns;
	return count;
}

/* From the first refusal after a silence of the whole time; moments are kept in milliseconds. */
static size_t refusals_since_silence(const struct history *history, uint64_t within_ns)
{
	size_t first = history->count - 1;

	while (first && history->at[first] - history->at[first - 1] < within_ns)
		first--;
	if (history->at[history->count - 1] - history->at[first] >= within_ns - MS)
		return 0;
	return history->count - first;
}

/* Refusals at random intervals, in bursts and alone, until a ban. */
static void run_until_banned(const struct penalty *penalty)
{
	uint64_t state = 0, now = DAY + draw() % DAY;
	struct history history = {.count = 0};
	uint64_t spread = penalty->within_ns * 4 / penalty->refusals;

	while (history.count < sizeof(history.at) / sizeof(history.at[0])) {
		bool is_ban = refuse(penalty, &state, now);
		size_t refusals;

		history.at[history.count++] = now;
		refusals = refusals_since(&history, now, penalty->within_ns);
		if (is_ban)
			assert_true(refusals >= penalty->refusals);
		if (is_ban)
			return;
		assert_true(refusals < 2 * penalty->refusals);
		assert_true(refusals_since(&history, now, penalty->within_ns / 2) <
			    penalty->refusals);
		assert_true(refusals_since_silence(&history, penalty->within_ns) <
			    penalty->refusals);
		now += draw() % 8 ? draw() % (spread / 3) : draw() % penalty->within_ns;
	}
}

static void a_ban_is_never_early_and_late_by_no_more_than_stated(void **unused)
{
	(void)unused;
	for (int i = 0; i < 20000; i++) {
		struct penalty penalty = {
			.refusals = (uint32_t)(1 + draw() % 20),
			.within_ns = 2 * (SEC / 2 + draw() % 60000 * MS),
			.ban_ns = SEC,
			.max_ns = HOUR,
		};

		run_until_banned(&penalty);
	}
}

/* Bits that no penalty made, as a damaged file has. */
static void any_state_at_any_moment_is_safe(void **unused)
{
	(void)unused;
	for (int i = 0; i < 200000; i++) {
		uint64_t state = draw(), now = draw() >> draw() % 40;
		struct offence offence = offender_refused(&ten, state, now);
		uint64_t left = offender_ban_left_ns(offence.state, now);

		assert_true(offender_level(offence.state) <= 31);
		assert_true(offender_refusals(offence.state) <= 2046);
		if (offence.is_ban) {
			assert_in_range(left, 1, offence.ban_ns + MS - 1);
			assert_in_range(offence.ban_ns, ten.ban_ns, ten.max_ns);
		} else if (!left && now < MOMENT_MAX_MS * MS) {
			assert_false(offender_is_free(&ten, offence.state, now));
		}
	}
}

static void assert_penalty(struct penalty penalty, const char *word)
{
	struct failure why = {.reason = ""};

	assert_int_equal(penalty_check(&penalty, &why), word ? -ERANGE : 0);
	if (word && strncmp(why.reason, word, strlen(word)) != 0)
		fail_msg("'%s' does not begin with '%s'", why.reason, word);
}

static void a_penalty_is_checked_to_its_edges(void **unused)
{
	(void)unused;
	assert_penalty((struct penalty){1, SEC, SEC, SEC}, NULL);
	assert_penalty((struct penalty){1000, DAY, YEAR, YEAR}, NULL);
	assert_penalty((struct penalty){0, SEC, SEC, SEC}, "refusals");
	assert_penalty((struct penalty){1001, SEC, SEC, SEC}, "refusals");
	assert_penalty((struct penalty){1, SEC - 1, SEC, SEC}, "within");
	assert_penalty((struct penalty){1, DAY + 1, SEC, SEC}, "within");
	assert_penalty((struct penalty){1, SEC, SEC - 1, SEC}, "ban");
	assert_penalty((struct penalty){1, SEC, 2 * SEC, 2 * SEC - 1}, "max");
	assert_penalty((struct penalty){1, SEC, SEC, YEAR + 1}, "max");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_tenth_refusal_bans_and_the_ninth_does_not),
		cmocka_unit_test(the_first_refusal_bans_where_one_is_enough),
		cmocka_unit_test(a_thousand_refusals_are_counted),
		cmocka_unit_test(ten_within_the_time_ban_and_ten_in_a_little_more_do_not),
		cmocka_unit_test(a_ban_ends_to_the_nanosecond_when_it_should),
		cmocka_unit_test(a_refusal_decided_before_the_ban_changes_nothing),
		cmocka_unit_test(after_a_ban_counting_begins_anew),
		cmocka_unit_test(bans_double_up_to_the_longest),
		cmocka_unit_test(is_ban_says_how_long),
		cmocka_unit_test(a_level_is_forgotten_in_the_time_of_its_ban),
		cmocka_unit_test(levels_are_forgotten_one_after_the_other),
		cmocka_unit_test(the_longest_bans_are_forgotten_as_one),
		cmocka_unit_test(a_refusal_keeps_a_level_from_being_forgotten),
		cmocka_unit_test(nothing_is_lost_only_with_what_is_forgotten),
		cmocka_unit_test(fewer_refusals_weigh_less_and_of_equal_ones_the_older),
		cmocka_unit_test(a_clock_that_goes_back_does_not_move_the_end_of_a_ban),
		cmocka_unit_test(a_clock_that_is_behind_counts_in_the_same_window),
		cmocka_unit_test(a_shorter_list_of_refusals_bans_who_is_beyond_it),
		cmocka_unit_test(counts_stop_at_their_largest),
		cmocka_unit_test(where_the_moments_end_no_ban_is_made),
		cmocka_unit_test(a_longest_ban_of_a_year_is_kept),
		cmocka_unit_test(a_ban_is_never_early_and_late_by_no_more_than_stated),
		cmocka_unit_test(any_state_at_any_moment_is_safe),
		cmocka_unit_test(a_penalty_is_checked_to_its_edges),
	};

	return cmocka_run_group_tests_name("offender", tests, NULL, NULL);
}
