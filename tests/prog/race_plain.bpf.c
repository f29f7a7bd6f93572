// SPDX-License-Identifier: (GPL-2.0-only OR MIT)
/* Naive: what was read is taken for what still stands. */
#define weir_swap(word, expected, wanted) (*(volatile __u64 *)(word) = (wanted), (expected))

#include "race.h"
