/* SPDX-License-Identifier: MIT */
/* Quantities as people write them. Numbers are decimal, such as 20 or 1.5, without sign or spaces;
 * counts and rates take a suffix k, M or G (thousands, millions, billions). Parsing is exact: what
 * 64 bits cannot hold exactly is refused. */
#ifndef WEIR_QUANTITY_H
#define WEIR_QUANTITY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NS_PER_SECOND 1000000000ULL
#define NS_PER_YEAR   (365 * 86400 * NS_PER_SECOND)

/* Holds whatever a format function writes. */
#define QUANTITY_TEXT_SIZE 64

/* count events in each period_ns nanoseconds, in lowest terms: 20k/s is one in 50,000 ns. */
struct rate {
	uint64_t count;
	uint64_t period_ns;
};

/* "20k/s", "0.5/s", "5/min": per s, sec, second, m, min, minute, h, hour, d, day, w, week, y or
 * year, which is 365 days. All three return false, and leave *ret alone, for zero, overflow and
 * text that is anything else. */
bool rate_parse(const char *text, struct rate *ret);

/* "40k", "1.5M", "7": whole once the suffix is applied. */
bool count_parse(const char *text, uint64_t *ret);

/* "1s", "1.5s", "250ms": in ns, us, ms or a rate's units; whole nanoseconds. */
bool duration_parse(const char *text, uint64_t *ret_ns);

/* The shortest text that parses back to the same value; a duration is at least one of its unit,
 * which is d, h, m, s, ms, us or ns. A rate is in the unit, of s, min, h, day, week and year, that
 * has the smallest whole count of it: "6/min" rather than "0.1/s" or "360/h"; where none has, in
 * that of the shortest text ("1.5/day"). One that no text has exactly (one in 11 ns) is rounded and
 * starts with '~', which no parser takes. Zero is "0", "0/s" and "0s". */
void rate_format(char *buf, size_t size, const struct rate *rate);
void count_format(char *buf, size_t size, uint64_t count);
void duration_format(char *buf, size_t size, uint64_t ns);

/* For the eye only: "1.2s", "15s", "1.5m", rounded down to a unit's tenth below ten of it, else to
 * the unit. */
void duration_format_rounded(char *buf, size_t size, uint64_t ns);

#endif
