/* SPDX-License-Identifier: MIT */
/* Whatever a zone's file holds, reading and replacing it stays within it. The input is a good
 * file's algorithm, how much of the file is there, and patches to it; or a file as it is. */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/http_top.h"
#include "http/zone_directory.h"
#include "http/zone_file.h"
#include "http/zone_forget.h"
#include "http/zone_offenders.h"
#include "required.h"

#define NOW_NS    (1000 * 1000000000ULL)
#define MINUTE_NS (60 * 1000000000ULL)
#define CELLS     4
#define KEYS      48
#define OFFENDERS 64

/* The first byte: an algorithm, and what to do. */
#define INPUT_ALGORITHM 0x07
#define INPUT_RESIZE    0x40 /* replace it, which carries its debts over; else read it */
#define INPUT_RAW       0x80

/* Eight bytes, and where they go, in units of half as many. */
struct __attribute__((packed)) patch {
	uint16_t at;
	uint64_t word;
};

/* Every second refusal bans. */
static const struct penalty penalty = {2, MINUTE_NS, MINUTE_NS, 60 * MINUTE_NS};

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static char root[] = "/dev/shm/weir-fuzz-XXXXXX";
static char directory[64];
static char path[80];
static uint8_t *good[ALGORITHM_MAX];
static size_t good_size[ALGORITHM_MAX];

static uint64_t clock_now(void)
{
	return NOW_NS;
}

static uint64_t hash_of(uint64_t key)
{
	return (key + 1) * 0x9e3779b97f4a7c15ULL;
}

static struct zone_settings settings_of(enum algorithm algorithm, uint64_t entries)
{
	struct zone_settings settings = {.name = "fuzzed",
					 .path = path,
					 .entries = entries,
					 .offenders = entries == ZONE_ENTRIES_MIN ? OFFENDERS
										  : OFFENDERS / 4};
	struct rate rate = {3, MINUTE_NS};

	settings.identity.algorithm = algorithm;
	settings.cells_per_slot = algorithm == ALGORITHM_SLIDING_LOG ? CELLS : 0;
	require(!rule_build(algorithm, 3, &rate, &settings.main, NULL));
	require(!rule_build(ALGORITHM_TOKEN_BUCKET, 3, &rate, &settings.overflow, NULL));
	return settings;
}

static struct zone_file *file_replace(enum algorithm algorithm, uint64_t entries)
{
	struct zone_settings settings = settings_of(algorithm, entries);
	struct zone_file *file = NULL;
	enum zone_past past;
	uint64_t lost;

	require(!zone_file_prepare(&settings, &file, NULL));
	require(!zone_file_commit(file, NOW_NS, &past, &lost, NULL));
	return file;
}

static void take(struct zone *zone, uint64_t key)
{
	struct zone_charge charge = {.zone = zone,
				     .key = {.hash = hash_of(key)},
				     .rule = zone->main_rule,
				     .cost = 1 + key % 2};
	struct answer answer;

	zone_take_all(&charge, 1, clock_now);
	zone_answer(&charge, &answer);
}

static void offend(struct zone *zone, uint64_t hash)
{
	struct zone_key key = {.hash = hash};
	uint64_t ban_ns;

	zone_offend(zone, &penalty, &key, NOW_NS, &ban_ns);
	if (zone_ban_left_ns(zone, hash, NOW_NS))
		zone_count_banned(zone, hash, NOW_NS);
}

static void take_all(struct zone *zone)
{
	for (uint64_t key = 0; key < KEYS; key++) {
		take(zone, key);
		offend(zone, hash_of(key));
		if (key % 2)
			offend(zone, hash_of(key));
	}
}

static void offenders_read(const struct zone *zone)
{
	struct zone_offender offender;

	for (uint64_t at = 0; at < zone->offenders_count; at++) {
		if (zone_offender_read(zone, at, NOW_NS, &offender))
			zone_offender_find(zone, offender.hash, NOW_NS, &offender);
	}
	for (uint64_t key = 0; key < KEYS; key++)
		zone_ban_left_ns(zone, hash_of(key), NOW_NS);
}

static void good_make(enum algorithm algorithm)
{
	struct zone_file *file = file_replace(algorithm, ZONE_ENTRIES_MIN);
	struct zone *zone = zone_file_zone(file);
	size_t size = zone->header->file_size;

	take_all(zone);
	good[algorithm] = calloc(1, size);
	require(good[algorithm]);
	memcpy(good[algorithm], zone->header, size);
	good_size[algorithm] = size;
	zone_file_close(file);
	require(!unlink(path));
}

static void root_remove(void)
{
	char aside[96];

	snprintf(aside, sizeof(aside), "%s.aside", path);
	unlink(path);
	unlink(aside);
	rmdir(directory);
	*strrchr(directory, '/') = '\0';
	rmdir(directory);
	rmdir(root);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	require(mkdtemp(root));
	snprintf(directory, sizeof(directory), "%s/http/instance", root);
	snprintf(path, sizeof(path), "%s/fuzzed", directory);
	require(!zone_directory_make(directory, NULL));
	atexit(root_remove);
	for (int i = 0; i < ALGORITHM_MAX; i++)
		good_make((enum algorithm)i);
	return 0;
}

static void file_write(const uint8_t *bytes, size_t size)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	require(fd >= 0);
	require(write(fd, bytes, size) == (ssize_t)size);
	close(fd);
}

/* share: how many of 256 parts of the file are there, 0 for all. */
static void file_patch(enum algorithm algorithm, uint8_t share, const uint8_t *bytes, size_t count)
{
	size_t size = good_size[algorithm];
	uint8_t *patched = calloc(1, size);
	struct patch patch;

	require(patched);
	memcpy(patched, good[algorithm], size);
	for (; count >= sizeof(patch); bytes += sizeof(patch), count -= sizeof(patch)) {
		memcpy(&patch, bytes, sizeof(patch));
		memcpy(patched + patch.at * 4UL % (size - sizeof(patch.word)), &patch.word,
		       sizeof(patch.word));
	}
	file_write(patched, share ? size * share / 256 : size);
	free(patched);
}

static void zone_rank(struct zone *zone)
{
	static const struct http_zone named = {.zone = "fuzzed"};
	struct http_top top;

	require(!http_top_begin(&top, HTTP_TOP_BY_REFUSED, KEYS / 4));
	require(!http_top_add(&top, &named, zone, NOW_NS));
	http_top_end(&top);
	http_top_free(&top);
}

static void file_read(void)
{
	struct zone_file *file = NULL;
	struct slot_pair pair;
	struct answer answer;
	struct zone *zone;

	if (zone_file_open_readonly(path, &file, NULL))
		return;
	zone = zone_file_zone(file);
	for (uint64_t i = 0; i < zone->sets * ZONE_WAYS; i++) {
		pair = slot_read(&zone->slots[i]);
		zone_slot_owes(zone, &zone->slots[i], pair, NOW_NS);
		zone_slot_answer(zone, &zone->slots[i], pair, 1, NOW_NS, &answer);
	}
	for (uint64_t key = 0; key < KEYS; key++)
		zone_find(zone, hash_of(key), &pair);
	offenders_read(zone);
	zone_rank(zone);
	zone_file_close(file);
}

static void file_forget(void)
{
	struct zone_file *file = NULL;
	struct zone_forgotten forgotten;
	struct zone *zone;

	if (zone_file_open_writable(path, &file, NULL))
		return;
	zone = zone_file_zone(file);
	for (uint64_t key = 0; key < KEYS; key++) {
		require(!zone_forget(zone, hash_of(key), clock_now, &forgotten));
		require(forgotten.owed <= forgotten.limit);
		zone_ban_lift(zone, hash_of(key));
	}
	zone_file_close(file);
}

static void file_resize(enum algorithm algorithm)
{
	struct zone_file *file = file_replace(algorithm, 2 * ZONE_ENTRIES_MIN);

	take_all(zone_file_zone(file));
	zone_file_close(file);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	enum algorithm algorithm;

	if (size < 2)
		return 0;
	algorithm = (enum algorithm)((bytes[0] & INPUT_ALGORITHM) % ALGORITHM_MAX);
	if (bytes[0] & INPUT_RAW)
		file_write(bytes + 1, size - 1);
	else
		file_patch(algorithm, bytes[1], bytes + 2, size - 2);
	if (bytes[0] & INPUT_RESIZE) {
		file_resize(algorithm);
		return 0;
	}
	file_read();
	file_forget();
	return 0;
}
