/* SPDX-License-Identifier: MIT */
/* Whether a file may be trusted, and what it holds. */
#ifndef WEIR_HTTP_ZONE_FILE_CHECK_H
#define WEIR_HTTP_ZONE_FILE_CHECK_H

#include <sys/types.h>

#include "http/zone_file.h"

enum zone_content {
	CONTENT_ZONE,         /* everything that zone_attach relies on holds */
	CONTENT_OTHER_LAYOUT, /* another version's */
	CONTENT_FOREIGN,      /* truncated, damaged, or no zone at all */
};

/* -EPERM unless the file is a regular one with one name, belongs to that user or root and is closed
 * to all others: anything else was not put there by weir. */
int zone_file_check_owner(int fd, const char *path, uid_t owner, uint64_t *ret_size,
			  struct failure *why);

/* size is the file's, of which the header's part is readable. ret_what, where the content is not
 * CONTENT_ZONE: what is wrong, in words. */
enum zone_content zone_file_check_header(const struct zone_header *header, uint64_t size,
					 const char **ret_what);

/* What became of a file with this header (CONTENT_ZONE) under settings: ZONE_KEPT, ZONE_RESIZED,
 * ZONE_OTHER_BOOT, ZONE_OTHER_KEY. */
enum zone_past zone_file_compare(const struct zone_header *header,
				 const struct zone_settings *settings);

/* The setting that a file with this header (CONTENT_ZONE) differs in, in words; NULL: none. */
const char *zone_file_difference(const struct zone_header *header,
				 const struct zone_settings *settings);

#endif
