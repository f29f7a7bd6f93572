/* SPDX-License-Identifier: MIT */
/* The packet table, and frames from its rows. */
#ifndef PACKETS_H
#define PACKETS_H

#include "packets_ipv4.h"
#include "packets_ipv6.h"
#include "packets_link.h"

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))
#define PACKET_CASES    (COUNT_OF(packets_link) + COUNT_OF(packets_ipv4) + COUNT_OF(packets_ipv6))

static inline const struct packet_case *packet_case_at(size_t index, const char **ret_family)
{
	*ret_family = "link";
	if (index < COUNT_OF(packets_link))
		return &packets_link[index];
	index -= COUNT_OF(packets_link);
	*ret_family = "IPv4";
	if (index < COUNT_OF(packets_ipv4))
		return &packets_ipv4[index];
	*ret_family = "IPv6";
	return &packets_ipv6[index - COUNT_OF(packets_ipv4)];
}

static inline void packet_case_build(const struct packet_case *row, struct frame *ret_frame)
{
	frame_build(ret_frame, row->layers, FRAME_LAYERS_MAX);
	if (row->resized > 0)
		frame_grow(ret_frame, row->resized);
	else
		ret_frame->size += row->resized;
}

/* The outermost IP header's layer, NULL if there is none. */
static inline const struct layer *packet_case_ip(const struct packet_case *row)
{
	const struct layer *layer;

	for (layer = row->layers; layer < row->layers + FRAME_LAYERS_MAX; layer++)
		if (layer->kind == LAYER_IPV4 || layer->kind == LAYER_IPV6)
			return layer;
	return NULL;
}

#endif
