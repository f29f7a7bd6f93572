/* SPDX-License-Identifier: MIT */
/* fields COUNT: prints the header fields of that many responses, of limits of every size, for
 * tests/npm/fields.mjs to read. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* The shipped file itself: it needs nothing else. */
#include "../unit/random.h"
#include "http/reply.c"

#define POLICIES_MAX  4
#define SEED          0x6669656c64
#define COUNT_BITS    20
#define CAPACITY_BITS 62

/* Of any number of bits up to that many, so that small and large ones are as likely. Not 0. */
static uint64_t random_bits(uint64_t *seed, unsigned int bits)
{
	return 1 + (random_next(seed) >> (64 - bits + random_next(seed) % bits));
}

static struct rule random_rule(uint64_t *seed)
{
	return (struct rule){
		.capacity = random_bits(seed, CAPACITY_BITS),
		.rate = {random_bits(seed, COUNT_BITS), 1 + random_next(seed) % NS_PER_YEAR},
	};
}

static struct answer random_answer(const struct rule *rule, uint64_t *seed)
{
	uint64_t next_after_ns = random_bits(seed, 63);

	return (struct answer){
		.limit = rule->capacity,
		.remaining = random_next(seed) % 2 ? random_next(seed) % (rule->capacity + 1) : 0,
		.next_after_ns = next_after_ns,
		/* a refused request may cost more than one */
		.retry_after_ns = next_after_ns + random_bits(seed, 60),
	};
}

/* Those with nothing left have refused. */
static struct reply_policy random_policy(const char *name, struct rule *rule, uint64_t *seed)
{
	struct answer answer;

	*rule = random_rule(seed);
	answer = random_answer(rule, seed);
	return (struct reply_policy){name, rule, answer, !answer.remaining};
}

static void response_print(const struct reply_policy *policies, size_t count)
{
	uint64_t retry_after = reply_seconds(reply_wait_ns(policies, count));
	char field[POLICIES_MAX * REPLY_POLICY_SIZE + 1];

	puts(retry_after ? "HTTP/1.1 429" : "HTTP/1.1 200");
	reply_policy_field(field, sizeof(field), policies, count);
	printf("RateLimit-Policy: %s\n", field);
	reply_limit_field(field, sizeof(field), policies, count);
	printf("RateLimit: %s\n", field);
	if (retry_after)
		printf("Retry-After: %" PRIu64 "\n", retry_after);
	puts("");
}

int main(int argc, char **argv)
{
	static const char *const names[POLICIES_MAX] = {"login", "api_2", "0-",
							"a234567890123456789012345678901"};
	unsigned long responses = argc == 2 ? strtoul(argv[1], NULL, 10) : 0;
	struct reply_policy policies[POLICIES_MAX];
	struct rule rules[POLICIES_MAX];
	uint64_t seed = SEED;

	for (; responses > 0; responses--) {
		size_t count = 1 + random_next(&seed) % POLICIES_MAX;

		for (size_t i = 0; i < count; i++)
			policies[i] = random_policy(names[i], &rules[i], &seed);
		response_print(policies, count);
	}
	return 0;
}
