/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <string.h>

#include "cli/every.h"
#include "cli/http_top.h"
#include "http/zone_file.h"

enum { ZONE, DIRECTORY, INSTANCE, TOP, SORT };

#define TOP_DEFAULT 20
#define TOP_MAX     100000

static const char *const orders[] = {
	[HTTP_TOP_BY_REFUSED] = "refused",
	[HTTP_TOP_BY_PASSED] = "passed",
	[HTTP_TOP_BY_LAST_SEEN] = "seen",
	NULL,
};

static const struct argument_spec options[] = {
	[ZONE] = {.name = "zone",
		  .value = "ZONE",
		  .summary = "only this one's keys",
		  .kind = VALUE_TEXT},
	[DIRECTORY] = ZONES_DIRECTORY_OPTION,
	[INSTANCE] = ZONES_INSTANCE_OPTION,
	[TOP] = {.name = "top",
		 .value = "COUNT",
		 .summary = "how many to show; default 20",
		 .kind = VALUE_COUNT,
		 .max = TOP_MAX},
	[SORT] = {.name = "sort",
		  .value = "ORDER",
		  .summary = "first those with most refusals (default), with most passed\n"
			     "requests, or those seen last",
		  .kind = VALUE_CHOICE,
		  .choices = orders},
	{.name = NULL},
};

/* What was read of the zones that are wanted. */
struct gathered {
	size_t zones;
	size_t failures;
	const char *instance; /* of the first */
	bool has_instances;   /* several */
};

static int failed_on(const struct http_zone *named, const struct failure *why)
{
	return failed(why, "read zone '%s' of '%s'", named->zone, named->instance);
}

static int zone_gather(const struct http_zone *named, struct http_top *top)
{
	struct zone_file *file = NULL;
	struct failure why;
	int err;

	if (zone_file_open_readonly(named->path, &file, &why))
		return failed_on(named, &why);
	err = http_top_add(top, named, zone_file_zone(file), monotonic_ns());
	zone_file_close(file);
	if (!err)
		return EXIT_DONE;
	failure_errno(&why, err);
	return failed_on(named, &why);
}

/* What does not read keeps nobody from seeing the rest. */
static void zones_gather(const struct http_zones *zones, const struct http_wanted *wanted,
			 struct http_top *top, struct gathered *ret)
{
	struct gathered gathered = {0};

	for (size_t i = 0; i < zones->count; i++) {
		const struct http_zone *named = &zones->zones[i];

		if (!http_zone_is(named, wanted))
			continue;
		if (!gathered.zones++)
			gathered.instance = named->instance;
		gathered.has_instances |= strcmp(named->instance, gathered.instance) != 0;
		gathered.failures += zone_gather(named, top) != EXIT_DONE;
	}
	http_top_end(top);
	*ret = gathered;
}

static void report_key(struct report *report, const struct http_top_row *row, uint64_t now_ns,
		       bool with_instance)
{
	report_row(report);
	report_string(report, "zone", row->named->zone);
	if (with_instance)
		report_string(report, "instance", row->named->instance);
	report_string(report, "key", row->key);
	report_count(report, "passed", row->passed);
	report_count(report, "refused", row->refused);
	report_count(report, "remaining", row->remaining);
	http_ban_report(report, row->ban_left_ns);
	http_last_seen_report(report, row->last_seen_ns, now_ns);
	report_end(report);
}

static int report_keys(const struct http_top *top, const struct gathered *gathered,
		       enum report_format format)
{
	struct report *report = report_new(format);
	uint64_t now_ns = monotonic_ns();

	report_list(report, "keys");
	for (size_t i = 0; i < top->count; i++)
		report_key(report, &top->rows[i], now_ns,
			   format == REPORT_JSON || gathered->has_instances);
	report_end(report);
	report_count(report, "known", top->known);
	return report_finish(report);
}

/* EXIT_FAILED. */
static int zones_unknown(const struct http_zones *zones, const struct http_wanted *wanted)
{
	struct failure why;

	http_zone_unknown(zones, wanted, &why);
	if (wanted->zone->given)
		return failed(&why, "show zone '%s'", wanted->zone->text);
	return failed(&why, "show the zones of '%s'", wanted->instance->text);
}

/* Where none was read the list would say that there are no keys. An exit status. */
static int show_keys(const struct http_zones *zones, const struct arguments *arguments,
		     struct http_top *top)
{
	const struct http_wanted wanted = {&arguments->options[DIRECTORY],
					   &arguments->options[ZONE],
					   &arguments->options[INSTANCE]};
	struct gathered gathered;
	struct failure why;
	int status;

	zones_gather(zones, &wanted, top, &gathered);
	if (!gathered.zones && (wanted.zone->given || wanted.instance->given))
		return zones_unknown(zones, &wanted);
	if (!zones->count) {
		http_zones_missing(wanted.directory, &why);
		notice("%s: %s", why.reason, why.hint);
	}
	if (gathered.failures && gathered.failures == gathered.zones)
		return EXIT_FAILED;
	status = report_keys(top, &gathered, arguments->format);
	return gathered.failures ? EXIT_FAILED : status;
}

static int run(const struct arguments *arguments)
{
	const struct argument *wanted = &arguments->options[TOP];
	struct http_zones zones = {0};
	struct http_top top = {0};
	struct failure why;
	int status;

	if (http_zones_list(&arguments->options[DIRECTORY], &zones, &why))
		return failed(&why, "list the zones");
	if (http_top_begin(&top, (enum http_top_order)arguments->options[SORT].number,
			   wanted->given ? wanted->number : TOP_DEFAULT)) {
		failure_errno(&why, ENOMEM);
		status = failed(&why, "list the keys");
	} else {
		status = show_keys(&zones, arguments, &top);
	}
	http_top_free(&top);
	http_zones_free(&zones);
	return status;
}

const struct command command_http_top = {
	.name = "http top",
	.summary = "show who is refused most by nginx's weir module",
	.description =
		"Shows keys of all zones, or of one: what passed and what was refused, what is\n"
		"left, how long the key is banned and when it was last seen. A key that is no\n"
		"address is shown by its hash, which 'weir http show' and 'weir http reset'\n"
		"take with --hash.",
	.examples = "weir http top --zone login\n"
		    "weir http top --sort seen --json | jq -r '.keys[].key'\n",
	.options = options,
	.run = run,
};
