/* SPDX-License-Identifier: MIT */
/* A run of bytes in a text that does not end where the run does. */
#ifndef WEIR_HTTP_RUN_H
#define WEIR_HTTP_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>

struct run {
	const char *bytes;
	size_t size;
};

static inline struct run run_skip(struct run run, size_t size)
{
	return (struct run){run.bytes + size, run.size - size};
}

static inline struct run run_trim(struct run run, bool (*is_blank)(char))
{
	while (run.size && is_blank(run.bytes[0]))
		run = run_skip(run, 1);
	while (run.size && is_blank(run.bytes[run.size - 1]))
		run.size--;
	return run;
}

static inline bool run_is(struct run run, const char *text)
{
	return run.size == strlen(text) && !memcmp(run.bytes, text, run.size);
}

/* In any case of its ASCII letters. */
static inline bool run_is_folded(struct run run, const char *text)
{
	return run.size == strlen(text) && !strncasecmp(run.bytes, text, run.size);
}

/* The value of a hexadecimal digit, or RUN_NO_DIGIT. */
#define RUN_NO_DIGIT 16
static inline unsigned int run_digit(char digit)
{
	char lower = (char)(digit | 0x20);

	if (digit >= '0' && digit <= '9')
		return (unsigned int)(digit - '0');
	return lower >= 'a' && lower <= 'f' ? (unsigned int)(lower - 'a') + 10 : RUN_NO_DIGIT;
}

/* Takes a byte off a run that is not empty, and of "%XX" the byte that it stands for (RFC 3986
 * 2.1). A '%' without two digits stands for itself, as for every parser that does not refuse it. */
static inline char run_decode(struct run *run)
{
	char byte = run->bytes[0];
	unsigned int high = RUN_NO_DIGIT, low = RUN_NO_DIGIT;

	if (byte == '%' && run->size >= 3) {
		high = run_digit(run->bytes[1]);
		low = run_digit(run->bytes[2]);
	}
	if (high == RUN_NO_DIGIT || low == RUN_NO_DIGIT) {
		*run = run_skip(*run, 1);
		return byte;
	}
	*run = run_skip(*run, 3);
	return (char)(high << 4 | low);
}

#endif
