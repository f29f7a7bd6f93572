/* SPDX-License-Identifier: MIT */
/* An nginx configuration of files that are in memory. */
#ifndef WEIR_NGINX_CONF_MADE_H
#define WEIR_NGINX_CONF_MADE_H

#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "cli/nginx_conf.h"

/* The main one first; a NULL path ends them. */
struct made_file {
	const char *path, *text;
};

static inline int made_read(void *context, const char *path, char **ret_text, size_t *ret_size,
			    struct failure *why)
{
	for (const struct made_file *file = context; file->path; file++) {
		if (strcmp(file->path, path))
			continue;
		*ret_text = strdup(file->text);
		*ret_size = strlen(file->text);
		return *ret_text ? 0 : -ENOMEM;
	}
	return failure_set(why, ENOENT, "%s", strerror(ENOENT));
}

static inline int made_match(void *context, const char *pattern, char ***ret_paths,
			     size_t *ret_count, struct failure *why)
{
	char **paths = calloc(16, sizeof(*paths));
	size_t count = 0;

	if (!paths)
		return failure_set(why, ENOMEM, "%s", strerror(ENOMEM));
	for (const struct made_file *file = context; file->path && count < 16; file++) {
		if (!fnmatch(pattern, file->path, FNM_PATHNAME))
			paths[count++] = strdup(file->path);
	}
	*ret_paths = paths;
	*ret_count = count;
	return 0;
}

static inline int made_conf_read(const struct made_file *made, struct nginx_conf *ret,
				 struct failure *why)
{
	const struct nginx_conf_files files = {
		.context = (void *)made, .read = made_read, .match = made_match};

	return nginx_conf_read(made[0].path, &files, ret, why);
}

#endif
