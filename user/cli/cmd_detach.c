/* SPDX-License-Identifier: MIT */
#include "cli/cli.h"
#include "control/control.h"

enum { ALL, NETNS };

static const struct argument_spec operands[] = {
	{.name = "IFACE",
	 .either = true,
	 .summary = "the network interface",
	 .kind = VALUE_INTERFACE},
	{.name = NULL},
};

static const struct argument_spec options[] = {
	[ALL] = {.name = "all",
		 .either = true,
		 .summary = "detach from every interface, in all namespaces"},
	[NETNS] = {.name = "netns",
		   .value = "NAME",
		   .summary = "the network namespace given to weir attach",
		   .kind = VALUE_NETNS},
	{.name = NULL},
};

static int run(const struct arguments *arguments)
{
	const char *interface = arguments->operands[0].text;
	const char *netns = arguments->options[NETNS].text;
	struct report *report;
	unsigned int detached = 0;
	struct failure why;

	if (!interface == !arguments->options[ALL].given)
		return misuse(arguments->command,
			      "cannot detach: name either an interface or --all");
	if (netns && !interface)
		return misuse(arguments->command,
			      "cannot detach: --all means every namespace, --netns just one");
	if (control_detach(interface, netns, &detached, &why))
		return interface ? failed(&why, "detach from '%s'", interface)
				 : failed(&why, "detach from every interface");
	report = report_new(arguments->format);
	report_count(report, "detached", detached);
	return report_finish(report);
}

const struct command command_detach = {
	.name = "detach",
	.summary = "take weir off an interface, or off all of them",
	.description =
		"Detaches weir. With the last interface everything is forgotten: limits,\n"
		"sources and counters. An interface that was removed meanwhile is detached by\n"
		"the name it had.",
	.examples = "weir detach eth0\n"
		    "weir detach --all\n",
	.operands = operands,
	.options = options,
	.run = run,
};
