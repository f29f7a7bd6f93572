/* SPDX-License-Identifier: MIT */
/* The bash completion script, out of the commands' tables. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

static const char script_begin[] =
	"# bash completion for weir, printed by weir completion\n"
	"\n"
	"_weir_names()\n"
	"{\n"
	"\tlocal path\n"
	"\tfor path in \"$1\"/*; do\n"
	"\t\t[[ -e $path ]] && printf '%s\\n' \"${path##*/}\"\n"
	"\tdone\n"
	"}\n"
	"\n"
	"# Files and directories that begin so.\n"
	"_weir_files()\n"
	"{\n"
	"\tlocal path\n"
	"\tfor path in \"$1\"*; do\n"
	"\t\t[[ ! -d $path ]] || path+=/\n"
	"\t\t[[ ! -e $path ]] || printf '%s\\n' \"$path\"\n"
	"\tdone\n"
	"}\n"
	"\n"
	"# What may follow the words \"command\" and \"before\", if it begins "
	"with a third.\n"
	"_weir_words()\n"
	"{\n"
	"\tcase \"$1 $2\" in\n";

/* bash splits words at '=' when it completes: "--mode", "=", "nat". Not compgen -W, which would run
 * what an interface's name says. */
static const char script_end[] =
	"\n"
	"_weir()\n"
	"{\n"
	"\tlocal current=${COMP_WORDS[COMP_CWORD]} at=$((COMP_CWORD - 1)) command=weir "
	"word\n"
	"\n"
	"\tif [[ $current == '=' ]]; then\n"
	"\t\tcurrent=\n"
	"\telif [[ ${COMP_WORDS[at]} == '=' ]]; then\n"
	"\t\tat=$((at - 1))\n"
	"\tfi\n"
	"\tif ((COMP_CWORD > 1)); then\n"
	"\t\tcommand=${COMP_WORDS[1]}\n"
	"\tfi\n"
	"\tif ((COMP_CWORD > 2)) && [[ ${COMP_WORDS[2]} != -* ]]; then\n"
	"\t\t_weir_is_group \"$command\" && command+=_${COMP_WORDS[2]}\n"
	"\tfi\n"
	"\tCOMPREPLY=()\n"
	"\twhile IFS= read -r word; do\n"
	"\t\t[[ $word == \"$current\"* ]] && COMPREPLY+=(\"$(printf %q \"$word\")\")\n"
	"\tdone < <(_weir_words \"$command\" \"${COMP_WORDS[at]}\" \"$current\")\n"
	"\t[[ ${COMPREPLY[*]} != */ ]] || compopt -o nospace 2>/dev/null || :\n"
	"}\n"
	"complete -F _weir weir\n";

/* A command as one word: "limit_set". */
static void script_name(FILE *script, const char *name)
{
	for (; *name; name++)
		fputc(*name == ' ' ? '_' : *name, script);
}

static const char *second_word(const struct command *command)
{
	const char *space = strchr(command->name, ' ');

	return space ? space + 1 : NULL;
}

/* Commands that follow those of their group count once. */
static bool is_first_of_group(size_t at)
{
	size_t length = strcspn(commands[at]->name, " ");

	return !at || strncmp(commands[at - 1]->name, commands[at]->name, length + 1);
}

static bool is_known_to_shell(const struct argument_spec *spec)
{
	return spec->kind == VALUE_CHOICE || spec->kind == VALUE_INTERFACE ||
	       spec->kind == VALUE_NETNS || spec->kind == VALUE_FILE;
}

/* The words a value can be, one a line when the script runs. */
static void values_write(FILE *script, const struct argument_spec *spec)
{
	switch (spec->kind) {
	case VALUE_CHOICE:
		fputs("\t\tprintf '%s\\n'", script);
		for (size_t i = 0; spec->choices[i]; i++)
			fprintf(script, " %s", spec->choices[i]);
		fputc('\n', script);
		break;
	case VALUE_INTERFACE:
		fputs("\t\t_weir_names /sys/class/net\n", script);
		break;
	case VALUE_NETNS:
		fputs("\t\t_weir_names /run/netns\n", script);
		break;
	case VALUE_FILE:
		fputs("\t\t_weir_files \"$3\"\n", script);
		break;
	default:
		fputs("\t\t:\n", script);
		break;
	}
}

/* What may follow an option that takes a value; for some kinds nobody can know. */
static void option_values_write(FILE *script, const struct command *command)
{
	for (const struct argument_spec *spec = command->options; spec && spec->name; spec++) {
		if (spec->kind == VALUE_FLAG)
			continue;
		fputs("\t'", script);
		script_name(script, command->name);
		fprintf(script, " --%s')\n", spec->name);
		values_write(script, spec);
		fputs("\t\t;;\n", script);
	}
}

static void option_names_write(FILE *script, const struct argument_spec *specs)
{
	for (; specs && specs->name; specs++)
		fprintf(script, " --%s", specs->name);
}

static void command_write(FILE *script, const struct command *command)
{
	option_values_write(script, command);
	fputs("\t'", script);
	script_name(script, command->name);
	fputs(" '*)\n", script);
	for (const struct argument_spec *spec = command->operands; spec && spec->name; spec++) {
		if (is_known_to_shell(spec))
			values_write(script, spec);
	}
	fputs("\t\tprintf '%s\\n'", script);
	option_names_write(script, command->options);
	option_names_write(script, shared_options);
	fputs("\n\t\t;;\n", script);
}

static void first_word_write(FILE *script, const struct command *command)
{
	fprintf(script, "%.*s", (int)strcspn(command->name, " "), command->name);
}

static bool is_group(size_t at)
{
	return second_word(commands[at]) && is_first_of_group(at);
}

static void first_words_write(FILE *script)
{
	fputs("\t'weir '*)\n\t\tprintf '%s\\n' --help --version", script);
	for (size_t i = 0; commands[i]; i++) {
		if (!is_first_of_group(i))
			continue;
		fputc(' ', script);
		first_word_write(script, commands[i]);
	}
	fputs("\n\t\t;;\n", script);
}

static void second_words_write(FILE *script, size_t group)
{
	size_t at = group;

	fputs("\t'", script);
	first_word_write(script, commands[group]);
	fputs(" '*)\n\t\tprintf '%s\\n'", script);
	do {
		fprintf(script, " %s", second_word(commands[at++]));
	} while (commands[at] && !is_first_of_group(at));
	option_names_write(script, shared_options);
	fputs("\n\t\t;;\n", script);
}

static void groups_write(FILE *script)
{
	fputs("\n# Whether the command has a second word.\n"
	      "_weir_is_group()\n{\n\tcase $1 in\n",
	      script);
	for (size_t i = 0; commands[i]; i++) {
		if (!is_group(i))
			continue;
		fputc('\t', script);
		first_word_write(script, commands[i]);
		fputs(") return 0 ;;\n", script);
	}
	fputs("\t*) return 1 ;;\n\tesac\n}\n", script);
}

static void script_write(FILE *script)
{
	fputs(script_begin, script);
	for (size_t i = 0; commands[i]; i++)
		command_write(script, commands[i]);
	for (size_t i = 0; commands[i]; i++) {
		if (is_group(i))
			second_words_write(script, i);
	}
	first_words_write(script);
	fputs("\tesac\n}\n", script);
	groups_write(script);
	fputs(script_end, script);
}

static int json_print(void)
{
	struct report *report = report_new(REPORT_JSON);
	char *text = NULL;
	size_t size;
	FILE *script = open_memstream(&text, &size);

	if (script) {
		script_write(script);
		fclose(script);
	}
	report_string(report, "shell", "bash");
	report_string(report, "script", text);
	free(text);
	return report_finish(report);
}

static int run(const struct arguments *arguments)
{
	if (arguments->format == REPORT_JSON)
		return json_print();
	script_write(stdout);
	return output_finish();
}

const struct command command_completion = {
	.name = "completion",
	.summary = "print the bash completion script",
	.description =
		"Prints a script that lets bash complete weir's commands, options and values.",
	.examples = "weir completion > /usr/share/bash-completion/completions/weir\n"
		    "source <(weir completion)\n",
	.run = run,
};
