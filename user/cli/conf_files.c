/* SPDX-License-Identifier: MIT */
#include "cli/conf_files.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ROOM_FIRST 4096

/* A byte more than is taken, so that too much is seen. */
static int stream_read(FILE *in, char **ret_text, size_t *ret_size)
{
	size_t room = 0, size = 0;
	char *text = NULL;

	while (size == room && size <= NGINX_CONF_BYTES_MAX) {
		char *grown = realloc(text, room = room ? 2 * room : ROOM_FIRST);

		if (!grown) {
			free(text);
			return -ENOMEM;
		}
		text = grown;
		size += fread(text + size, 1, room - size, in);
	}
	if (ferror(in)) {
		free(text);
		return errno ? -errno : -EIO;
	}
	*ret_text = text;
	*ret_size = size;
	return 0;
}

/* Of a file: a pipe that nobody writes to would be waited for. */
static int file_open(const char *path, FILE **ret, struct failure *why)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), err = 0;
	struct stat stat;

	if (fd < 0)
		return failure_errno(why, errno);
	if (fstat(fd, &stat) || !S_ISREG(stat.st_mode))
		err = failure_set(why, EINVAL, "it is no file");
	if (!err) {
		*ret = fdopen(fd, "r");
		err = *ret ? 0 : failure_errno(why, errno);
	}
	if (err)
		close(fd);
	return err;
}

static int file_read(void *context, const char *path, char **ret_text, size_t *ret_size,
		     struct failure *why)
{
	FILE *in = NULL;
	int err = file_open(path, &in, why);

	(void)context;
	if (err)
		return err;
	errno = 0;
	err = stream_read(in, ret_text, ret_size);
	fclose(in);
	return err ? failure_errno(why, err) : 0;
}

static int paths_copy(const glob_t *found, char ***ret_paths, size_t *ret_count)
{
	char **paths = calloc(found->gl_pathc + 1, sizeof(*paths));
	size_t count = 0;

	while (paths && count < found->gl_pathc) {
		paths[count] = strdup(found->gl_pathv[count]);
		if (!paths[count])
			break;
		count++;
	}
	*ret_paths = paths;
	*ret_count = count;
	return count == found->gl_pathc ? 0 : -ENOMEM;
}

static int files_match(void *context, const char *pattern, char ***ret_paths, size_t *ret_count,
		       struct failure *why)
{
	glob_t found;
	int err = glob(pattern, 0, NULL, &found);

	(void)context;
	if (err == GLOB_NOMATCH)
		return 0;
	if (!err)
		err = paths_copy(&found, ret_paths, ret_count) ? GLOB_NOSPACE : 0;
	globfree(&found);
	return err ? failure_set(why, ENOMEM, "%s: %s", pattern, strerror(ENOMEM)) : 0;
}

const struct nginx_conf_files conf_files = {.read = file_read, .match = files_match};
