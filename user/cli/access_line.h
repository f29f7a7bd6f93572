/* SPDX-License-Identifier: MIT */
/* One line of an access log, as nginx and Apache write it: address, time in brackets, quoted
 * request, status, then whatever follows (nothing in the common format, two quoted fields in the
 * combined one). weir's own format has fields "weir=", "zone=" and "msec=" there. Bytes that were
 * escaped stay as the log has them, but "\"" ends no field. Pure. */
#ifndef WEIR_CLI_ACCESS_LINE_H
#define WEIR_CLI_ACCESS_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "text/address.h"

#define ACCESS_PATH_MAX  4096 /* what a longer request-target has beyond it is not looked at */
#define ACCESS_TIME_SIZE 26   /* of "01/Dec/2026:17:35:03 +0000" */

enum access_outcome {
	ACCESS_PASSED,
	ACCESS_OBSERVED, /* would have been refused: weir=REFUSED_OBSERVED and the like */
	ACCESS_REFUSED,  /* status 429, or weir=REFUSED, OVERFLOW or BANNED: gRPC has status 200 */
};

/* Why a line is junk. */
enum access_lack {
	ACCESS_LACKS_NOTHING,
	ACCESS_LACKS_TIME,
	ACCESS_LACKS_REQUEST,
	ACCESS_LACKS_STATUS,
	ACCESS_LACKS_QUOTE,
	ACCESS_LACK_MAX
};

extern const char *const access_lack_names[ACCESS_LACK_MAX];

struct access_line {
	struct prefix client; /* family 0: where an address should be, there is something else */
	uint64_t time_ns;     /* since 1970; of msec= if it is there, else a whole second */
	const char *path;     /* as route_normalise has it, until the reader's next line */
	size_t path_size;     /* 0: the request has no path */
	const char *zone;     /* in the line */
	size_t zone_size;     /* 0: it names none */
	unsigned int status;
	enum access_outcome outcome;
};

/* What is kept from line to line: most have the second of the one before. Starts as zeroes. */
struct access_reader {
	bool has_time;
	char time[ACCESS_TIME_SIZE];
	uint64_t time_ns;
	char path[ACCESS_PATH_MAX + 1];
};

/* Reads a line without its newline, of any bytes; *ret is written where nothing is lacking. */
enum access_lack access_line_read(struct access_reader *reader, const char *bytes, size_t size,
				  struct access_line *ret);

#endif
