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

/* An interface may have been renamed, and has no index once it is gone. */
static bool is_same(const struct control_interface *now, const struct control_interface *before)
{
	if (strcmp(now->netns, before->netns))
		return false;
	return now->ifindex ? now->ifindex == before->ifindex : !strcmp(now->name, before->name);
}

static const struct control_interface *find_same(const struct snapshot *snapshot,
						 const struct control_interface *interface)
{
	for (size_t i = 0; i < snapshot->count; i++) {
		if (is_same(interface, &snapshot->interfaces[i]))
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
		const struct control_interface *then = find_same(before, interface);

		if (then && !has_fallen(&interface->counters, &then->counters))
			counters_subtract(&interface->counters, &then->counters);
	}
}
