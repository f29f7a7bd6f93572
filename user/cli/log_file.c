/* SPDX-License-Identifier: MIT */
#include "cli/log_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#define CHUNK_SIZE (128 * 1024)

struct log_file {
	gzFile gz;
	bool is_lasting;
	bool is_at_end;
	struct failure failed;
	int err;
	uint64_t number; /* of the line before */
	size_t at, end;  /* of what is buffered and not yet taken */
	char buffer[LOG_LINE_MAX];
};

static int descriptor_open(const char *path)
{
	int fd = strcmp(path, LOG_FILE_STDIN) ? open(path, O_RDONLY | O_CLOEXEC)
					      : fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0);

	return fd < 0 ? -errno : fd;
}

static int descriptor_check(int fd, const char *path, bool *ret_is_lasting)
{
	struct stat stat;

	if (fstat(fd, &stat))
		return -errno;
	*ret_is_lasting = S_ISREG(stat.st_mode) && strcmp(path, LOG_FILE_STDIN);
	return S_ISDIR(stat.st_mode) ? -EISDIR : 0;
}

static int file_start(struct log_file *file, const char *path)
{
	int fd = descriptor_open(path), err;

	if (fd < 0)
		return fd;
	err = descriptor_check(fd, path, &file->is_lasting);
	if (!err) {
		file->gz = gzdopen(fd, "r");
		err = file->gz ? 0 : -ENOMEM;
	}
	if (err)
		close(fd);
	return err;
}

int log_file_open(const char *path, struct log_file **ret, struct failure *why)
{
	struct log_file *file = malloc(sizeof(*file));
	int err = -ENOMEM;

	if (file) {
		memset(file, 0, offsetof(struct log_file, buffer));
		err = file_start(file, path);
	}
	if (err) {
		free(file);
		return failure_errno(why, err);
	}
	gzbuffer(file->gz, CHUNK_SIZE / 2); /* half a chunk, or zlib copies it twice */
	*ret = file;
	return 0;
}

void log_file_close(struct log_file *file)
{
	if (!file)
		return;
	gzclose(file->gz);
	free(file);
}

bool log_file_is_lasting(const struct log_file *file)
{
	return file->is_lasting;
}

/* To be called where reading ended: zlib tells only then that a file is cut short. */
static void end_note(struct log_file *file)
{
	int err = errno, code;
	const char *message = gzerror(file->gz, &code);

	file->is_at_end = true;
	if (code == Z_ERRNO)
		file->err = failure_errno(&file->failed, err);
	else if (code == Z_BUF_ERROR)
		file->err = failure_set(&file->failed, EIO, "its gzip ends too early");
	else if (code < 0)
		file->err = failure_set(&file->failed, EIO, "its gzip is damaged: %s", message);
}

static void fill(struct log_file *file)
{
	size_t room = LOG_LINE_MAX - file->end;
	int got = gzread(file->gz, file->buffer + file->end,
			 (unsigned int)(room < CHUNK_SIZE ? room : CHUNK_SIZE));

	if (got > 0)
		file->end += (size_t)got;
	else
		end_note(file);
}

/* Room for more behind what is not taken yet. */
static void settle(struct log_file *file)
{
	memmove(file->buffer, file->buffer + file->at, file->end - file->at);
	file->end -= file->at;
	file->at = 0;
}

void log_file_ahead(struct log_file *file, const char **ret_bytes, size_t *ret_size)
{
	if (!file->end && !file->is_at_end)
		fill(file);
	*ret_bytes = file->buffer + file->at;
	*ret_size = file->end - file->at;
}

/* The size of the line buffered, its newline included if there is one; without, it is the file's
 * last, or too long. */
static size_t line_await(struct log_file *file)
{
	size_t seen = 0;

	for (;;) {
		const char *line = file->buffer + file->at;
		size_t size = file->end - file->at;
		const char *newline = memchr(line + seen, '\n', size - seen);

		if (newline)
			return (size_t)(newline + 1 - line);
		if (file->is_at_end || size == LOG_LINE_MAX)
			return size;
		seen = size;
		settle(file);
		fill(file);
	}
}

/* Up to the newline of a line of which there is more than the buffer holds. */
static void rest_skip(struct log_file *file)
{
	const char *newline = NULL;

	while (!newline && !file->is_at_end) {
		file->at = file->end = 0;
		fill(file);
		newline = memchr(file->buffer, '\n', file->end);
	}
	if (newline)
		file->at = (size_t)(newline + 1 - file->buffer);
}

/* The bytes of a line too long are let go only now, before the line after it. */
static void line_begin(struct log_file *file)
{
	if (file->end == LOG_LINE_MAX && file->at == file->end &&
	    file->buffer[file->end - 1] != '\n')
		rest_skip(file);
}

bool log_file_next(struct log_file *file, struct log_line *ret)
{
	size_t size;

	line_begin(file);
	size = line_await(file);
	if (!size)
		return false;
	*ret = (struct log_line){file->buffer + file->at, size, ++file->number};
	file->at += size;
	if (ret->bytes[size - 1] == '\n')
		ret->size--;
	return true;
}

int log_file_check(const struct log_file *file, struct failure *why)
{
	if (file->err && why)
		*why = file->failed;
	return file->err;
}
