/* SPDX-License-Identifier: MIT */
/* Frames from a list of layers: each is appended, tells the one before what it is, and at the end
 * the length fields are filled in. */
#ifndef FRAME_H
#define FRAME_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <linux/in.h>

#define FRAME_BYTES_MAX  16384
#define FRAME_LAYERS_MAX 16
#define FRAME_SOURCE4    "192.0.2.1"
#define FRAME_SOURCE6    "2001:db8::1"
#define PPP_IPV4         0x0021
#define PPP_IPV6         0x0057

enum layer_kind {
	LAYER_NONE,
	LAYER_ETHERNET,
	LAYER_VLAN,
	LAYER_PPPOE,
	LAYER_IPV4,
	LAYER_IPV6,
	LAYER_EXTENSION,
	LAYER_FRAGMENT,
	LAYER_TCP,
	LAYER_UDP,
	LAYER_ICMP,
	LAYER_ICMPV6,
	LAYER_BYTES
};

struct layer {
	enum layer_kind kind;
	uint16_t type; /* as the layer before names it, where the kind leaves that open */
	uint32_t size; /* of the layer's own bytes, where they may vary */
	const char *source;
	uint8_t hop_limit; /* 64 unless set */
	uint8_t words;     /* IPv4's and TCP's header length field, if it shall be wrong */
	uint8_t version;   /* IPv4, IPv6 and PPPoE: the first byte's, if it shall be wrong */
	uint8_t code;      /* PPPoE, ICMP */
	uint16_t fragment; /* IPv4's or the fragment header's whole field */
	uint16_t from, to; /* ports, 1000 and 2000 unless set */
	int16_t longer;    /* added to the length field */
	bool lengthless;   /* length field 0 */
	bool short_type;   /* PPP's protocol number in one byte */
};

#define ETHERNET                       \
	{                              \
		.kind = LAYER_ETHERNET \
	}
#define VLAN                                            \
	{                                               \
		.kind = LAYER_VLAN, .type = ETH_P_8021Q \
	}
#define VLAN_AD                                          \
	{                                                \
		.kind = LAYER_VLAN, .type = ETH_P_8021AD \
	}
#define PPPOE(...)                               \
	{                                        \
		.kind = LAYER_PPPOE, __VA_ARGS__ \
	}
#define IPV4(...)                               \
	{                                       \
		.kind = LAYER_IPV4, __VA_ARGS__ \
	}
#define IPV6(...)                               \
	{                                       \
		.kind = LAYER_IPV6, __VA_ARGS__ \
	}
#define HOPOPTS(bytes)                                                          \
	{                                                                       \
		.kind = LAYER_EXTENSION, .type = IPPROTO_HOPOPTS, .size = bytes \
	}
#define ROUTING(bytes)                                                          \
	{                                                                       \
		.kind = LAYER_EXTENSION, .type = IPPROTO_ROUTING, .size = bytes \
	}
#define DSTOPTS(bytes)                                                          \
	{                                                                       \
		.kind = LAYER_EXTENSION, .type = IPPROTO_DSTOPTS, .size = bytes \
	}
#define AH(bytes)                                                          \
	{                                                                  \
		.kind = LAYER_EXTENSION, .type = IPPROTO_AH, .size = bytes \
	}
#define FRAGMENT(word)                                   \
	{                                                \
		.kind = LAYER_FRAGMENT, .fragment = word \
	}
#define TCP(...)                               \
	{                                      \
		.kind = LAYER_TCP, __VA_ARGS__ \
	}
#define UDP(...)                               \
	{                                      \
		.kind = LAYER_UDP, __VA_ARGS__ \
	}
#define ICMP(number)                               \
	{                                          \
		.kind = LAYER_ICMP, .type = number \
	}
#define ICMPV6(...)                               \
	{                                         \
		.kind = LAYER_ICMPV6, __VA_ARGS__ \
	}
/* What follows, named as the layer before would name it. */
#define BYTES(what, bytes)                                       \
	{                                                        \
		.kind = LAYER_BYTES, .type = what, .size = bytes \
	}
#define PAYLOAD(bytes) BYTES(0, bytes)

#define IPV4_MORE     0x2000
#define IPV4_LATER(n) (n) /* units of 8 bytes */
#define IPV6_MORE     1
#define IPV6_LATER(n) ((n) << 3)
#define IPV6_ATOMIC   0

struct frame {
	uint8_t bytes[FRAME_BYTES_MAX];
	uint32_t size;
	enum layer_kind last;
	uint32_t next_at;                   /* where the last layer says what follows */
	uint32_t lengths[FRAME_LAYERS_MAX]; /* where a length field is, */
	int32_t beyond[FRAME_LAYERS_MAX];   /* and what it is beyond the bytes from its layer on */
	uint32_t starts[FRAME_LAYERS_MAX];
	uint32_t length_count;
};

static inline void frame_write16(struct frame *frame, uint32_t at, uint16_t value)
{
	frame->bytes[at] = value >> 8;
	frame->bytes[at + 1] = value;
}

static inline uint8_t *frame_grow(struct frame *frame, uint32_t size)
{
	uint8_t *at = frame->bytes + frame->size;

	assert(frame->size + size <= FRAME_BYTES_MAX);
	memset(at, 0, size);
	frame->size += size;
	return at;
}

/* Remembers the length field at the start of the last layer, of size bytes, plus field. */
static inline void frame_length(struct frame *frame, const struct layer *layer, uint32_t size,
				uint32_t field, int32_t beyond)
{
	uint32_t start = frame->size - size, i = frame->length_count;

	if (layer->lengthless)
		return;
	frame->lengths[i] = start + field;
	frame->starts[i] = start;
	frame->beyond[i] = beyond + layer->longer;
	frame->length_count++;
}

static inline uint16_t layer_ethertype(const struct layer *layer)
{
	switch (layer->kind) {
	case LAYER_PPPOE:
		return ETH_P_PPP_SES;
	case LAYER_IPV4:
		return ETH_P_IP;
	case LAYER_IPV6:
		return ETH_P_IPV6;
	default:
		return layer->type;
	}
}

static inline uint16_t layer_ppp(const struct layer *layer)
{
	if (layer->kind == LAYER_IPV4)
		return PPP_IPV4;
	return layer->kind == LAYER_IPV6 ? PPP_IPV6 : layer->type;
}

static inline uint8_t layer_protocol(const struct layer *layer)
{
	switch (layer->kind) {
	case LAYER_IPV4:
		return IPPROTO_IPIP;
	case LAYER_IPV6:
		return IPPROTO_IPV6;
	case LAYER_FRAGMENT:
		return IPPROTO_FRAGMENT;
	case LAYER_TCP:
		return IPPROTO_TCP;
	case LAYER_UDP:
		return IPPROTO_UDP;
	case LAYER_ICMP:
		return IPPROTO_ICMP;
	case LAYER_ICMPV6:
		return IPPROTO_ICMPV6;
	default:
		return layer->type;
	}
}

/* Tells the layer before what this one is. */
static inline void frame_chain(struct frame *frame, const struct layer *layer)
{
	switch (frame->last) {
	case LAYER_ETHERNET:
	case LAYER_VLAN:
		frame_write16(frame, frame->next_at, layer_ethertype(layer));
		break;
	case LAYER_PPPOE:
		if (frame->size - frame->next_at == 2)
			frame_write16(frame, frame->next_at, layer_ppp(layer));
		else
			frame->bytes[frame->next_at] = layer_ppp(layer);
		break;
	case LAYER_IPV4:
	case LAYER_IPV6:
	case LAYER_EXTENSION:
	case LAYER_FRAGMENT:
		frame->bytes[frame->next_at] = layer_protocol(layer);
		break;
	default:
		break;
	}
}

static inline void frame_ethernet(struct frame *frame)
{
	static const uint8_t addresses[] = {2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2};

	memcpy(frame_grow(frame, sizeof(struct ethhdr)), addresses, sizeof(addresses));
	frame->next_at = frame->size - 2;
}

static inline void frame_vlan(struct frame *frame)
{
	frame_grow(frame, 4)[1] = 7; /* the network's number */
	frame->next_at = frame->size - 2;
}

static inline void frame_pppoe(struct frame *frame, const struct layer *layer)
{
	uint32_t size = layer->short_type ? 7 : 8;
	uint8_t *header = frame_grow(frame, size);

	header[0] = layer->version ? layer->version : 0x11;
	header[1] = layer->code;
	frame_length(frame, layer, size, 4, -6);
	frame->next_at = frame->size - (size - 6);
}

static inline void frame_ipv4(struct frame *frame, const struct layer *layer)
{
	uint32_t size = layer->size ? layer->size : 20;
	uint8_t *header = frame_grow(frame, size);

	header[0] = (layer->version ? layer->version : 4) << 4;
	header[0] |= (layer->words ? layer->words : size / 4) & 0xf;
	header[6] = layer->fragment >> 8;
	header[7] = layer->fragment;
	header[8] = layer->hop_limit ? layer->hop_limit : 64;
	inet_pton(AF_INET, layer->source ? layer->source : FRAME_SOURCE4, header + 12);
	memset(header + 20, 1, size - 20); /* options that do nothing */
	frame_length(frame, layer, size, 2, 0);
	frame->next_at = frame->size - size + 9;
}

static inline void frame_ipv6(struct frame *frame, const struct layer *layer)
{
	uint8_t *header = frame_grow(frame, 40);

	header[0] = (layer->version ? layer->version : 6) << 4;
	header[6] = IPPROTO_NONE;
	header[7] = layer->hop_limit ? layer->hop_limit : 64;
	inet_pton(AF_INET6, layer->source ? layer->source : FRAME_SOURCE6, header + 8);
	frame_length(frame, layer, 40, 4, -40);
	frame->next_at = frame->size - 40 + 6;
}

static inline void frame_extension(struct frame *frame, const struct layer *layer)
{
	uint8_t *header = frame_grow(frame, layer->size);

	header[0] = IPPROTO_NONE;
	header[1] = layer->words                ? layer->words
		    : layer->type == IPPROTO_AH ? layer->size / 4 - 2
						: layer->size / 8 - 1;
	frame->next_at = frame->size - layer->size;
}

static inline void frame_fragment(struct frame *frame, const struct layer *layer)
{
	uint8_t *header = frame_grow(frame, 8);

	header[1] = 0xff; /* reserved: to be ignored */
	header[2] = layer->fragment >> 8;
	header[3] = layer->fragment;
	frame->next_at = frame->size - 8;
}

static inline void frame_ports(struct frame *frame, const struct layer *layer, uint32_t at)
{
	frame_write16(frame, at, layer->from ? layer->from : 1000);
	frame_write16(frame, at + 2, layer->to ? layer->to : 2000);
}

static inline void frame_tcp(struct frame *frame, const struct layer *layer)
{
	uint32_t size = layer->size ? layer->size : 20;
	uint8_t *header = frame_grow(frame, size);

	frame_ports(frame, layer, frame->size - size);
	header[12] = (layer->words ? layer->words : size / 4) << 4;
	header[13] = 0x02; /* SYN */
}

static inline void frame_udp(struct frame *frame, const struct layer *layer)
{
	frame_grow(frame, 8);
	frame_ports(frame, layer, frame->size - 8);
	frame_length(frame, layer, 8, 4, 0);
}

static inline void frame_icmp(struct frame *frame, const struct layer *layer)
{
	uint8_t *header = frame_grow(frame, 8);

	header[0] = layer->type;
	header[1] = layer->code;
}

static inline void frame_append(struct frame *frame, const struct layer *layer)
{
	frame_chain(frame, layer);
	frame->last = layer->kind;
	switch (layer->kind) {
	case LAYER_ETHERNET:
		return frame_ethernet(frame);
	case LAYER_VLAN:
		return frame_vlan(frame);
	case LAYER_PPPOE:
		return frame_pppoe(frame, layer);
	case LAYER_IPV4:
		return frame_ipv4(frame, layer);
	case LAYER_IPV6:
		return frame_ipv6(frame, layer);
	case LAYER_EXTENSION:
		return frame_extension(frame, layer);
	case LAYER_FRAGMENT:
		return frame_fragment(frame, layer);
	case LAYER_TCP:
		return frame_tcp(frame, layer);
	case LAYER_UDP:
		return frame_udp(frame, layer);
	case LAYER_ICMP:
	case LAYER_ICMPV6:
		return frame_icmp(frame, layer);
	case LAYER_BYTES:
		memset(frame_grow(frame, layer->size), 'w', layer->size);
		return;
	case LAYER_NONE:
		return;
	}
}

/* Up to count layers, or to the first LAYER_NONE. */
static inline void frame_build(struct frame *frame, const struct layer *layers, uint32_t count)
{
	uint32_t i;

	memset(frame, 0, sizeof(*frame));
	for (i = 0; i < count && layers[i].kind; i++)
		frame_append(frame, &layers[i]);
	for (i = 0; i < frame->length_count; i++)
		frame_write16(frame, frame->lengths[i],
			      frame->size - frame->starts[i] + frame->beyond[i]);
}

#endif
