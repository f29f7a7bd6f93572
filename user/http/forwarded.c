/* SPDX-License-Identifier: MIT */
#include "http/forwarded.h"

#include <string.h>

#include "http/run.h"
#include "weir.h"

#define ADDRESS_TEXT_SIZE 46 /* the longest address as text, and its end */
#define NODE_SIZE_MAX     128
#define PORT_DIGITS_MAX   5
#define NO_BEGIN          SIZE_MAX

struct walk {
	enum forwarded_header header;
	const struct prefix *trusted;
	size_t trusted_count;
	struct prefix client; /* believed so far */
};

static bool is_space(char byte)
{
	return byte == ' ' || byte == '\t';
}

static bool is_digit(char byte)
{
	return byte >= '0' && byte <= '9';
}

static bool is_alphanumeric(char byte)
{
	return is_digit(byte) || ((byte | 0x20) >= 'a' && (byte | 0x20) <= 'z');
}

/* strchr finds the end of its text too. */
static bool is_one_of(char byte, const char *bytes)
{
	return byte && strchr(bytes, byte);
}

/* tchar of RFC 9110 5.6.2. */
static bool is_token_byte(char byte)
{
	return is_alphanumeric(byte) || is_one_of(byte, "!#$%&'*+-.^_`|~");
}

/* More than RFC 7239 allows outside quotes: proxies do write ports and brackets without them. */
static bool is_value_byte(char byte)
{
	return is_token_byte(byte) || is_one_of(byte, ":[]");
}

static size_t run_span(const struct run *run, bool (*belongs)(char))
{
	size_t size = 0;

	while (size < run->size && belongs(run->bytes[size]))
		size++;
	return size;
}

static bool is_address_byte(char byte)
{
	return is_digit(byte) || is_one_of(byte | 0x20, "abcdef") || is_one_of(byte, ".:");
}

/* Of the bytes of an address only: prefix_parse would take a length, and end at a zero byte. */
static bool address_parse(struct run run, struct prefix *ret)
{
	char text[ADDRESS_TEXT_SIZE];

	if (run.size >= sizeof(text) || run_span(&run, is_address_byte) != run.size)
		return false;
	memcpy(text, run.bytes, run.size);
	text[run.size] = '\0';
	return prefix_parse(text, ret);
}

static bool is_obfuscated_byte(char byte)
{
	return is_alphanumeric(byte) || is_one_of(byte, "._-");
}

/* Nothing, or a colon and a port as in RFC 7239 6. */
static bool is_port(struct run run)
{
	if (!run.size)
		return true;
	if (run.size < 2 || run.bytes[0] != ':')
		return false;
	run = run_skip(run, 1);
	if (run.bytes[0] == '_')
		return run.size > 1 && run_span(&run, is_obfuscated_byte) == run.size;
	return run.size <= PORT_DIGITS_MAX && run_span(&run, is_digit) == run.size;
}

static bool bracketed_parse(struct run run, struct prefix *ret)
{
	const char *end = memchr(run.bytes, ']', run.size);
	struct run address = run_skip(run, 1);

	if (!end)
		return false;
	address.size = (size_t)(end - address.bytes);
	return memchr(address.bytes, ':', address.size) &&
	       is_port(run_skip(run, address.size + 2)) && address_parse(address, ret);
}

/* One colon parts a port from an IPv4 address; of IPv6 without brackets all are the address's. */
static bool bare_parse(struct run run, struct prefix *ret)
{
	const char *colon = memchr(run.bytes, ':', run.size);
	struct run address = run;

	if (colon)
		address.size = (size_t)(colon - run.bytes);
	if (!colon || memchr(colon + 1, ':', run.size - address.size - 1))
		return address_parse(run, ret);
	return is_port(run_skip(run, address.size)) && address_parse(address, ret);
}

/* A quoted-string (RFC 9110 5.6.4), quotes and all, as what it stands for. */
static bool quoted_read(struct run quoted, char buf[NODE_SIZE_MAX], struct run *ret)
{
	size_t size = 0;

	if (quoted.size < 2 || quoted.size > NODE_SIZE_MAX || quoted.bytes[quoted.size - 1] != '"')
		return false;
	for (size_t i = 1; i < quoted.size - 1; i++) {
		if (quoted.bytes[i] == '"')
			return false;
		if (quoted.bytes[i] == '\\' && ++i == quoted.size - 1)
			return false;
		buf[size++] = quoted.bytes[i];
	}
	*ret = (struct run){buf, size};
	return true;
}

bool forwarded_node_parse(const char *bytes, size_t size, struct prefix *ret)
{
	struct run node = {bytes, size};
	char unquoted[NODE_SIZE_MAX];

	if (size && bytes[0] == '"' && !quoted_read(node, unquoted, &node))
		return false;
	if (!node.size)
		return false;
	return node.bytes[0] == '[' ? bracketed_parse(node, ret) : bare_parse(node, ret);
}

static bool prefix_contains(const struct prefix *prefix, const struct prefix *address)
{
	size_t whole = prefix->length / 8;
	uint8_t rest = (uint8_t)(0xff00 >> prefix->length % 8);

	if (prefix->family != address->family || prefix->length > address->length ||
	    memcmp(prefix->address, address->address, whole))
		return false;
	return !rest || !((prefix->address[whole] ^ address->address[whole]) & rest);
}

bool prefixes_contain(const struct prefix *prefixes, size_t count, const struct prefix *address)
{
	for (size_t i = 0; i < count; i++) {
		if (prefix_contains(&prefixes[i], address))
			return true;
	}
	return false;
}

/* The size of the quoted-string that a run starts with, 0 where it does not end. */
static size_t quoted_size(const struct run *run)
{
	for (size_t i = 1; i < run->size; i++) {
		if (run->bytes[i] == '"')
			return i + 1;
		if (run->bytes[i] == '\\')
			i++;
	}
	return 0;
}

/* Takes "name=value" off a run. */
static bool pair_read(struct run *run, struct run *ret_name, struct run *ret_value)
{
	struct run name = {run->bytes, run_span(run, is_token_byte)};
	struct run value = run_skip(*run, name.size);

	if (!name.size || !value.size || value.bytes[0] != '=')
		return false;
	value = run_skip(value, 1);
	*run = value;
	value.size = value.size && value.bytes[0] == '"' ? quoted_size(run)
							 : run_span(run, is_value_byte);
	*run = run_skip(*run, value.size);
	*ret_name = name;
	*ret_value = value;
	return value.size;
}

/* Takes the ';' after a pair off a run, with the space around it, or finds the run's end. */
static bool pair_end_read(struct run *run)
{
	*run = run_skip(*run, run_span(run, is_space));
	if (!run->size)
		return true;
	if (run->bytes[0] != ';')
		return false;
	*run = run_skip(*run, 1);
	*run = run_skip(*run, run_span(run, is_space));
	return true;
}

/* Takes a pair off a run, and keeps its value where it is "for": of which there is one at most (RFC
 * 7239 4). */
static bool pair_read_for(struct run *run, struct run *found)
{
	struct run name, value;
	bool is_for;

	if (!pair_read(run, &name, &value))
		return false;
	is_for = run_is_folded(name, "for");
	if (is_for && found->size)
		return false;
	if (is_for)
		*found = value;
	return true;
}

/* The value of "for" in an element: pairs between semicolons, any of which may be missing. */
static bool element_read_for(struct run element, struct run *ret)
{
	struct run found = {0};

	while (element.size) {
		if (element.bytes[0] != ';' && !pair_read_for(&element, &found))
			return false;
		if (!pair_end_read(&element))
			return false;
	}
	*ret = found;
	return found.size;
}

static bool item_parse(enum forwarded_header header, struct run item, struct prefix *ret)
{
	if (header == FORWARDED_FORWARDED && !element_read_for(item, &item))
		return false;
	return forwarded_node_parse(item.bytes, item.size, ret);
}

/* Whether whoever wrote what is left of the item is trusted. Lists may have empty items (RFC 9110
 * 5.6.1). */
static bool walk_item(struct walk *walk, struct run item)
{
	struct prefix address;

	item = run_trim(item, is_space);
	if (!item.size)
		return true;
	if (!item_parse(walk->header, item, &address))
		return false;
	walk->client = address;
	return prefixes_contain(walk->trusted, walk->trusted_count, &address);
}

static bool is_escaped(const char *bytes, size_t at)
{
	size_t backslashes = 0;

	while (backslashes < at && bytes[at - backslashes - 1] == '\\')
		backslashes++;
	return backslashes % 2;
}

/* Where the quoted-string begins whose closing quote is at end - 1, or NO_BEGIN. */
static size_t quoted_begin(const char *bytes, size_t end)
{
	for (size_t at = end - 1; at > 0; at--) {
		if (bytes[at - 1] == '"' && !is_escaped(bytes, at - 1))
			return at - 1;
	}
	return NO_BEGIN;
}

/* Where the item that ends at end begins: after a comma, or with the line.
 *
 * Quotes are paired from the right: all that a trusted proxy wrote is to the right of what it was
 * sent, so a quote that a client left open cannot swallow it. That is sound because in an element
 * only the quotes inside a quoted-string follow an odd number of backslashes; what is no element
 * is found to be junk when it is read. Each byte is passed once, each backslash counted once more.
 * In X-Forwarded-For a quoted-string that holds a comma is junk, in one piece or in two. */
static size_t item_begin(const char *bytes, size_t end)
{
	size_t at = end;

	while (at > 0 && bytes[at - 1] != ',') {
		at = bytes[at - 1] == '"' ? quoted_begin(bytes, at) : at - 1;
		if (at == NO_BEGIN)
			break;
	}
	return at;
}

/* Whether the walk goes on with the line before. */
static bool walk_line(struct walk *walk, const struct forwarded_line *line)
{
	size_t end = line->size;

	for (;;) {
		size_t begin = item_begin(line->bytes, end);

		if (begin == NO_BEGIN ||
		    !walk_item(walk, (struct run){line->bytes + begin, end - begin}))
			return false;
		if (!begin)
			return true;
		end = begin - 1;
	}
}

struct prefix forwarded_client(enum forwarded_header header, const struct forwarded_line *lines,
			       size_t count, const struct prefix *trusted, size_t trusted_count,
			       const struct prefix *peer)
{
	struct walk walk = {header, trusted, trusted_count, *peer};

	if (header == FORWARDED_NONE)
		return *peer;
	while (count > 0 && walk_line(&walk, &lines[count - 1]))
		count--;
	return walk.client;
}
