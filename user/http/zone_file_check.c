/* SPDX-License-Identifier: MIT */
#include "http/zone_file_check.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "http/zone_rules.h"

/* A changed limit takes a number in the file's list of rules for good. Beyond this many a new file
 * is made, so that limits of single requests find place too. */
#define RULES_ENOUGH (ZONE_RULES_MAX * 3 / 4)

static int refuse(const char *path, const char *what, struct failure *why)
{
	int err = failure_set(why, EPERM, "%s %s", path, what);

	failure_hint(why, "weir did not leave it so: look whose it is, and whether this is the "
			  "zones' directory");
	return err;
}

int zone_file_check_owner(int fd, const char *path, uid_t owner, uint64_t *ret_size,
			  struct failure *why)
{
	struct stat status;

	if (fstat(fd, &status))
		return failure_set(why, errno, "cannot read %s: %s", path, strerror(errno));
	if (!S_ISREG(status.st_mode))
		return refuse(path, "is no regular file", why);
	if (status.st_uid && status.st_uid != owner)
		return refuse(path, "belongs to another user", why);
	if (status.st_nlink != 1)
		return refuse(path, "has other names (hard links)", why);
	if (status.st_mode & (S_IRWXG | S_IRWXO))
		return refuse(path, "is open to other users (its mode is not 0600)", why);
	*ret_size = (uint64_t)status.st_size;
	return 0;
}

static bool sizes_hold(const struct zone_header *header, uint64_t size)
{
	uint64_t sets = header->sets;

	return header->file_size == size && sets >= ZONE_ENTRIES_MIN / ZONE_WAYS &&
	       sets <= ZONE_ENTRIES_MAX / ZONE_WAYS &&
	       header->offenders == zone_offenders_rounded(header->offenders) &&
	       zone_size(sets * ZONE_WAYS, header->cells_per_slot, header->offenders) == size;
}

static bool name_holds(const char name[ZONE_NAME_SIZE])
{
	return name[0] && memchr(name, '\0', ZONE_NAME_SIZE);
}

static bool identity_holds(const struct zone_identity *identity)
{
	return identity->algorithm < ALGORITHM_MAX && identity->is_address <= 1 &&
	       identity->ipv6_prefix <= 128;
}

/* A log reads as many cells as its limit says. */
static bool rule_holds(const struct zone_header *header, const struct zone_rule *kept)
{
	enum algorithm algorithm = (enum algorithm)header->identity.algorithm;
	struct rule rule;

	return zone_rule_read(kept, algorithm, &rule) &&
	       (algorithm != ALGORITHM_SLIDING_LOG || rule.capacity <= header->cells_per_slot);
}

static bool rules_hold(const struct zone_header *header)
{
	struct rule overflow;

	for (size_t i = 0; i < ZONE_RULES_MAX; i++) {
		if (header->rules[i].ready == RULE_READABLE &&
		    !rule_holds(header, &header->rules[i]))
			return false;
	}
	return rule_holds(header, &header->main) &&
	       zone_rule_read(&header->overflow, ALGORITHM_TOKEN_BUCKET, &overflow);
}

enum zone_content zone_file_check_header(const struct zone_header *header, uint64_t size,
					 const char **ret_what)
{
	*ret_what = "it is too short";
	if (size < sizeof(*header))
		return CONTENT_FOREIGN;
	*ret_what = "it is no zone";
	if (memcmp(header->magic, ZONE_MAGIC, sizeof(header->magic)))
		return CONTENT_FOREIGN;
	*ret_what = "its layout is another version's";
	if (header->layout != ZONE_LAYOUT || header->header_size != sizeof(*header))
		return CONTENT_OTHER_LAYOUT;
	*ret_what = "its size is not what its header says";
	if (!sizes_hold(header, size))
		return CONTENT_FOREIGN;
	*ret_what = "its header is damaged";
	if (!name_holds(header->name) || !identity_holds(&header->identity) || !rules_hold(header))
		return CONTENT_FOREIGN;
	return CONTENT_ZONE;
}

static bool rule_is_kept(const struct zone_rule *kept, const struct rule *rule)
{
	struct rule built;

	return zone_rule_read(kept, rule->algorithm, &built) && rule_equals(&built, rule);
}

/* Whether the file's list of rules has place for this one, or has it. */
static bool rule_fits(const struct zone_header *header, const struct rule *rule)
{
	size_t used = 0;

	for (size_t i = 0; i < ZONE_RULES_MAX; i++) {
		const struct zone_rule *kept = &header->rules[i];

		if (kept->ready == RULE_READABLE && rule_is_kept(kept, rule))
			return true;
		used += kept->ready != RULE_FREE;
	}
	return used < RULES_ENOUGH;
}

static bool is_same_key(const struct zone_identity *a, const struct zone_identity *b)
{
	return a->key_hash == b->key_hash && a->algorithm == b->algorithm &&
	       a->is_address == b->is_address && a->ipv6_prefix == b->ipv6_prefix;
}

static bool has_as_many_offenders(const struct zone_header *header,
				  const struct zone_settings *settings)
{
	return header->offenders == zone_offenders_rounded(settings->offenders);
}

/* entries are rounded up to whole sets. */
static bool is_same_size(const struct zone_header *header, const struct zone_settings *settings)
{
	return header->sets == (settings->entries + ZONE_WAYS - 1) / ZONE_WAYS &&
	       header->cells_per_slot == settings->cells_per_slot;
}

enum zone_past zone_file_compare(const struct zone_header *header,
				 const struct zone_settings *settings)
{
	if (memcmp(header->identity.boot_id, settings->identity.boot_id,
		   sizeof(header->identity.boot_id)))
		return ZONE_OTHER_BOOT;
	if (!is_same_key(&header->identity, &settings->identity))
		return ZONE_OTHER_KEY;
	if (!is_same_size(header, settings) || !has_as_many_offenders(header, settings) ||
	    !rule_fits(header, &settings->main))
		return ZONE_RESIZED;
	return ZONE_KEPT;
}

const char *zone_file_difference(const struct zone_header *header,
				 const struct zone_settings *settings)
{
	if (header->identity.algorithm != settings->identity.algorithm)
		return "algorithm";
	if (!is_same_key(&header->identity, &settings->identity))
		return "key";
	if (!is_same_size(header, settings))
		return "number of entries";
	if (!has_as_many_offenders(header, settings))
		return "number of offenders";
	if (!rule_is_kept(&header->main, &settings->main))
		return "limit";
	return rule_is_kept(&header->overflow, &settings->overflow) ? NULL : "overflow";
}
