/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "cli/cli.h"
#include "cli/every.h"
#include "cli/source.h"

enum { TOP, SORT };

#define TOP_DEFAULT 20

static const char *const orders[] = {
	[CONTROL_BY_DROPS] = "drops",
	[CONTROL_BY_PASSED] = "passed",
	[CONTROL_BY_LAST_SEEN] = "seen",
	NULL,
};

static const struct argument_spec options[] = {
	[TOP] = {.name = "top",
		 .value = "COUNT",
		 .summary = "how many to show; default 20",
		 .kind = VALUE_COUNT},
	[SORT] = {.name = "sort",
		  .value = "ORDER",
		  .summary = "first those with most drops (default), with most passed\n"
			     "packets, or those seen last",
		  .kind = VALUE_CHOICE,
		  .choices = orders},
	{.name = NULL},
};

static void report_rows(struct report *report, const struct control_source *sources, size_t count)
{
	uint64_t now_ns = monotonic_ns();

	report_list(report, "sources");
	for (size_t i = 0; i < count; i++) {
		struct prefix prefix;
		char address[PREFIX_TEXT_SIZE];

		control_key_prefix(&sources[i].key, &prefix);
		prefix_format(address, sizeof(address), &prefix);
		report_row(report);
		report_string(report, "address", address);
		report_source(report, &sources[i], now_ns);
		report_end(report);
	}
	report_end(report);
}

static int run(const struct arguments *arguments)
{
	const struct argument *top = &arguments->options[TOP];
	struct control_source *sources = NULL;
	struct control *control = NULL;
	size_t count = 0, known = 0;
	struct report *report;
	struct failure why;
	int err;

	err = control_open(&control, &why);
	if (!err)
		err = control_sources(control, (enum control_order)arguments->options[SORT].number,
				      top->given ? top->number : TOP_DEFAULT, &sources, &count,
				      &known, &why);
	control_close(control);
	if (err)
		return failed(&why, "list the sources");
	report = report_new(arguments->format);
	report_rows(report, sources, count);
	report_count(report, "known", known);
	free(sources);
	return report_finish(report);
}

const struct command command_sources = {
	.name = "sources",
	.summary = "show who sends and who is dropped",
	.description =
		"Shows the sources that weir remembers: what passed and what was dropped, the\n"
		"tokens left in the bucket, and when the source was last seen.",
	.examples = "weir sources --top 10\n"
		    "weir sources --sort seen --json | jq -r '.sources[].address'\n",
	.options = options,
	.run = run,
};
