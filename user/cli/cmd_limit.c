/* SPDX-License-Identifier: MIT */
#include <errno.h>

#include "cli/cli.h"
#include "cli/limits.h"
#include "control/control.h"

enum { RATE, CAPACITY };

static const char *const names[] = {[WEIR_LIMIT_DEFAULT] = "default", NULL};

static const struct argument_spec operands[] = {
	{.name = "NAME",
	 .summary = "default: the limit of every source",
	 .kind = VALUE_CHOICE,
	 .required = true,
	 .choices = names},
	{.name = NULL},
};

static const struct argument_spec options[] = {
	[RATE] = {.name = "rate",
		  .value = "RATE",
		  .summary = "what each source may send, in packets per s, min, h, day,\n"
			     "week or year, such as 20k/s",
		  .kind = VALUE_RATE,
		  .required = true},
	[CAPACITY] = {.name = "capacity",
		      .value = "COUNT",
		      .summary = CAPACITY_HELP,
		      .kind = VALUE_COUNT},
	{.name = NULL},
};

static int set(const struct arguments *arguments)
{
	const struct argument *name = &arguments->operands[0];
	const struct control_limit want = {arguments->options[RATE].rate,
					   arguments->options[CAPACITY].number};
	struct control *control = NULL;
	struct control_limit limit;
	struct report *report;
	struct failure why;
	int err;

	err = control_open(&control, &why);
	if (!err)
		err = control_limit_set(control, (unsigned int)name->number, &want, &limit, &why);
	control_close(control);
	if (err == -ERANGE)
		return misuse(arguments->command, "cannot set limit '%s': %s", name->text,
			      why.reason);
	if (err)
		return failed(&why, "set limit '%s'", name->text);
	report = report_new(arguments->format);
	report_string(report, "name", name->text);
	report_limit(report, &limit);
	return report_finish(report);
}

static int list(const struct arguments *arguments)
{
	struct control_settings settings;
	struct control *control = NULL;
	struct report *report;
	struct failure why;
	int err;

	err = control_open(&control, &why);
	if (!err)
		err = control_settings(control, &settings, &why);
	control_close(control);
	if (err)
		return failed(&why, "list the limits");
	report = report_new(arguments->format);
	report_list(report, "limits");
	report_row(report);
	report_string(report, "name", names[WEIR_LIMIT_DEFAULT]);
	report_limit(report, &settings.limit);
	report_string(report, "clock", settings.coarse_clock ? "coarse" : "precise");
	report_end(report);
	report_end(report);
	return report_finish(report);
}

const struct command command_limit_set = {
	.name = "limit set",
	.summary = "change a limit while traffic flows",
	.description =
		"Changes a limit. No packet is lost and none sees half a change; buckets keep\n"
		"their tokens, in proportion where the capacity changes. A capacity left out is\n"
		"two seconds' worth of the new rate, whatever it was before.",
	.examples = "weir limit set default --rate 10k/s --capacity 20k\n"
		    "weir limit set default --rate 5/min --capacity 1\n",
	.operands = operands,
	.options = options,
	.run = set,
};

const struct command command_limit_list = {
	.name = "limit list",
	.summary = "show the limits in force (weir limit does too)",
	.description =
		"Shows the limits, and which clock each reads: the coarse one where two of its\n"
		"ticks are worth at most 1 % of the capacity.",
	.examples = "weir limit list\n"
		    "weir limit list --json | jq -r '.limits[0].rate'\n",
	.run = list,
};
