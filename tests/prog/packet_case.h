/* SPDX-License-Identifier: MIT */
/* A row of the packet table: what arrives and what is to be made of it. */
#ifndef PACKET_CASE_H
#define PACKET_CASE_H

#include "frame.h"
#include "parse.h"
#include "weir.h"

struct packet_case {
	const char *description;
	struct layer layers[FRAME_LAYERS_MAX];
	enum parsed parsed;
	enum weir_verdict verdict;
	/* For PARSED_IP only; ports are expected of TCP and UDP but in a later fragment. */
	enum weir_exemption exemption;
	uint8_t protocol;
	bool is_later_fragment;
	int32_t resized; /* bytes added to the finished frame or, if negative, cut from it */
};

#define IS_IP(number) \
	.parsed = PARSED_IP, .verdict = WEIR_PASS, .exemption = WEIR_EXEMPT_NONE, .protocol = number
#define IS_FRAGMENT(number) IS_IP(number), .is_later_fragment = true
/* The headers end beyond what is looked at. */
#define IS_IP_UNKNOWN IS_IP(PARSE_PROTOCOL_UNKNOWN)
#define IS_EXEMPT(kind, number)                                                            \
	.parsed = PARSED_IP, .verdict = WEIR_PASS_EXEMPT, .exemption = WEIR_EXEMPT_##kind, \
	.protocol = number
#define IS_ARP       .parsed = PARSED_ARP, .verdict = WEIR_PASS_EXEMPT
#define IS_NOT_IP    .parsed = PARSED_NOT_IP, .verdict = WEIR_PASS_NOT_IP
#define IS_OPAQUE    .parsed = PARSED_OPAQUE, .verdict = WEIR_PASS_OPAQUE
#define IS_MALFORMED .parsed = PARSED_MALFORMED, .verdict = WEIR_DROP_MALFORMED

#endif
