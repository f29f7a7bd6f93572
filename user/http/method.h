/* SPDX-License-Identifier: MIT */
/* How algorithm.h's contract is met: what a bucket and a window each do with a state. Pure.
 * units are at most the rule's capacity. */
#ifndef WEIR_HTTP_METHOD_H
#define WEIR_HTTP_METHOD_H

#include "http/algorithm.h"

struct method {
	/* Checks a rule whose rate and window are in range; writes what is derived from it. */
	int (*build)(struct rule *rule, struct failure *why);
	/* The state as it is now; one from the future with nothing left in it. */
	uint64_t (*settle)(const struct rule *rule, uint64_t state, uint64_t now_ns);
	/* Of a settled state: whole units that can be taken. */
	uint64_t (*left)(const struct rule *rule, uint64_t state, uint64_t now_ns);
	/* Takes units that are there. */
	uint64_t (*charge)(const struct rule *rule, uint64_t state, uint64_t units,
			   uint64_t now_ns);
	/* Takes back what of units charged at charged_ns is surely still owed. */
	uint64_t (*refund)(const struct rule *rule, uint64_t state, uint64_t units,
			   uint64_t charged_ns, uint64_t now_ns);
	/* Takes all there is. */
	uint64_t (*exhaust)(const struct rule *rule, uint64_t state, uint64_t now_ns);
	/* Until units can be taken. */
	uint64_t (*wait_ns)(const struct rule *rule, uint64_t state, uint64_t units,
			    uint64_t now_ns);
	uint64_t (*convert)(const struct rule *from, const struct rule *to, uint64_t state,
			    uint64_t now_ns);
};

extern const struct method method_bucket;
extern const struct method method_window; /* fixed and sliding */

#endif
