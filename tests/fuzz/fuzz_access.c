/* SPDX-License-Identifier: MIT */
/* Lines of any bytes as an access log: they are read the same whatever came before, what stands in
 * quotes changes nothing, and every request is counted once in each list. */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cli/access_count.h"
#include "cli/access_simulate.h"
#include "required.h"

static const uint8_t secret[KEY_SECRET_SIZE] = {1};

struct lines {
	struct access_reader reader;
	struct access_counts counts;
	struct access_simulation simulation;
};

/* What is read must not depend on the lines before it. */
static void reads_the_same_afresh(const char *bytes, size_t size, enum access_lack lack,
				  const struct access_line *line)
{
	struct access_reader *fresh = allocated(sizeof(*fresh));
	struct access_line again;

	require(access_line_read(fresh, bytes, size, &again) == lack);
	require(lack || (again.time_ns == line->time_ns && again.path_size == line->path_size &&
			 again.zone == line->zone && again.outcome == line->outcome &&
			 !memcmp(&again.client, &line->client, sizeof(again.client))));
	free(fresh);
}

/* The outcome of a line with more behind it. */
static enum access_outcome outcome_with(const char *bytes, size_t size, const char *more)
{
	struct access_reader *reader = allocated(sizeof(*reader));
	size_t more_size = strlen(more);
	char *longer = allocated(size + more_size);
	struct access_line line;

	memcpy(longer, bytes, size);
	memcpy(longer + size, more, more_size);
	require(!access_line_read(reader, longer, size + more_size, &line));
	free(longer);
	free(reader);
	return line.outcome;
}

static void only_what_is_not_quoted_decides(const char *bytes, size_t size,
					    const struct access_line *line)
{
	while (size && bytes[size - 1] == '\r')
		size--;
	require(outcome_with(bytes, size, " \" weir=REFUSED \\\" weir=BANNED \"") == line->outcome);
	require(outcome_with(bytes, size, " weir=REFUSED") == ACCESS_REFUSED);
}

static void is_as_promised(const struct access_line *line)
{
	require(line->path_size <= ACCESS_PATH_MAX);
	require(!line->path_size || line->path[0] == '/');
	require(line->status <= 999);
	require(line->status != 429 || line->outcome == ACCESS_REFUSED);
	for (unsigned int depth = 1; line->path_size && depth <= ACCESS_DEPTH_MAX; depth++) {
		size_t size = access_route_size(line->path, line->path_size, depth);

		require(size && size <= line->path_size && size <= ACCESS_ROUTE_SIZE_MAX);
	}
}

static void line_take(struct lines *lines, const char *bytes, size_t size)
{
	struct access_line line = {0};
	enum access_lack lack = access_line_read(&lines->reader, bytes, size, &line);

	reads_the_same_afresh(bytes, size, lack, &line);
	if (lack)
		return;
	is_as_promised(&line);
	only_what_is_not_quoted_decides(bytes, size, &line);
	access_count(&lines->counts, &line);
	access_simulate(&lines->simulation, &line);
}

static struct access_tally sum_of(const struct access_table *table, const struct access_tally *more)
{
	struct access_tally sum = *more;

	for (size_t i = 0; i < table->count; i++) {
		const struct access_tally *tally = access_table_value(table, i);

		sum.requests += tally->requests;
		sum.refused += tally->refused;
		require(tally->requests && tally->refused <= tally->requests);
	}
	return sum;
}

static void each_request_is_counted_once(const struct access_counts *counts)
{
	struct access_tally routes = sum_of(&counts->routes, &counts->other_routes);
	struct access_tally clients = sum_of(&counts->clients, &counts->other_clients);

	require(routes.requests == counts->total.requests);
	require(routes.refused == counts->total.refused);
	require(clients.requests + counts->nameless.requests == counts->total.requests);
	require(clients.refused + counts->nameless.refused == counts->total.refused);
	require(counts->from_ns <= counts->to_ns);
}

static void lines_open(struct lines *lines)
{
	struct failure why;

	access_counts_open(&lines->counts, secret, 2);
	lines->counts.routes.max = 3;
	lines->counts.clients.max = 3;
	require(!access_simulation_open(&lines->simulation, secret, "/ 2 1/s", &why));
}

/* A copy of exactly its size, so that a read beyond it is found. */
static void line_copy(struct lines *lines, const char *bytes, size_t size)
{
	char *copy = allocated(size);

	if (size)
		memcpy(copy, bytes, size);
	line_take(lines, copy, size);
	free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct lines *lines = allocated(sizeof(*lines));
	const char *text = (const char *)bytes;

	lines_open(lines);
	while (size) {
		const char *newline = memchr(text, '\n', size);
		size_t length = newline ? (size_t)(newline - text) : size;

		line_copy(lines, text, length);
		text += length + (newline != NULL);
		size -= length + (newline != NULL);
	}
	each_request_is_counted_once(&lines->counts);
	require(lines->simulation.total.refused <= lines->simulation.total.requests);
	require(lines->simulation.total.requests <= lines->counts.total.requests);
	access_simulation_close(&lines->simulation);
	access_counts_close(&lines->counts);
	free(lines);
	return 0;
}
