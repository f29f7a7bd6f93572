/* SPDX-License-Identifier: MIT */
/* Whose bucket a request is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "http/key.h"
#include "random.h"
#include "weir.h"

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define RANDOM_CASES  20000
#define RANDOM_SEED   0x6b657973

static const uint8_t secret[KEY_SECRET_SIZE] = {0, 1, 2,  3,  4,  5,  6,  7,
						8, 9, 10, 11, 12, 13, 14, 15};

/* Of the bytes 0, 1, 2 and so on, as many as the index says; the values that the authors of SipHash
 * publish. */
static void siphash_gives_the_published_values(void **state)
{
	static const uint64_t published[] = {
		0x726fdb47dd0e0e31, 0x74f839c593dc67fd, 0x0d6c8009d9a94f5a, 0x85676696d7fb7e2d,
		0xcf2794e0277187b7, 0x18765564cd99a68d, 0xcbc9466e58fee3ce, 0xab0200f58b01d137,
		0x93f5f5799a932462, 0x9e0082df0ba9e4b0, 0x7a5dbbc594ddb9f3, 0xf4b32f46226bada7,
		0x751e8fbc860ee5fb, 0x14ea5627c0843d90, 0xf723ca908e7af2ee, 0xa129ca6149be45e5,
		0x3f2acc7f57c29bdb, 0x699ae9f52cbe4794, 0x4bc1b3f0968dd39c, 0xbb6dc91da77961bd,
		0xbed65cf21aa2ee98,
	};
	uint8_t bytes[ARRAY_SIZE(published)];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(published); i++) {
		assert_int_equal(key_siphash(secret, bytes, i), published[i]);
		bytes[i] = (uint8_t)i;
	}
}

/* Read whatever its place in memory; a buffer of its own, so that a read beyond it is found. */
static void a_hash_is_of_the_bytes_and_not_of_where_they_are(void **state)
{
	static const char text[] = "....the same text....";
	uint64_t expected = key_siphash(secret, text + 4, 13);

	(void)state;
	for (size_t at = 0; at < 8; at++) {
		char *copy = malloc(at + 13);

		assert_non_null(copy);
		memcpy(copy + at, text + 4, 13);
		assert_int_equal(key_siphash(secret, copy + at, 13), expected);
		free(copy);
	}
}

static void a_long_key_counts_whole(void **state)
{
	static char text[65536];
	uint64_t before = key_hash_text(secret, text, sizeof(text));

	(void)state;
	for (size_t at = 0; at < sizeof(text); at += 4095) {
		text[at] ^= 1;
		assert_int_not_equal(key_hash_text(secret, text, sizeof(text)), before);
		text[at] ^= 1;
	}
	assert_int_not_equal(key_hash_text(secret, text, sizeof(text) - 1), before);
	assert_int_not_equal(key_hash_text(secret, text, sizeof(text) - 256), before);
	assert_int_equal(key_hash_text(secret, text, sizeof(text)), before);
}

static void another_secret_is_another_hash(void **state)
{
	uint8_t other[KEY_SECRET_SIZE];

	(void)state;
	for (size_t bit = 0; bit < 8 * sizeof(other); bit++) {
		memcpy(other, secret, sizeof(other));
		other[bit / 8] ^= (uint8_t)(1 << bit % 8);
		assert_int_not_equal(key_hash_text(other, "key", 3),
				     key_hash_text(secret, "key", 3));
	}
}

static struct prefix prefix_of(const char *text)
{
	struct prefix prefix;

	assert_true(prefix_parse(text, &prefix));
	return prefix;
}

/* Zones outlive the module that wrote them: the next one must find the same keys. */
static void keys_hash_as_they_always_did(void **state)
{
	static const char text[] = "text\0\0\0\0alice";
	struct prefix prefix = prefix_of("192.0.2.1");
	uint8_t address[8 + sizeof(prefix)] = "address";
	uint8_t origin[8 + sizeof(prefix)] = "origin";

	(void)state;
	assert_int_equal(key_hash_text(secret, "alice", 5), key_siphash(secret, text, 13));
	memcpy(address + 8, &prefix, sizeof(prefix));
	assert_int_equal(key_hash_address(secret, &prefix),
			 key_siphash(secret, address, sizeof(address)));
	prefix = prefix_of("192.0.2.0/24");
	memcpy(origin + 8, &prefix, sizeof(prefix));
	assert_int_equal(key_hash_origin(secret, &prefix),
			 key_siphash(secret, origin, sizeof(origin)));
}

/* Whoever writes a text can write the bytes of an address. */
static void no_text_hashes_as_an_address_or_an_origin_does(void **state)
{
	struct prefix address = prefix_of("192.0.2.0/24");
	uint64_t as_text = key_hash_text(secret, &address, sizeof(address));
	uint64_t as_address = key_hash_address(secret, &address);
	uint64_t as_origin = key_hash_origin(secret, &address);

	(void)state;
	assert_int_not_equal(as_text, as_address);
	assert_int_not_equal(as_text, as_origin);
	assert_int_not_equal(as_address, as_origin);
	assert_int_not_equal(as_text, key_siphash(secret, &address, sizeof(address)));
}

static void addresses_hash_alike_only_if_they_are_equal(void **state)
{
	static const char *const texts[] = {
		"192.0.2.1",         "192.0.2.2",
		"192.0.2.0/24",      "192.0.2.0",
		"2001:db8::/64",     "2001:db8::/65",
		"2001:db8:0:1::/64", "c000:201::",
		"c000:201::/32",     "::",
		"0.0.0.0",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		for (size_t k = 0; k < ARRAY_SIZE(texts); k++) {
			struct prefix a = prefix_of(texts[i]), b = prefix_of(texts[k]);
			bool alike = key_hash_address(secret, &a) == key_hash_address(secret, &b);

			assert_int_equal(alike, i == k);
		}
	}
}

static void an_origin_is_the_24_or_48_that_an_address_lies_in(void **state)
{
	static const struct {
		const char *a, *b;
		bool alike;
	} cases[] = {
		{"192.0.2.1", "192.0.2.255", true},
		{"192.0.2.1", "192.0.3.1", false},
		{"192.0.2.0/24", "192.0.2.77", true},
		{"192.0.0.0/16", "192.0.0.0", false},
		{"2001:db8:1::1", "2001:db8:1:ffff:ffff:ffff:ffff:ffff", true},
		{"2001:db8:1:2::/64", "2001:db8:1::1", true},
		{"2001:db8:1::", "2001:db8:2::", false},
		{"2001:db8::/32", "2001:db8::", false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct prefix a = prefix_of(cases[i].a), b = prefix_of(cases[i].b);
		bool alike = key_hash_origin(secret, &a) == key_hash_origin(secret, &b);

		if (alike != cases[i].alike)
			fail_msg("%s and %s", cases[i].a, cases[i].b);
	}
}

/* As the socket has it: prefix_parse would unmap it. */
static struct prefix normalised(const char *text, unsigned int ipv6_prefix)
{
	static const uint8_t mapped[12] = {[10] = 0xff, 0xff};
	struct prefix source = prefix_of(text), ret;
	uint8_t bytes[16];

	if (source.family == WEIR_IPV6) {
		address_normalise(WEIR_IPV6, source.address, ipv6_prefix, &ret);
		return ret;
	}
	memcpy(bytes, mapped, sizeof(mapped));
	memcpy(bytes + 12, source.address, 4);
	address_normalise(WEIR_IPV6, bytes, ipv6_prefix, &ret);
	return ret;
}

static void an_address_is_the_source_it_counts_as(void **state)
{
	static const struct {
		const char *text;
		unsigned int ipv6_prefix;
		const char *expected;
	} cases[] = {
		{"::ffff:192.0.2.1", 64, "192.0.2.1"},
		{"::ffff:192.0.2.1", 1, "192.0.2.1"},
		{"64:ff9b::192.0.2.1", 64, "192.0.2.1"},
		{"64:ff9b::192.0.2.1", 128, "192.0.2.1"},
		{"64:ff9b:0:0:0:1:c000:201", 128, "64:ff9b::1:c000:201"},
		{"64:ff9b:1::192.0.2.1", 64, "64:ff9b:1::/64"},
		{"::fffe:192.0.2.1", 128, "::fffe:c000:201"},
		{"::192.0.2.1", 128, "::c000:201"},
		{"2001:db8:1:2:3:4:5:6", 64, "2001:db8:1:2::/64"},
		{"2001:db8:1:2:3:4:5:6", 56, "2001:db8:1::/56"},
		{"2001:db8:1:2:3:4:5:6", 128, "2001:db8:1:2:3:4:5:6"},
		{"2001:db8:1:2:3:4:5:6", 127, "2001:db8:1:2:3:4:5:6/127"},
		{"ffff:ffff:ffff:ffff::", 61, "ffff:ffff:ffff:fff8::/61"},
		{"ffff::", 1, "8000::/1"},
		{"ffff::", 7, "fe00::/7"},
		{"ffff::", 8, "ff00::/8"},
		{"ffff::", 9, "ff80::/9"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct prefix address = normalised(cases[i].text, cases[i].ipv6_prefix);
		struct prefix expected = prefix_of(cases[i].expected);

		if (memcmp(&address, &expected, sizeof(address)))
			fail_msg("%s by /%u is not %s", cases[i].text, cases[i].ipv6_prefix,
				 cases[i].expected);
	}
}

static void an_ipv4_address_is_whole_whatever_comes_after_it(void **state)
{
	uint8_t *bytes = malloc(4);
	struct prefix address, expected = prefix_of("192.0.2.1");

	(void)state;
	assert_non_null(bytes);
	memcpy(bytes, expected.address, 4);
	address_normalise(WEIR_IPV4, bytes, 64, &address);
	assert_memory_equal(&address, &expected, sizeof(address));
	free(bytes);
}

/* Bit by bit, as nobody would write it for speed. */
static void ipv6_is_cut_at_every_length(void **state)
{
	uint64_t seed = RANDOM_SEED;

	(void)state;
	for (size_t i = 0; i < RANDOM_CASES; i++) {
		unsigned int length = 1 + (unsigned int)(random_next(&seed) % 128);
		uint64_t words[2] = {random_next(&seed) | 1, random_next(&seed)};
		const uint8_t *bytes = (const uint8_t *)words;
		struct prefix address;

		address_normalise(WEIR_IPV6, bytes, length, &address);
		assert_int_equal(address.length, length);
		for (unsigned int bit = 0; bit < 128; bit++) {
			unsigned int mask = 0x80 >> bit % 8;

			assert_int_equal(address.address[bit / 8] & mask,
					 bit < length ? bytes[bit / 8] & mask : 0);
		}
	}
}

/* 0 means no hash. A hash that comes out as 0 is too rare to find: that none does is all that can
 * be seen. */
static void no_hash_is_zero(void **state)
{
	uint64_t seed = RANDOM_SEED;

	(void)state;
	assert_int_not_equal(key_hash_text(secret, "", 0), 0);
	for (size_t i = 0; i < RANDOM_CASES; i++) {
		uint64_t word = random_next(&seed);

		assert_int_not_equal(key_hash_text(secret, &word, sizeof(word)), 0);
	}
}

static void a_label_shows_an_address(void **state)
{
	struct prefix address = prefix_of("2001:db8:1:2::/64");
	struct slot_label label, expected = {.kind = LABEL_ADDRESS,
					     .family = WEIR_IPV6,
					     .prefix_length = 64,
					     .is_peer = 1,
					     .value = {0x20, 1, 0x0d, 0xb8, 0, 1, 0, 2}};

	(void)state;
	memset(&label, 0xa5, sizeof(label));
	key_label_address(&address, true, &label);
	assert_memory_equal(&label, &expected, sizeof(label));
	key_label_address(&address, false, &label);
	assert_int_equal(label.is_peer, 0);
}

static void a_label_of_a_secret_shows_its_hash_only(void **state)
{
	struct slot_label label,
		expected = {.kind = LABEL_HASH,
			    .value = {0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef}};

	(void)state;
	memset(&label, 0xa5, sizeof(label));
	key_label_hash(0x0123456789abcdef, &label);
	assert_memory_equal(&label, &expected, sizeof(label));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(siphash_gives_the_published_values),
		cmocka_unit_test(a_hash_is_of_the_bytes_and_not_of_where_they_are),
		cmocka_unit_test(a_long_key_counts_whole),
		cmocka_unit_test(another_secret_is_another_hash),
		cmocka_unit_test(keys_hash_as_they_always_did),
		cmocka_unit_test(no_text_hashes_as_an_address_or_an_origin_does),
		cmocka_unit_test(addresses_hash_alike_only_if_they_are_equal),
		cmocka_unit_test(an_origin_is_the_24_or_48_that_an_address_lies_in),
		cmocka_unit_test(an_address_is_the_source_it_counts_as),
		cmocka_unit_test(an_ipv4_address_is_whole_whatever_comes_after_it),
		cmocka_unit_test(ipv6_is_cut_at_every_length),
		cmocka_unit_test(no_hash_is_zero),
		cmocka_unit_test(a_label_shows_an_address),
		cmocka_unit_test(a_label_of_a_secret_shows_its_hash_only),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
