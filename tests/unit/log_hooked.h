/* SPDX-License-Identifier: MIT */
/* The shipped log.c once more, as hooked_log_take and so on, with a compare-and-swap that a test
 * chooses: one that is none, or one in the middle of which a process dies. */
#ifndef WEIR_LOG_HOOKED_H
#define WEIR_LOG_HOOKED_H

#include "http/log.h"

static bool (*hooked_exchange)(struct slot_pair *at, struct slot_pair from, struct slot_pair to);

#define slot_exchange hooked_exchange
#define log_take      hooked_log_take
#define log_give_back hooked_log_give_back
#define log_answer    hooked_log_answer
#define log_is_empty  hooked_log_is_empty
#define log_forgotten hooked_log_forgotten
#include "http/log.c"
#undef slot_exchange
#undef log_take
#undef log_give_back
#undef log_answer
#undef log_is_empty
#undef log_forgotten

#endif
