/* SPDX-License-Identifier: MIT */
/* A directory of their own for tests of zone files, as nginx's module would make it; and that all
 * of it goes away. */
#ifndef WEIR_TESTS_ZONE_DIRECTORY_MADE_H
#define WEIR_TESTS_ZONE_DIRECTORY_MADE_H

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "http/zone_directory.h"

#define DIRECTORY_DEPTH_MAX 8

/* Everything lies below root. */
static char root[] = "/tmp/weir-zone-XXXXXX";
static char directory[128];
static char path[160];

static int remove_one(const char *name, const struct stat *status, int type, struct FTW *at)
{
	(void)status;
	(void)type;
	(void)at;
	return remove(name);
}

static int directory_make(void **state)
{
	(void)state;
	strcpy(root + strlen(root) - 6, "XXXXXX");
	if (!mkdtemp(root))
		return -1;
	snprintf(directory, sizeof(directory), "%s/http/instance", root);
	snprintf(path, sizeof(path), "%s/login", directory);
	return zone_directory_make(directory, NULL);
}

static int directory_remove(void **state)
{
	(void)state;
	return nftw(root, remove_one, DIRECTORY_DEPTH_MAX, FTW_DEPTH | FTW_PHYS);
}

#endif
