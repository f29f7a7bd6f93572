/* SPDX-License-Identifier: MIT */
/* A change takes these steps, and a SIGKILL between any two leaves a state to go on from:
 *
 * 1. barrier: no packet reads the copy out of force any more, which a change that was killed after
 *    step 4 may have left behind with readers.
 * 2. sweep: every bucket is of the epoch in force, so that the next one is told from it. Buckets of
 *    a killed change's epoch are carried over while its numbers are still there.
 * 3. write the copy out of force: nobody reads it, so half of it does no harm.
 * 4. publish: one store of the generation, after which every packet sees all of the new copy.
 * 5. barrier: no packet decides under the old copy any more, nor inserts a bucket of its epoch.
 * 6. sweep: as 2.
 *
 * Killed before 4, nothing has changed; after 4, the change is whole, and 5 and 6 are the next
 * change's 1 and 2. Packets do not depend on 6: they carry their own bucket over.
 *
 * The moment of change is read in 3. A packet may still take a token under the old limit after it,
 * or read a coarse clock that lags behind it. In both cases the bucket is carried over as if it had
 * stood still between the two moments: at most that time's tokens are withheld, none is granted
 * twice. */
#include "control/config.h"

#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "bucket.h"
#include "control/entries.h"
#include "control/limit.h"

/* A pass over a hash misses entries whose bucket is rearranged meanwhile; the next finds them. */
#define SWEEPS_MAX 8

#define CAPACITY_DEFAULT_NS 2000000000ULL

const struct weir_policy *config_policy(const struct control *control)
{
	uint32_t generation = __atomic_load_n(&control->config->generation, __ATOMIC_ACQUIRE);

	return &control->config->copies[generation & 1];
}

/* A copy is rewritten only while it is out of force, which the generation tells afterwards. */
void config_policy_read(const struct control *control, struct weir_policy *ret)
{
	const uint32_t *generation = &control->config->generation;
	uint32_t before;

	do {
		before = __atomic_load_n(generation, __ATOMIC_ACQUIRE);
		*ret = control->config->copies[before & 1];
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
	} while (__atomic_load_n(generation, __ATOMIC_RELAXED) != before);
}

static uint64_t clock_read_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

uint64_t config_now_ns(const struct weir_limit *limit)
{
	return clock_read_ns(limit->clock == WEIR_CLOCK_COARSE ? CLOCK_MONOTONIC_COARSE
							       : CLOCK_MONOTONIC);
}

int config_limit_build(const struct control_limit *limit, struct weir_limit *ret,
		       struct failure *why)
{
	uint64_t capacity = limit->capacity;
	struct timespec tick;

	if (!capacity)
		capacity = limit_tokens_in(&limit->rate, CAPACITY_DEFAULT_NS);
	if (clock_getres(CLOCK_MONOTONIC_COARSE, &tick))
		return failure_set(why, errno, "cannot read the clock's step: %s", strerror(errno));
	return limit_build(&limit->rate, capacity,
			   (uint64_t)tick.tv_sec * 1000000000 + (uint64_t)tick.tv_nsec, ret, why);
}

void config_limit_read(const struct weir_limit *limit, struct control_limit *ret)
{
	ret->rate.count = limit->rate_count;
	ret->rate.period_ns = limit->rate_period_ns;
	ret->capacity = limit->capacity;
}

bool config_limit_equals(const struct weir_limit *a, const struct weir_limit *b)
{
	return a->rate_count == b->rate_count && a->rate_period_ns == b->rate_period_ns &&
	       a->capacity == b->capacity && a->clock == b->clock;
}

/* bits is from 1 to 32. */
static __be32 mask_word(unsigned int bits)
{
	return htonl(UINT32_MAX << (32 - bits));
}

void config_keys_set(struct weir_policy *policy, uint8_t key4, uint8_t key6)
{
	policy->key4 = key4;
	policy->key6 = key6;
	policy->mask4 = mask_word(key4);
	for (unsigned int word = 0; word < 4; word++) {
		unsigned int before = 32 * word;
		unsigned int bits = key6 > before ? key6 - before : 0;

		policy->mask6[word] = bits ? mask_word(bits > 32 ? 32 : bits) : 0;
	}
}

static bool keys_equal(const struct weir_policy *a, const struct weir_policy *b)
{
	return a->key4 == b->key4 && a->key6 == b->key6;
}

static bool policy_equals(const struct weir_policy *a, const struct weir_policy *b)
{
	for (int i = 0; i < WEIR_LIMITS_MAX; i++) {
		if (!config_limit_equals(&a->limits[i], &b->limits[i]))
			return false;
	}
	for (int i = 0; i < WEIR_INTERFACES_MAX; i++) {
		if (!config_limit_equals(&a->budgets[i], &b->budgets[i]))
			return false;
	}
	return keys_equal(a, b);
}

/* A limit that stays keeps its epoch, so that its buckets are left alone. */
static void limit_inherit(struct weir_limit *limit, const struct weir_limit *previous,
			  uint64_t now_ticks)
{
	if (config_limit_equals(limit, previous))
		*limit = *previous;
	else
		limit_succeed(limit, previous, now_ticks);
}

static void policy_inherit(struct weir_policy *next, const struct weir_policy *current)
{
	uint64_t now_ticks = bucket_ticks(clock_read_ns(CLOCK_MONOTONIC));

	for (int i = 0; i < WEIR_LIMITS_MAX; i++)
		limit_inherit(&next->limits[i], &current->limits[i], now_ticks);
	for (int i = 0; i < WEIR_INTERFACES_MAX; i++)
		limit_inherit(&next->budgets[i], &current->budgets[i], now_ticks);
}

/* Returns when every packet that was being looked at has been decided: what the kernel does before
 * an update of a map of maps returns. */
static int barrier(const struct control *control)
{
	int nothing = bpf_map_create(BPF_MAP_TYPE_ARRAY, "weir_nothing", 4, 4, 1, NULL);
	uint32_t index = 0;
	int err = 0;

	if (nothing < 0)
		return -errno;
	if (bpf_map_update_elem(control->fds[PIN_BARRIER], &index, &nothing, BPF_ANY))
		err = -errno;
	close(nothing);
	return err;
}

static int sweep(const struct control *control)
{
	struct weir_sweep argument;
	struct bpf_test_run_opts run = {
		.sz = sizeof(run), .ctx_in = &argument, .ctx_size_in = sizeof(argument)};

	for (int i = 0; i < SWEEPS_MAX; i++) {
		argument.rescaled = 0;
		if (bpf_prog_test_run_opts(control->fds[PIN_SWEEP], &run))
			return -errno;
		if (!argument.rescaled)
			return 0;
	}
	return 0;
}

static int settle(const struct control *control)
{
	int err = barrier(control);

	return err ? err : sweep(control);
}

/* 0 means that nothing was configured yet, so that the count goes on at 2, which is even too. */
static uint32_t generation_after(uint32_t generation)
{
	return generation == UINT32_MAX ? 2 : generation + 1;
}

int config_prepare(const struct control *control, const struct weir_policy *next,
		   struct failure *why)
{
	int err = policy_equals(next, config_policy(control)) ? 0 : settle(control);

	if (err)
		return failure_set(why, err, "the kernel does not let weir change the limits: %s",
				   strerror(-err));
	return 0;
}

void config_publish(struct control *control, const struct weir_policy *next)
{
	const struct weir_policy *current = config_policy(control);
	struct weir_config *config = control->config;
	uint32_t generation = generation_after(config->generation);
	struct weir_policy *copy = &config->copies[generation & 1];

	if (policy_equals(next, current))
		return;
	/* What a killed change of the key lengths left behind would come to life again. */
	if (!keys_equal(next, current))
		entries_delete_foreign(control, current);
	*copy = *next;
	policy_inherit(copy, current);
	__atomic_store_n(&config->generation, generation, __ATOMIC_RELEASE);
	/* The change stands, so that failing here is not failing: the next change does it again. */
	if (!settle(control) && !keys_equal(next, current))
		entries_delete_foreign(control, copy);
}

int config_change(struct control *control, const struct weir_policy *next, struct failure *why)
{
	int err = config_prepare(control, next, why);

	if (!err)
		config_publish(control, next);
	return err;
}
