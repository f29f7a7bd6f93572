/* SPDX-License-Identifier: MIT */
/* What a client is told: header fields and bodies. Pure; everything is written into the caller's
 * buffer, and the size it takes is returned, as snprintf does.
 *
 * RateLimit-Policy and RateLimit are as in draft-ietf-httpapi-ratelimit-headers-11 (Lists of
 * RFC 9651). */
#ifndef WEIR_HTTP_REPLY_H
#define WEIR_HTTP_REPLY_H

#include <stddef.h>
#include <stdint.h>

#include "http/algorithm.h"

/* What a policy takes at most in a field, with the comma before it; and a body beside its policies,
 * each of which takes less there. */
#define REPLY_POLICY_SIZE 71
#define REPLY_BODY_SIZE   192

/* One zone in a reply. */
struct reply_policy {
	const char *name; /* [a-z0-9_-], 1 to 31 of them */
	const struct rule *rule;
	struct answer answer;
	bool refused; /* this zone refused the request */
};

/* Seconds for Retry-After: rounded up, so at least 1 for a wait that is not 0. */
uint64_t reply_seconds(uint64_t ns);

/* For t and Reset, which promise nothing: without what a bucket's arithmetic rounds by, a part in
 * 2^30 and a microsecond. At the first token of 20/min that is 3, not 4. */
uint64_t reply_seconds_told(uint64_t ns);

/* "\"login\";q=5;w=5, \"api\";q=100;w=60". w is the time to fill, whole seconds rounded up, at
 * least 1; where filling takes less than a second q is what a second refills. Numbers beyond what
 * fields can hold (RFC 9651, 15 digits) are the largest there is. */
size_t reply_policy_field(char *buf, size_t size, const struct reply_policy *policies,
			  size_t count);

/* "\"login\";r=0;t=1". t is next_after; without t where nothing is to come, or where no wait would
 * be enough. */
size_t reply_limit_field(char *buf, size_t size, const struct reply_policy *policies, size_t count);

/* The one that binds most, for legacy fields and variables: a refusing one with the longest wait,
 * else the one with the least remaining. count is at least 1. */
const struct reply_policy *reply_tightest(const struct reply_policy *policies, size_t count);

/* Nanoseconds to wait before asking again, over all refusing ones. 0: none refused, or no promise
 * can be made. */
uint64_t reply_wait_ns(const struct reply_policy *policies, size_t count);

/* application/problem+json (RFC 9457): type quota-exceeded, title, status, violated-policies.
 * Names the policies that refused, and leaves the member out where none did. */
size_t reply_body_problem(char *buf, size_t size, unsigned int status,
			  const struct reply_policy *policies, size_t count);

/* {"error": "Too many requests", "retryAfter": 1}; without retryAfter when it is 0. */
size_t reply_body_json(char *buf, size_t size, uint64_t retry_after_seconds);

#endif
