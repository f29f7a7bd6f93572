/* SPDX-License-Identifier: MIT */
/* The directory that holds zone files. Others must not be able to change what a path leads to: no
 * symbolic links, and nobody else may write to the directory or the one above it (the instance's
 * and the zones'); higher ones may be written by others only where they are sticky, as /tmp is. */
#ifndef WEIR_HTTP_ZONE_DIRECTORY_H
#define WEIR_HTTP_ZONE_DIRECTORY_H

#include "text/failure.h"

/* A descriptor of the directory in *ret, to be closed. -ENOENT; -EPERM or -ELOOP when others could
 * change it. */
int zone_directory_open(const char *path, int *ret, struct failure *why);

/* The same, to be read from only: root may, whomever the directories belong to. */
int zone_directory_open_readonly(const char *path, int *ret, struct failure *why);

/* Makes what is missing of the path, 0755. Errors as zone_directory_open. */
int zone_directory_make(const char *path, struct failure *why);

#endif
