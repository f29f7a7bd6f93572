/* SPDX-License-Identifier: MIT */
/* Words of the command line to values, by a command's tables. Pure. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"

#define TITLE_SIZE 32

const struct argument_spec shared_options[] = {
	{.name = "json", .summary = "print one JSON document"},
	{.name = "help", .summary = "print this help"},
	{.name = NULL},
};

/* The words not read yet, and where what was read goes. */
struct reading {
	const struct command *command;
	char *const *next;
	bool only_operands; /* after "--" */
	size_t operands;
	struct argument json;
	struct arguments *arguments;
	struct failure *why;
};

/* title is how the user knows the argument: "--rate" or "IFACE". */
static int argument_read(struct reading *reading, const struct argument_spec *spec,
			 const char *title, const char *text, struct argument *ret)
{
	if (value_read(spec, text, ret, reading->why))
		return failure_set(reading->why, EINVAL, "cannot use '%.100s' for %s: %s", text,
				   title, reading->why->reason);
	ret->given = true;
	ret->text = text;
	return 0;
}

static const struct argument_spec *option_find(const struct argument_spec *specs, const char *name,
					       size_t length)
{
	for (; specs && specs->name; specs++) {
		if (!strncmp(specs->name, name, length) && !specs->name[length])
			return specs;
	}
	return NULL;
}

/* The value after '=', else the next word; NULL where there is none. A word that looks like an
 * option is one: no value begins with dashes. */
static const char *option_value(struct reading *reading, const char *equals)
{
	if (equals)
		return equals + 1;
	if (!*reading->next || !strncmp(*reading->next, "--", 2))
		return NULL;
	return *reading->next++;
}

static int check_times(struct reading *reading, const struct argument_spec *spec, const char *title,
		       size_t times)
{
	if (times && !spec->many)
		return failure_set(reading->why, EINVAL, "cannot use '%s': it was given before",
				   title);
	if (times == REPEATS_MAX)
		return failure_set(reading->why, EINVAL,
				   "cannot use '%s': it was given %d times before", title,
				   REPEATS_MAX);
	return 0;
}

static int option_store(struct reading *reading, const struct argument_spec *spec,
			const char *equals, struct argument *ret)
{
	const char *value = NULL;
	char title[TITLE_SIZE];

	snprintf(title, sizeof(title), "--%s", spec->name);
	if (check_times(reading, spec, title, ret->times))
		return -EINVAL;
	if (spec->kind == VALUE_FLAG) {
		if (equals)
			return failure_set(reading->why, EINVAL,
					   "cannot use '%s%.100s': it takes no value", title,
					   equals);
		ret->given = true;
		ret->times++;
		return 0;
	}
	value = option_value(reading, equals);
	if (!value)
		return failure_set(reading->why, EINVAL, "cannot use '%s': its value %s is missing",
				   title, spec->value);
	if (argument_read(reading, spec, title, value, ret))
		return -EINVAL;
	ret->texts[ret->times++] = value;
	return 0;
}

static int option_read(struct reading *reading, const char *word)
{
	const char *name = word + strspn(word, "-");
	const char *equals = strchr(name, '=');
	size_t length = equals ? (size_t)(equals - name) : strlen(name);
	const struct argument_spec *spec = NULL;

	if (name - word == 2)
		spec = option_find(reading->command->options, name, length);
	if (spec)
		return option_store(reading, spec, equals,
				    &reading->arguments->options[spec - reading->command->options]);
	if (name - word == 2)
		spec = option_find(shared_options, name, length);
	if (!spec)
		return failure_set(reading->why, EINVAL,
				   "cannot use '%.100s': weir %s has no such option", word,
				   reading->command->name);
	/* --help was looked for before, and is here only where it has a value. */
	return option_store(reading, spec, equals, &reading->json);
}

/* One of many words; they stay the same operand's. */
static int rest_keep(struct reading *reading, const struct argument_spec *spec, const char *word,
		     struct argument *ret)
{
	struct arguments *arguments = reading->arguments;

	if (arguments->rest_count == REST_MAX)
		return failure_set(reading->why, EINVAL,
				   "cannot use '%.100s': there were %d of %s before", word,
				   REST_MAX, spec->name);
	arguments->rest[arguments->rest_count++] = word;
	return argument_read(reading, spec, spec->name, word, ret);
}

static int operand_read(struct reading *reading, const char *word)
{
	const struct argument_spec *spec = reading->command->operands;
	struct argument *operands = reading->arguments->operands;

	for (size_t i = 0; spec && spec->name && i < reading->operands; i++)
		spec++;
	if (!spec || !spec->name)
		return failure_set(reading->why, EINVAL,
				   "cannot use '%.100s': weir %s takes no such argument", word,
				   reading->command->name);
	if (spec->many)
		return rest_keep(reading, spec, word, &operands[reading->operands]);
	return argument_read(reading, spec, spec->name, word, &operands[reading->operands++]);
}

static int word_read(struct reading *reading)
{
	const char *word = *reading->next++;

	if (reading->only_operands || word[0] != '-' || !word[1])
		return operand_read(reading, word);
	if (strcmp(word, "--"))
		return option_read(reading, word);
	reading->only_operands = true;
	return 0;
}

static int check_required(const struct argument_spec *specs, const char *dashes,
			  const struct argument *arguments, struct reading *reading)
{
	for (size_t i = 0; specs && specs[i].name; i++) {
		if (specs[i].required && !arguments[i].given)
			return failure_set(reading->why, EINVAL, "cannot run '%s': %s%s is missing",
					   reading->command->name, dashes, specs[i].name);
	}
	return 0;
}

/* Whether the word is there before "--". */
static bool has_word(char *const *words, const char *word)
{
	for (; *words && strcmp(*words, "--"); words++) {
		if (!strcmp(*words, word))
			return true;
	}
	return false;
}

int arguments_parse(const struct command *command, char *const *words, struct arguments *ret,
		    struct failure *why)
{
	struct arguments arguments = {.command = command};
	struct reading reading = {
		.command = command, .next = words, .arguments = &arguments, .why = why};
	int err = 0;

	if (has_word(words, "--help") || has_word(words, "-h")) {
		arguments.help = true;
		arguments.format = has_word(words, "--json") ? REPORT_JSON : REPORT_TEXT;
		*ret = arguments;
		return 0;
	}
	while (!err && *reading.next)
		err = word_read(&reading);
	if (!err)
		err = check_required(command->operands, "", arguments.operands, &reading);
	if (!err)
		err = check_required(command->options, "--", arguments.options, &reading);
	if (err)
		return err;
	arguments.format = reading.json.given ? REPORT_JSON : REPORT_TEXT;
	*ret = arguments;
	return 0;
}
