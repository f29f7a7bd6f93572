/* SPDX-License-Identifier: MIT */
#include "cli/access_simulate.h"

#include <string.h>

/* Buckets know moments up to 2^58 ns, nine years, so the first line's is put in their middle. */
#define MOMENT_MAX_NS ((1ULL << 58) - 1)
#define BEFORE_NS     (1ULL << 57)
/* Of a log's times in whole seconds or milliseconds many are exactly as far apart as the limit
 * allows, and buckets round down. So their clock is fast by four millionths. */
#define FAST_SHIFT 18
/* Workers write to one log, each when its buffer is full: a line that is late by no more than this
 * counts as of the moment of the client's line before, or it would owe the time between. */
#define LATE_MAX_NS (60 * NS_PER_SECOND)

int access_simulation_open(struct access_simulation *simulation, const uint8_t *secret,
			   const char *text, struct failure *why)
{
	struct http_limit limit = {0};
	int err = http_limit_parse(text, &limit, why);

	if (err)
		return err;
	*simulation = (struct access_simulation){.limit = limit};
	access_table_open(&simulation->clients, secret, sizeof(struct access_simulated),
			  ACCESS_CLIENTS_MAX);
	return 0;
}

void access_simulation_close(struct access_simulation *simulation)
{
	access_table_close(&simulation->clients);
}

static bool is_limited(const struct http_limit *limit, const struct access_line *line)
{
	size_t length = strlen(limit->prefix);

	return line->client.family && line->path_size >= length &&
	       !memcmp(line->path, limit->prefix, length);
}

static uint64_t moment_of(struct access_simulation *simulation, uint64_t time_ns)
{
	uint64_t moment_ns;

	if (!simulation->begin_ns)
		simulation->begin_ns = time_ns > BEFORE_NS ? time_ns - BEFORE_NS : 1;
	if (time_ns < simulation->begin_ns)
		return 0;
	moment_ns = time_ns - simulation->begin_ns;
	moment_ns += moment_ns >> FAST_SHIFT;
	return moment_ns < MOMENT_MAX_NS ? moment_ns : MOMENT_MAX_NS;
}

static bool is_late(const struct access_simulated *client, uint64_t moment_ns)
{
	return moment_ns < client->moment_ns && client->moment_ns - moment_ns <= LATE_MAX_NS;
}

static bool client_takes(const struct rule *rule, struct access_simulated *client,
			 uint64_t moment_ns)
{
	struct taken taken;

	if (!is_late(client, moment_ns))
		client->moment_ns = moment_ns;
	taken = rule_take(rule, client->state, 1, client->moment_ns, TAKE_CHARGE);
	client->state = taken.state;
	return taken.admitted;
}

void access_simulate(struct access_simulation *simulation, const struct access_line *line)
{
	struct access_simulated *client;
	enum access_outcome outcome;
	bool passes;

	if (!is_limited(&simulation->limit, line))
		return;
	client = access_table_take(&simulation->clients, &line->client, sizeof(line->client));
	if (!client) {
		simulation->unplaced++;
		return;
	}
	passes =
		client_takes(&simulation->limit.rule, client, moment_of(simulation, line->time_ns));
	outcome = passes ? ACCESS_PASSED : ACCESS_REFUSED;
	simulation->clients_refused += !passes && !client->tally.refused;
	access_tally_add(&client->tally, line->time_ns, outcome);
	access_tally_add(&simulation->total, line->time_ns, outcome);
}
