/* SPDX-License-Identifier: MIT */
/* parse.h as it runs outside the kernel, over bytes that end where the allocation ends, so that a
 * sanitizer sees any read beyond them. */
#ifndef NATIVE_H
#define NATIVE_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Before parse.h, whose linux/in.h then leaves out what is here. */
#include <netinet/in.h>

#include "parse.h"

/* Of a frame of frame_bytes, the first readable_bytes can be read. */
static inline enum parsed native_parse(const uint8_t *frame, uint32_t frame_bytes,
				       uint32_t readable_bytes, struct packet *ret_packet)
{
	struct cursor cursor = {.frame_bytes = frame_bytes};
	uint8_t *copy = malloc(readable_bytes ? readable_bytes : 1);
	enum parsed parsed;

	if (!copy)
		abort();
	cursor.begin = copy;
	cursor.end = copy + readable_bytes;
	memcpy(copy, frame, readable_bytes);
	parsed = parse_packet(&cursor, ret_packet);
	free(copy);
	return parsed;
}

static inline enum parsed native_parse_window(const uint8_t *frame, uint32_t frame_bytes,
					      struct packet *ret_packet)
{
	return native_parse(frame, frame_bytes,
			    frame_bytes < PARSE_WINDOW ? frame_bytes : PARSE_WINDOW, ret_packet);
}

static inline bool packets_equal(const struct packet *a, const struct packet *b)
{
	return !memcmp(a->source, b->source, sizeof(a->source)) &&
	       a->frame_bytes == b->frame_bytes && a->family == b->family &&
	       a->protocol == b->protocol && a->hop_limit == b->hop_limit &&
	       a->is_fragment == b->is_fragment && a->has_ports == b->has_ports &&
	       a->icmp_type == b->icmp_type && a->tcp_flags == b->tcp_flags &&
	       a->source_port == b->source_port && a->destination_port == b->destination_port &&
	       a->exemption == b->exemption;
}

#endif
