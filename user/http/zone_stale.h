/* SPDX-License-Identifier: MIT */
/* New files whose process died before it put them in place: each would hold its memory until the
 * system is started again. */
#ifndef WEIR_HTTP_ZONE_STALE_H
#define WEIR_HTTP_ZONE_STALE_H

#include "http/zone_mapping.h"

#define ZONE_STALE_SUFFIX ".new"

/* Removes those made for this place. A living process has its own locked. */
void zone_stale_remove(const struct zone_file_place *place);

#endif
