/* SPDX-License-Identifier: MIT */
/* What an application asks the check service, and what it is told; JSON (RFC 8259). Pure.
 *
 *	{"zones": ["login", {"zone": "account", "key": "alice", "cost": 2}], "key": "203.0.113.9"}
 *
 * An item's own key and cost go before the outer ones. */
#ifndef WEIR_HTTP_CHECK_APP_H
#define WEIR_HTTP_CHECK_APP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "text/failure.h"

#define CHECK_ITEMS_MAX 8
#define CHECK_KEY_SIZE  1024 /* bytes of UTF-8 */
#define CHECK_COST_MAX  100000000

/* Whether there is such a zone, and whether it has such keys, is not known here. */
struct check_item {
	const char *zone; /* not empty */
	const char *key;  /* not empty, without zero bytes */
	size_t key_size;
	uint64_t cost;
};

struct check_question {
	size_t count; /* 1 at least, of different zones */
	struct check_item items[CHECK_ITEMS_MAX];
	void *document; /* what zones and keys point into */
};

struct check_answer {
	bool allowed;
	const char *status; /* as $weir_status: "PASSED" */
	const char *zone;   /* the one told of; NULL: none, so no limit and nothing remaining */
	uint64_t limit;     /* written as 2^63 - 1 at most, as is remaining */
	uint64_t remaining;
	uint64_t retry_after;     /* seconds, 0: none */
	const char *policy_field; /* RateLimit-Policy and RateLimit, NULL: none */
	const char *limit_field;
};

/* -EINVAL for what is not such a question: a member unknown or given twice too, since a typo would
 * change the limit that is asked. -ENOMEM, or -EINVAL where memory ends within a text. The reason
 * repeats nothing but printable ASCII. *ret is written on success only. */
int check_question_parse(const char *body, size_t size, struct check_question *ret,
			 struct failure *why);

void check_question_free(struct check_question *question);

/* {"allowed":false,"status":"REFUSED","zone":"login","limit":5,"remaining":0,"retry_after":1,
 * "fields":{"RateLimit-Policy":"\"login\";q=5;w=5","RateLimit":"\"login\";r=0;t=1",
 * "Retry-After":"1"}}, without a line break. Texts are UTF-8.
 *
 * Both return the size of the document as snprintf does, and leave buf empty where it is too small;
 * 0 without memory, and for text that is not UTF-8. */
size_t check_answer_write(char *buf, size_t size, const struct check_answer *answer);

/* {"error":"the question has no zones"} */
size_t check_error_write(char *buf, size_t size, const char *reason);

#endif
