/* SPDX-License-Identifier: MIT */
#include "http/zone_file_made.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#define BOOT_ID_PATH "/proc/sys/kernel/random/boot_id"
#define BOOT_ID_SIZE 16
#define BOOT_ID_TEXT 36 /* five groups of hexadecimal digits with four dashes */

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool boot_id_parse(const char *text, uint8_t ret[BOOT_ID_SIZE])
{
	size_t digits = 0;

	for (size_t i = 0; i < BOOT_ID_TEXT && digits < 2 * BOOT_ID_SIZE; i++) {
		int digit = hex_digit(text[i]);

		if (text[i] == '-')
			continue;
		if (digit < 0)
			return false;
		ret[digits / 2] = (uint8_t)(ret[digits / 2] << 4 | digit);
		digits++;
	}
	return digits == 2 * BOOT_ID_SIZE;
}

int zone_file_boot_id(uint8_t ret[BOOT_ID_SIZE], struct failure *why)
{
	char text[BOOT_ID_TEXT + 1] = {0};
	int fd = open(BOOT_ID_PATH, O_RDONLY | O_CLOEXEC);
	ssize_t size = fd < 0 ? -1 : read(fd, text, BOOT_ID_TEXT);
	int err = size < 0 ? -errno : 0;

	if (fd >= 0)
		close(fd);
	if (!err && !boot_id_parse(text, ret))
		err = -EINVAL;
	return err ? failure_set(why, err, "cannot read " BOOT_ID_PATH ": %s", strerror(-err)) : 0;
}

/* A log reads as many cells as its limit says. */
static bool cells_hold(const struct zone_settings *settings)
{
	if (settings->main.algorithm != ALGORITHM_SLIDING_LOG)
		return !settings->cells_per_slot;
	return settings->cells_per_slot >= settings->main.capacity;
}

int zone_file_check_settings(const struct zone_settings *settings, struct failure *why)
{
	if (!settings->name[0] || strlen(settings->name) >= ZONE_NAME_SIZE)
		return failure_set(why, EINVAL, "'%s' is no zone's name: 1 to %d characters",
				   settings->name, ZONE_NAME_SIZE - 1);
	if (settings->entries < ZONE_ENTRIES_MIN || settings->entries > ZONE_ENTRIES_MAX)
		return failure_set(why, ERANGE, "%llu entries lie outside %d to %llu",
				   (unsigned long long)settings->entries, ZONE_ENTRIES_MIN,
				   (unsigned long long)ZONE_ENTRIES_MAX);
	if (settings->main.algorithm != (enum algorithm)settings->identity.algorithm ||
	    settings->overflow.algorithm != ALGORITHM_TOKEN_BUCKET || !cells_hold(settings))
		return failure_set(why, EINVAL, "the limit does not fit its algorithm");
	if (settings->offenders > ZONE_OFFENDERS_MAX)
		return failure_set(why, ERANGE, "%llu offenders are more than %llu",
				   (unsigned long long)settings->offenders,
				   (unsigned long long)ZONE_OFFENDERS_MAX);
	if (!zone_size(settings->entries, settings->cells_per_slot, settings->offenders))
		return failure_set(why, ERANGE, "entries and cells take more than a file can hold");
	return 0;
}

void zone_file_keep_rule(struct zone_rule *kept, const struct rule *rule)
{
	__atomic_store_n(&kept->capacity, rule->capacity, __ATOMIC_RELAXED);
	__atomic_store_n(&kept->rate_count, rule->rate.count, __ATOMIC_RELAXED);
	__atomic_store_n(&kept->rate_period_ns, rule->rate.period_ns, __ATOMIC_RELAXED);
	__atomic_store_n(&kept->ready, RULE_READABLE, __ATOMIC_RELEASE);
}

int zone_file_initialise(struct zone_header *header, const struct zone_settings *settings,
			 const uint8_t *secret, struct failure *why)
{
	if (secret)
		memcpy(header->secret, secret, sizeof(header->secret));
	else if (getrandom(header->secret, sizeof(header->secret), 0) !=
		 (ssize_t)sizeof(header->secret))
		return failure_set(why, EIO, "the kernel gives no random numbers");
	memcpy(header->magic, ZONE_MAGIC, sizeof(header->magic));
	header->layout = ZONE_LAYOUT;
	header->header_size = sizeof(*header);
	header->file_size =
		zone_size(settings->entries, settings->cells_per_slot, settings->offenders);
	snprintf(header->name, sizeof(header->name), "%s", settings->name);
	header->identity = settings->identity;
	header->sets = (settings->entries + ZONE_WAYS - 1) / ZONE_WAYS;
	header->cells_per_slot = settings->cells_per_slot;
	header->offenders = zone_offenders_rounded(settings->offenders);
	zone_file_keep_rule(&header->main, &settings->main);
	zone_file_keep_rule(&header->overflow, &settings->overflow);
	zone_file_keep_rule(&header->rules[0], &settings->main);
	return 0;
}
