/* SPDX-License-Identifier: MIT */
#include <errno.h>

#include "cli/cli.h"
#include "control/control.h"

enum { ALL };

static const struct argument_spec operands[] = {
	{.name = "ADDRESS",
	 .either = true,
	 .summary = "an address of the source, such as 203.0.113.9",
	 .kind = VALUE_PREFIX},
	{.name = NULL},
};

static const struct argument_spec options[] = {
	[ALL] = {.name = "all", .either = true, .summary = "every source"},
	{.name = NULL},
};

/* A source without an entry has a full bucket already. */
static int forget(const struct prefix *address, uint64_t *ret_forgotten, struct failure *why)
{
	struct control *control = NULL;
	int err = control_open(&control, why);

	if (err)
		return err;
	err = control_forget(control, address, ret_forgotten, why);
	control_close(control);
	return err == -ENOENT ? 0 : err;
}

static int run(const struct arguments *arguments)
{
	const struct argument *address = &arguments->operands[0];
	struct report *report;
	uint64_t forgotten = 0;
	struct failure why;

	if (address->given == arguments->options[ALL].given)
		return misuse(arguments->command, "cannot forget: name either an address or --all");
	if (forget(address->given ? &address->prefix : NULL, &forgotten, &why))
		return failed(&why, "forget '%s'", address->given ? address->text : "--all");
	report = report_new(arguments->format);
	report_count(report, "forgotten", forgotten);
	return report_finish(report);
}

const struct command command_forget = {
	.name = "forget",
	.summary = "give a source, or all of them, a full bucket again",
	.description =
		"Fills buckets. Counters stay. Prints how many sources that were: none where\n"
		"an address has no entry, for then its bucket is full.",
	.examples = "weir forget 203.0.113.9\n"
		    "weir forget --all\n",
	.operands = operands,
	.options = options,
	.run = run,
};
