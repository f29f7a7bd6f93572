/* SPDX-License-Identifier: MIT */
/* Help, out of the commands' tables. */
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"

#define USAGE_SIZE     512
#define USAGE_COLUMNS  80
#define NAME_COLUMNS   20
#define SUMMARY_COLUMN (2 + NAME_COLUMNS + 2)

enum usage_form { USAGE_SHORT, USAGE_FULL };

/* "IFACE", "--rate RATE", "--limit LIMIT...", "--all". */
static void argument_title(char *buf, size_t size, const struct argument_spec *spec,
			   const char *dashes)
{
	snprintf(buf, size, "%s%s%s%s%s", dashes, spec->name, spec->value ? " " : "",
		 spec->value ? spec->value : "", spec->many ? "..." : "");
}

static const char *usage_frame(const struct argument_spec *spec, bool is_option)
{
	if (spec->either)
		return is_option ? " | %s" : " %s";
	return spec->required ? " %s" : " [%s]";
}

static void usage_append(char usage[USAGE_SIZE], const struct argument_spec *specs,
			 const char *dashes, enum usage_form form)
{
	for (; specs && specs->name; specs++) {
		size_t length = strlen(usage);
		char title[64];

		if (!specs->required && !specs->either && form == USAGE_SHORT && dashes[0])
			continue;
		argument_title(title, sizeof(title), specs, dashes);
		snprintf(usage + length, USAGE_SIZE - length, usage_frame(specs, dashes[0] != '\0'),
			 title);
	}
}

/* The command and its arguments; in short without options that may be left out. */
static void usage_format(char usage[USAGE_SIZE], const struct command *command,
			 enum usage_form form)
{
	snprintf(usage, USAGE_SIZE, "%s", command->name);
	usage_append(usage, command->operands, "", form);
	usage_append(usage, command->options, "--", form);
	if (form == USAGE_FULL)
		usage_append(usage, shared_options, "--", form);
}

/* Where to break a line that is too long: before a bracket or a word, never within "[--rate RATE]".
 */
static size_t usage_break(const char *usage, size_t columns)
{
	size_t at = columns;

	if (strlen(usage) <= columns)
		return strlen(usage);
	while (at && !(usage[at] == ' ' && (usage[at + 1] == '[' || usage[at + 1] == '-')))
		at--;
	return at ? at : strlen(usage);
}

static void usage_print(const struct command *command)
{
	char usage[USAGE_SIZE];
	const char *rest = usage;
	int indent = (int)strlen("usage: weir ");

	usage_format(usage, command, USAGE_FULL);
	printf("usage: weir ");
	while (*rest) {
		size_t length = usage_break(rest, (size_t)(USAGE_COLUMNS - indent));

		printf("%.*s\n", (int)length, rest);
		rest += length + (rest[length] == ' ');
		if (*rest)
			printf("%*s", indent, "");
	}
}

/* A title and its summary, of whose lines each has the same indentation. */
static void entry_print(const char *title, const char *summary)
{
	if (strlen(title) > NAME_COLUMNS)
		printf("  %s\n%*s", title, SUMMARY_COLUMN, "");
	else
		printf("  %-*s  ", NAME_COLUMNS, title);
	for (; *summary; summary++) {
		putchar(*summary);
		if (*summary == '\n')
			printf("%*s", SUMMARY_COLUMN, "");
	}
	putchar('\n');
}

static void arguments_print(const struct argument_spec *specs, const char *dashes)
{
	for (; specs && specs->name; specs++) {
		char title[64];

		argument_title(title, sizeof(title), specs, dashes);
		entry_print(title, specs->summary);
	}
}

static void examples_print(const char *examples)
{
	printf("\nexamples:\n");
	while (*examples) {
		int length = (int)strcspn(examples, "\n");

		printf("  %.*s\n", length, examples);
		examples += length + (examples[length] == '\n');
	}
}

static void command_print(const struct command *command)
{
	usage_print(command);
	if (command->description)
		printf("\n%s\n\n", command->description);
	else
		printf("\nTo %s.\n\n", command->summary);
	arguments_print(command->operands, "");
	arguments_print(command->options, "--");
	arguments_print(shared_options, "--");
	examples_print(command->examples);
}

static void table_print(void)
{
	printf("weir limits how many packets and HTTP requests each source may send.\n\n"
	       "usage: weir COMMAND [ARGUMENT...]\n\n");
	for (size_t i = 0; commands[i]; i++) {
		char usage[USAGE_SIZE];

		usage_format(usage, commands[i], USAGE_SHORT);
		entry_print(usage, commands[i]->summary);
	}
	printf("\nweir COMMAND --help explains one; every command takes --json. See also "
	       "weir(8).\n");
}

static void text_print(const char *name)
{
	const char *between = "";

	for (size_t i = 0; commands[i]; i++) {
		if (!command_is_in(commands[i], name))
			continue;
		fputs(between, stdout);
		command_print(commands[i]);
		between = "\n";
	}
}

static int json_print(const char *name)
{
	struct report *report = report_new(REPORT_JSON);

	report_list(report, "commands");
	for (size_t i = 0; commands[i]; i++) {
		char usage[USAGE_SIZE];

		if (name && !command_is_in(commands[i], name))
			continue;
		usage_format(usage, commands[i], USAGE_FULL);
		report_row(report);
		report_string(report, "name", commands[i]->name);
		report_string(report, "usage", usage);
		report_string(report, "summary", commands[i]->summary);
		report_string(report, "description", commands[i]->description);
		report_end(report);
	}
	report_end(report);
	return report_finish(report);
}

int help_show(const char *name, enum report_format format)
{
	if (format == REPORT_JSON)
		return json_print(name);
	if (name)
		text_print(name);
	else
		table_print();
	return output_finish();
}
