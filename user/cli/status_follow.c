/* SPDX-License-Identifier: MIT */
/* weir status --every. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "cli/every.h"
#include "cli/status.h"

struct follower {
	enum report_format format;
	struct snapshot before;
};

static void report_rates(struct report *report, const char *key, const struct weir_count *count,
			 uint64_t elapsed_ns)
{
	report_object(report, key);
	report_real(report, "packets_per_s", per_second(count->packets, elapsed_ns));
	report_real(report, "bytes_per_s", per_second(count->bytes, elapsed_ns));
	report_end(report);
}

static void report_verdicts(struct report *report, const struct weir_counters *counters,
			    uint64_t elapsed_ns)
{
	report_object(report, "verdicts");
	for (size_t i = 0; i < WEIR_VERDICT_MAX; i++)
		report_rates(report, verdict_names[i], &counters->verdicts[i], elapsed_ns);
	report_end(report);
}

static void time_format(char *buf, size_t size, enum report_format format)
{
	time_t now = time(NULL);
	struct tm broken_down;

	if (format == REPORT_JSON)
		strftime(buf, size, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &broken_down));
	else
		strftime(buf, size, "%H:%M:%S", localtime_r(&now, &broken_down));
}

static int object_print(const struct snapshot *change, uint64_t elapsed_ns)
{
	struct report *report = report_new(REPORT_JSON);
	struct weir_counters total = snapshot_total(change);
	struct flow flow = counters_flow(&total);
	char now[32];

	time_format(now, sizeof(now), REPORT_JSON);
	report_string(report, "time", now);
	report_duration(report, "elapsed", elapsed_ns);
	report_rates(report, "pass", &flow.pass, elapsed_ns);
	report_rates(report, "drop", &flow.drop, elapsed_ns);
	report_verdicts(report, &total, elapsed_ns);
	report_list(report, "interfaces");
	for (size_t i = 0; i < change->count; i++) {
		report_row(report);
		report_interface(report, &change->interfaces[i]);
		report_verdicts(report, &change->interfaces[i].counters, elapsed_ns);
		report_end(report);
	}
	report_end(report);
	return report_finish(report);
}

static int heading_print(void)
{
	printf("%-8s %14s %14s %16s %16s  %s\n", "time", "pass/s", "drop/s", "pass bytes/s",
	       "drop bytes/s", "packets/s by verdict");
	return output_finish();
}

/* Only those that occurred, since most are zero most of the time. */
static void verdicts_print(const struct weir_counters *counters, uint64_t elapsed_ns)
{
	const char *between = "  ";

	for (size_t i = 0; i < WEIR_VERDICT_MAX; i++) {
		if (!counters->verdicts[i].packets)
			continue;
		printf("%s%s %.1f", between, verdict_names[i],
		       per_second(counters->verdicts[i].packets, elapsed_ns));
		between = ", ";
	}
}

/* A line of a table that grows for hours: the heading and widths are fixed. */
static int line_print(const struct snapshot *change, uint64_t elapsed_ns)
{
	struct weir_counters total = snapshot_total(change);
	struct flow flow = counters_flow(&total);
	char now[32];

	time_format(now, sizeof(now), REPORT_TEXT);
	printf("%-8s %14.1f %14.1f %16.0f %16.0f", now, per_second(flow.pass.packets, elapsed_ns),
	       per_second(flow.drop.packets, elapsed_ns), per_second(flow.pass.bytes, elapsed_ns),
	       per_second(flow.drop.bytes, elapsed_ns));
	verdicts_print(&total, elapsed_ns);
	putchar('\n');
	return output_finish();
}

/* Opened each time, since the maps are others once weir was detached and attached again. */
static int snapshot_open(struct snapshot *ret, struct failure *why)
{
	struct control *control = NULL;
	int err = control_open(&control, why);

	if (!err)
		err = snapshot_take(control, ret, why);
	control_close(control);
	return err;
}

static int follow_once(void *arg)
{
	struct follower *follower = arg;
	struct snapshot now = {0}, change;
	struct failure why;
	uint64_t elapsed_ns;
	int err = snapshot_open(&now, &why);

	/* Detached meanwhile: nothing is counted until weir is attached again. */
	if (err == -ENOENT)
		now.taken_ns = monotonic_ns();
	else if (err)
		return failed(&why, "show the status");
	change = now;
	snapshot_subtract(&change, &follower->before);
	elapsed_ns = now.taken_ns - follower->before.taken_ns;
	follower->before = now;
	if (!elapsed_ns)
		return EXIT_DONE;
	return follower->format == REPORT_JSON ? object_print(&change, elapsed_ns)
					       : line_print(&change, elapsed_ns);
}

int status_follow(uint64_t period_ns, enum report_format format)
{
	struct follower follower = {.format = format};
	struct failure why;
	int status;

	if (snapshot_open(&follower.before, &why))
		return failed(&why, "show the status");
	status = format == REPORT_TEXT ? heading_print() : EXIT_DONE;
	if (!status)
		status = every(period_ns, follow_once, &follower);
	if (status >= 0)
		return status;
	failure_errno(&why, status);
	return failed(&why, "wait for the end of a period");
}
