/* SPDX-License-Identifier: MIT */
/* The command line. Each command is one table: parsing, help and completion all come from it. */
#ifndef WEIR_CLI_H
#define WEIR_CLI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "text/address.h"
#include "text/failure.h"
#include "text/quantity.h"
#include "text/report.h"

#define WEIR_VERSION "0.1.0"
#define OPTIONS_MAX  16
#define OPERANDS_MAX 2
#define REPEATS_MAX  32
#define REST_MAX     1024

enum exit_status { EXIT_DONE, EXIT_FAILED, EXIT_MISUSE };

enum value_kind {
	VALUE_FLAG, /* an option without a value */
	VALUE_TEXT,
	VALUE_RATE,
	VALUE_COUNT,
	VALUE_DURATION,
	VALUE_PREFIX,
	VALUE_LENGTH,
	VALUE_INTERFACE,
	VALUE_NETNS,
	VALUE_FILE,
	VALUE_CHOICE
};

/* An option, or an operand, whose name is then its placeholder. Tables end with a NULL name. */
struct argument_spec {
	const char *name;  /* without dashes */
	const char *value; /* an option's placeholder */
	const char *summary;
	enum value_kind kind;
	bool required;
	bool either;       /* an operand, or the flag that may stand for it: one is needed */
	bool many;         /* an option that may be given up to REPEATS_MAX times, or the last
			    * operand, which may be up to REST_MAX words */
	uint64_t min, max; /* of durations, in ns; max of lengths and, unless 0, counts */
	const char *const *choices; /* of VALUE_CHOICE, ends with NULL */
};

/* Of one that was given several times, all but times and texts are the last's. Those two are of
 * options; the words of an operand that is many are in struct arguments. */
struct argument {
	bool given;
	const char *text; /* as typed */
	struct rate rate;
	struct prefix prefix;
	uint64_t number; /* a count, nanoseconds, bits, or a choice's index */
	size_t times;
	const char *texts[REPEATS_MAX]; /* in the order given */
};

struct command;

/* In the order of the command's tables. */
struct arguments {
	const struct command *command;
	bool help;
	enum report_format format;
	struct argument options[OPTIONS_MAX];
	struct argument operands[OPERANDS_MAX];
	size_t rest_count; /* words of the operand that is many, in the order given */
	const char *rest[REST_MAX];
};

struct command {
	const char *name; /* one word, or two: "limit set" */
	const char *summary;
	const char *description; /* lines for --help, may be NULL */
	const char *examples;    /* lines for --help */
	const struct argument_spec *operands;
	const struct argument_spec *options;
	int (*run)(const struct arguments *arguments); /* an exit status */
};

/* values.c. Pure. */

/* Reads text as the spec's kind into *ret. -EINVAL with why: "it is not a rate ...". */
int value_read(const struct argument_spec *spec, const char *text, struct argument *ret,
	       struct failure *why);

/* options.c. Pure. */

/* What every command takes besides its own. */
extern const struct argument_spec shared_options[];

/* Reads words, up to NULL, as command's arguments. -EINVAL with a sentence such as
 * "cannot use '0/s' for --rate: ...", then *ret is left alone. Where --help is among them all else
 * is ignored. */
int arguments_parse(const struct command *command, char *const *words, struct arguments *ret,
		    struct failure *why);

/* main.c */

extern const struct command *const commands[]; /* ends with NULL */

/* Whether the command is the one named, or of the group named by its first word. */
bool command_is_in(const struct command *command, const char *name);

/* help.c */

/* What the commands named do, all of them when name is NULL. An exit status. */
int help_show(const char *name, enum report_format format);

/* outcome.c */

/* Prints "weir: <sentence>" and a hint that points to the command's help. Returns EXIT_MISUSE. */
int misuse(const struct command *command, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Prints "weir: cannot <deed>: <reason>" and the hint. Returns EXIT_FAILED. */
int failed(const struct failure *why, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Prints "weir: <sentence>" for what the user should know though the command succeeds. */
void notice(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Flushes what was printed to standard output. An exit status. */
int output_finish(void);

/* Prints the report to standard output and frees it. An exit status. */
int report_finish(struct report *report);

/* The commands, one cmd_<verb>.c per verb. */
extern const struct command command_attach;
extern const struct command command_completion;
extern const struct command command_detach;
extern const struct command command_forget;
extern const struct command command_help;
extern const struct command command_http_limits;
extern const struct command command_http_log;
extern const struct command command_http_reset;
extern const struct command command_http_run;
extern const struct command command_http_show;
extern const struct command command_http_top;
extern const struct command command_http_zones;
extern const struct command command_limit_list;
extern const struct command command_limit_set;
extern const struct command command_show;
extern const struct command command_sources;
extern const struct command command_status;

#endif
