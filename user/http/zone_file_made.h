/* SPDX-License-Identifier: MIT */
/* What a new zone file starts with. */
#ifndef WEIR_HTTP_ZONE_FILE_MADE_H
#define WEIR_HTTP_ZONE_FILE_MADE_H

#include "http/zone_file.h"

/* From /proc: another one after each boot of the system. */
int zone_file_boot_id(uint8_t ret[16], struct failure *why);

/* -ERANGE, -EINVAL: no file can hold what the settings ask for. */
int zone_file_check_settings(const struct zone_settings *settings, struct failure *why);

/* Writes the header of an empty zone. secret: of the file whose keys are to be carried over, or
 * NULL for a new one. */
int zone_file_initialise(struct zone_header *header, const struct zone_settings *settings,
			 const uint8_t *secret, struct failure *why);

/* A rule as files keep it. Readers may read meanwhile: each field is whole, all of them may not
 * yet belong together. */
void zone_file_keep_rule(struct zone_rule *kept, const struct rule *rule);

#endif
