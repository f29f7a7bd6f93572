/* SPDX-License-Identifier: MIT */
/* Whatever the bytes, parse.h answers within them, and says the same of the frame in place, of a
 * copy of its first bytes and, if it can say anything, of any part of it. */
#include "../prog/native.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void check_part(const uint8_t *frame, uint32_t size, uint32_t readable, enum parsed whole,
		       const struct packet *packet)
{
	struct packet other;
	enum parsed parsed = native_parse(frame, size, readable, &other);

	if (parsed == PARSED_SHORT)
		return;
	if (parsed != whole || (parsed == PARSED_IP && !packets_equal(packet, &other)))
		abort();
}

static void check_ip(const struct packet *packet)
{
	if (packet->family != WEIR_IPV4 && packet->family != WEIR_IPV6)
		abort();
	if (packet->exemption > WEIR_EXEMPT_NONE || packet->exemption == WEIR_EXEMPT_ARP)
		abort();
	if (packet->is_fragment && packet->has_ports)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct packet packet, copied;
	enum parsed whole = native_parse(bytes, size, size, &packet);

	/* With every byte at hand there is no PARSED_SHORT. */
	if (whole > PARSED_MALFORMED || packet.frame_bytes != size)
		abort();
	if (native_parse_window(bytes, size, &copied) != whole || !packets_equal(&packet, &copied))
		abort();
	if (whole == PARSED_IP)
		check_ip(&packet);
	check_part(bytes, size, size / 2, whole, &packet);
	check_part(bytes, size, size < 40 ? size : 40, whole, &packet);
	return 0;
}
