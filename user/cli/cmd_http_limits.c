/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/conf_files.h"
#include "cli/nginx_conf.h"
#include "cli/nginx_conf_limits.h"
#include "cli/nginx_conf_publish.h"
#include "text/address.h"
#include "weir.h"

#define CONF_DEFAULT "/etc/nginx/nginx.conf"

enum { CONF, MARKDOWN };

static const struct argument_spec options[] = {
	[CONF] = {.name = "conf",
		  .value = "FILE",
		  .summary = "nginx's configuration; the default is\n" CONF_DEFAULT,
		  .kind = VALUE_FILE},
	[MARKDOWN] = {.name = "markdown",
		      .summary = "a table for the documentation of an API: what clients meet",
		      .kind = VALUE_FLAG},
	{.name = NULL},
};

/* Which columns there are: JSON has all; for people those are left out that say the same in all
 * rows, or what everybody expects. */
struct columns {
	enum report_format format;
	const struct nginx_limit *first; /* NULL: there is no row */
	bool server, methods, policy, cost, status, fields, ban, observed, internal;
	bool by_address; /* no column: whether any limit is */
};

static bool differs(const char *a, const char *b)
{
	return strcmp(a ? a : "", b ? b : "");
}

static void columns_extend(struct columns *columns, const struct nginx_limit *limit)
{
	const struct nginx_limit *first = columns->first ? columns->first : limit;

	columns->first = first;
	columns->server |= differs(limit->server, first->server);
	columns->methods |= limit->methods != NULL;
	columns->policy |= limit->policy != NULL;
	columns->cost |= differs(limit->cost, "1");
	columns->status |= differs(limit->status, first->status);
	columns->fields |= differs(limit->fields, first->fields);
	columns->ban |= limit->ban != NULL;
	columns->observed |= limit->is_observed;
	columns->internal |= limit->is_internal;
	columns->by_address |= limit->is_address;
}

static struct columns columns_choose(const struct nginx_limits *limits, enum report_format format)
{
	bool all = format == REPORT_JSON;
	struct columns columns = {.format = format,
				  .server = all,
				  .methods = all,
				  .cost = all,
				  .status = format != REPORT_MARKDOWN,
				  .fields = all,
				  .ban = all,
				  .observed = all,
				  .internal = all};

	for (size_t i = 0; i < limits->count; i++)
		columns_extend(&columns, &limits->limits[i]);
	return columns;
}

/* Where the limit is. */
static void report_place(struct report *report, const struct nginx_limit *limit,
			 const struct columns *columns)
{
	bool is_json = columns->format == REPORT_JSON;

	if (columns->server)
		report_string(report, "server", limit->server);
	report_string(report, "route", limit->route);
	if (columns->methods)
		report_string(report, "methods",
			      limit->methods || is_json ? limit->methods : "all");
	if (columns->internal)
		report_flag(report, "internal", limit->is_internal);
	if (columns->format != REPORT_MARKDOWN)
		report_string(report, "zone", limit->zone);
}

/* What a refusal says and leads to. */
static void report_refusal(struct report *report, const struct nginx_limit *limit,
			   const struct columns *columns)
{
	if (columns->status)
		report_string(report, "status", limit->status);
	if (columns->fields)
		report_string(report, "fields", limit->fields);
	if (columns->ban)
		report_string(report, "ban", limit->ban);
	if (columns->observed)
		report_flag(report, "observed", limit->is_observed);
	if (columns->format == REPORT_JSON)
		report_string(report, "policy", limit->policy);
}

static void report_limit(struct report *report, const struct nginx_limit *limit,
			 const struct columns *columns)
{
	report_row(report);
	report_place(report, limit, columns);
	report_string(report, "limit", limit->limit);
	report_string(report, "per", limit->per);
	if (columns->cost)
		report_string(report, "cost", limit->cost);
	if (columns->format != REPORT_MARKDOWN)
		report_string(report, "algorithm", limit->algorithm);
	else if (columns->policy)
		report_string(report, "policy_name", limit->policy ? limit->zone : NULL);
	report_refusal(report, limit, columns);
	report_end(report);
}

static void report_limits(struct report *report, const struct nginx_limits *limits,
			  const struct columns *columns)
{
	report_list(report, "limits");
	for (size_t i = 0; i < limits->count; i++)
		report_limit(report, &limits->limits[i], columns);
	report_end(report);
}

/* Retry-After is one of the fields wherever there are any. */
static void report_answer(struct report *report, const struct columns *columns)
{
	const struct nginx_limit *first = columns->first;
	const char *fields = columns->fields || !first ? NULL : first->fields;
	char sentence[256];

	if (!first)
		snprintf(sentence, sizeof(sentence), "There are no limits.");
	else
		snprintf(sentence, sizeof(sentence),
			 "A request over a limit is answered with %s%s%s%s.",
			 columns->status ? "the status in its row" : "status ",
			 columns->status || !first->status ? "" : first->status,
			 fields ? "; header fields tell how long to wait and what is left: " : "",
			 fields ? fields : "");
	report_string(report, "answer", sentence);
}

static void report_addresses(struct report *report, unsigned int ipv6_prefix)
{
	char sentence[64];

	snprintf(sentence, sizeof(sentence), "IPv6 addresses count by their /%u.", ipv6_prefix);
	report_string(report, "addresses", sentence);
}

static bool is_first_hidden(const struct nginx_limits *limits, size_t at)
{
	for (size_t i = 0; i < at; i++) {
		if (limits->limits[i].is_hidden &&
		    !strcmp(limits->limits[i].route, limits->limits[at].route))
			return false;
	}
	return limits->limits[at].is_hidden;
}

/* The sentence on those whose limits no reply tells, to be freed; "": none. NULL without memory. */
static char *hidden_tell(const struct nginx_limits *limits)
{
	const char *before = "Replies do not tell the limits of: ";
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	for (size_t i = 0; i < limits->count; i++) {
		if (!is_first_hidden(limits, i))
			continue;
		fprintf(out, "%s%s", before, limits->limits[i].route);
		before = ", ";
	}
	if (before[0] == ',')
		fputc('.', out);
	if (!fclose(out))
		return text;
	free(text);
	return NULL;
}

/* 0 or -ENOMEM. */
static int report_hidden(struct report *report, const struct nginx_limits *limits)
{
	char *sentence = hidden_tell(limits);

	if (!sentence)
		return -ENOMEM;
	if (sentence[0])
		report_string(report, "hidden", sentence);
	free(sentence);
	return 0;
}

/* What a reader of the table needs besides. 0 or -ENOMEM. */
static int report_sentences(struct report *report, const struct nginx_limits *limits,
			    const struct columns *columns)
{
	report_answer(report, columns);
	if (columns->policy)
		report_string(report, "policies",
			      "RateLimit and RateLimit-Policy tell limits apart by policy name.");
	if (columns->by_address && limits->ipv6_prefix < address_bits(WEIR_IPV6))
		report_addresses(report, limits->ipv6_prefix);
	return report_hidden(report, limits);
}

static void notices_tell(const struct nginx_limits *limits)
{
	for (size_t i = 0; i < limits->notices_count; i++)
		notice("%s", limits->notices[i]);
}

static int limits_show(const struct nginx_limits *limits, enum report_format format)
{
	struct columns columns = columns_choose(limits, format);
	struct report *report = report_new(format);
	struct failure why;
	int err = 0;

	report_limits(report, limits, &columns);
	if (format == REPORT_MARKDOWN)
		err = report_sentences(report, limits, &columns);
	if (!err)
		return report_finish(report);
	report_free(report);
	failure_errno(&why, err);
	return failed(&why, "list the limits");
}

/* Of what is left out for clients, what they may come by all the same is told. */
static int limits_publish(struct nginx_limits *limits)
{
	size_t internal = nginx_limits_publish(limits);

	if (internal)
		notice("left out: %zu of locations that are internal or named", internal);
	return limits_show(limits, REPORT_MARKDOWN);
}

static int run(const struct arguments *arguments)
{
	const struct argument *option = &arguments->options[CONF];
	bool is_document = arguments->options[MARKDOWN].given;
	const char *path = option->given ? option->text : CONF_DEFAULT;
	struct nginx_limits limits;
	struct nginx_conf conf;
	struct failure why;
	int err, status;

	if (is_document && arguments->format == REPORT_JSON)
		return misuse(arguments->command, "cannot use '--json' and '--markdown' together");
	if (nginx_conf_read(path, &conf_files, &conf, &why))
		return failed(&why, "read '%s'", path);
	err = nginx_limits_list(&conf, &limits);
	nginx_conf_free(&conf);
	if (err) {
		failure_errno(&why, err);
		return failed(&why, "list the limits of '%s'", path);
	}
	notices_tell(&limits);
	status = is_document ? limits_publish(&limits) : limits_show(&limits, arguments->format);
	nginx_limits_free(&limits);
	return status;
}

const struct command command_http_limits = {
	.name = "http limits",
	.summary = "show the limits of an nginx configuration, route by route",
	.description =
		"Reads nginx's configuration, with what it includes, and shows each route with\n"
		"the limits in force there, a row for each zone: how much, for whom, and what\n"
		"a refusal is answered with. nginx need not run, and what it would not take is\n"
		"shown as it is: 'nginx -t' tells. With --markdown it is a table to publish,\n"
		"without zones that only observe and locations that clients cannot ask for,\n"
		"with each row once, and servers only by their names, where two differ.",
	.examples = "weir http limits\n"
		    "weir http limits --conf ./nginx.conf --markdown > LIMITS.md\n"
		    "weir http limits --json | jq -r '.limits[] | [.route, .policy] | @tsv'\n",
	.options = options,
	.run = run,
};
