// SPDX-License-Identifier: (GPL-2.0-only OR MIT)
/* Every race is lost: somebody else always takes a token first. */
#define weir_swap(word, expected, wanted)  \
	({                                 \
		(void)(wanted);            \
		*(volatile __u64 *)(word); \
		(expected) + 4;            \
	})

#include "race.h"
