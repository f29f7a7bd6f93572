/* SPDX-License-Identifier: MIT */
/* Zone files: what is kept, what is replaced, what is refused, and that nothing else is touched. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "http/zone_mapping.h"
#include "zone_directory_made.h"

#define NOW_NS  (1000 * 1000000000ULL)
#define DAY_NS  (86400 * 1000000000ULL)
#define ENTRIES 256
#define NOBODY  65534
#define KEYS    40

static char aside[192];

static uint64_t clock_now(void)
{
	return NOW_NS;
}

static int start(void **state)
{
	if (directory_make(state))
		return -1;
	snprintf(aside, sizeof(aside), "%s.aside", path);
	return 0;
}

static struct rule rule_of(enum algorithm algorithm, uint64_t capacity, uint64_t count,
			   uint64_t period_ns)
{
	struct rate rate = {count, period_ns};
	struct rule rule;

	assert_int_equal(rule_build(algorithm, capacity, &rate, &rule, NULL), 0);
	return rule;
}

static struct rule bucket_of(uint64_t capacity)
{
	return rule_of(ALGORITHM_TOKEN_BUCKET, capacity, 1, 1000000000);
}

static struct zone_settings settings_of(void)
{
	return (struct zone_settings){
		.name = "login",
		.path = path,
		.identity = {.key_hash = 1, .algorithm = ALGORITHM_TOKEN_BUCKET},
		.entries = ENTRIES,
		.main = bucket_of(5),
		.overflow = bucket_of(5),
	};
}

static struct zone_file *prepared(const struct zone_settings *settings)
{
	struct failure why = {.reason = ""};
	struct zone_file *file = NULL;

	if (zone_file_prepare(settings, &file, &why))
		fail_msg("%s", why.reason);
	return file;
}

static enum zone_past committed(struct zone_file *file)
{
	struct failure why = {.reason = ""};
	enum zone_past past = ZONE_NEW;
	uint64_t lost = 99;

	if (zone_file_commit(file, NOW_NS, &past, &lost, &why))
		fail_msg("%s", why.reason);
	assert_int_equal(lost, 0);
	return past;
}

/* Opens and puts in place; *ret_past says what became of what was there. */
static struct zone_file *opened(const struct zone_settings *settings, enum zone_past *ret_past)
{
	struct zone_file *file = prepared(settings);

	*ret_past = committed(file);
	return file;
}

static void assert_refused(const struct zone_settings *settings, int err, const char *word)
{
	struct zone_file *file = NULL;
	struct failure why = {.reason = ""};

	assert_int_equal(zone_file_prepare(settings, &file, &why), err);
	assert_null(file);
	if (!strstr(why.reason, word))
		fail_msg("'%s' lacks '%s'", why.reason, word);
}

/* Hashes whose every part differs. */
static uint64_t hash_of(unsigned int key)
{
	return (key + 1) * 0x9e3779b97f4a7c15ULL;
}

static bool take(struct zone_file *file, unsigned int key, uint64_t cost)
{
	struct zone *zone = zone_file_zone(file);
	struct zone_charge charge = {
		.zone = zone, .key = {.hash = hash_of(key)}, .rule = zone->main_rule, .cost = cost};

	return zone_take_all(&charge, 1, clock_now);
}

/* What a cost of zero is told, under the rule of now. */
static uint64_t left(struct zone_file *file, unsigned int key)
{
	struct zone *zone = zone_file_zone(file);
	struct zone_charge charge = {
		.zone = zone, .key = {.hash = hash_of(key)}, .rule = zone->main_rule};
	struct answer answer;

	zone_take_all(&charge, 1, clock_now);
	zone_answer(&charge, &answer);
	return answer.remaining;
}

static ino_t inode_of(const char *name)
{
	struct stat status;

	return lstat(name, &status) ? 0 : status.st_ino;
}

static unsigned int names_in_directory(void)
{
	DIR *stream = opendir(directory);
	unsigned int count = 0;

	assert_non_null(stream);
	while (readdir(stream))
		count++;
	closedir(stream);
	return count - 2; /* . and .. */
}

/* A file with debts: keys 0 to KEYS - 1 have taken three. Closed again. */
static void leave_debts(const struct zone_settings *settings)
{
	enum zone_past past;
	struct zone_file *file = opened(settings, &past);

	for (unsigned int i = 0; i < KEYS; i++)
		assert_true(take(file, i, 3));
	zone_file_close(file);
}

static void assert_all_left(struct zone_file *file, uint64_t expected)
{
	for (unsigned int i = 0; i < KEYS; i++)
		assert_int_equal(left(file, i), expected);
}

static void assert_becomes(const struct zone_settings *settings, enum zone_past expected,
			   uint64_t expected_left)
{
	enum zone_past past;
	struct zone_file *file = opened(settings, &past);

	assert_int_equal(past, expected);
	assert_all_left(file, expected_left);
	zone_file_close(file);
}

static void overwrite(const char *name, off_t offset, const void *bytes, size_t size)
{
	int fd = open(name, O_WRONLY);

	assert_true(fd >= 0);
	assert_int_equal(pwrite(fd, bytes, size, offset), size);
	close(fd);
}

static void write_file(const char *name, const char *text)
{
	int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
}

static void assert_holds(const char *name, const char *text)
{
	char read_text[64] = {0};
	FILE *stream = fopen(name, "r");

	assert_non_null(stream);
	assert_non_null(fgets(read_text, sizeof(read_text), stream));
	fclose(stream);
	assert_string_equal(read_text, text);
}

static void a_new_file_is_in_place_after_the_commit_and_not_before(void **state)
{
	struct zone_settings settings = settings_of();
	struct zone_file *file = prepared(&settings);
	struct stat status;

	(void)state;
	assert_int_equal(inode_of(path), 0);
	assert_int_equal(names_in_directory(), 1);
	assert_int_equal(committed(file), ZONE_NEW);
	assert_int_equal(names_in_directory(), 1);
	assert_int_equal(lstat(path, &status), 0);
	assert_int_equal(status.st_mode, S_IFREG | 0600);
	assert_int_equal(status.st_size, zone_size(ENTRIES, 0, 0));
	assert_true((uint64_t)status.st_blocks * 512 >= zone_size(ENTRIES, 0, 0));
	zone_file_close(file);
	assert_int_equal(names_in_directory(), 1);
}

static void what_is_not_committed_leaves_nothing(void **state)
{
	struct zone_settings settings = settings_of();

	(void)state;
	zone_file_close(prepared(&settings));
	assert_int_equal(names_in_directory(), 0);
}

static void what_is_not_committed_leaves_the_file_before_as_it_was(void **state)
{
	struct zone_settings settings = settings_of(), other = settings;
	ino_t before;

	(void)state;
	leave_debts(&settings);
	before = inode_of(path);
	other.entries = 2 * ENTRIES;
	zone_file_close(prepared(&other));
	other = settings;
	other.main = bucket_of(10);
	zone_file_close(prepared(&other));
	other.identity.key_hash = 2;
	zone_file_close(prepared(&other));
	assert_int_equal(inode_of(path), before);
	assert_int_equal(names_in_directory(), 1);
	assert_becomes(&settings, ZONE_KEPT, 2);
}

static void what_a_dead_process_prepared_is_removed_by_the_next(void **state)
{
	struct zone_settings settings = settings_of();
	struct zone_file *living = prepared(&settings), *file;
	pid_t dying = fork();
	int status;

	(void)state;
	if (!dying) {
		prepared(&settings);
		_exit(0);
	}
	assert_int_equal(waitpid(dying, &status, 0), dying);
	assert_int_equal(names_in_directory(), 2);
	file = prepared(&settings);
	assert_int_equal(names_in_directory(), 2);
	assert_int_equal(committed(living), ZONE_NEW);
	zone_file_close(living);
	zone_file_close(file);
	assert_int_equal(names_in_directory(), 1);
}

static void a_file_that_fits_is_kept(void **state)
{
	struct zone_settings settings = settings_of();
	ino_t before;

	(void)state;
	leave_debts(&settings);
	before = inode_of(path);
	assert_becomes(&settings, ZONE_KEPT, 2);
	assert_int_equal(inode_of(path), before);
}

static void two_who_map_the_file_see_each_other(void **state)
{
	struct zone_settings settings = settings_of();
	enum zone_past past;
	struct zone_file *one = opened(&settings, &past), *other = opened(&settings, &past);

	(void)state;
	assert_true(take(one, 0, 2));
	assert_true(take(other, 0, 2));
	assert_int_equal(left(one, 0), 1);
	zone_file_close(one);
	assert_int_equal(left(other, 0), 1);
	zone_file_close(other);
}

static void more_entries_carry_debts_over(void **state)
{
	struct zone_settings settings = settings_of();
	ino_t before;

	(void)state;
	leave_debts(&settings);
	before = inode_of(path);
	settings.entries = 16 * ENTRIES;
	assert_becomes(&settings, ZONE_RESIZED, 2);
	assert_int_not_equal(inode_of(path), before);
	assert_int_equal(names_in_directory(), 1);
	assert_becomes(&settings, ZONE_KEPT, 2);
}

static void fewer_entries_carry_debts_over(void **state)
{
	struct zone_settings settings = settings_of();

	(void)state;
	settings.entries = 16 * ENTRIES;
	leave_debts(&settings);
	settings.entries = ENTRIES;
	assert_becomes(&settings, ZONE_RESIZED, 2);
}

static void a_changed_limit_keeps_the_file_and_the_debts(void **state)
{
	struct zone_settings settings = settings_of();
	ino_t before;

	(void)state;
	leave_debts(&settings);
	before = inode_of(path);
	settings.main = bucket_of(10);
	assert_becomes(&settings, ZONE_KEPT, 7);
	settings.main = bucket_of(2);
	assert_becomes(&settings, ZONE_KEPT, 0);
	assert_int_equal(inode_of(path), before);
}

static void a_changed_limit_is_not_that_of_workers_before(void **state)
{
	struct zone_settings settings = settings_of();
	enum zone_past past;
	struct zone_file *before = opened(&settings, &past), *after;

	(void)state;
	assert_true(take(before, 0, 3));
	settings.main = bucket_of(10);
	after = opened(&settings, &past);
	assert_int_equal(left(after, 0), 7);
	assert_int_equal(left(before, 0), 2);
	assert_false(take(before, 0, 3));
	assert_true(take(after, 0, 3));
	assert_int_equal(left(after, 0), 4);
	zone_file_close(before);
	zone_file_close(after);
}

static void a_changed_limit_is_what_readers_are_told(void **state)
{
	struct zone_settings settings = settings_of();
	struct zone_file *reader = NULL;

	(void)state;
	leave_debts(&settings);
	settings.main = bucket_of(10);
	settings.overflow = bucket_of(20);
	assert_becomes(&settings, ZONE_KEPT, 7);
	assert_int_equal(zone_file_open_readonly(path, &reader, NULL), 0);
	assert_int_equal(zone_file_zone(reader)->main.capacity, 10);
	assert_int_equal(zone_file_zone(reader)->overflow_rule.capacity, 20);
	zone_file_close(reader);
}

/* The overflow buckets owe tokens, not time: five owed at one a day would else last for days. */
static void a_changed_overflow_rate_keeps_what_overflow_owes(void **state)
{
	struct zone_settings settings = settings_of();
	struct rule slow = rule_of(ALGORITHM_TOKEN_BUCKET, 5, 1, DAY_NS);
	struct zone_file *file;
	enum zone_past past;
	struct answer answer;
	uint64_t word;

	(void)state;
	settings.overflow = slow;
	file = opened(&settings, &past);
	word = rule_take(&slow, 0, 4, NOW_NS, TAKE_CHARGE).state;
	zone_file_zone(file)->overflow[7] = word;
	zone_file_close(file);
	settings.overflow = bucket_of(5);
	file = opened(&settings, &past);
	assert_int_equal(past, ZONE_KEPT);
	assert_int_equal(zone_file_zone(file)->overflow[6], 0);
	rule_answer(&zone_file_zone(file)->overflow_rule, zone_file_zone(file)->overflow[7], 1,
		    NOW_NS, &answer);
	assert_int_equal(answer.remaining, 1);
	assert_in_range(answer.reset_after_ns, 3999000000ULL, 4001000000ULL);
	zone_file_close(file);
}

/* A prefix's share comes back in the time a slot takes to be full again: with the limit of five a
 * day that was days. */
static void a_changed_limit_keeps_what_prefixes_have_of_their_share(void **state)
{
	struct zone_settings settings = settings_of();
	struct zone_file *file;
	enum zone_past past;
	struct answer answer;
	struct rule share;

	(void)state;
	settings.main = rule_of(ALGORITHM_TOKEN_BUCKET, 5, 5, DAY_NS);
	file = opened(&settings, &past);
	share = zone_file_zone(file)->share_rule;
	zone_file_zone(file)->shares[7] = rule_take(&share, 0, 4, NOW_NS, TAKE_CHARGE).state;
	zone_file_close(file);
	settings.main = bucket_of(5);
	file = opened(&settings, &past);
	share = zone_file_zone(file)->share_rule;
	rule_answer(&share, zone_file_zone(file)->shares[7], 1, NOW_NS, &answer);
	assert_int_equal(answer.limit - answer.remaining, 4);
	assert_true(answer.reset_after_ns < DAY_NS / 1000);
	zone_file_close(file);
}

static void a_list_full_of_limits_is_left_for_a_new_file(void **state)
{
	struct zone_settings settings = settings_of();
	enum zone_past past;
	struct zone_file *file;

	(void)state;
	leave_debts(&settings);
	file = opened(&settings, &past);
	for (uint64_t i = 0; i < ZONE_RULES_MAX - 1; i++) {
		struct rule rule = bucket_of(1000 + i);

		assert_true(zone_rule_find(zone_file_zone(file), &rule) > 0);
	}
	zone_file_close(file);
	assert_becomes(&settings, ZONE_KEPT, 2);
	settings.main = bucket_of(10);
	assert_becomes(&settings, ZONE_RESIZED, 7);
	assert_becomes(&settings, ZONE_KEPT, 7);
}

/* Slots are placed by it. */
static void the_secret_lives_as_long_as_the_debts(void **state)
{
	struct zone_settings settings = settings_of();
	uint8_t first[16], none[16] = {0};
	enum zone_past past;
	struct zone_file *file = opened(&settings, &past);

	(void)state;
	memcpy(first, zone_file_zone(file)->header->secret, sizeof(first));
	assert_memory_not_equal(first, none, sizeof(first));
	zone_file_close(file);
	settings.entries = 2 * ENTRIES;
	file = opened(&settings, &past);
	assert_memory_equal(zone_file_zone(file)->header->secret, first, sizeof(first));
	zone_file_close(file);
	settings.identity.key_hash = 2;
	file = opened(&settings, &past);
	assert_memory_not_equal(zone_file_zone(file)->header->secret, first, sizeof(first));
	zone_file_close(file);
}

static void another_key_starts_empty(void **state)
{
	struct zone_settings settings = settings_of();

	(void)state;
	leave_debts(&settings);
	settings.identity.key_hash = 2;
	assert_becomes(&settings, ZONE_OTHER_KEY, 5);
	settings.identity.is_address = 1;
	settings.identity.ipv6_prefix = 64;
	assert_becomes(&settings, ZONE_OTHER_KEY, 5);
	settings.identity.ipv6_prefix = 56;
	assert_becomes(&settings, ZONE_OTHER_KEY, 5);
	assert_int_equal(names_in_directory(), 1);
}

static void another_algorithm_starts_empty(void **state)
{
	struct zone_settings settings = settings_of();

	(void)state;
	leave_debts(&settings);
	settings.identity.algorithm = ALGORITHM_SLIDING_LOG;
	settings.main = rule_of(ALGORITHM_SLIDING_LOG, 5, 5, 60 * 1000000000ULL);
	settings.cells_per_slot = 5;
	assert_becomes(&settings, ZONE_OTHER_KEY, 5);
	assert_becomes(&settings, ZONE_KEPT, 5);
}

static void a_log_with_more_cells_carries_debts_over(void **state)
{
	struct zone_settings settings = settings_of();

	(void)state;
	settings.identity.algorithm = ALGORITHM_SLIDING_LOG;
	settings.main = rule_of(ALGORITHM_SLIDING_LOG, 5, 5, 60 * 1000000000ULL);
	settings.cells_per_slot = 5;
	leave_debts(&settings);
	settings.main = rule_of(ALGORITHM_SLIDING_LOG, 9, 9, 60 * 1000000000ULL);
	settings.cells_per_slot = 9;
	assert_becomes(&settings, ZONE_RESIZED, 6);
}

static void another_boot_starts_empty(void **state)
{
	struct zone_settings settings = settings_of();
	struct zone_file *reader = NULL;
	struct failure why;

	(void)state;
	leave_debts(&settings);
	overwrite(path, offsetof(struct zone_header, identity.boot_id), "another boot", 12);
	assert_int_equal(zone_file_open_readonly(path, &reader, &why), -ESTALE);
	assert_becomes(&settings, ZONE_OTHER_BOOT, 5);
	assert_int_equal(names_in_directory(), 1);
}

static void another_layout_starts_empty(void **state)
{
	struct zone_settings settings = settings_of();
	uint32_t layout = ZONE_LAYOUT + 1;

	(void)state;
	leave_debts(&settings);
	overwrite(path, offsetof(struct zone_header, layout), &layout, sizeof(layout));
	assert_becomes(&settings, ZONE_OTHER_KEY, 5);
}

static void a_truncated_file_is_set_aside(void **state)
{
	const off_t sizes[] = {0, 10, sizeof(struct zone_header),
			       (off_t)zone_size(ENTRIES, 0, 0) - 1};
	struct zone_settings settings = settings_of();
	ino_t before;

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		leave_debts(&settings);
		before = inode_of(path);
		assert_int_equal(truncate(path, sizes[i]), 0);
		assert_becomes(&settings, ZONE_SET_ASIDE, 5);
		assert_int_equal(inode_of(aside), before);
		assert_int_equal(names_in_directory(), 2);
		assert_int_equal(unlink(path), 0);
	}
}

static void a_foreign_file_is_set_aside_unchanged(void **state)
{
	struct zone_settings settings = settings_of();

	(void)state;
	write_file(path, "somebody's notes");
	assert_becomes(&settings, ZONE_SET_ASIDE, 5);
	assert_holds(aside, "somebody's notes");
}

static void a_zone_under_another_zones_name_is_set_aside(void **state)
{
	struct zone_settings settings = settings_of();

	(void)state;
	leave_debts(&settings);
	settings.name = "other";
	assert_becomes(&settings, ZONE_SET_ASIDE, 5);
}

static void a_damaged_header_is_set_aside(void **state)
{
	const size_t offsets[] = {offsetof(struct zone_header, magic),
				  offsetof(struct zone_header, file_size),
				  offsetof(struct zone_header, sets),
				  offsetof(struct zone_header, cells_per_slot),
				  offsetof(struct zone_header, identity.algorithm),
				  offsetof(struct zone_header, main.rate_period_ns),
				  offsetof(struct zone_header, overflow.capacity),
				  offsetof(struct zone_header, rules[0].capacity)};
	struct zone_settings settings = settings_of();
	struct zone_file *reader = NULL;
	uint64_t junk = UINT64_MAX;

	(void)state;
	for (size_t i = 0; i < sizeof(offsets) / sizeof(offsets[0]); i++) {
		leave_debts(&settings);
		overwrite(path, (off_t)offsets[i], &junk, sizeof(junk));
		assert_int_equal(zone_file_open_readonly(path, &reader, NULL), -EPROTO);
		assert_becomes(&settings, ZONE_SET_ASIDE, 5);
		assert_int_equal(unlink(path), 0);
	}
}

static void a_symbolic_link_is_refused(void **state)
{
	struct zone_settings settings = settings_of();
	struct zone_file *reader = NULL;
	char target[160];

	(void)state;
	snprintf(target, sizeof(target), "%s/target", root);
	write_file(target, "precious");
	assert_int_equal(symlink(target, path), 0);
	assert_refused(&settings, -ELOOP, "symbolic link");
	assert_int_equal(zone_file_open_readonly(path, &reader, NULL), -ELOOP);
	assert_holds(target, "precious");
	assert_int_equal(names_in_directory(), 1);
}

static void a_hard_link_is_refused(void **state)
{
	struct zone_settings settings = settings_of();
	char other[160];

	(void)state;
	leave_debts(&settings);
	snprintf(other, sizeof(other), "%s/other", root);
	assert_int_equal(link(path, other), 0);
	assert_refused(&settings, -EPERM, "hard links");
	assert_int_equal(unlink(other), 0);
	assert_becomes(&settings, ZONE_KEPT, 2);
}

static void a_file_open_to_others_is_refused(void **state)
{
	const mode_t modes[] = {0604, 0602, 0640, 0620};
	struct zone_settings settings = settings_of();

	(void)state;
	leave_debts(&settings);
	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		assert_int_equal(chmod(path, modes[i]), 0);
		assert_refused(&settings, -EPERM, "open to other users");
	}
}

static void what_is_no_file_is_refused(void **state)
{
	struct zone_settings settings = settings_of();

	(void)state;
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_refused(&settings, -EPERM, "no regular file");
	assert_int_equal(unlink(path), 0);
	assert_int_equal(mkdir(path, 0700), 0);
	assert_refused(&settings, -EISDIR, "cannot open");
	assert_int_equal(names_in_directory(), 1);
}

static void a_file_of_another_user_is_refused(void **state)
{
	struct zone_settings settings = settings_of();

	(void)state;
	if (geteuid())
		skip();
	leave_debts(&settings);
	assert_int_equal(chown(path, NOBODY, NOBODY), 0);
	assert_refused(&settings, -EPERM, "another user");
}

static void a_directory_is_made_0755_whatever_the_umask(void **state)
{
	char deep[160];
	struct stat status;
	mode_t mask = umask(077);

	(void)state;
	snprintf(deep, sizeof(deep), "%s//a/./b/", root);
	assert_int_equal(zone_directory_make(deep, NULL), 0);
	umask(mask);
	assert_int_equal(stat(deep, &status), 0);
	assert_int_equal(status.st_mode, S_IFDIR | 0755);
	assert_int_equal(zone_directory_make(deep, NULL), 0);
}

static void a_directory_that_others_may_write_is_refused(void **state)
{
	struct zone_settings settings = settings_of();
	struct failure why;
	char above[128];

	(void)state;
	snprintf(above, sizeof(above), "%s/http", root);
	assert_int_equal(chmod(directory, 0775), 0);
	assert_int_equal(zone_directory_make(directory, &why), -EPERM);
	assert_non_null(strstr(why.reason, "written by others"));
	assert_refused(&settings, -EPERM, "written by others");
	assert_int_equal(chmod(directory, 0755), 0);
	assert_int_equal(chmod(above, 01777), 0);
	assert_refused(&settings, -EPERM, "written by others");
	assert_int_equal(chmod(above, 0755), 0);
	assert_int_equal(chmod(root, 0777), 0);
	assert_refused(&settings, -EPERM, "written by others");
	assert_int_equal(chmod(root, 01777), 0);
	zone_file_close(prepared(&settings));
}

static void a_directory_of_another_user_is_refused(void **state)
{
	struct zone_settings settings = settings_of();

	(void)state;
	if (geteuid())
		skip();
	assert_int_equal(chown(directory, NOBODY, NOBODY), 0);
	assert_refused(&settings, -EPERM, "belongs to user 65534");
}

static void a_link_among_the_directories_is_refused(void **state)
{
	struct zone_settings settings = settings_of();
	char linked[160], through[256];

	(void)state;
	snprintf(linked, sizeof(linked), "%s/linked", root);
	snprintf(through, sizeof(through), "%s/instance/login", linked);
	assert_int_equal(symlink("http", linked), 0);
	settings.path = through;
	assert_refused(&settings, -ELOOP, "symbolic link");
	assert_int_equal(names_in_directory(), 0);
}

static void a_missing_directory_is_told(void **state)
{
	struct zone_settings settings = settings_of();

	(void)state;
	assert_int_equal(rmdir(directory), 0);
	assert_refused(&settings, -ENOENT, "instance");
}

static void a_file_beyond_what_can_be_allocated_leaves_nothing(void **state)
{
	struct zone_settings settings = settings_of();
	struct rlimit before, small;

	(void)state;
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	small = before;
	small.rlim_cur = 8192;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	assert_refused(&settings, -EFBIG, "MB");
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	assert_int_equal(names_in_directory(), 0);
}

static void settings_that_no_file_can_hold_are_refused(void **state)
{
	struct zone_settings settings = settings_of();

	(void)state;
	settings.entries = ZONE_ENTRIES_MIN - 1;
	assert_refused(&settings, -ERANGE, "entries");
	settings.entries = ZONE_ENTRIES_MAX + 1;
	assert_refused(&settings, -ERANGE, "entries");
	settings = settings_of();
	settings.name = "a-name-of-one-byte-more-than-fit";
	assert_refused(&settings, -EINVAL, "name");
	settings = settings_of();
	settings.cells_per_slot = 3;
	assert_refused(&settings, -EINVAL, "algorithm");
	assert_int_equal(names_in_directory(), 0);
}

static void a_commit_that_fails_leaves_the_zone_in_memory(void **state)
{
	struct zone_settings settings = settings_of();
	struct zone_file *file = prepared(&settings);
	enum zone_past past;
	struct failure why;
	uint64_t lost;

	(void)state;
	assert_int_equal(mkdir(path, 0700), 0);
	assert_int_equal(zone_file_commit(file, NOW_NS, &past, &lost, &why), -EISDIR);
	assert_true(take(file, 0, 3));
	assert_int_equal(left(file, 0), 2);
	zone_file_close(file);
	assert_int_equal(names_in_directory(), 1);
}

static void of_two_who_prepare_at_once_the_second_takes_the_firsts_file(void **state)
{
	struct zone_settings settings = settings_of();
	struct zone_file *one = prepared(&settings), *other = prepared(&settings);

	(void)state;
	assert_int_equal(committed(one), ZONE_NEW);
	assert_true(take(one, 0, 3));
	assert_int_equal(committed(other), ZONE_KEPT);
	assert_int_equal(left(other, 0), 2);
	assert_int_equal(names_in_directory(), 1);
	zone_file_close(one);
	zone_file_close(other);
}

/* In a process of its own; 0 when one token was taken from the file that is in place. */
static int open_and_take(const struct zone_settings *settings)
{
	struct zone_file *file = NULL;
	enum zone_past past;
	uint64_t lost;

	if (zone_file_prepare(settings, &file, NULL) ||
	    zone_file_commit(file, NOW_NS, &past, &lost, NULL))
		return 1;
	return take(file, 0, 1) ? 0 : 2;
}

static void processes_that_start_at_once_end_on_one_file(void **state)
{
	struct zone_settings settings = settings_of();
	pid_t children[5];
	enum zone_past past;
	struct zone_file *file;
	int status;

	(void)state;
	for (int round = 0; round < 20; round++) {
		settings.shared = round % 2;
		for (int i = 0; i < 5; i++) {
			children[i] = fork();
			if (!children[i])
				_exit(open_and_take(&settings));
		}
		for (int i = 0; i < 5; i++) {
			assert_int_equal(waitpid(children[i], &status, 0), children[i]);
			assert_int_equal(status, 0);
		}
		file = opened(&settings, &past);
		assert_int_equal(past, ZONE_KEPT);
		assert_int_equal(left(file, 0), 0);
		zone_file_close(file);
		assert_int_equal(names_in_directory(), 1);
		assert_int_equal(unlink(path), 0);
	}
}

/* In a process of its own: prepares, waits for the gate to close so that all commit at once. */
static int resize_and_take(const struct zone_settings *settings, int gate, int ready)
{
	struct zone_file *file = NULL;
	enum zone_past past;
	uint64_t lost;
	char byte = 0;

	if (zone_file_prepare(settings, &file, NULL) || write(ready, &byte, 1) != 1 ||
	    read(gate, &byte, 1) || zone_file_commit(file, NOW_NS, &past, &lost, NULL))
		return 1;
	return take(file, 0, 1) ? 0 : 2;
}

/* Forks five who resize; returns when all are prepared. Closing *ret_gate lets them commit. */
static void fork_resizers(const struct zone_settings *settings, pid_t children[5], int *ret_gate)
{
	int gate[2], ready[2];
	char byte;

	assert_int_equal(pipe(gate), 0);
	assert_int_equal(pipe(ready), 0);
	for (int i = 0; i < 5; i++) {
		children[i] = fork();
		if (!children[i]) {
			close(gate[1]);
			_exit(resize_and_take(settings, gate[0], ready[1]));
		}
	}
	for (int i = 0; i < 5; i++)
		assert_int_equal(read(ready[0], &byte, 1), 1);
	close(gate[0]);
	close(ready[0]);
	close(ready[1]);
	*ret_gate = gate[1];
}

/* Each takes one token from the file it ended on: with two files some would be left in one. */
static void processes_that_resize_at_once_end_on_one_file(void **state)
{
	struct zone_settings settings = settings_of(), resized;
	enum zone_past past;
	struct zone_file *file;
	int gate, status;

	(void)state;
	settings.main = bucket_of(8);
	for (int round = 0; round < 10; round++) {
		pid_t children[5];

		leave_debts(&settings);
		resized = settings;
		resized.entries = 2 * ENTRIES;
		fork_resizers(&resized, children, &gate);
		close(gate);
		for (int i = 0; i < 5; i++) {
			assert_int_equal(waitpid(children[i], &status, 0), children[i]);
			assert_int_equal(status, 0);
		}
		assert_int_equal(names_in_directory(), 1);
		file = opened(&resized, &past);
		assert_int_equal(past, ZONE_KEPT);
		assert_int_equal(left(file, 0), 0);
		zone_file_close(file);
		assert_int_equal(unlink(path), 0);
	}
}

/* Of two with other sizes the later has the file, with what the earlier let through. */
static void a_file_that_was_replaced_since_is_carried_over_in_turn(void **state)
{
	struct zone_settings settings = settings_of(), more = settings, most = settings;
	struct zone_file *kept, *one, *other;

	(void)state;
	leave_debts(&settings);
	more.entries = 2 * ENTRIES;
	most.entries = 4 * ENTRIES;
	kept = prepared(&settings);
	one = prepared(&more);
	other = prepared(&most);
	assert_int_equal(committed(one), ZONE_RESIZED);
	assert_true(take(one, 0, 1));
	assert_int_equal(committed(other), ZONE_RESIZED);
	assert_int_equal(left(other, 0), 1);
	assert_true(take(other, 0, 1));
	assert_int_equal(committed(kept), ZONE_RESIZED);
	assert_int_equal(left(kept, 0), 0);
	assert_int_equal(names_in_directory(), 1);
	zone_file_close(kept);
	zone_file_close(one);
	zone_file_close(other);
}

/* Prepared under the rules of before, committed after another changed them and with its own. */
static void of_two_changed_overflows_the_later_converts_from_the_earlier(void **state)
{
	struct zone_settings settings = settings_of(), other_settings = settings;
	struct rule slow = rule_of(ALGORITHM_TOKEN_BUCKET, 5, 1, DAY_NS);
	struct zone_file *one, *other;
	struct answer answer;

	(void)state;
	leave_debts(&settings);
	settings.overflow = slow;
	one = prepared(&settings);
	other_settings.overflow = bucket_of(6);
	other = prepared(&other_settings);
	assert_int_equal(committed(one), ZONE_KEPT);
	slow = zone_file_zone(one)->overflow_rule;
	zone_file_zone(one)->overflow[7] = rule_take(&slow, 0, 4, NOW_NS, TAKE_CHARGE).state;
	assert_int_equal(committed(other), ZONE_KEPT);
	assert_int_equal(zone_file_zone(other)->header->words_epoch, 2);
	rule_answer(&zone_file_zone(other)->overflow_rule, zone_file_zone(other)->overflow[7], 1,
		    NOW_NS, &answer);
	assert_int_equal(answer.remaining, 2);
	zone_file_close(one);
	zone_file_close(other);
}

/* Only then: workers of before would be refused for nothing. */
static void words_have_another_epoch_when_their_rules_change(void **state)
{
	struct zone_settings settings = settings_of();
	struct zone_file *before, *after;
	enum zone_past past;

	(void)state;
	before = opened(&settings, &past);
	settings.main = rule_of(ALGORITHM_TOKEN_BUCKET, 10, 2, 1000000000);
	after = opened(&settings, &past);
	assert_int_equal(zone_file_zone(after)->words_epoch, 0);
	zone_file_close(after);
	settings.overflow = bucket_of(6);
	after = opened(&settings, &past);
	assert_int_equal(zone_file_zone(after)->words_epoch, 1);
	assert_int_equal(zone_file_zone(after)->overflow_rule.limit.epoch, 1);
	assert_int_equal(zone_file_zone(after)->share_rule.limit.epoch, 1);
	zone_file_close(after);
	settings.main = bucket_of(11);
	after = opened(&settings, &past);
	assert_int_equal(zone_file_zone(after)->words_epoch, 2);
	assert_int_equal(zone_file_zone(before)->words_epoch, 0);
	zone_file_close(after);
	zone_file_close(before);
}

static void root_reads_the_zones_of_an_nginx_that_is_not_roots(void **state)
{
	struct zone_settings settings = settings_of();
	struct zone_file *reader = NULL;
	char above[128];

	(void)state;
	if (geteuid())
		skip();
	snprintf(above, sizeof(above), "%s/http", root);
	leave_debts(&settings);
	assert_int_equal(chown(path, NOBODY, NOBODY), 0);
	assert_int_equal(zone_file_open_readonly(path, &reader, NULL), -EPERM);
	assert_int_equal(chown(directory, NOBODY, NOBODY), 0);
	assert_int_equal(chown(above, NOBODY, NOBODY), 0);
	assert_int_equal(zone_file_open_readonly(path, &reader, NULL), 0);
	zone_file_close(reader);
	assert_refused(&settings, -EPERM, "belongs to user 65534");
	assert_int_equal(chown(path, NOBODY - 1, NOBODY), 0);
	assert_int_equal(zone_file_open_readonly(path, &reader, NULL), -EPERM);
}

/* What a sharer looks at once it has the lock. */
static void a_mapped_file_that_was_replaced_is_not_in_place(void **state)
{
	struct zone_settings settings = settings_of();
	struct zone_file_place place = {.directory = AT_FDCWD, .base = path, .path = path};
	struct zone_mapping mapping = ZONE_MAPPING_NONE;

	(void)state;
	leave_debts(&settings);
	assert_int_equal(zone_mapping_open(&place, &mapping, NULL), 0);
	assert_true(zone_mapping_is_in_place(&mapping, &place));
	settings.entries = 2 * ENTRIES;
	assert_becomes(&settings, ZONE_RESIZED, 2);
	assert_false(zone_mapping_is_in_place(&mapping, &place));
	assert_int_equal(unlink(path), 0);
	assert_false(zone_mapping_is_in_place(&mapping, &place));
	zone_mapping_close(&mapping);
}

static void sharers_with_the_same_parameters_share(void **state)
{
	struct zone_settings settings = settings_of();
	enum zone_past past;
	struct zone_file *one, *other;

	(void)state;
	settings.shared = true;
	one = opened(&settings, &past);
	settings.name = "elsewhere";
	other = opened(&settings, &past);
	assert_int_equal(past, ZONE_KEPT);
	assert_true(take(one, 0, 3));
	assert_int_equal(left(other, 0), 2);
	zone_file_close(one);
	zone_file_close(other);
}

static void a_sharer_with_other_parameters_is_refused(void **state)
{
	struct zone_settings settings = settings_of(), other;
	enum zone_past past;
	struct zone_file *file;

	(void)state;
	settings.shared = true;
	file = opened(&settings, &past);
	other = settings;
	other.main = bucket_of(6);
	assert_refused(&other, -EEXIST, "another limit");
	other = settings;
	other.overflow = bucket_of(6);
	assert_refused(&other, -EEXIST, "another overflow");
	other = settings;
	other.entries = 2 * ENTRIES;
	assert_refused(&other, -EEXIST, "another number of entries");
	other = settings;
	other.identity.key_hash = 2;
	assert_refused(&other, -EEXIST, "another key");
	assert_int_equal(names_in_directory(), 1);
	zone_file_close(file);
}

static void a_shared_file_that_nobody_uses_is_replaced(void **state)
{
	struct zone_settings settings = settings_of();

	(void)state;
	settings.shared = true;
	leave_debts(&settings);
	assert_becomes(&settings, ZONE_KEPT, 2);
	settings.main = bucket_of(10);
	assert_becomes(&settings, ZONE_RESIZED, 7);
	assert_becomes(&settings, ZONE_KEPT, 7);
}

static void nobody_shares_a_file_that_is_being_replaced(void **state)
{
	struct zone_settings settings = settings_of(), other = settings;
	struct zone_file *file;

	(void)state;
	settings.shared = other.shared = true;
	leave_debts(&settings);
	other.main = bucket_of(10);
	file = prepared(&other);
	assert_refused(&settings, -EEXIST, "in use");
	assert_int_equal(committed(file), ZONE_RESIZED);
	assert_refused(&settings, -EEXIST, "another limit");
	zone_file_close(file);
}

/* The lock is the open file's, which workers inherit. */
static void a_worker_keeps_the_file_shared_when_its_master_is_gone(void **state)
{
	struct zone_settings settings = settings_of(), other = settings;
	enum zone_past past;
	struct zone_file *file;
	int life[2], status;
	pid_t worker;
	char byte;

	(void)state;
	settings.shared = other.shared = true;
	other.main = bucket_of(10);
	file = opened(&settings, &past);
	assert_int_equal(pipe(life), 0);
	worker = fork();
	if (!worker) {
		close(life[1]);
		_exit(read(life[0], &byte, 1) ? 1 : 0);
	}
	zone_file_close(file);
	assert_refused(&other, -EEXIST, "another limit");
	close(life[1]);
	close(life[0]);
	assert_int_equal(waitpid(worker, &status, 0), worker);
	assert_int_equal(status, 0);
	zone_file_close(prepared(&other));
}

static void a_reader_sees_states_but_its_header_stays(void **state)
{
	struct zone_settings settings = settings_of();
	struct zone_file *file, *reader = NULL;
	uint64_t sets = UINT64_MAX;
	enum zone_past past;

	(void)state;
	file = opened(&settings, &past);
	assert_int_equal(zone_file_open_readonly(path, &reader, NULL), 0);
	overwrite(path, offsetof(struct zone_header, sets), &sets, sizeof(sets));
	assert_int_equal(zone_file_zone(reader)->header->sets, ENTRIES / ZONE_WAYS);
	zone_file_close(reader);
	zone_file_close(file);
}

static void a_reader_makes_nothing(void **state)
{
	struct zone_file *reader = NULL;

	(void)state;
	assert_int_equal(zone_file_open_readonly(path, &reader, NULL), -ENOENT);
	assert_int_equal(names_in_directory(), 0);
	assert_int_equal(rmdir(directory), 0);
	assert_int_equal(zone_file_open_readonly(path, &reader, NULL), -ENOENT);
	assert_int_equal(inode_of(directory), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, start, directory_remove)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_new_file_is_in_place_after_the_commit_and_not_before),
		TEST(what_is_not_committed_leaves_nothing),
		TEST(what_is_not_committed_leaves_the_file_before_as_it_was),
		TEST(what_a_dead_process_prepared_is_removed_by_the_next),
		TEST(a_file_that_fits_is_kept),
		TEST(two_who_map_the_file_see_each_other),
		TEST(more_entries_carry_debts_over),
		TEST(fewer_entries_carry_debts_over),
		TEST(a_changed_limit_keeps_the_file_and_the_debts),
		TEST(a_changed_limit_is_not_that_of_workers_before),
		TEST(a_changed_limit_is_what_readers_are_told),
		TEST(a_changed_overflow_rate_keeps_what_overflow_owes),
		TEST(a_changed_limit_keeps_what_prefixes_have_of_their_share),
		TEST(a_list_full_of_limits_is_left_for_a_new_file),
		TEST(the_secret_lives_as_long_as_the_debts),
		TEST(another_key_starts_empty),
		TEST(another_algorithm_starts_empty),
		TEST(a_log_with_more_cells_carries_debts_over),
		TEST(another_boot_starts_empty),
		TEST(another_layout_starts_empty),
		TEST(a_truncated_file_is_set_aside),
		TEST(a_foreign_file_is_set_aside_unchanged),
		TEST(a_zone_under_another_zones_name_is_set_aside),
		TEST(a_damaged_header_is_set_aside),
		TEST(a_symbolic_link_is_refused),
		TEST(a_hard_link_is_refused),
		TEST(a_file_open_to_others_is_refused),
		TEST(what_is_no_file_is_refused),
		TEST(a_file_of_another_user_is_refused),
		TEST(a_directory_is_made_0755_whatever_the_umask),
		TEST(a_directory_that_others_may_write_is_refused),
		TEST(a_directory_of_another_user_is_refused),
		TEST(a_link_among_the_directories_is_refused),
		TEST(a_missing_directory_is_told),
		TEST(a_file_beyond_what_can_be_allocated_leaves_nothing),
		TEST(settings_that_no_file_can_hold_are_refused),
		TEST(a_commit_that_fails_leaves_the_zone_in_memory),
		TEST(of_two_who_prepare_at_once_the_second_takes_the_firsts_file),
		TEST(processes_that_start_at_once_end_on_one_file),
		TEST(processes_that_resize_at_once_end_on_one_file),
		TEST(a_file_that_was_replaced_since_is_carried_over_in_turn),
		TEST(of_two_changed_overflows_the_later_converts_from_the_earlier),
		TEST(words_have_another_epoch_when_their_rules_change),
		TEST(root_reads_the_zones_of_an_nginx_that_is_not_roots),
		TEST(a_mapped_file_that_was_replaced_is_not_in_place),
		TEST(sharers_with_the_same_parameters_share),
		TEST(a_sharer_with_other_parameters_is_refused),
		TEST(a_shared_file_that_nobody_uses_is_replaced),
		TEST(nobody_shares_a_file_that_is_being_replaced),
		TEST(a_worker_keeps_the_file_shared_when_its_master_is_gone),
		TEST(a_reader_sees_states_but_its_header_stays),
		TEST(a_reader_makes_nothing),
	};

	return cmocka_run_group_tests_name("zone_file", tests, NULL, NULL);
}
