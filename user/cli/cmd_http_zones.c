/* SPDX-License-Identifier: MIT */
#include "cli/every.h"
#include "cli/http_zones.h"
#include "http/zone_file.h"

enum { DIRECTORY };

static const struct argument_spec options[] = {
	[DIRECTORY] = ZONES_DIRECTORY_OPTION,
	{.name = NULL},
};

static uint64_t keys_in_debt(struct zone *zone)
{
	uint64_t now_ns = monotonic_ns(), count = 0;

	for (uint64_t i = 0; i < zone->sets * ZONE_WAYS; i++) {
		struct slot_pair pair = slot_read(&zone->slots[i]);

		count += zone_slot_owes(zone, &zone->slots[i], pair, now_ns);
	}
	return count;
}

#define ZONE_COUNT_NAME(symbol, name) [ZONE_COUNT_##symbol] = #name,
static const char *const count_names[ZONE_COUNT_MAX] = {ZONE_COUNTS(ZONE_COUNT_NAME)};

static void report_zone(struct report *report, const struct http_zone *named, struct zone *zone)
{
	char limit[2 * QUANTITY_TEXT_SIZE];

	http_rule_format(limit, sizeof(limit), &zone->main);
	report_row(report);
	report_string(report, "zone", named->zone);
	report_string(report, "instance", named->instance);
	report_string(report, "algorithm", algorithm_name(zone->main.algorithm));
	report_string(report, "limit", limit);
	report_count(report, "entries", zone->sets * ZONE_WAYS);
	report_count(report, "in_debt", keys_in_debt(zone));
	report_count(report, "bytes", zone->header->file_size);
	for (size_t i = 0; i < ZONE_COUNT_MAX; i++)
		report_count(report, count_names[i],
			     __atomic_load_n(&zone->header->counts[i], __ATOMIC_RELAXED));
	report_end(report);
}

/* What does not read keeps nobody from seeing the rest. How many were not read. */
static size_t report_zones(struct report *report, const struct http_zones *zones)
{
	size_t failures = 0;

	report_list(report, "zones");
	for (size_t i = 0; i < zones->count; i++) {
		struct zone_file *file = NULL;
		struct failure why;

		if (zone_file_open_readonly(zones->zones[i].path, &file, &why)) {
			failed(&why, "read zone '%s' of '%s'", zones->zones[i].zone,
			       zones->zones[i].instance);
			failures++;
			continue;
		}
		report_zone(report, &zones->zones[i], zone_file_zone(file));
		zone_file_close(file);
	}
	report_end(report);
	return failures;
}

/* Where none was read the list would say that there are none. An exit status. */
static int show_zones(const struct http_zones *zones, enum report_format format)
{
	struct report *report = report_new(format);
	size_t failures = report_zones(report, zones);
	int status;

	if (failures && failures == zones->count) {
		report_free(report);
		return EXIT_FAILED;
	}
	status = report_finish(report);
	return failures ? EXIT_FAILED : status;
}

static int run(const struct arguments *arguments)
{
	struct http_zones zones = {0};
	struct failure why;
	int status;

	if (http_zones_list(&arguments->options[DIRECTORY], &zones, &why))
		return failed(&why, "list the zones");
	if (!zones.count) {
		http_zones_missing(&arguments->options[DIRECTORY], &why);
		notice("%s: %s", why.reason, why.hint);
	}
	status = show_zones(&zones, arguments->format);
	http_zones_free(&zones);
	return status;
}

const struct command command_http_zones = {
	.name = "http zones",
	.summary = "show the zones of nginx's weir module",
	.description =
		"Shows each zone: its limit, how many keys it has place for and how many of\n"
		"them owe something now, and what was counted since its file was made. Reads\n"
		"the zones' files; nginx need not run.",
	.examples = "weir http zones\n"
		    "weir http zones --json | jq '.zones[] | {zone, refused}'\n",
	.options = options,
	.run = run,
};
