/* SPDX-License-Identifier: MIT */
#include "cli/access_report.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#define MOMENT_TEXT_SIZE sizeof("2026-12-01T17:35:03Z")
#define KEY_TEXT_SIZE    (ACCESS_ROUTE_SIZE_MAX + 1)

/* A list of what a table has: of which entries, in which order, what is told of each. */
struct listing {
	const char *list;
	const char *row;
	access_order *before;
	void (*name)(const void *key, size_t size, char buf[KEY_TEXT_SIZE]);
	void (*tell)(struct report *report, const struct access_tally *tally);
	bool of_refused; /* those without a refusal are left out */
};

static void report_moment(struct report *report, const char *key, uint64_t time_ns)
{
	time_t seconds = (time_t)(time_ns / NS_PER_SECOND);
	char text[MOMENT_TEXT_SIZE];
	struct tm tm;

	gmtime_r(&seconds, &tm);
	strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &tm);
	report_string(report, key, text);
}

static void name_copy(const void *key, size_t size, char buf[KEY_TEXT_SIZE])
{
	snprintf(buf, KEY_TEXT_SIZE, "%.*s", (int)size, (const char *)key);
}

static void name_client(const void *key, size_t size, char buf[KEY_TEXT_SIZE])
{
	(void)size;
	prefix_format(buf, KEY_TEXT_SIZE, key);
}

static void report_tally(struct report *report, const struct access_tally *tally)
{
	report_count(report, "requests", tally->requests);
	report_count(report, "refused", tally->refused);
	report_count(report, "would_be_refused", tally->observed);
	report_real(report, "refused_share",
		    tally->requests ? (double)tally->refused / (double)tally->requests : 0);
}

static void report_offender(struct report *report, const struct access_tally *tally)
{
	report_count(report, "refused", tally->refused);
	report_count(report, "requests", tally->requests);
	report_moment(report, "first_refused", tally->first_refused_ns);
	report_moment(report, "last_refused", tally->last_refused_ns);
}

static void report_simulated(struct report *report, const struct access_tally *tally)
{
	report_count(report, "would_be_refused", tally->refused);
	report_count(report, "requests", tally->requests);
	report_moment(report, "first_refused", tally->first_refused_ns);
}

static const struct listing routes = {
	.list = "routes",
	.row = "route",
	.before = access_refused_more,
	.name = name_copy,
	.tell = report_tally,
};

static const struct listing zones = {
	.list = "zones",
	.row = "zone",
	.before = access_refused_more,
	.name = name_copy,
	.tell = report_tally,
};

static const struct listing clients = {
	.list = "clients",
	.row = "client",
	.before = access_requested_more,
	.name = name_client,
	.tell = report_tally,
};

static const struct listing offenders = {
	.list = "offenders",
	.row = "client",
	.before = access_refused_more,
	.name = name_client,
	.tell = report_offender,
	.of_refused = true,
};

static const struct listing simulated = {
	.list = "offenders",
	.row = "client",
	.before = access_refused_more,
	.name = name_client,
	.tell = report_simulated,
	.of_refused = true,
};

static void report_entry(struct report *report, const struct access_table *table,
			 const struct listing *listing, size_t number)
{
	char name[KEY_TEXT_SIZE];
	size_t size;
	const void *key = access_table_key(table, number, &size);

	listing->name(key, size, name);
	report_row(report);
	report_string(report, listing->row, name);
	listing->tell(report, access_table_value(table, number));
	report_end(report);
}

/* Values of the table begin with a tally. */
static void report_listing(struct report *report, const struct access_table *table,
			   const struct listing *listing, size_t top)
{
	uint32_t numbers[ACCESS_TOP_MAX];
	size_t count = access_table_top(table, listing->before, numbers, top);

	report_list(report, listing->list);
	for (size_t i = 0; i < count; i++) {
		const struct access_tally *tally = access_table_value(table, numbers[i]);

		if (tally->refused || !listing->of_refused)
			report_entry(report, table, listing, numbers[i]);
	}
	report_end(report);
}

static void report_period(struct report *report, const struct access_counts *counts)
{
	if (counts->total.requests) {
		report_moment(report, "from", counts->from_ns);
		report_moment(report, "to", counts->to_ns);
	} else {
		report_null(report, "from");
		report_null(report, "to");
	}
	report_count(report, "times_back", counts->back);
	report_duration(report, "times_back_most", counts->back_most_ns);
}

/* Requests that are in the sums and in no list. */
static void report_unlisted(struct report *report, const struct access_counts *counts)
{
	report_count(report, "clients_known", counts->clients.count);
	report_count(report, "routes_known", counts->routes.count);
	report_count(report, "without_address", counts->nameless.requests);
	report_count(report, "of_other_clients", counts->other_clients.requests);
	report_count(report, "of_other_routes", counts->other_routes.requests);
}

void access_report(struct report *report, const struct access_counts *counts, size_t top)
{
	report_count(report, "lines", counts->total.requests + counts->junk);
	report_count(report, "junk", counts->junk);
	report_period(report, counts);
	report_tally(report, &counts->total);
	report_unlisted(report, counts);
	report_listing(report, &counts->routes, &routes, top);
	report_listing(report, &counts->zones, &zones, top);
	report_listing(report, &counts->clients, &clients, top);
	report_listing(report, &counts->clients, &offenders, top);
}

static void report_simulation(struct report *report, const struct access_simulation *simulation,
			      size_t top)
{
	const struct http_limit *limit = &simulation->limit;
	char text[sizeof(limit->prefix) + sizeof(limit->capacity) + sizeof(limit->rate)];

	snprintf(text, sizeof(text), "%s %s %s", limit->prefix, limit->capacity, limit->rate);
	report_row(report);
	report_string(report, "limit", text);
	report_count(report, "requests", simulation->total.requests);
	report_count(report, "would_be_refused", simulation->total.refused);
	report_count(report, "clients", simulation->clients.count);
	report_count(report, "clients_refused", simulation->clients_refused);
	report_count(report, "of_other_clients", simulation->unplaced);
	report_listing(report, &simulation->clients, &simulated, top);
	report_end(report);
}

void access_report_simulations(struct report *report, const struct access_simulation *simulations,
			       size_t count, size_t top)
{
	if (!count)
		return;
	report_list(report, "simulated");
	for (size_t i = 0; i < count; i++)
		report_simulation(report, &simulations[i], top);
	report_end(report);
}
