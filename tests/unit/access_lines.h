/* SPDX-License-Identifier: MIT */
/* Lines of access logs, made and read. */
#ifndef WEIR_TESTS_ACCESS_LINES_H
#define WEIR_TESTS_ACCESS_LINES_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cli/access_line.h"
#include "text/quantity.h"

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

/* 1 December 2026, 17:35:03 UTC. */
#define LOGGED_S  1796146503ULL
#define LOGGED_NS (LOGGED_S * NS_PER_SECOND)

static const uint8_t access_secret[16] = {1, 2, 3};

/* Reads a copy of exactly that size, so that a read beyond it is found. The zone is then in no
 * line any more. */
static inline enum access_lack line_of(struct access_reader *reader, const char *bytes, size_t size,
				       struct access_line *ret)
{
	char *copy = malloc(size ? size : 1);
	enum access_lack lack;

	assert_non_null(copy);
	memcpy(copy, bytes, size);
	lack = access_line_read(reader, copy, size, ret);
	free(copy);
	return lack;
}

/* A request at so many milliseconds after LOGGED_S; client and path are texts. */
static inline struct access_line request(struct access_reader *reader, const char *client,
					 const char *path, unsigned int status, uint64_t after_ms)
{
	struct access_line line;
	char text[512];
	int size = snprintf(text, sizeof(text),
			    "%s - - [01/Dec/2026:17:35:03 +0000] \"GET %s HTTP/1.1\" %u 0 \"-\" "
			    "\"-\" msec=%llu.%03u",
			    client, path, status, LOGGED_S + after_ms / 1000,
			    (unsigned int)(after_ms % 1000));

	assert_int_equal(line_of(reader, text, (size_t)size, &line), ACCESS_LACKS_NOTHING);
	return line;
}

#endif
