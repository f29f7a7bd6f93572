/* SPDX-License-Identifier: MIT */
/* A log's lines, of a file as it is or by gzip. */
#ifndef WEIR_CLI_LOG_FILE_H
#define WEIR_CLI_LOG_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "text/failure.h"

#define LOG_FILE_STDIN "-"

/* What a longer line has beyond it is left out. nginx's own bounds make it 128 KiB at most. */
#define LOG_LINE_MAX (1024 * 1024)

struct log_file;

/* Without newline; the bytes are there until the next call. */
struct log_line {
	const char *bytes;
	size_t size;
	uint64_t number; /* from 1 */
};

/* "-" is standard input. -errno with why. */
int log_file_open(const char *path, struct log_file **ret, struct failure *why);
void log_file_close(struct log_file *file);

/* Whether it can be read again by its path: no pipe and not standard input. */
bool log_file_is_lasting(const struct log_file *file);

/* The file's beginning, up to 128 KiB of it, which the lines will have again. For before the first
 * line only. */
void log_file_ahead(struct log_file *file, const char **ret_bytes, size_t *ret_size);

/* False at the end, or where reading failed. */
bool log_file_next(struct log_file *file, struct log_line *ret);

/* Whether all was read: 0, or -errno with why. */
int log_file_check(const struct log_file *file, struct failure *why);

#endif
