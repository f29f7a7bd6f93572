/* SPDX-License-Identifier: MIT */
#include <stdio.h>

#include "cli/cli.h"

static const struct argument_spec operands[] = {
	{.name = "COMMAND", .summary = "all where left out", .kind = VALUE_TEXT},
	{.name = "WORD",
	 .summary = "the command's second word, as in limit set",
	 .kind = VALUE_TEXT},
	{.name = NULL},
};

static bool exists(const char *name)
{
	for (size_t i = 0; commands[i]; i++) {
		if (command_is_in(commands[i], name))
			return true;
	}
	return false;
}

static int run(const struct arguments *arguments)
{
	const struct argument *words = arguments->operands;
	char name[128];

	if (!words[0].given)
		return help_show(NULL, arguments->format);
	snprintf(name, sizeof(name), "%s%s%s", words[0].text, words[1].given ? " " : "",
		 words[1].given ? words[1].text : "");
	if (!exists(name))
		return misuse(NULL, "cannot find command '%s'", name);
	return help_show(name, arguments->format);
}

const struct command command_help = {
	.name = "help",
	.summary = "show the commands, or what one does",
	.examples = "weir help\n"
		    "weir help limit set\n",
	.operands = operands,
	.run = run,
};
