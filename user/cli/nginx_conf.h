/* SPDX-License-Identifier: MIT */
/* An nginx configuration as a tree of directives, with what it includes in the place of each
 * include. What directives mean, and whether they are known, is not looked at. Pure: files come
 * through a reader. */
#ifndef WEIR_NGINX_CONF_H
#define WEIR_NGINX_CONF_H

#include <stdbool.h>
#include <stddef.h>

#include "text/failure.h"

/* What no configuration of a person's needs, and one that includes itself has soon. */
#define NGINX_CONF_BLOCKS_MAX   64
#define NGINX_CONF_INCLUDES_MAX 16
#define NGINX_CONF_FILES_MAX    10000
#define NGINX_CONF_BYTES_MAX    (64UL << 20)

/* Where files are read from. Both: 0 or -errno with why. */
struct nginx_conf_files {
	void *context;
	/* The file's bytes, to be freed. */
	int (*read)(void *context, const char *path, char **ret_text, size_t *ret_size,
		    struct failure *why);
	/* The paths that match a pattern, in nginx's order, which is glob's; the array and each of
	 * them are to be freed. None is no error. */
	int (*match)(void *context, const char *pattern, char ***ret_paths, size_t *ret_count,
		     struct failure *why);
};

struct nginx_directive {
	char **words; /* its name first, without quotes */
	size_t words_count;
	const char *file; /* the conf's */
	unsigned int line;
	bool is_block;
	struct nginx_directive *inside; /* the first of a block */
	struct nginx_directive *next;   /* of the same block */
};

struct nginx_conf {
	struct nginx_directive *first;
	char **files;
	size_t files_count;
};

/* Reads the file at path and what it includes, by paths relative to path's directory. -EINVAL with
 * "FILE:LINE: ..." where it is not nginx's language, or beyond the bounds above; -errno of the
 * reader; -ENOMEM. The code of *_by_lua_block is skipped. Takes what nginx takes, and also words
 * beyond its 4 kB. */
int nginx_conf_read(const char *path, const struct nginx_conf_files *files, struct nginx_conf *ret,
		    struct failure *why);
void nginx_conf_free(struct nginx_conf *conf);

bool nginx_directive_is(const struct nginx_directive *directive, const char *name);

/* Whether it has a word of that number, 0 its name, and that is it. */
bool nginx_directive_has(const struct nginx_directive *directive, size_t number, const char *word);

/* The first of that name from here on in the same block, or NULL. */
const struct nginx_directive *nginx_directive_find(const struct nginx_directive *directive,
						   const char *name);

#endif
