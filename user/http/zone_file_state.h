/* SPDX-License-Identifier: MIT */
/* A zone's file as one process sees it. Used by zone_file*.c only. */
#ifndef WEIR_HTTP_ZONE_FILE_STATE_H
#define WEIR_HTTP_ZONE_FILE_STATE_H

#include <limits.h>

#include "http/zone_file.h"
#include "http/zone_mapping.h"

/* Other processes prepare and commit the same path at the same time; each round lost means that
 * one of them got ahead. */
#define ZONE_FILE_ROUNDS_MAX 16

struct zone_file {
	struct zone_settings settings; /* name and path are the two below */
	char *name;
	char *path;
	struct zone_file_place place; /* points into path */
	char made[NAME_MAX + 1];      /* the new file's name until it is in place, or empty */
	enum zone_past past;
	struct zone_mapping mapping;
	struct zone zone;
	struct zone_mapping before; /* what is to be replaced */
	struct zone zone_before;
};

#endif
