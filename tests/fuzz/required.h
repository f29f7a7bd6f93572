/* SPDX-License-Identifier: MIT */
/* What a fuzzed program says by ending. */
#ifndef WEIR_TESTS_REQUIRED_H
#define WEIR_TESTS_REQUIRED_H

#include <stdbool.h>
#include <stdlib.h>

static inline void require(bool holds)
{
	if (!holds)
		abort();
}

/* Zeros, of exactly that size, so that a byte beyond is found. */
static inline void *allocated(size_t size)
{
	void *bytes = calloc(1, size ? size : 1);

	require(bytes);
	return bytes;
}

#endif
