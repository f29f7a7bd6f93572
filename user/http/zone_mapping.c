/* SPDX-License-Identifier: MIT */
#include "http/zone_mapping.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "http/zone_file_check.h"

#define FILE_MODE 0600
#define MEGABYTE  1e6

static int refuse_open(const struct zone_file_place *place, int err, struct failure *why)
{
	if (err == ELOOP)
		return failure_set(why, err, "%s is a symbolic link", place->path);
	failure_set(why, err, "cannot open %s: %s", place->path, strerror(err));
	if (err == EACCES)
		failure_hint(why, "root may, and the user that nginx was started by");
	return -err;
}

/* O_NONBLOCK: a pipe in the file's place must not hold us up. */
static int file_open(const struct zone_file_place *place, int access, uid_t owner,
		     uint64_t *ret_size, struct failure *why)
{
	int fd = openat(place->directory, place->base,
			access | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	int err;

	if (fd < 0)
		return refuse_open(place, errno, why);
	err = zone_file_check_owner(fd, place->path, owner, ret_size, why);
	if (!err)
		return fd;
	close(fd);
	return err;
}

static int map(const struct zone_file_place *place, int protection, int sharing,
	       struct zone_mapping *mapping, struct failure *why)
{
	void *memory;

	if (mapping->size < sizeof(struct zone_header))
		return 0;
	memory = mmap(NULL, mapping->size, protection, sharing, mapping->fd, 0);
	if (memory == MAP_FAILED)
		return failure_set(why, errno, "cannot map %s: %s", place->path, strerror(errno));
	mapping->memory = memory;
	return 0;
}

int zone_mapping_open(const struct zone_file_place *place, struct zone_mapping *ret,
		      struct failure *why)
{
	struct zone_mapping mapping = ZONE_MAPPING_NONE;
	int err;

	mapping.fd = file_open(place, O_RDWR, geteuid(), &mapping.size, why);
	if (mapping.fd < 0)
		return mapping.fd;
	err = map(place, PROT_READ | PROT_WRITE, MAP_SHARED, &mapping, why);
	if (err)
		zone_mapping_close(&mapping);
	else
		*ret = mapping;
	return err;
}

/* Writing a page of a private mapping makes it our own: from then on no writer of the file can
 * change it under whoever checked it. */
static void own_pages(volatile uint8_t *bytes, size_t page)
{
	for (size_t at = 0; at < sizeof(struct zone_header); at += page) {
		uint8_t as_it_is = bytes[at];

		bytes[at] = as_it_is;
	}
}

static int own_header(const struct zone_mapping *mapping)
{
	if (!mapping->memory)
		return 0;
	if (mprotect(mapping->memory, sizeof(struct zone_header), PROT_READ | PROT_WRITE))
		return -errno;
	own_pages(mapping->memory, (size_t)sysconf(_SC_PAGESIZE));
	return 0;
}

/* The same in the midst of a shared mapping. Where pages are larger than the file's, the header's
 * last one holds words that are to stay shared. */
static int own_header_only(const struct zone_mapping *mapping)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	if (!mapping->memory)
		return 0;
	if (page > ZONE_PAGE_SIZE)
		return -ENOTSUP;
	if (mmap(mapping->memory, sizeof(struct zone_header), PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_FIXED, mapping->fd, 0) == MAP_FAILED)
		return -errno;
	own_pages(mapping->memory, page);
	return 0;
}

/* Whose files a reader takes for a zone: root also those of the directory's owner, an nginx that is
 * not root's. */
static uid_t reader_trusts(const struct zone_file_place *place)
{
	struct stat status;

	return geteuid() || fstat(place->directory, &status) ? geteuid() : status.st_uid;
}

int zone_mapping_open_readonly(const struct zone_file_place *place, struct zone_mapping *ret,
			       struct failure *why)
{
	struct zone_mapping mapping = ZONE_MAPPING_NONE;
	int err;

	mapping.fd = file_open(place, O_RDONLY, reader_trusts(place), &mapping.size, why);
	if (mapping.fd < 0)
		return mapping.fd;
	err = map(place, PROT_READ, MAP_PRIVATE, &mapping, why);
	if (!err && own_header(&mapping))
		err = failure_set(why, ENOMEM, "not enough memory to read %s", place->path);
	if (err)
		zone_mapping_close(&mapping);
	else
		*ret = mapping;
	return err;
}

int zone_mapping_open_writable(const struct zone_file_place *place, struct zone_mapping *ret,
			       struct failure *why)
{
	struct zone_mapping mapping = ZONE_MAPPING_NONE;
	int err;

	mapping.fd = file_open(place, O_RDWR, reader_trusts(place), &mapping.size, why);
	if (mapping.fd < 0)
		return mapping.fd;
	err = map(place, PROT_READ | PROT_WRITE, MAP_SHARED, &mapping, why);
	if (!err) {
		err = own_header_only(&mapping);
		if (err)
			failure_set(why, err, "cannot map %s: %s", place->path, strerror(-err));
	}
	if (err)
		zone_mapping_close(&mapping);
	else
		*ret = mapping;
	return err;
}

/* posix_fallocate returns its error, and may be interrupted. */
static int allocate(int fd, uint64_t size)
{
	int err;

	do {
		err = posix_fallocate(fd, 0, (off_t)size);
	} while (err == EINTR);
	return -err;
}

static int allocate_and_map(const struct zone_file_place *place, struct zone_mapping *mapping,
			    struct failure *why)
{
	int err = allocate(mapping->fd, mapping->size);

	if (err) {
		failure_set(why, err, "cannot allocate %.1f MB for %s: %s",
			    (double)mapping->size / MEGABYTE, place->path, strerror(-err));
		failure_hint(why, "fewer entries, or a weir_dir with more room");
		return err;
	}
	return map(place, PROT_READ | PROT_WRITE, MAP_SHARED, mapping, why);
}

int zone_mapping_create(const struct zone_file_place *place, uint64_t size,
			struct zone_mapping *ret, struct failure *why)
{
	struct zone_mapping mapping = {.size = size};
	int err;

	mapping.fd = openat(place->directory, place->base,
			    O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, FILE_MODE);
	if (mapping.fd < 0)
		return failure_set(why, errno, "cannot make a file beside %s: %s", place->path,
				   strerror(errno));
	err = allocate_and_map(place, &mapping, why);
	if (err) {
		unlinkat(place->directory, place->base, 0);
		zone_mapping_close(&mapping);
	} else {
		*ret = mapping;
	}
	return err;
}

bool zone_mapping_is_in_place(const struct zone_mapping *mapping,
			      const struct zone_file_place *place)
{
	struct stat mapped, named;

	return !fstat(mapping->fd, &mapped) &&
	       !fstatat(place->directory, place->base, &named, AT_SYMLINK_NOFOLLOW) &&
	       mapped.st_dev == named.st_dev && mapped.st_ino == named.st_ino;
}

void zone_mapping_close(struct zone_mapping *mapping)
{
	if (mapping->memory)
		munmap(mapping->memory, mapping->size);
	if (mapping->fd >= 0)
		close(mapping->fd);
	*mapping = ZONE_MAPPING_NONE;
}
