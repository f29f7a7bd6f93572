/* SPDX-License-Identifier: MIT */
/* A rule in words. Pure. */
#ifndef WEIR_HTTP_RULE_TEXT_H
#define WEIR_HTTP_RULE_TEXT_H

#include "http/algorithm.h"

/* Holds whatever is written here. */
#define RULE_TEXT_SIZE 160

/* What the rule admits at most, to a client that does its worst: "at most 5 + 1/s x t in any t",
 * "at most 199 in any 1m". */
void rule_bound_format(char *buf, size_t size, const struct rule *rule);

#endif
