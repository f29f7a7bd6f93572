/* SPDX-License-Identifier: MIT */
#include "cli/cli.h"
#include "cli/every.h"
#include "cli/limits.h"
#include "cli/status.h"

enum { EVERY };

static const struct argument_spec options[] = {
	[EVERY] = {.name = "every",
		   .value = "DURATION",
		   .summary = "rates in place of totals: a line each period, such as\n"
			      "1s, until Ctrl-C",
		   .kind = VALUE_DURATION,
		   .min = 10000000ULL,
		   .max = 24 * 3600 * 1000000000ULL},
	{.name = NULL},
};

static int interface_append(const struct control_interface *interface, void *arg)
{
	struct snapshot *snapshot = arg;

	if (snapshot->count < WEIR_INTERFACES_MAX)
		snapshot->interfaces[snapshot->count++] = *interface;
	return 0;
}

int snapshot_take(struct control *control, struct snapshot *ret, struct failure *why)
{
	ret->count = 0;
	ret->taken_ns = monotonic_ns();
	return control_interfaces(control, interface_append, ret, why);
}

void report_interface(struct report *report, const struct control_interface *interface)
{
	report_string(report, "name", interface->name);
	report_string(report, "netns", interface->netns[0] ? interface->netns : NULL);
	report_string(report, "mode", interface->generic ? "generic" : "native");
	if (interface->program_id)
		report_count(report, "program_id", interface->program_id);
	else
		report_null(report, "program_id");
	report_flag(report, "gone", interface->gone);
}

static void report_verdicts(struct report *report, const struct weir_counters *counters)
{
	report_object(report, "verdicts");
	for (size_t i = 0; i < WEIR_VERDICT_MAX; i++) {
		report_object(report, verdict_names[i]);
		report_count(report, "packets", counters->verdicts[i].packets);
		report_count(report, "bytes", counters->verdicts[i].bytes);
		report_end(report);
	}
	report_end(report);
}

static void report_causes(struct report *report, const struct weir_counters *counters)
{
	report_object(report, "causes");
	for (size_t i = 0; i < WEIR_CAUSE_MAX; i++)
		report_count(report, cause_names[i], counters->causes[i]);
	report_end(report);
}

static void report_settings(struct report *report, const struct control_settings *settings)
{
	report_object(report, "limit");
	report_limit(report, &settings->limit);
	report_string(report, "clock", settings->coarse_clock ? "coarse" : "precise");
	report_end(report);
	report_object(report, "keys");
	report_count(report, "ipv4", settings->key4);
	report_count(report, "ipv6", settings->key6);
	report_end(report);
	report_count(report, "sources_max", settings->sources);
}

static void report_snapshot(struct report *report, const struct snapshot *snapshot)
{
	struct weir_counters total = snapshot_total(snapshot);

	report_verdicts(report, &total);
	report_causes(report, &total);
	report_list(report, "interfaces");
	for (size_t i = 0; i < snapshot->count; i++) {
		report_row(report);
		report_interface(report, &snapshot->interfaces[i]);
		report_verdicts(report, &snapshot->interfaces[i].counters);
		report_end(report);
	}
	report_end(report);
}

static int run(const struct arguments *arguments)
{
	struct control_settings settings;
	struct control *control = NULL;
	struct snapshot snapshot;
	struct report *report;
	struct failure why;
	int err;

	if (arguments->options[EVERY].given)
		return status_follow(arguments->options[EVERY].number, arguments->format);
	err = control_open(&control, &why);
	if (!err)
		err = control_settings(control, &settings, &why);
	if (!err)
		err = snapshot_take(control, &snapshot, &why);
	control_close(control);
	if (err)
		return failed(&why, "show the status");
	report = report_new(arguments->format);
	report_snapshot(report, &snapshot);
	report_settings(report, &settings);
	return report_finish(report);
}

const struct command command_status = {
	.name = "status",
	.summary = "show what passed and what was dropped, by verdict",
	.description =
		"Shows packets and bytes by verdict since weir was attached, in total and for\n"
		"each interface, why packets passed untracked, and the settings in force.\n"
		"weir(8) says what each verdict means. With --every: packets and bytes a second\n"
		"of what passed and what was dropped, and packets by verdict; as JSON everything\n"
		"by verdict, in total and for each interface.",
	.examples = "weir status\n"
		    "weir status --every 1s\n"
		    "weir status --json | jq .verdicts.drop_rate.packets\n",
	.options = options,
	.run = run,
};
