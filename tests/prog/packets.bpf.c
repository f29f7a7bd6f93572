// SPDX-License-Identifier: (GPL-2.0-only OR MIT)
/* The program with a clock that the test sets. */
#include <linux/types.h>

__u64 test_now_ns;

#define weir_now_ns(limit) ((void)(limit), test_now_ns)
#include "weir.bpf.c"
