/* SPDX-License-Identifier: MIT */
#include "text/address.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include "weir.h"

#define IPV4_BITS   32
#define IPV6_BITS   128
#define MAPPED_BITS 96 /* of ::ffff:0:0/96 */

/* Up to three digits, without leading zeros. */
static bool length_parse(const char *text, unsigned int max, uint8_t *ret)
{
	size_t digits = strspn(text, "0123456789");
	unsigned int value = 0;

	if (!digits || digits > 3 || text[digits] || (text[0] == '0' && digits > 1))
		return false;
	for (size_t i = 0; i < digits; i++)
		value = value * 10 + (unsigned int)(text[i] - '0');
	if (value > max)
		return false;
	*ret = (uint8_t)value;
	return true;
}

unsigned int address_bits(uint8_t family)
{
	return family == WEIR_IPV4 ? IPV4_BITS : IPV6_BITS;
}

static bool has_bits_beyond_length(const struct prefix *prefix)
{
	for (unsigned int bit = prefix->length; bit < address_bits(prefix->family); bit++) {
		if (prefix->address[bit / 8] & (0x80 >> bit % 8))
			return true;
	}
	return false;
}

static bool address_parse(const char *text, struct prefix *ret)
{
	bool is_ipv6 = strchr(text, ':');

	ret->family = is_ipv6 ? WEIR_IPV6 : WEIR_IPV4;
	return inet_pton(is_ipv6 ? AF_INET6 : AF_INET, text, ret->address) == 1;
}

/* To be called on a prefix without bits beyond its length: a mapped one then has at least 96. */
static void prefix_unmap(struct prefix *prefix)
{
	static const uint8_t mapped[MAPPED_BITS / 8] = {[10] = 0xff, [11] = 0xff};

	if (prefix->family != WEIR_IPV6 || memcmp(prefix->address, mapped, sizeof(mapped)))
		return;
	memcpy(prefix->address, prefix->address + sizeof(mapped), 4);
	memset(prefix->address + 4, 0, sizeof(prefix->address) - 4);
	prefix->family = WEIR_IPV4;
	prefix->length -= MAPPED_BITS;
}

bool prefix_parse(const char *text, struct prefix *ret)
{
	size_t address_length = strcspn(text, "/");
	char address[INET6_ADDRSTRLEN];
	struct prefix prefix = {0};

	if (address_length >= sizeof(address))
		return false;
	memcpy(address, text, address_length);
	address[address_length] = '\0';
	if (!address_parse(address, &prefix))
		return false;
	prefix.length = (uint8_t)address_bits(prefix.family);
	if (text[address_length] &&
	    !length_parse(text + address_length + 1, prefix.length, &prefix.length))
		return false;
	if (has_bits_beyond_length(&prefix))
		return false;
	prefix_unmap(&prefix);
	*ret = prefix;
	return true;
}

void prefix_format(char *buf, size_t size, const struct prefix *prefix)
{
	int family = prefix->family == WEIR_IPV4 ? AF_INET : AF_INET6;
	char address[INET6_ADDRSTRLEN];

	inet_ntop(family, prefix->address, address, sizeof(address));
	if (prefix->length == address_bits(prefix->family))
		snprintf(buf, size, "%s", address);
	else
		snprintf(buf, size, "%s/%u", address, prefix->length);
}

bool prefix_length_parse(const char *text, unsigned int max, uint8_t *ret)
{
	uint8_t length;

	if (!length_parse(text + (*text == '/'), max, &length) || !length)
		return false;
	*ret = length;
	return true;
}
