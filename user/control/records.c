/* SPDX-License-Identifier: MIT */
#include "control/records.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "control/device.h"

int records_read(const struct control *control, unsigned int slot, struct weir_interface *ret,
		 struct failure *why)
{
	struct weir_interface record;

	if (bpf_map_lookup_elem(control->fds[PIN_INTERFACES], &slot, &record))
		return failure_set(why, errno, "cannot read which interface holds slot %u: %s",
				   slot, strerror(errno));
	record.name[sizeof(record.name) - 1] = '\0';
	record.netns[sizeof(record.netns) - 1] = '\0';
	*ret = record;
	return 0;
}

static int counters_clear(const struct control *control, unsigned int slot)
{
	int cpus = libbpf_num_possible_cpus();
	struct weir_counters *zero;
	int err = 0;

	if (cpus < 0)
		return cpus;
	zero = calloc((size_t)cpus, sizeof(*zero));
	if (!zero)
		return -ENOMEM;
	if (bpf_map_update_elem(control->fds[PIN_COUNTERS], &slot, zero, BPF_ANY))
		err = -errno;
	free(zero);
	return err;
}

static int budget_clear(const struct control *control, unsigned int slot)
{
	struct weir_budget full = {0}; /* of whichever epoch: another one counts as full too */

	return bpf_map_update_elem(control->fds[PIN_BUDGETS], &slot, &full, BPF_ANY) ? -errno : 0;
}

int records_clear(const struct control *control, unsigned int slot, struct failure *why)
{
	int err = counters_clear(control, slot);

	if (!err)
		err = budget_clear(control, slot);
	return err ? failure_set(why, err, "cannot clear slot %u: %s", slot, strerror(-err)) : 0;
}

int records_write(const struct control *control, unsigned int slot,
		  const struct weir_interface *record, struct failure *why)
{
	if (bpf_map_update_elem(control->fds[PIN_INTERFACES], &slot, record, BPF_ANY))
		return failure_set(why, errno, "cannot write which interface holds slot %u: %s",
				   slot, strerror(errno));
	return 0;
}

static void counters_add(struct weir_counters *sum, const struct weir_counters *counters)
{
	for (int i = 0; i < WEIR_VERDICT_MAX; i++) {
		sum->verdicts[i].packets += counters->verdicts[i].packets;
		sum->verdicts[i].bytes += counters->verdicts[i].bytes;
	}
	for (int i = 0; i < WEIR_CAUSE_MAX; i++)
		sum->causes[i] += counters->causes[i];
}

static int counters_sum(const struct control *control, unsigned int slot, int cpus,
			struct weir_counters *ret)
{
	struct weir_counters *each = calloc((size_t)cpus, sizeof(*each));
	struct weir_counters sum = {0};
	int err = 0;

	if (!each)
		return -ENOMEM;
	if (bpf_map_lookup_elem(control->fds[PIN_COUNTERS], &slot, each))
		err = -errno;
	for (int cpu = 0; !err && cpu < cpus; cpu++)
		counters_add(&sum, &each[cpu]);
	free(each);
	if (!err)
		*ret = sum;
	return err;
}

int records_count(const struct control *control, unsigned int slot, struct weir_counters *ret,
		  struct failure *why)
{
	int cpus = libbpf_num_possible_cpus();
	int err = cpus < 0 ? cpus : counters_sum(control, slot, cpus, ret);

	return err ? failure_set(why, err, "cannot read the counters: %s", strerror(-err)) : 0;
}

static bool record_is(const struct control *control, const struct slot *slot, const char *name,
		      const char *netns)
{
	struct weir_interface record;

	return !records_read(control, slot->number, &record, NULL) && !strcmp(record.name, name) &&
	       !strcmp(record.netns, netns);
}

struct slot *records_find_gone(const struct control *control, const struct slots *slots,
			       const char *name, const char *netns)
{
	for (size_t i = 0; i < slots->count; i++) {
		if (!slots->at[i].ifindex &&
		    record_is(control, &slots->at[i], name, netns ? netns : ""))
			return &slots->at[i];
	}
	return NULL;
}

static void list_append(char *list, size_t size, const struct slot *slot,
			struct weir_interface *record)
{
	bool seen = device_name_now(slot->ifindex, record->netns, slot->program_id, record->name);
	size_t length = strlen(list);
	char place[WEIR_NETNS_SIZE + sizeof(" (netns )")] = "";

	if (slot->ifindex && !seen)
		snprintf(place, sizeof(place), " (in another network namespace)");
	else if (record->netns[0])
		snprintf(place, sizeof(place), " (netns %s)", record->netns);
	snprintf(list + length, size - length, "%s%s%s", length ? ", " : "", record->name, place);
}

void records_list(const struct control *control, const struct slots *slots, char *buf, size_t size)
{
	struct weir_interface record;

	buf[0] = '\0';
	for (size_t i = 0; i < slots->count; i++) {
		if (records_read(control, slots->at[i].number, &record, NULL))
			continue;
		list_append(buf, size, &slots->at[i], &record);
	}
}
