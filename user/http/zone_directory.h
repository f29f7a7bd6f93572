/* SPDX-License-Identifier: MIT */
/* The directory that holds zone files. Others must not be able to change what a path leads to: no
 * symbolic links, and nobody else may write to the directory or the one above it (the instance's
 * and the zones'); higher ones may be written by others only where they are sticky, as /tmp is. */
#ifndef WEIR_HTTP_ZONE_DIRECTORY_H
#define WEIR_HTTP_ZONE_DIRECTORY_H

#include "text/failure.h"

enum directory_missing { MISSING_FAILS, MISSING_IS_MADE };

/* A descriptor of the directory in *ret, to be closed. -ENOENT when it is missing and not to be
 * made; -EPERM or -ELOOP when others could change it. */
int zone_directory_open(const char *path, enum directory_missing missing, int *ret,
			struct failure *why);

#endif
