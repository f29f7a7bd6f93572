/* SPDX-License-Identifier: MIT */
/* Whom a limit that is only a draft would have refused: each client of a log has a token bucket, as
 * the module gives it one, and its requests take from it at the log's times. Pure. */
#ifndef WEIR_CLI_ACCESS_SIMULATE_H
#define WEIR_CLI_ACCESS_SIMULATE_H

#include "cli/access_count.h"
#include "cli/http_conf.h"

/* Of one client. */
struct access_simulated {
	struct access_tally tally; /* first, for access_refused_more */
	uint64_t state;            /* algorithm.h's */
	uint64_t moment_ns;        /* that it is of */
};

struct access_simulation {
	struct http_limit limit;
	uint64_t begin_ns;         /* the moment zero of the buckets; 0: no request yet */
	struct access_tally total; /* of clients with a bucket, as clients_refused */
	uint64_t clients_refused;
	uint64_t unplaced;           /* requests of clients beyond ACCESS_CLIENTS_MAX */
	struct access_table clients; /* of struct access_simulated */
};

/* text is a limit as http_limit_parse reads it, with its errors. secret must last as long. */
int access_simulation_open(struct access_simulation *simulation, const uint8_t *secret,
			   const char *text, struct failure *why);
void access_simulation_close(struct access_simulation *simulation);

/* A request, if it is one of an address and its path begins with the limit's. Whether it was
 * refused in fact does not matter: it was made. */
void access_simulate(struct access_simulation *simulation, const struct access_line *line);

#endif
