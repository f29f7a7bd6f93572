/* SPDX-License-Identifier: MIT */
#include <errno.h>

#include "cli/cli.h"
#include "cli/limits.h"
#include "control/control.h"

enum { RATE, CAPACITY, MODE, NETNS, KEY4, KEY6, SOURCES, EXEMPT_RATE };

#define SOURCES_MAX 16000000

static const char *const modes[] = {
	[CONTROL_MODE_AUTO] = "auto",
	[CONTROL_MODE_NATIVE] = "native",
	[CONTROL_MODE_GENERIC] = "generic",
	NULL,
};

static const struct argument_spec operands[] = {
	{.name = "IFACE",
	 .summary = "the network interface",
	 .kind = VALUE_INTERFACE,
	 .required = true},
	{.name = NULL},
};

static const struct argument_spec options[] = {
	[RATE] = {.name = "rate",
		  .value = "RATE",
		  .summary = "what each source may send, in packets per s, min, h, day,\n"
			     "week or year, such as 20k/s; needed the first time",
		  .kind = VALUE_RATE},
	[CAPACITY] = {.name = "capacity",
		      .value = "COUNT",
		      .summary = CAPACITY_HELP,
		      .kind = VALUE_COUNT},
	[MODE] = {.name = "mode",
		  .value = "MODE",
		  .summary = "native: in the driver; generic: behind it, slower; auto:\n"
			     "native, else generic with a warning (default)",
		  .kind = VALUE_CHOICE,
		  .choices = modes},
	[NETNS] = {.name = "netns",
		   .value = "NAME",
		   .summary = "the interface is in this network namespace (ip netns)",
		   .kind = VALUE_NETNS},
	[KEY4] = {.name = "key4",
		  .value = "BITS",
		  .summary = "addresses that share this prefix are one IPv4 source;\n"
			     "default 32",
		  .kind = VALUE_LENGTH,
		  .max = 32},
	[KEY6] = {.name = "key6",
		  .value = "BITS",
		  .summary = "the same for IPv6; default 64",
		  .kind = VALUE_LENGTH,
		  .max = 128},
	[SOURCES] = {.name = "sources",
		     .value = "COUNT",
		     .summary = "sources to remember, fixed at the first attach; when all\n"
				"are taken, the one longest unseen is forgotten;\n"
				"default 262144, at most 16M",
		     .kind = VALUE_COUNT,
		     .max = SOURCES_MAX},
	[EXEMPT_RATE] = {.name = "exempt-rate",
			 .value = "RATE",
			 .summary = "what the interface may pass without a limit of each kind\n"
				    "that keeps a host on its network: ARP, neighbour\n"
				    "discovery, DHCP, multicast reports, link-local;\n"
				    "default 10k/s",
			 .kind = VALUE_RATE},
	{.name = NULL},
};

static void notice_changes(const struct control_attach_result *result)
{
	if (result->warning[0])
		notice("warning: %s", result->warning);
	if (result->limit_changed)
		notice("note: the limit changed on every interface");
	if (result->keys_changed)
		notice("note: the key length changed: every bucket starts full");
}

static int report_attached(const struct arguments *arguments, const struct control_attach *want,
			   const struct control_attach_result *result)
{
	bool is_new = result->attached == CONTROL_ATTACHED_NEW;
	struct report *report = report_new(arguments->format);

	report_string(report, "interface", want->interface);
	report_string(report, "netns", want->netns);
	report_string(report, "attached", is_new ? "new" : "replaced");
	report_string(report, "mode",
		      modes[result->generic ? CONTROL_MODE_GENERIC : CONTROL_MODE_NATIVE]);
	report_count(report, "program_id", result->program_id);
	report_object(report, "limit");
	report_limit(report, &result->limit);
	report_flag(report, "changed", result->limit_changed);
	report_end(report);
	report_flag(report, "keys_changed", result->keys_changed);
	if (arguments->format == REPORT_JSON) /* in text it is on stderr already */
		report_string(report, "warning", result->warning[0] ? result->warning : NULL);
	return report_finish(report);
}

static int run(const struct arguments *arguments)
{
	const struct argument *options = arguments->options;
	struct control_attach want = {
		.interface = arguments->operands[0].text,
		.netns = options[NETNS].text,
		.mode = (enum control_mode)options[MODE].number,
		.limit = {options[RATE].rate, options[CAPACITY].number},
		.exempt_rate = options[EXEMPT_RATE].rate,
		.key4 = (uint8_t)options[KEY4].number,
		.key6 = (uint8_t)options[KEY6].number,
		.sources = (uint32_t)options[SOURCES].number,
	};
	struct control_attach_result result = {0};
	struct failure why;
	int err = control_attach(&want, &result, &why);

	if (err == -ERANGE)
		return misuse(arguments->command, "cannot attach to '%s': %s", want.interface,
			      why.reason);
	if (err)
		return failed(&why, "attach to '%s'", want.interface);
	notice_changes(&result);
	return report_attached(arguments, &want, &result);
}

const struct command command_attach = {
	.name = "attach",
	.summary = "limit every source that sends to an interface",
	.description =
		"Attaches weir to an interface: from then on each source may send what the\n"
		"limit allows, and what exceeds it is dropped. The command ends, limiting goes\n"
		"on until weir detach or a reboot. A second interface joins the first: they\n"
		"share limits and sources, and a limit given here changes for both. On an\n"
		"interface that has weir already, the program is replaced without a gap; what\n"
		"is not given is kept.",
	.examples = "weir attach eth0 --rate 20k/s --capacity 40k\n"
		    "weir attach eth1 --netns blue --rate 1k/s --key4 24 --key6 56\n",
	.operands = operands,
	.options = options,
	.run = run,
};
