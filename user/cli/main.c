/* SPDX-License-Identifier: MIT */
/* weir: the table of commands. */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"

const struct command *const commands[] = {
	/* packets */
	&command_attach,
	&command_detach,
	&command_limit_set,
	&command_limit_list,
	&command_status,
	&command_sources,
	&command_show,
	&command_forget,
	/* requests */
	&command_http_run,
	&command_http_zones,
	&command_http_top,
	&command_http_show,
	&command_http_reset,
	&command_http_log,
	&command_http_limits,
	/* weir itself */
	&command_completion,
	&command_help,
	NULL,
};

bool command_is_in(const struct command *command, const char *name)
{
	size_t length = strlen(name);

	return !strncmp(command->name, name, length) &&
	       (!command->name[length] || command->name[length] == ' ');
}

static const struct command *command_find(const char *name)
{
	for (size_t i = 0; commands[i]; i++) {
		if (!strcmp(commands[i]->name, name))
			return commands[i];
	}
	return NULL;
}

static bool is_group(const char *word)
{
	for (size_t i = 0; commands[i]; i++) {
		if (command_is_in(commands[i], word))
			return true;
	}
	return false;
}

/* topic is what --help explains: the command, or the group it stands for. */
static int command_run(const struct command *command, const char *topic, char *const *words)
{
	struct arguments arguments;
	struct failure why;

	if (arguments_parse(command, words, &arguments, &why))
		return misuse(command, "%s", why.reason);
	if (arguments.help)
		return help_show(topic, arguments.format);
	return command->run(&arguments);
}

/* What a group's word means that has no list. */
static int group_help(const char *name, char *const *words)
{
	const struct command group = {.name = name};
	struct arguments arguments;
	struct failure why;

	if (arguments_parse(&group, words, &arguments, &why))
		return misuse(&group, "%s", why.reason);
	return help_show(name, arguments.format);
}

/* A group's word alone, or with options, means its list. */
static int group_run(char *const *words)
{
	bool is_list = !words[1] || words[1][0] == '-';
	const struct command *command;
	char name[64];

	snprintf(name, sizeof(name), "%s %s", words[0], is_list ? "list" : words[1]);
	command = command_find(name);
	if (!command && is_list)
		return group_help(words[0], words + 1);
	if (!command)
		return misuse(NULL, "cannot find command '%s'", name);
	return is_list ? command_run(command, words[0], words + 1)
		       : command_run(command, name, words + 2);
}

static int version_show(void)
{
	puts("weir " WEIR_VERSION);
	return output_finish();
}

int main(int argc, char **argv)
{
	/* A reader that went away is seen as EPIPE where it is written to. */
	signal(SIGPIPE, SIG_IGN);
	if (argc < 2)
		return help_show(NULL, REPORT_TEXT);
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"))
		return command_run(&command_help, command_help.name, argv + 2);
	if (!strcmp(argv[1], "--version"))
		return argc == 2 ? version_show()
				 : misuse(NULL, "cannot use '%s': --version stands alone", argv[2]);
	if (command_find(argv[1]))
		return command_run(command_find(argv[1]), argv[1], argv + 2);
	if (is_group(argv[1]))
		return group_run(argv + 1);
	return misuse(NULL, "cannot find command '%s'", argv[1]);
}
