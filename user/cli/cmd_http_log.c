/* SPDX-License-Identifier: MIT */
/* weir http log: what access logs tell of refusals, and what a draft limit would have done. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "cli/access_report.h"
#include "cli/cli.h"
#include "cli/log_file.h"

#define TOP_DEFAULT   10
#define DEPTH_DEFAULT 2
#define JUNK_SHOWN    5
#define BACK_TOLD_NS  NS_PER_SECOND /* less is what workers do that write to one log */

enum { SIMULATE, TOP, ROUTE_DEPTH };

static const struct argument_spec operands[] = {
	{.name = "FILE",
	 .summary = "an access log, also by gzip; - is standard input",
	 .kind = VALUE_FILE,
	 .required = true,
	 .many = true},
	{.name = NULL},
};

static const struct argument_spec options[] = {
	[SIMULATE] = {.name = "simulate",
		      .value = "LIMIT",
		      .summary = "'PREFIX CAPACITY RATE', as --limit of weir http run: whom it\n"
				 "would have refused; each on its own, a token bucket over all\n"
				 "requests of the path: it says nothing of limits that count\n"
				 "failures only",
		      .kind = VALUE_TEXT,
		      .many = true},
	[TOP] = {.name = "top",
		 .value = "COUNT",
		 .summary = "how many rows of each list; default 10",
		 .kind = VALUE_COUNT,
		 .max = ACCESS_TOP_MAX},
	[ROUTE_DEPTH] = {.name = "route-depth",
			 .value = "COUNT",
			 .summary = "how many segments of a path are its route; default 2",
			 .kind = VALUE_COUNT,
			 .max = ACCESS_DEPTH_MAX},
	{.name = NULL},
};

/* A log that is there, and where it begins. */
struct log {
	const char *path;
	struct log_file *file; /* NULL: to be opened again */
	uint64_t begin_ns;     /* 0: nobody knows */
	size_t number;         /* in the order given */
};

struct junk {
	const char *path;
	uint64_t number;
	enum access_lack lack;
};

struct analysis {
	uint8_t secret[KEY_SECRET_SIZE];
	struct access_reader reader;
	struct access_counts counts;
	size_t simulations_count;
	struct access_simulation simulations[REPEATS_MAX];
	size_t logs_count;
	struct log logs[REST_MAX];
	size_t failures; /* logs that were not read, or not to their end */
	struct junk junk[JUNK_SHOWN];
};

static uint64_t number_of(const struct argument *argument, uint64_t otherwise)
{
	return argument->given ? argument->number : otherwise;
}

/* An exit status. */
static int simulations_open(struct analysis *analysis, const struct arguments *arguments)
{
	const struct argument *simulate = &arguments->options[SIMULATE];
	struct failure why;

	for (size_t i = 0; i < simulate->times; i++) {
		if (access_simulation_open(&analysis->simulations[i], analysis->secret,
					   simulate->texts[i], &why))
			return misuse(arguments->command, "cannot use '%s' for --simulate: %s",
				      simulate->texts[i], why.reason);
		analysis->simulations_count++;
	}
	return EXIT_DONE;
}

static void log_failed(struct analysis *analysis, const char *path, const struct failure *why)
{
	failed(why, "read '%s'", path);
	analysis->failures++;
}

/* The time of the first line that has one, as far as one can look ahead. */
static uint64_t begin_of(struct access_reader *reader, struct log_file *file)
{
	struct access_line line;
	const char *bytes, *newline;
	size_t size;

	log_file_ahead(file, &bytes, &size);
	while ((newline = memchr(bytes, '\n', size))) {
		if (!access_line_read(reader, bytes, (size_t)(newline - bytes), &line))
			return line.time_ns;
		size -= (size_t)(newline + 1 - bytes);
		bytes = newline + 1;
	}
	return 0;
}

/* A file is closed again: there may be more of them than descriptors. */
static void log_add(struct analysis *analysis, const char *path)
{
	struct log log = {.path = path, .number = analysis->logs_count};
	struct failure why;

	if (log_file_open(path, &log.file, &why)) {
		log_failed(analysis, path, &why);
		return;
	}
	log.begin_ns = begin_of(&analysis->reader, log.file);
	if (log_file_is_lasting(log.file)) {
		log_file_close(log.file);
		log.file = NULL;
	}
	analysis->logs[analysis->logs_count++] = log;
}

static int log_compare(const void *a, const void *b)
{
	const struct log *left = a, *right = b;

	if (left->begin_ns != right->begin_ns)
		return left->begin_ns < right->begin_ns ? -1 : 1;
	return left->number < right->number ? -1 : 1;
}

static void logs_open(struct analysis *analysis, const struct arguments *arguments)
{
	for (size_t i = 0; i < arguments->rest_count; i++)
		log_add(analysis, arguments->rest[i]);
	qsort(analysis->logs, analysis->logs_count, sizeof(analysis->logs[0]), log_compare);
}

static void junk_note(struct analysis *analysis, const char *path, const struct log_line *line,
		      enum access_lack lack)
{
	if (analysis->counts.junk < JUNK_SHOWN)
		analysis->junk[analysis->counts.junk] =
			(struct junk){.path = path, .number = line->number, .lack = lack};
	analysis->counts.junk++;
}

static void line_read(struct analysis *analysis, const char *path, const struct log_line *text)
{
	struct access_line line;
	enum access_lack lack = access_line_read(&analysis->reader, text->bytes, text->size, &line);

	if (lack) {
		junk_note(analysis, path, text, lack);
		return;
	}
	access_count(&analysis->counts, &line);
	for (size_t i = 0; i < analysis->simulations_count; i++)
		access_simulate(&analysis->simulations[i], &line);
}

static void log_read(struct analysis *analysis, struct log *log)
{
	struct log_line line;
	struct failure why;

	if (!log->file && log_file_open(log->path, &log->file, &why)) {
		log_failed(analysis, log->path, &why);
		return;
	}
	while (log_file_next(log->file, &line))
		line_read(analysis, log->path, &line);
	if (log_file_check(log->file, &why))
		log_failed(analysis, log->path, &why);
	log_file_close(log->file);
	log->file = NULL;
}

static void junk_tell(const struct analysis *analysis)
{
	uint64_t junk = analysis->counts.junk;

	for (size_t i = 0; i < JUNK_SHOWN && i < junk; i++)
		notice("%s:%" PRIu64 " is left out: it lacks %s", analysis->junk[i].path,
		       analysis->junk[i].number, access_lack_names[analysis->junk[i].lack]);
	if (junk > JUNK_SHOWN)
		notice("%" PRIu64 " more lines are left out", junk - JUNK_SHOWN);
}

/* What makes the figures less than they seem. */
static void doubts_tell(const struct analysis *analysis)
{
	const struct access_counts *counts = &analysis->counts;
	char back[QUANTITY_TEXT_SIZE];

	duration_format_rounded(back, sizeof(back), counts->back_most_ns);
	if (counts->back_most_ns > BACK_TOLD_NS)
		notice("time goes back in %" PRIu64 " lines, by %s at most: limits are simulated "
		       "in the order of the lines",
		       counts->back, back);
	if (counts->other_clients.requests)
		notice("%" PRIu64 " requests are of clients beyond the first %zu, in no list",
		       counts->other_clients.requests, counts->clients.count);
	if (counts->other_routes.requests)
		notice("%" PRIu64 " requests are of routes beyond the first %zu, in no list",
		       counts->other_routes.requests, counts->routes.count);
}

/* An exit status. */
static int analysis_report(const struct analysis *analysis, const struct arguments *arguments)
{
	size_t top = number_of(&arguments->options[TOP], TOP_DEFAULT);
	struct report *report = report_new(arguments->format);

	access_report(report, &analysis->counts, top);
	access_report_simulations(report, analysis->simulations, analysis->simulations_count, top);
	return report_finish(report);
}

/* Where no log was to be had there is nothing to report. An exit status. */
static int analyse(struct analysis *analysis, const struct arguments *arguments)
{
	int status;

	logs_open(analysis, arguments);
	if (!analysis->logs_count)
		return EXIT_FAILED;
	for (size_t i = 0; i < analysis->logs_count; i++)
		log_read(analysis, &analysis->logs[i]);
	junk_tell(analysis);
	doubts_tell(analysis);
	status = analysis_report(analysis, arguments);
	return analysis->failures ? EXIT_FAILED : status;
}

static int analysis_open(struct analysis **ret, const struct arguments *arguments)
{
	struct analysis *analysis = calloc(1, sizeof(*analysis));

	if (!analysis || getrandom(analysis->secret, KEY_SECRET_SIZE, 0) != KEY_SECRET_SIZE) {
		int err = errno;

		free(analysis);
		return -err;
	}
	access_counts_open(
		&analysis->counts, analysis->secret,
		(unsigned int)number_of(&arguments->options[ROUTE_DEPTH], DEPTH_DEFAULT));
	*ret = analysis;
	return 0;
}

static void analysis_close(struct analysis *analysis)
{
	for (size_t i = 0; i < analysis->simulations_count; i++)
		access_simulation_close(&analysis->simulations[i]);
	for (size_t i = 0; i < analysis->logs_count; i++)
		log_file_close(analysis->logs[i].file);
	access_counts_close(&analysis->counts);
	free(analysis);
}

static int run(const struct arguments *arguments)
{
	struct analysis *analysis = NULL;
	int err = analysis_open(&analysis, arguments);
	struct failure why;
	int status;

	if (err) {
		failure_errno(&why, err);
		return failed(&why, "analyse logs");
	}
	status = simulations_open(analysis, arguments);
	if (!status)
		status = analyse(analysis, arguments);
	analysis_close(analysis);
	return status;
}

const struct command command_http_log = {
	.name = "http log",
	.summary = "analyse access logs: who was refused, who would be",
	.description =
		"Counts the requests of access logs, and those refused (status 429, or as\n"
		"weir's own log format says), by route, zone and client, and tells the clients\n"
		"refused most. Logs are put in order by the time they begin. With --simulate it\n"
		"tries a limit on the requests of the past.",
	.examples = "weir http log /var/log/nginx/access.log*\n"
		    "weir http log --simulate '/login 5 1/s' /var/log/nginx/access.log\n"
		    "weir http log --json - < access.log | jq '.offenders[].client'\n",
	.operands = operands,
	.options = options,
	.run = run,
};
