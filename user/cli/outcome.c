/* SPDX-License-Identifier: MIT */
/* How a command ends: sentences on stderr, the report on stdout, and the exit status. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "text/report_cell.h"

#define SENTENCE_SIZE 1024

/* One line per sentence, whatever the arguments quoted in it contain. */
static void sentence_print(const char *before, const char *sentence)
{
	struct cell cell;

	fputs(before, stderr);
	cell_of_text(&cell, sentence);
	cell_write(&cell, stderr);
	fputc('\n', stderr);
}

static void notice_print(const char *format, va_list arguments)
{
	char sentence[SENTENCE_SIZE];

	vsnprintf(sentence, sizeof(sentence), format, arguments);
	sentence_print("weir: ", sentence);
}

int misuse(const struct command *command, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	notice_print(format, arguments);
	va_end(arguments);
	if (command)
		fprintf(stderr, "hint: weir %s --help\n", command->name);
	else
		fputs("hint: weir help\n", stderr);
	return EXIT_MISUSE;
}

int failed(const struct failure *why, const char *format, ...)
{
	char sentence[SENTENCE_SIZE];
	va_list arguments;
	size_t length;

	va_start(arguments, format);
	vsnprintf(sentence, sizeof(sentence), format, arguments);
	va_end(arguments);
	length = strlen(sentence);
	snprintf(sentence + length, sizeof(sentence) - length, ": %s", why->reason);
	sentence_print("weir: cannot ", sentence);
	if (why->hint[0])
		sentence_print("hint: ", why->hint);
	return EXIT_FAILED;
}

void notice(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	notice_print(format, arguments);
	va_end(arguments);
}

/* The exit status after writing to standard output ended in err, 0 or -errno. A closed pipe is
 * nothing to talk about. */
static int written(int err)
{
	struct failure why;

	if (!err)
		return EXIT_DONE;
	if (err == -EPIPE)
		return EXIT_FAILED;
	failure_errno(&why, err);
	return failed(&why, "write to standard output");
}

int output_finish(void)
{
	if (!fflush(stdout) && !ferror(stdout))
		return written(0);
	return written(errno ? -errno : -EIO);
}

int report_finish(struct report *report)
{
	int err = report_print(report, stdout);

	report_free(report);
	return written(err);
}
