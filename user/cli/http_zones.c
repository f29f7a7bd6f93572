/* SPDX-License-Identifier: MIT */
#include "cli/http_zones.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "http/zone_file.h"

static int no_memory(struct failure *why)
{
	return failure_set(why, ENOMEM, "not enough memory");
}

/* Not "." and "..", nor what is hidden. */
static int is_visible(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

/* A zone's name has no dot; files on their way in or set aside have. */
static int is_zone(const struct dirent *entry)
{
	return !strchr(entry->d_name, '.');
}

static void entries_free(struct dirent **entries, int count)
{
	for (int i = 0; i < count; i++)
		free(entries[i]);
	free(entries);
}

/* The names in a directory, sorted. */
static int entries_list(const char *path, int (*filter)(const struct dirent *),
			struct dirent ***ret, struct failure *why)
{
	int count = scandir(path, ret, filter, alphasort);

	if (count >= 0)
		return count;
	*ret = NULL;
	return failure_set(why, errno, "'%s': %s", path, strerror(errno));
}

static int zones_add(struct http_zones *zones, const char *directory, const char *instance,
		     const char *zone)
{
	struct http_zone *grown = reallocarray(zones->zones, zones->count + 1, sizeof(*grown));
	struct http_zone *added;

	if (!grown)
		return -ENOMEM;
	zones->zones = grown;
	added = &grown[zones->count++];
	added->instance = strdup(instance);
	added->zone = strdup(zone);
	if (asprintf(&added->path, "%s/%s/%s", directory, instance, zone) < 0)
		added->path = NULL;
	return added->instance && added->zone && added->path ? 0 : -ENOMEM;
}

static int instance_list(struct http_zones *zones, const char *directory, const char *instance,
			 struct failure *why)
{
	struct dirent **entries = NULL;
	char *path;
	int count, err = 0;

	if (asprintf(&path, "%s/%s", directory, instance) < 0)
		return no_memory(why);
	count = entries_list(path, is_zone, &entries, why);
	free(path);
	/* A file beside the instances, or one that ended meanwhile. */
	if (count == -ENOTDIR || count == -ENOENT)
		return 0;
	for (int i = 0; i < count && !err; i++)
		err = zones_add(zones, directory, instance, entries[i]->d_name);
	entries_free(entries, count);
	if (count < 0)
		return count;
	return err ? no_memory(why) : 0;
}

#define DIRECTORY_HINT "--dir takes the directory that nginx's weir_dir names"

static const char *directory_of(const struct argument *given)
{
	return given->given ? given->text : ZONE_DIRECTORY;
}

int http_zones_list(const struct argument *given, struct http_zones *ret, struct failure *why)
{
	const char *directory = directory_of(given);
	struct http_zones zones = {0};
	struct dirent **entries = NULL;
	int count = entries_list(directory, is_visible, &entries, why);
	int err = count < 0 ? count : 0;

	if (err == -ENOENT && !given->given)
		err = 0;
	else if (err == -ENOENT)
		failure_hint(why, DIRECTORY_HINT);
	for (int i = 0; i < count && !err; i++)
		err = instance_list(&zones, directory, entries[i]->d_name, why);
	entries_free(entries, count);
	if (err)
		http_zones_free(&zones);
	else
		*ret = zones;
	return err;
}

void http_zones_free(struct http_zones *zones)
{
	for (size_t i = 0; i < zones->count; i++) {
		free(zones->zones[i].instance);
		free(zones->zones[i].zone);
		free(zones->zones[i].path);
	}
	free(zones->zones);
	*zones = (struct http_zones){0};
}

static bool is_given(const struct argument *argument, const char *text)
{
	return !argument->given || !strcmp(argument->text, text);
}

bool http_zone_is(const struct http_zone *zone, const struct http_wanted *wanted)
{
	return is_given(wanted->zone, zone->zone) && is_given(wanted->instance, zone->instance);
}

void http_instances_format(char buf[HTTP_INSTANCES_SIZE], const struct http_zones *zones,
			   const struct argument *zone)
{
	const char *last = "";
	size_t length = 0;

	buf[0] = '\0';
	for (size_t i = 0; i < zones->count && length < HTTP_INSTANCES_SIZE; i++) {
		const char *instance = zones->zones[i].instance;

		if (!is_given(zone, zones->zones[i].zone) || !strcmp(instance, last))
			continue;
		length += (size_t)snprintf(buf + length, HTTP_INSTANCES_SIZE - length, "%s%s",
					   length ? ", " : "", instance);
		last = instance;
	}
}

void http_zones_missing(const struct argument *directory, struct failure *why)
{
	failure_set(why, ENOENT, "there are no zones in '%s'", directory_of(directory));
	failure_hint(why, DIRECTORY_HINT);
}

void http_zone_unknown(const struct http_zones *zones, const struct http_wanted *wanted,
		       struct failure *why)
{
	char instances[HTTP_INSTANCES_SIZE];

	http_instances_format(instances, zones, wanted->zone);
	if (!zones->count) {
		http_zones_missing(wanted->directory, why);
	} else if (wanted->instance->given && instances[0]) {
		failure_set(why, ENOENT, "there is no such %s: --instance can be %s",
			    wanted->zone->given ? "zone in that instance" : "instance", instances);
	} else {
		failure_set(why, ENOENT, "there is no such zone");
		failure_hint(why, "'weir http zones' lists them");
	}
}

void http_rule_format(char *buf, size_t size, const struct rule *rule)
{
	char count[QUANTITY_TEXT_SIZE], rest[QUANTITY_TEXT_SIZE];

	count_format(count, sizeof(count), rule->capacity);
	if (algorithm_is_window(rule->algorithm))
		duration_format(rest, sizeof(rest), rule->rate.period_ns);
	else
		rate_format(rest, sizeof(rest), &rule->rate);
	snprintf(buf, size, "%s,%s", count, rest);
}

void http_rule_report(struct report *report, const struct rule *rule)
{
	char rate[QUANTITY_TEXT_SIZE];

	if (algorithm_is_window(rule->algorithm)) {
		report_count(report, "limit", rule->capacity);
		report_duration(report, "per", rule->rate.period_ns);
		return;
	}
	rate_format(rate, sizeof(rate), &rule->rate);
	report_count(report, "capacity", rule->capacity);
	report_string(report, "rate", rate);
}

void http_hash_format(char *buf, size_t size, uint64_t hash)
{
	snprintf(buf, size, "%016" PRIx64, hash);
}

void http_last_seen_report(struct report *report, uint64_t last_seen_ns, uint64_t now_ns)
{
	report_duration(report, "last_seen_ago", now_ns > last_seen_ns ? now_ns - last_seen_ns : 0);
}

void http_ban_report(struct report *report, uint64_t ban_left_ns)
{
	if (ban_left_ns)
		report_duration(report, "banned_for", ban_left_ns);
	else
		report_null(report, "banned_for_ns");
}
