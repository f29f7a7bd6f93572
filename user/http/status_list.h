/* SPDX-License-Identifier: MIT */
/* A set of HTTP statuses, as a configuration lists them. Pure. */
#ifndef WEIR_HTTP_STATUS_LIST_H
#define WEIR_HTTP_STATUS_LIST_H

#include <stdbool.h>
#include <stdint.h>

#define STATUS_MIN 100
#define STATUS_MAX 599

struct status_list {
	uint64_t words[STATUS_MAX / 64 + 1]; /* a bit for each status */
};

/* "2xx,404": classes 1xx to 5xx and codes 100 to 599, separated by commas alone. False, and *ret
 * left alone, for anything else, and where a status is named twice ("2xx,204"). */
bool status_list_parse(const char *text, struct status_list *ret);

bool status_list_contains(const struct status_list *list, unsigned int status);

#endif
