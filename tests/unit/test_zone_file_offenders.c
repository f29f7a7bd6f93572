/* SPDX-License-Identifier: MIT */
/* Bans in a zone's file: over a reload, over another size, and for who changes them from outside.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "http/zone_file.h"
#include "http/zone_offenders.h"
#include "zone_directory_made.h"

#define NS_PER_SEC 1000000000ULL
#define NOW_NS     (1000 * NS_PER_SEC)
#define MINUTE     (60 * NS_PER_SEC)
#define BAN_NS     (15 * MINUTE)
#define NOBODY     65534
#define KEYS       40

/* The first refusal bans. */
static const struct penalty penalty = {1, MINUTE, BAN_NS, 60 * MINUTE};

static uint64_t clock_now(void)
{
	return NOW_NS;
}

static struct zone_settings settings_of(uint64_t offenders)
{
	struct zone_settings settings = {
		.name = "login",
		.path = path,
		.identity = {.key_hash = 1, .algorithm = ALGORITHM_TOKEN_BUCKET},
		.entries = 256,
		.offenders = offenders,
	};
	struct rate rate = {1, NS_PER_SEC};

	assert_int_equal(rule_build(ALGORITHM_TOKEN_BUCKET, 5, &rate, &settings.main, NULL), 0);
	settings.overflow = settings.main;
	return settings;
}

static struct zone_file *opened(const struct zone_settings *settings, enum zone_past expected)
{
	struct failure why = {.reason = ""};
	struct zone_file *file = NULL;
	enum zone_past past = ZONE_NEW;
	uint64_t lost = 99;

	if (zone_file_prepare(settings, &file, &why) ||
	    zone_file_commit(file, NOW_NS, &past, &lost, &why))
		fail_msg("%s", why.reason);
	assert_int_equal(past, expected);
	assert_int_equal(lost, 0);
	return file;
}

static uint64_t hash_of(unsigned int key)
{
	return (key + 1) * 0x9e3779b97f4a7c15ULL;
}

/* Bans keys 0 to KEYS - 1. */
static void ban_all(struct zone_file *file)
{
	for (unsigned int i = 0; i < KEYS; i++) {
		struct zone_key key = {.hash = hash_of(i), .label = {.kind = LABEL_HASH}};
		uint64_t ban_ns;

		assert_int_equal(zone_offend(zone_file_zone(file), &penalty, &key, NOW_NS, &ban_ns),
				 OFFENCE_BANNED);
	}
}

static void assert_banned(struct zone_file *file, unsigned int from, uint64_t left_ns)
{
	for (unsigned int i = from; i < KEYS; i++)
		assert_int_equal(zone_ban_left_ns(zone_file_zone(file), hash_of(i), NOW_NS),
				 left_ns);
}

static void leave_bans(const struct zone_settings *settings)
{
	struct zone_file *file = opened(settings, ZONE_NEW);

	ban_all(file);
	zone_file_close(file);
}

static void assert_becomes(const struct zone_settings *settings, enum zone_past expected,
			   uint64_t left_ns)
{
	struct zone_file *file = opened(settings, expected);

	assert_banned(file, 0, left_ns);
	zone_file_close(file);
}

static void a_reload_keeps_the_bans(void **state)
{
	struct zone_settings settings = settings_of(4096);

	(void)state;
	leave_bans(&settings);
	assert_becomes(&settings, ZONE_KEPT, BAN_NS);
	settings.overflow.capacity++;
	assert_becomes(&settings, ZONE_KEPT, BAN_NS);
}

static void another_number_of_offenders_carries_the_bans_over(void **state)
{
	struct zone_settings settings = settings_of(4096);

	(void)state;
	leave_bans(&settings);
	settings.offenders = 8192;
	assert_becomes(&settings, ZONE_RESIZED, BAN_NS);
	settings.offenders = 1024;
	assert_becomes(&settings, ZONE_RESIZED, BAN_NS);
	settings.offenders = 1017;
	assert_becomes(&settings, ZONE_KEPT, BAN_NS);
}

static void another_number_of_entries_carries_the_bans_over(void **state)
{
	struct zone_settings settings = settings_of(4096);

	(void)state;
	leave_bans(&settings);
	settings.entries = 1024;
	assert_becomes(&settings, ZONE_RESIZED, BAN_NS);
}

static void bans_end_with_their_table_and_debts_stay(void **state)
{
	struct zone_settings with = settings_of(4096), without = settings_of(0);
	struct zone_charge charge = {.key = {.hash = hash_of(0)}, .cost = 5};
	struct zone_file *file = opened(&with, ZONE_NEW);

	(void)state;
	ban_all(file);
	charge.zone = zone_file_zone(file);
	assert_true(zone_take_all(&charge, 1, clock_now));
	zone_file_close(file);
	assert_becomes(&without, ZONE_RESIZED, 0);
	file = opened(&with, ZONE_RESIZED);
	assert_banned(file, 0, 0);
	charge.zone = zone_file_zone(file);
	assert_false(zone_take_all(&charge, 1, clock_now));
	ban_all(file);
	assert_banned(file, 0, BAN_NS);
	zone_file_close(file);
}

static void keys_without_a_place_among_fewer_offenders_are_told(void **state)
{
	struct zone_settings settings = settings_of(4096);
	struct zone_file *file = NULL;
	enum zone_past past;
	uint64_t lost = 0;

	(void)state;
	leave_bans(&settings);
	settings.offenders = ZONE_OFFENDER_WAYS;
	assert_int_equal(zone_file_prepare(&settings, &file, NULL), 0);
	assert_int_equal(zone_file_commit(file, NOW_NS, &past, &lost, NULL), 0);
	assert_int_equal(past, ZONE_RESIZED);
	assert_int_equal(lost, KEYS - ZONE_OFFENDER_WAYS);
	zone_file_close(file);
}

static void sharers_have_equally_many_offenders(void **state)
{
	struct zone_settings settings = settings_of(64), other = settings_of(128);
	struct zone_file *file, *refused = NULL;
	struct failure why = {.reason = ""};

	(void)state;
	settings.shared = other.shared = true;
	file = opened(&settings, ZONE_NEW);
	assert_int_equal(zone_file_prepare(&other, &refused, &why), -EEXIST);
	assert_non_null(strstr(why.reason, "number of offenders"));
	zone_file_close(file);
}

static void more_offenders_than_a_file_can_hold_are_refused(void **state)
{
	struct zone_settings settings = settings_of(ZONE_OFFENDERS_MAX + 1);
	struct failure why = {.reason = ""};
	struct zone_file *file = NULL;

	(void)state;
	assert_int_equal(zone_file_prepare(&settings, &file, &why), -ERANGE);
	assert_non_null(strstr(why.reason, "offenders"));
}

static void header_write(size_t offset, const void *bytes, size_t size)
{
	int fd = open(path, O_WRONLY);

	assert_true(fd >= 0);
	assert_int_equal(pwrite(fd, bytes, size, (off_t)offset), size);
	close(fd);
}

static void a_file_whose_offenders_do_not_fit_its_size_is_no_zone(void **state)
{
	static const uint64_t wrong[] = {
		0, 1, 63, 65, 4096, 1ULL << 60, UINT64_MAX, ZONE_OFFENDERS_MAX + 8, UINT64_MAX - 7};
	struct zone_settings settings = settings_of(64);

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct zone_file *file = NULL;

		zone_file_close(opened(&settings, i ? ZONE_SET_ASIDE : ZONE_NEW));
		header_write(offsetof(struct zone_header, offenders), &wrong[i], sizeof(wrong[i]));
		assert_int_equal(zone_file_open_readonly(path, &file, NULL), -EPROTO);
		assert_int_equal(zone_file_open_writable(path, &file, NULL), -EPROTO);
	}
}

static void a_file_of_the_layout_before_starts_empty(void **state)
{
	struct zone_settings settings = settings_of(64);
	const uint32_t layout = 1;

	(void)state;
	zone_file_close(opened(&settings, ZONE_NEW));
	header_write(offsetof(struct zone_header, layout), &layout, sizeof(layout));
	zone_file_close(opened(&settings, ZONE_OTHER_KEY));
}

static struct zone_file *writable(void)
{
	struct failure why = {.reason = ""};
	struct zone_file *file = NULL;

	if (zone_file_open_writable(path, &file, &why))
		fail_msg("%s", why.reason);
	return file;
}

static void a_reader_finds_the_bans(void **state)
{
	struct zone_settings settings = settings_of(64);
	struct zone_offender offender;
	struct zone_file *file = NULL;

	(void)state;
	leave_bans(&settings);
	assert_int_equal(zone_file_open_readonly(path, &file, NULL), 0);
	assert_true(zone_offender_find(zone_file_zone(file), hash_of(7), NOW_NS, &offender));
	assert_int_equal(offender.ban_left_ns, BAN_NS);
	assert_int_equal(offender.bans, 1);
	zone_file_close(file);
}

static void a_ban_lifted_from_outside_is_lifted_where_the_zone_is_in_use(void **state)
{
	struct zone_settings settings = settings_of(4096);
	struct zone_file *file = opened(&settings, ZONE_NEW), *outside = writable();

	(void)state;
	ban_all(file);
	assert_true(zone_ban_lift(zone_file_zone(outside), hash_of(0)));
	assert_false(zone_ban_lift(zone_file_zone(outside), hash_of(KEYS)));
	assert_int_equal(zone_ban_left_ns(zone_file_zone(file), hash_of(0), NOW_NS), 0);
	assert_banned(file, 1, BAN_NS);
	zone_file_close(outside);
	assert_banned(file, 1, BAN_NS);
	zone_file_close(file);
}

static void a_slot_changed_from_outside_is_changed_where_the_zone_is_in_use(void **state)
{
	struct zone_settings settings = settings_of(0);
	struct zone_file *file = opened(&settings, ZONE_NEW), *outside;
	struct zone_charge charge = {
		.zone = zone_file_zone(file), .key = {.hash = hash_of(0)}, .cost = 5};
	struct slot_pair pair;
	struct zone_slot *slot;

	(void)state;
	assert_true(zone_take_all(&charge, 1, clock_now));
	assert_false(zone_take_all(&charge, 1, clock_now));
	outside = writable();
	slot = (struct zone_slot *)zone_find(zone_file_zone(outside), hash_of(0), &pair);
	assert_non_null(slot);
	assert_true(slot_exchange(&slot->pair, pair, (struct slot_pair){pair.tag, 0}));
	assert_true(zone_take_all(&charge, 1, clock_now));
	zone_file_close(outside);
	zone_file_close(file);
}

static void a_header_changes_neither_from_outside_nor_for_who_is_there(void **state)
{
	struct zone_settings settings = settings_of(64);
	struct zone_file *file = opened(&settings, ZONE_NEW), *outside = writable();
	struct zone_header *inner = zone_file_zone(file)->header;
	struct zone_header *outer = zone_file_zone(outside)->header;

	(void)state;
	inner->offenders = inner->sets = UINT64_MAX;
	assert_int_equal(outer->offenders, 64);
	assert_int_equal(outer->sets, 256 / ZONE_WAYS);
	/* Another page of it. */
	inner->rules[ZONE_RULES_MAX - 1].capacity = 99;
	assert_int_equal(outer->rules[ZONE_RULES_MAX - 1].capacity, 0);
	zone_count(zone_file_zone(outside), ZONE_COUNT_PASSED);
	assert_int_equal(inner->counts[ZONE_COUNT_PASSED], 0);
	zone_file_close(outside);
	zone_file_close(file);
}

static void who_may_not_read_a_file_may_not_change_it(void **state)
{
	struct zone_settings settings = settings_of(64);
	struct zone_file *file = NULL;

	(void)state;
	assert_int_equal(zone_file_open_writable(path, &file, NULL), -ENOENT);
	leave_bans(&settings);
	assert_int_equal(chmod(path, 0644), 0);
	assert_int_equal(zone_file_open_writable(path, &file, NULL), -EPERM);
	assert_int_equal(chmod(path, 0600), 0);
	assert_int_equal(chown(path, NOBODY, NOBODY), 0);
	assert_int_equal(zone_file_open_writable(path, &file, NULL), -EPERM);
	assert_int_equal(chown(directory, NOBODY, NOBODY), 0);
	zone_file_close(writable());
}

static void a_link_is_not_followed_to_be_changed(void **state)
{
	struct zone_settings settings = settings_of(64);
	struct zone_file *file = NULL;
	char elsewhere[200];

	(void)state;
	leave_bans(&settings);
	snprintf(elsewhere, sizeof(elsewhere), "%s/elsewhere", root);
	assert_int_equal(rename(path, elsewhere), 0);
	assert_int_equal(symlink(elsewhere, path), 0);
	assert_int_equal(zone_file_open_writable(path, &file, NULL), -ELOOP);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, directory_make, directory_remove)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_reload_keeps_the_bans),
		TEST(another_number_of_offenders_carries_the_bans_over),
		TEST(another_number_of_entries_carries_the_bans_over),
		TEST(bans_end_with_their_table_and_debts_stay),
		TEST(keys_without_a_place_among_fewer_offenders_are_told),
		TEST(sharers_have_equally_many_offenders),
		TEST(more_offenders_than_a_file_can_hold_are_refused),
		TEST(a_file_whose_offenders_do_not_fit_its_size_is_no_zone),
		TEST(a_file_of_the_layout_before_starts_empty),
		TEST(a_reader_finds_the_bans),
		TEST(a_ban_lifted_from_outside_is_lifted_where_the_zone_is_in_use),
		TEST(a_slot_changed_from_outside_is_changed_where_the_zone_is_in_use),
		TEST(a_header_changes_neither_from_outside_nor_for_who_is_there),
		TEST(who_may_not_read_a_file_may_not_change_it),
		TEST(a_link_is_not_followed_to_be_changed),
	};

	return cmocka_run_group_tests_name("zone_file_offenders", tests, NULL, NULL);
}
