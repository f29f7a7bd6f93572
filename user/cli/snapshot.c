/* SPDX-License-Identifier: MIT */
#include "cli/snapshot.h"

#include <string.h>

#define NAME_OF(symbol, name) [WEIR_##symbol] = #name,
const char *const verdict_names[WEIR_VERDICT_MAX] = {WEIR_VERDICTS(NAME_OF)};
#define CAUSE_NAME_OF(symbol, name) [WEIR_CAUSE_##symbol] = #name,
const char *const cause_names[WEIR_CAUSE_MAX] = {WEIR_CAUSES(CAUSE_NAME_OF)};

bool verdict_is_drop(enum weir_verdict verdict)
{
	return !strncmp(verdict_names[verdict], "drop_", strlen("drop_"));
}

struct flow counters_flow(const struct weir_counters *counters)
{
	struct flow flow = {0};

	for (size_t i = 0; i < WEIR_VERDICT_MAX; i++) {
		struct weir_count *sum =
			verdict_is_drop((enum weir_verdict)i) ? &flow.drop : &flow.pass;

		sum->packets += counters->verdicts[i].packets;
		sum->bytes += counters->verdicts[i].bytes;
	}
	return flow;
}

double per_second(uint64_t count, uint64_t elapsed_ns)
{
	double tenths = (double)count * 10 * NS_PER_SECOND / (double)elapsed_ns;

	return (double)(uint64_t)(tenths + 0.5) / 10;
}

static void counters_add(struct weir_counters *sum, const struct weir_counters *more)
{
	for (size_t i = 0; i < WEIR_VERDICT_MAX; i++) {
		sum->verdicts[i].packets += more->verdicts[i].packets;
		sum->verdicts[i].bytes += more->verdicts[i].bytes;
	}
	for (size_t i = 0; i < WEIR_CAUSE_MAX; i++)
		sum->causes[i] += more->causes[i];
}

static bool has_fallen(const struct weir_counters *now, const struct weir_counters *before)
{
	for (size_t i = 0; i < WEIR_VERDICT_MAX; i++) {
		if (now->verdicts[i].packets < before->verdicts[i].packets ||
		    now->verdicts[i].bytes < before->verdicts[i].bytes)
			return true;
	}
	for (size_t i = 0; i < WEIR_CAUSE_MAX; i++) {
		if (now->causes[i] < before->causes[i])
			return true;
	}
	return false;
}

static void counters_subtract(struct weir_counters *now, const struct weir_counters *before)
{
	for (size_t i = 0; i < WEIR_VERDICT_MAX; i++) {
		now->verdicts[i].packets -= before->verdicts[i].packets;
		now->verdicts[i].bytes -= before->verdicts[i].bytes;
	}
	for (size_t i = 0; i < WEIR_CAUSE_MAX; i++)
		now->causes[i] -= before->causes[i];
}

static const struct control_interface *find_link(const struct snapshot *snapshot, uint32_t link_id)
{
	for (size_t i = 0; i < snapshot->count; i++) {
		if (snapshot->interfaces[i].link_id == link_id)
			return &snapshot->interfaces[i];
	}
	return NULL;
}

struct weir_counters snapshot_total(const struct snapshot *snapshot)
{
	struct weir_counters total = {0};

	for (size_t i = 0; i < snapshot->count; i++)
		counters_add(&total, &snapshot->interfaces[i].counters);
	return total;
}

void snapshot_subtract(struct snapshot *now, const struct snapshot *before)
{
	for (size_t i = 0; i < now->count; i++) {
		struct control_interface *interface = &now->interfaces[i];
		const struct control_interface *then = find_link(before, interface->link_id);

		if (then && !has_fallen(&interface->counters, &then->counters))
			counters_subtract(&interface->counters, &then->counters);
	}
}
