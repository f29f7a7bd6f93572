// SPDX-License-Identifier: (GPL-2.0-only OR MIT)
/* As packets.bpf.c, with every frame read from a copy of its first bytes. */
#define WEIR_PARSE_LINEAR 0
#include "packets.bpf.c"
