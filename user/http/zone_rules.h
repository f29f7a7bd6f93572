/* SPDX-License-Identifier: MIT */
/* The rules of a zone's states. Used by zone*.c and the command line. */
#ifndef WEIR_HTTP_ZONE_RULES_H
#define WEIR_HTTP_ZONE_RULES_H

#include "http/zone.h"

/* Builds the rules from the header. Errors as zone_attach. */
int zone_rules_attach(struct zone *zone, struct failure *why);

/* What one prefix may take of a zone whose main rule this is. */
int zone_share_build(const struct zone *zone, const struct rule *main, struct rule *ret,
		     struct failure *why);

/* Whether the main rule is still the one in the header. */
bool zone_main_is_in_force(const struct zone *zone);

/* The rule that a file keeps. False where nobody could have configured it. */
bool zone_rule_read(const struct zone_rule *kept, enum algorithm algorithm, struct rule *ret);

/* A tag's rule: number 0 where the tag's cannot be read. */
const struct rule *zone_rule_at(struct zone *zone, unsigned int number);

#endif
