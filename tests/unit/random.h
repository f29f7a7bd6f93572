/* SPDX-License-Identifier: MIT */
/* Numbers that look random. */
#ifndef WEIR_RANDOM_H
#define WEIR_RANDOM_H

#include <stdint.h>

/* xorshift64*: from one seed, which is not 0, the same sequence in every run. */
static inline uint64_t random_next(uint64_t *seed)
{
	*seed ^= *seed >> 12;
	*seed ^= *seed << 25;
	*seed ^= *seed >> 27;
	return *seed * 2685821657736338717ULL;
}

#endif
