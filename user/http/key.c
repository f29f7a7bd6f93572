/* SPDX-License-Identifier: MIT */
#include "http/key.h"

#include <endian.h>
#include <string.h>

#include "weir.h"

#define IPV4_BITS        32
#define IPV6_BITS        128
#define IPV4_ORIGIN_BITS 24
#define IPV6_ORIGIN_BITS 48

/* What is hashed begins with one of these words, so that no text, whoever wrote it, hashes as an
 * address does. */
#define TEXT_TAG    0x0000000074786574ULL
#define ADDRESS_TAG 0x0073736572646461ULL
#define ORIGIN_TAG  0x00006e696769726fULL

/* Hashed as it lies in memory. */
_Static_assert(sizeof(struct prefix) == 18, "a prefix has no padding");

struct sip {
	uint64_t v0, v1, v2, v3;
};

static inline uint64_t rotate(uint64_t word, unsigned int bits)
{
	return word << bits | word >> (64 - bits);
}

static inline uint64_t word_at(const uint8_t *bytes)
{
	uint64_t word;

	memcpy(&word, bytes, sizeof(word));
	return le64toh(word);
}

static inline void sip_round(struct sip *sip)
{
	sip->v0 += sip->v1;
	sip->v2 += sip->v3;
	sip->v1 = rotate(sip->v1, 13) ^ sip->v0;
	sip->v3 = rotate(sip->v3, 16) ^ sip->v2;
	sip->v0 = rotate(sip->v0, 32) + sip->v3;
	sip->v2 += sip->v1;
	sip->v1 = rotate(sip->v1, 17) ^ sip->v2;
	sip->v3 = rotate(sip->v3, 21) ^ sip->v0;
	sip->v2 = rotate(sip->v2, 32);
}

static inline void sip_absorb(struct sip *sip, uint64_t word)
{
	sip->v3 ^= word;
	sip_round(sip);
	sip_round(sip);
	sip->v0 ^= word;
}

static inline struct sip sip_keyed(const uint8_t secret[KEY_SECRET_SIZE])
{
	uint64_t low = word_at(secret), high = word_at(secret + 8);

	return (struct sip){
		.v0 = low ^ 0x736f6d6570736575ULL,
		.v1 = high ^ 0x646f72616e646f6dULL,
		.v2 = low ^ 0x6c7967656e657261ULL,
		.v3 = high ^ 0x7465646279746573ULL,
	};
}

/* The last word of a message: its bytes beyond whole words, and its size modulo 256 on top. */
static inline uint64_t last_word(const uint8_t *bytes, size_t size, size_t message_size)
{
	uint64_t word = (uint64_t)message_size << 56;

	for (size_t i = 0; i < size; i++)
		word |= (uint64_t)bytes[i] << 8 * i;
	return word;
}

static inline uint64_t sip_finish(struct sip *sip, uint64_t last)
{
	sip_absorb(sip, last);
	sip->v2 ^= 0xff;
	for (int i = 0; i < 4; i++)
		sip_round(sip);
	return sip->v0 ^ sip->v1 ^ sip->v2 ^ sip->v3;
}

/* Of a message that ends with these bytes; what came before them is absorbed. */
static inline uint64_t sip_hash_rest(struct sip *sip, const uint8_t *bytes, size_t size,
				     size_t message_size)
{
	for (; size >= 8; bytes += 8, size -= 8)
		sip_absorb(sip, word_at(bytes));
	return sip_finish(sip, last_word(bytes, size, message_size));
}

uint64_t key_siphash(const uint8_t secret[KEY_SECRET_SIZE], const void *bytes, size_t size)
{
	struct sip sip = sip_keyed(secret);

	return sip_hash_rest(&sip, bytes, size, size);
}

static uint64_t hash_tagged(const uint8_t secret[KEY_SECRET_SIZE], uint64_t tag, const void *bytes,
			    size_t size)
{
	struct sip sip = sip_keyed(secret);
	uint64_t hash;

	sip_absorb(&sip, tag);
	hash = sip_hash_rest(&sip, bytes, size, sizeof(tag) + size);
	return hash ? hash : 1;
}

uint64_t key_hash_text(const uint8_t secret[KEY_SECRET_SIZE], const void *bytes, size_t size)
{
	return hash_tagged(secret, TEXT_TAG, bytes, size);
}

uint64_t key_hash_address(const uint8_t secret[KEY_SECRET_SIZE], const struct prefix *address)
{
	return hash_tagged(secret, ADDRESS_TAG, address, sizeof(*address));
}

/* No longer than that many bits, and zero beyond. */
static void prefix_cut(struct prefix *prefix, unsigned int bits)
{
	size_t whole = bits / 8;

	if (prefix->length <= bits)
		return;
	prefix->length = (uint8_t)bits;
	if (bits % 8)
		prefix->address[whole++] &= (uint8_t)(0xff00 >> bits % 8);
	memset(prefix->address + whole, 0, sizeof(prefix->address) - whole);
}

uint64_t key_hash_origin(const uint8_t secret[KEY_SECRET_SIZE], const struct prefix *address)
{
	struct prefix origin = *address;

	prefix_cut(&origin, origin.family == WEIR_IPV4 ? IPV4_ORIGIN_BITS : IPV6_ORIGIN_BITS);
	return hash_tagged(secret, ORIGIN_TAG, &origin, sizeof(origin));
}

/* Whether an IPv6 address only carries an IPv4 one in its last 32 bits. */
static bool carries_ipv4(const uint8_t bytes[16])
{
	static const uint8_t mapped[12] = {[10] = 0xff, 0xff};
	static const uint8_t nat64[12] = {0x00, 0x64, 0xff, 0x9b};

	return !memcmp(bytes, mapped, sizeof(mapped)) || !memcmp(bytes, nat64, sizeof(nat64));
}

void address_normalise(uint8_t family, const uint8_t *bytes, unsigned int ipv6_prefix,
		       struct prefix *ret)
{
	bool carried = family == WEIR_IPV6 && carries_ipv4(bytes);
	struct prefix address = {.family = WEIR_IPV4, .length = IPV4_BITS};

	if (family == WEIR_IPV4 || carried) {
		memcpy(address.address, bytes + (carried ? 12 : 0), 4);
	} else {
		address.family = WEIR_IPV6;
		address.length = IPV6_BITS;
		memcpy(address.address, bytes, 16);
		prefix_cut(&address, ipv6_prefix);
	}
	*ret = address;
}

void key_label_address(const struct prefix *address, bool is_peer, struct slot_label *ret)
{
	*ret = (struct slot_label){
		.kind = LABEL_ADDRESS,
		.family = address->family,
		.prefix_length = address->length,
		.is_peer = is_peer,
	};
	memcpy(ret->value, address->address, sizeof(ret->value));
}

void key_label_hash(uint64_t hash, struct slot_label *ret)
{
	uint64_t big_endian = htobe64(hash);

	*ret = (struct slot_label){.kind = LABEL_HASH};
	memcpy(ret->value, &big_endian, sizeof(big_endian));
}
