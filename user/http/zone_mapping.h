/* SPDX-License-Identifier: MIT */
/* Zone files in memory. */
#ifndef WEIR_HTTP_ZONE_MAPPING_H
#define WEIR_HTTP_ZONE_MAPPING_H

#include "http/zone_file.h"

/* memory is NULL where there is none, or the file is shorter than a header. */
struct zone_mapping {
	int fd; /* -1: none */
	void *memory;
	uint64_t size;
};

#define ZONE_MAPPING_NONE ((struct zone_mapping){.fd = -1})

/* Where a file lies: directory and base for the system, path for people. */
struct zone_file_place {
	int directory;
	const char *base;
	const char *path;
};

/* What is there, to be changed with others. -ENOENT, and -EPERM for what weir did not leave there
 * (zone_file_check_owner). */
int zone_mapping_open(const struct zone_file_place *place, struct zone_mapping *ret,
		      struct failure *why);

/* What is there, to be read; the header is a copy that stays as it is. */
int zone_mapping_open_readonly(const struct zone_file_place *place, struct zone_mapping *ret,
			       struct failure *why);

/* What is there, to be changed by who is not of those who keep it; the header is a copy as well,
 * and what is written to it is lost. -ENOTSUP: pages larger than the file's. */
int zone_mapping_open_writable(const struct zone_file_place *place, struct zone_mapping *ret,
			       struct failure *why);

/* A new file of size bytes, allocated and all zero. -EEXIST; -ENOSPC, and then nothing is left. */
int zone_mapping_create(const struct zone_file_place *place, uint64_t size,
			struct zone_mapping *ret, struct failure *why);

/* Whether the place still names the mapped file. */
bool zone_mapping_is_in_place(const struct zone_mapping *mapping,
			      const struct zone_file_place *place);

void zone_mapping_close(struct zone_mapping *mapping);

#endif
