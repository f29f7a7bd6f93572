/* SPDX-License-Identifier: MIT */
#include <errno.h>

#include "cli/cli.h"
#include "cli/every.h"
#include "cli/limits.h"
#include "cli/source.h"

static const struct argument_spec operands[] = {
	{.name = "ADDRESS",
	 .summary = "an address of the source, such as 203.0.113.9",
	 .kind = VALUE_PREFIX,
	 .required = true},
	{.name = NULL},
};

/* A source without an entry: its bucket is full. */
static int source_absent(struct control *control, struct control_source *ret, struct failure *why)
{
	struct control_settings settings;
	int err = control_settings(control, &settings, why);

	if (err)
		return err;
	*ret = (struct control_source){.limit = settings.limit,
				       .tokens = (double)settings.limit.capacity};
	return 0;
}

/* ret_known says whether weir remembers it. */
static int source_find(const struct prefix *address, struct control_source *ret, bool *ret_known,
		       struct failure *why)
{
	struct control *control = NULL;
	int err = control_open(&control, why);

	if (err)
		return err;
	err = control_source(control, address, ret, why);
	*ret_known = !err;
	if (err == -ENOENT)
		err = source_absent(control, ret, why);
	control_close(control);
	return err;
}

static int run(const struct arguments *arguments)
{
	const struct argument *address = &arguments->operands[0];
	struct control_source source = {0};
	char text[PREFIX_TEXT_SIZE];
	struct report *report;
	struct prefix prefix = address->prefix;
	struct failure why;
	bool is_known;

	if (source_find(&address->prefix, &source, &is_known, &why))
		return failed(&why, "show '%s'", address->text);
	if (is_known)
		control_key_prefix(&source.key, &prefix);
	prefix_format(text, sizeof(text), &prefix);
	report = report_new(arguments->format);
	report_string(report, "address", text);
	report_flag(report, "known", is_known);
	report_object(report, "limit");
	report_limit(report, &source.limit);
	report_end(report);
	report_source(report, &source, monotonic_ns());
	return report_finish(report);
}

const struct command command_show = {
	.name = "show",
	.summary = "show one source: its limit, tokens left, counters",
	.description =
		"Shows the source an address belongs to: its limit, the tokens left, when the\n"
		"next packet passes and when the bucket is full again, and what passed and was\n"
		"dropped. A source that is not known has a full bucket.",
	.examples = "weir show 203.0.113.9\n"
		    "weir show 2001:db8::1 --json | jq .tokens\n",
	.operands = operands,
	.run = run,
};
