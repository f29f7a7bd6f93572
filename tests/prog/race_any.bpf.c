// SPDX-License-Identifier: (GPL-2.0-only OR MIT)
/* Naive: an entry that another CPU inserted meanwhile is overwritten. */
#define WEIR_INSERT_FLAGS BPF_ANY

#include "race.h"
