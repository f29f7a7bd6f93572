/* SPDX-License-Identifier: (GPL-2.0-only OR MIT) */
/* Which bucket a packet belongs to and which limit holds for it. */
#ifndef WEIR_CLASSIFY_H
#define WEIR_CLASSIFY_H

#include "maps.h"
#include "parse.h"

/* The policy as one packet sees it. */
struct view {
	const struct weir_policy *policy;
	__u32 generation;
};

static __always_inline struct view policy_view(void)
{
	struct view view;

	view.generation = *(const volatile __u32 *)&weir_config.generation;
	view.policy = &weir_config.copies[view.generation & 1];
	return view;
}

static __always_inline void key_of(const struct packet *packet, const struct weir_policy *policy,
				   struct weir_key *ret_key)
{
	ret_key->family = packet->family;
	ret_key->class = 0;
	ret_key->zero = 0;
	if (packet->family == WEIR_IPV4) {
		ret_key->address[0] = packet->source[0] & policy->mask4;
		ret_key->address[1] = 0;
		ret_key->address[2] = 0;
		ret_key->address[3] = 0;
		ret_key->prefix_length = policy->key4;
		return;
	}
	ret_key->address[0] = packet->source[0] & policy->mask6[0];
	ret_key->address[1] = packet->source[1] & policy->mask6[1];
	ret_key->address[2] = packet->source[2] & policy->mask6[2];
	ret_key->address[3] = packet->source[3] & policy->mask6[3];
	ret_key->prefix_length = policy->key6;
}

/* The limit of a source, computed under a generation: everyone's is the default. */
static __always_inline __u64 classify(__u32 generation)
{
	return (__u64)generation << 32 | WEIR_LIMIT_DEFAULT;
}

/* Reads the outcome that was stored with the entry, and renews it once the generation moved. */
static __always_inline const struct weir_limit *limit_of(struct weir_entry *entry,
							 const struct view *view)
{
	__u64 outcome = *(volatile __u64 *)&entry->outcome;

	if (outcome >> 32 != view->generation) {
		outcome = classify(view->generation);
		*(volatile __u64 *)&entry->outcome = outcome;
	}
	return &view->policy->limits[outcome & (WEIR_LIMITS_MAX - 1)];
}

#endif
