/* SPDX-License-Identifier: MIT */
/* Header lines of any bytes: the client is the peer or an address that stands in them, and what a
 * trusted proxy appends decides, whatever it was sent. The first byte says which header, each
 * newline begins another line. */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "http/forwarded.h"
#include "http/key.h"
#include "required.h"
#include "weir.h"

#define LINES_MAX         16
#define ADDRESS_SIZE_MAX  45
#define PARTS_OF_A_NODE   "0123456789abcdefABCDEF.:"
#define UNTRUSTED_ADDRESS "203.0.113.9"
#define TRUSTED_ADDRESS   "10.9.8.7"

static const struct prefix peer = {WEIR_IPV4, 32, {10, 255, 255, 254}};
static const struct prefix trusted[] = {
	{WEIR_IPV4, 8, {10}},
	{WEIR_IPV6, 32, {0x20, 0x01, 0x0d, 0xb8}},
};

struct header {
	enum forwarded_header kind;
	struct forwarded_line lines[LINES_MAX];
	size_t count;
};

static bool is_same(const struct prefix *a, const struct prefix *b)
{
	return !memcmp(a, b, sizeof(*a));
}

static struct prefix client_of(const struct header *header)
{
	return forwarded_client(header->kind, header->lines, header->count, trusted, 2, &peer);
}

/* A copy of exactly that size, so that a read beyond it is found. */
static char *copied(const char *bytes, size_t size)
{
	char *copy = allocated(size);

	if (size)
		memcpy(copy, bytes, size);
	return copy;
}

static struct header header_of(const char *bytes, size_t size)
{
	struct header header = {.kind = FORWARDED_X_FORWARDED_FOR};

	if (size && bytes[0] % 2)
		header.kind = FORWARDED_FORWARDED;
	for (size_t at = 1; at < size && header.count < LINES_MAX; at++) {
		const char *end = memchr(bytes + at, '\n', size - at);
		size_t length = end ? (size_t)(end - bytes) - at : size - at;

		header.lines[header.count++] =
			(struct forwarded_line){copied(bytes + at, length), length};
		at += length;
	}
	return header;
}

static void header_free(struct header *header)
{
	while (header->count > 0)
		free((char *)header->lines[--header->count].bytes);
}

static bool begins_with(const char *text, size_t size, const struct prefix *address)
{
	char copy[ADDRESS_SIZE_MAX + 1];
	struct prefix found;

	for (size_t length = 1; length <= size && length <= ADDRESS_SIZE_MAX; length++) {
		memcpy(copy, text, length);
		copy[length] = '\0';
		if (prefix_parse(copy, &found) && is_same(&found, address))
			return true;
	}
	return false;
}

/* Without the backslashes that may be inside quotes. */
static bool stands_in(const struct forwarded_line *line, const struct prefix *address)
{
	char *text = allocated(line->size + 1);
	bool found = false;
	size_t size = 0;

	for (size_t i = 0; i < line->size; i++) {
		if (line->bytes[i] != '\\')
			text[size++] = line->bytes[i];
	}
	for (size_t at = 0; at < size && !found;) {
		size_t run = text[at] ? strspn(text + at, PARTS_OF_A_NODE) : 0;

		found = begins_with(text + at, run, address);
		at += run + !run;
	}
	free(text);
	return found;
}

static void client_is_peer_or_stands_in_a_line(const struct header *header)
{
	struct prefix client = client_of(header);
	bool found = is_same(&client, &peer);

	for (size_t i = 0; i < header->count && !found; i++)
		found = stands_in(&header->lines[i], &client);
	require(found);
	require(client.length == (client.family == WEIR_IPV4 ? 32 : 128));
}

/* The client when a proxy has appended an item to the last line. */
static struct prefix client_with_item(const struct header *header, const char *item)
{
	struct header longer = *header;
	struct forwarded_line *last = &longer.lines[longer.count - 1];
	size_t size = last->size + strlen(item);
	char *bytes = allocated(size);
	struct prefix client;

	memcpy(bytes, last->bytes, last->size);
	memcpy(bytes + last->size, item, strlen(item));
	*last = (struct forwarded_line){bytes, size};
	client = client_of(&longer);
	free(bytes);
	return client;
}

static struct prefix client_with_line(const struct header *header, const char *line)
{
	struct header longer = *header;

	if (longer.count == LINES_MAX)
		longer.count--;
	longer.lines[longer.count++] = (struct forwarded_line){line, strlen(line)};
	return client_of(&longer);
}

static void an_untrusted_address_on_the_right_is_the_client(const struct header *header)
{
	static const char *const items[][2] = {
		[FORWARDED_X_FORWARDED_FOR] = {", " UNTRUSTED_ADDRESS, "," UNTRUSTED_ADDRESS ":80"},
		[FORWARDED_FORWARDED] = {", for=" UNTRUSTED_ADDRESS,
					 ",by=\"a,b\\\"\";for=\"" UNTRUSTED_ADDRESS ":80\""},
	};
	struct prefix expected, client;

	require(prefix_parse(UNTRUSTED_ADDRESS, &expected));
	for (int i = 0; i < 2; i++) {
		client = client_with_item(header, items[header->kind][i]);
		require(is_same(&client, &expected));
		client = client_with_line(header, items[header->kind][i] + 1);
		require(is_same(&client, &expected));
	}
}

/* As before; where nothing was believed, the client may now be that address. */
static void a_trusted_address_on_the_right_changes_nothing(const struct header *header)
{
	static const char *const items[] = {
		[FORWARDED_X_FORWARDED_FOR] = ", " TRUSTED_ADDRESS,
		[FORWARDED_FORWARDED] = ", for=" TRUSTED_ADDRESS,
	};
	struct prefix before = client_of(header);
	struct prefix client = client_with_item(header, items[header->kind]);
	struct prefix appended;

	require(prefix_parse(TRUSTED_ADDRESS, &appended));
	require(is_same(&client, &before) ||
		(is_same(&before, &peer) && is_same(&client, &appended)));
}

/* RFC 9110 5.3: lines may be joined. Not those of Forwarded: a quote left open in one could then
 * pair with one of the next. */
static void lines_are_one_list(const struct header *header)
{
	struct header joined = {.kind = header->kind, .count = 1};
	struct prefix apart = client_of(header), client;
	size_t size = 0;
	char *bytes;

	for (size_t i = 0; i < header->count; i++)
		size += header->lines[i].size + 1;
	bytes = allocated(size);
	size = 0;
	for (size_t i = 0; i < header->count; i++) {
		memcpy(bytes + size, header->lines[i].bytes, header->lines[i].size);
		size += header->lines[i].size;
		bytes[size++] = ',';
	}
	joined.lines[0] = (struct forwarded_line){bytes, size};
	client = client_of(&joined);
	free(bytes);
	require(is_same(&client, &apart));
}

/* A client's address is the same key however often it is normalised. */
static void keys_are_stable(const struct header *header)
{
	static const uint8_t secret[KEY_SECRET_SIZE] = {1};
	struct prefix client = client_of(header), once, twice;
	struct slot_label label;

	address_normalise(client.family, client.address, 64, &once);
	address_normalise(once.family, once.address, 64, &twice);
	require(is_same(&once, &twice));
	require(key_hash_address(secret, &once) == key_hash_address(secret, &twice));
	key_label_address(&once, false, &label);
	require(label.family == once.family && !memcmp(label.value, once.address, 16));
	for (size_t i = 0; i < header->count; i++)
		require(key_hash_text(secret, header->lines[i].bytes, header->lines[i].size));
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct header header = header_of((const char *)bytes, size);

	client_is_peer_or_stands_in_a_line(&header);
	if (header.count) {
		an_untrusted_address_on_the_right_is_the_client(&header);
		a_trusted_address_on_the_right_changes_nothing(&header);
		keys_are_stable(&header);
	}
	if (header.count && header.kind == FORWARDED_X_FORWARDED_FOR)
		lines_are_one_list(&header);
	header_free(&header);
	return 0;
}
