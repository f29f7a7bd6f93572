/* SPDX-License-Identifier: MIT */
#include "control/keys.h"

#include <errno.h>
#include <string.h>

int keys_of(const struct prefix *address, const struct weir_policy *policy, struct weir_key *ret,
	    struct failure *why)
{
	bool is_ipv4 = address->family == WEIR_IPV4;
	unsigned int full = is_ipv4 ? 32 : 128;
	unsigned int length = is_ipv4 ? policy->key4 : policy->key6;
	struct weir_key key = {.family = address->family, .prefix_length = (uint8_t)length};
	__be32 words[4];

	if (address->length != full && address->length != length)
		return failure_set(why, EINVAL,
				   "sources are %s prefixes of %u bits: give an address or such a "
				   "prefix",
				   is_ipv4 ? "IPv4" : "IPv6", length);
	memcpy(words, address->address, sizeof(words));
	if (is_ipv4) {
		key.address[0] = words[0] & policy->mask4;
	} else {
		for (int word = 0; word < 4; word++)
			key.address[word] = words[word] & policy->mask6[word];
	}
	*ret = key;
	return 0;
}

void control_key_prefix(const struct weir_key *key, struct prefix *ret)
{
	*ret = (struct prefix){.family = key->family, .length = key->prefix_length};
	memcpy(ret->address, key->address, sizeof(ret->address));
}
