/* SPDX-License-Identifier: MIT */
/* Which keys come first, of zones with slots and offenders. */
#include "zone_made.h"

#include <stdio.h>

#include "cli/http_top.h"
#include "http/key.h"
#include "http/zone_offenders.h"

#define LIMIT     5
#define KEYS      40
#define OFFENDERS 64
#define WANTED    6

static const struct http_zone named = {.instance = "main", .zone = "login"};
static const struct penalty penalty = {
	.refusals = 2,
	.within_ns = 60 * NS_PER_SEC,
	.ban_ns = 60 * NS_PER_SEC,
	.max_ns = 600 * NS_PER_SEC,
};

static void *memory_new(uint64_t entries, uint64_t offenders)
{
	struct rule rule = made_rule_of(ALGORITHM_TOKEN_BUCKET, LIMIT);
	uint64_t size = zone_size(entries, 0, offenders);
	struct zone_header *header =
		mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	assert_ptr_not_equal(header, MAP_FAILED);
	header->file_size = size;
	header->identity.algorithm = ALGORITHM_TOKEN_BUCKET;
	header->sets = entries / ZONE_WAYS;
	header->offenders = offenders;
	header->main = header->overflow = made_kept(&rule);
	return header;
}

static void zone_new(struct zone *zone)
{
	assert_int_equal(zone_attach(zone, memory_new(256, OFFENDERS), NULL), 0);
}

/* 192.0.2.NUMBER. */
static struct zone_key key_of(const struct zone *zone, uint8_t number)
{
	const uint8_t bytes[4] = {192, 0, 2, number};
	struct prefix address;
	struct zone_key key = {0};

	address_normalise(WEIR_IPV4, bytes, 64, &address);
	key.hash = key_hash_address(zone->header->secret, &address);
	key_label_address(&address, true, &key.label);
	return key;
}

static struct zone_key text_key_of(const struct zone *zone, const char *text)
{
	struct zone_key key = {.hash = key_hash_text(zone->header->secret, text, strlen(text))};

	key_label_hash(key.hash, &key.label);
	return key;
}

static void ask(struct zone *zone, const struct zone_key *key, unsigned int times)
{
	while (times--) {
		struct zone_charge charge = {
			.zone = zone, .key = *key, .rule = zone->main_rule, .cost = 1};

		zone_take_all(&charge, 1, made_clock);
	}
}

static void ban(struct zone *zone, const struct zone_key *key)
{
	uint64_t ban_ns;

	for (unsigned int i = 0; i < penalty.refusals; i++)
		zone_offend(zone, &penalty, key, made_now_ns, &ban_ns);
}

static struct http_top top_of(struct zone *zone, enum http_top_order order, size_t wanted)
{
	struct http_top top;

	assert_int_equal(http_top_begin(&top, order, wanted), 0);
	assert_int_equal(http_top_add(&top, &named, zone, made_now_ns), 0);
	http_top_end(&top);
	return top;
}

/* Keys 1 to KEYS, in an order that is none: the more refused the less passed, at moments apart. */
static void zone_crowd(struct zone *zone)
{
	for (unsigned int i = 0; i < KEYS; i++) {
		uint8_t number = (uint8_t)(i * 23 % KEYS + 1);
		struct zone_key key = key_of(zone, number);

		ask(zone, &key, LIMIT + number);
		made_now_ns += NS_PER_SEC / 1000;
	}
}

static void those_refused_most_come_first(void **state)
{
	struct http_top top;
	struct zone zone;

	(void)state;
	zone_new(&zone);
	zone_crowd(&zone);
	top = top_of(&zone, HTTP_TOP_BY_REFUSED, WANTED);
	assert_int_equal(top.count, WANTED);
	assert_int_equal(top.known, KEYS);
	for (unsigned int i = 0; i < WANTED; i++) {
		char address[32];

		snprintf(address, sizeof(address), "192.0.2.%u", KEYS - i);
		assert_string_equal(top.rows[i].key, address);
		assert_int_equal(top.rows[i].refused, KEYS - i);
		assert_int_equal(top.rows[i].passed, LIMIT);
		assert_int_equal(top.rows[i].remaining, 0);
		assert_ptr_equal(top.rows[i].named, &named);
	}
	http_top_free(&top);
	made_free(&zone);
}

static void a_few_are_the_first_of_all_in_every_order(void **state)
{
	struct zone zone;

	(void)state;
	zone_new(&zone);
	zone_crowd(&zone);
	for (int order = HTTP_TOP_BY_REFUSED; order <= HTTP_TOP_BY_LAST_SEEN; order++) {
		struct http_top all = top_of(&zone, (enum http_top_order)order, 2 * KEYS);

		assert_int_equal(all.count, KEYS);
		for (size_t wanted = 1; wanted <= KEYS + 1; wanted++) {
			struct http_top few = top_of(&zone, (enum http_top_order)order, wanted);

			assert_int_equal(few.count, wanted < KEYS ? wanted : KEYS);
			for (size_t i = 0; i < few.count; i++)
				assert_string_equal(few.rows[i].key, all.rows[i].key);
			http_top_free(&few);
		}
		http_top_free(&all);
	}
	made_free(&zone);
}

static void the_last_seen_comes_first_where_asked(void **state)
{
	struct zone_key early, late;
	struct http_top top;
	struct zone zone;

	(void)state;
	zone_new(&zone);
	early = key_of(&zone, 1);
	late = key_of(&zone, 2);
	ask(&zone, &early, 20);
	made_now_ns += NS_PER_SEC;
	ask(&zone, &late, 1);
	top = top_of(&zone, HTTP_TOP_BY_LAST_SEEN, 2);
	assert_string_equal(top.rows[0].key, "192.0.2.2");
	assert_int_equal(top.rows[0].last_seen_ns, made_now_ns);
	assert_int_equal(top.rows[1].last_seen_ns, made_now_ns - NS_PER_SEC);
	http_top_free(&top);
	made_free(&zone);
}

static void a_key_that_is_no_address_is_its_hash(void **state)
{
	struct zone_key key;
	struct http_top top;
	struct zone zone;
	char hash[32];

	(void)state;
	zone_new(&zone);
	key = text_key_of(&zone, "alice");
	ask(&zone, &key, 1);
	http_hash_format(hash, sizeof(hash), key.hash);
	top = top_of(&zone, HTTP_TOP_BY_REFUSED, 1);
	assert_string_equal(top.rows[0].key, hash);
	http_top_free(&top);
	made_free(&zone);
}

/* Of a slot that changes hands, or of a file that anybody wrote. */
static void a_label_of_another_key_is_not_believed(void **state)
{
	struct zone_key key, other;
	struct slot_label labels[4] = {0};
	struct slot_pair pair;
	struct zone_slot *slot;
	struct zone zone;
	char hash[32];

	(void)state;
	zone_new(&zone);
	key = key_of(&zone, 1);
	other = key_of(&zone, 2);
	ask(&zone, &key, 1);
	slot = (struct zone_slot *)zone_find(&zone, key.hash, &pair);
	labels[0] = other.label;
	labels[1] = key.label;
	labels[1].prefix_length = 200;
	labels[2] = key.label;
	labels[2].family = 99;
	labels[3] = text_key_of(&zone, "alice").label;
	http_hash_format(hash, sizeof(hash), key.hash & SLOT_KEY_MASK);
	for (size_t i = 0; i < ARRAY_SIZE(labels); i++) {
		struct http_top top;

		slot->label = labels[i];
		top = top_of(&zone, HTTP_TOP_BY_REFUSED, 1);
		assert_string_equal(top.rows[0].key, hash);
		http_top_free(&top);
	}
	made_free(&zone);
}

static void a_banned_key_without_a_slot_is_there_too(void **state)
{
	struct zone_key key;
	struct http_top top;
	struct zone zone;

	(void)state;
	zone_new(&zone);
	key = key_of(&zone, 1);
	ban(&zone, &key);
	zone_count_banned(&zone, key.hash, made_now_ns);
	top = top_of(&zone, HTTP_TOP_BY_REFUSED, 3);
	assert_int_equal(top.count, 1);
	assert_string_equal(top.rows[0].key, "192.0.2.1");
	assert_int_equal(top.rows[0].refused, 1);
	assert_int_equal(top.rows[0].remaining, LIMIT);
	assert_in_range(top.rows[0].ban_left_ns, 59 * NS_PER_SEC, 61 * NS_PER_SEC);
	http_top_free(&top);
	made_free(&zone);
}

static void once_its_ban_is_over_it_is_not(void **state)
{
	struct zone_key key;
	struct http_top top;
	struct zone zone;

	(void)state;
	zone_new(&zone);
	key = key_of(&zone, 1);
	ban(&zone, &key);
	made_now_ns += 61 * NS_PER_SEC;
	top = top_of(&zone, HTTP_TOP_BY_REFUSED, 3);
	assert_int_equal(top.count, 0);
	assert_int_equal(top.known, 0);
	http_top_free(&top);
	made_free(&zone);
}

static void an_offender_with_a_slot_has_one_row(void **state)
{
	struct zone_key key, other;
	struct http_top top;
	struct zone zone;

	(void)state;
	zone_new(&zone);
	key = key_of(&zone, 1);
	other = key_of(&zone, 2);
	ask(&zone, &key, LIMIT + 2);
	ask(&zone, &other, 1);
	ban(&zone, &key);
	zone_count_banned(&zone, key.hash, made_now_ns);
	top = top_of(&zone, HTTP_TOP_BY_REFUSED, 4);
	assert_int_equal(top.count, 2);
	assert_int_equal(top.known, 2);
	assert_string_equal(top.rows[0].key, "192.0.2.1");
	assert_int_equal(top.rows[0].refused, 3);
	assert_int_equal(top.rows[0].passed, LIMIT);
	assert_true(top.rows[0].ban_left_ns > 0);
	assert_int_equal(top.rows[1].ban_left_ns, 0);
	http_top_free(&top);
	made_free(&zone);
}

static void so_has_one_with_two_entries(void **state)
{
	struct slot_pair *entries;
	struct zone_key key;
	struct http_top top;
	struct zone zone;
	uint64_t at = 0;

	(void)state;
	zone_new(&zone);
	key = key_of(&zone, 1);
	ban(&zone, &key);
	entries = zone.offenders;
	while (entries[at].tag != key.hash)
		at++;
	assert_int_equal(entries[at ^ 1].tag, 0);
	entries[at ^ 1] = entries[at];
	top = top_of(&zone, HTTP_TOP_BY_REFUSED, 4);
	assert_int_equal(top.count, 1);
	http_top_free(&top);
	made_free(&zone);
}

static void a_claim_is_no_key(void **state)
{
	struct http_top top;
	struct zone zone;

	(void)state;
	zone_new(&zone);
	zone.slots[7].pair = (struct slot_pair){made_hash(1) | SLOT_CLAIMED, 1};
	top = top_of(&zone, HTTP_TOP_BY_REFUSED, 4);
	assert_int_equal(top.known, 0);
	http_top_free(&top);
	made_free(&zone);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(those_refused_most_come_first),
		cmocka_unit_test(a_few_are_the_first_of_all_in_every_order),
		cmocka_unit_test(the_last_seen_comes_first_where_asked),
		cmocka_unit_test(a_key_that_is_no_address_is_its_hash),
		cmocka_unit_test(a_label_of_another_key_is_not_believed),
		cmocka_unit_test(a_banned_key_without_a_slot_is_there_too),
		cmocka_unit_test(once_its_ban_is_over_it_is_not),
		cmocka_unit_test(an_offender_with_a_slot_has_one_row),
		cmocka_unit_test(so_has_one_with_two_entries),
		cmocka_unit_test(a_claim_is_no_key),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
