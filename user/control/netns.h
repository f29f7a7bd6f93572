/* SPDX-License-Identifier: MIT */
/* Visits to network namespaces. */
#ifndef WEIR_NETNS_H
#define WEIR_NETNS_H

#include "text/failure.h"

/* Enters /run/netns/name; NULL or empty stays where it is. ret_home is what netns_leave needs. */
int netns_enter(const char *name, int *ret_home, struct failure *why);
void netns_leave(int home);

#endif
