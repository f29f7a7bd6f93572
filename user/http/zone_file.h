/* SPDX-License-Identifier: MIT */
/* Where zones live: files under one directory, mapped by the nginx master and inherited by its
 * workers, and read by the command line. A file is never truncated or rewritten in place: a new one
 * is prepared under a name of its own and renamed over the old when the whole configuration stands.
 */
#ifndef WEIR_HTTP_ZONE_FILE_H
#define WEIR_HTTP_ZONE_FILE_H

#include "http/zone.h"

#define ZONE_DIRECTORY "/run/weir/http"

struct zone_settings {
	const char *name;
	const char *path;              /* of the file */
	struct zone_identity identity; /* boot_id is filled in */
	uint64_t entries;
	uint64_t cells_per_slot;
	uint64_t offenders; /* 0: no table of them */
	struct rule main;
	struct rule overflow;
	bool shared; /* with other instances: other parameters are refused while they use it */
};

/* What became of the file that was there before. */
enum zone_past {
	ZONE_NEW,        /* there was none */
	ZONE_KEPT,       /* in use as it is, with the limit of now */
	ZONE_RESIZED,    /* what was owed is carried over */
	ZONE_OTHER_BOOT, /* starts empty */
	ZONE_OTHER_KEY,  /* starts empty: another key, algorithm or layout */
	ZONE_SET_ASIDE,  /* truncated or foreign: renamed to PATH.aside */
};

struct zone_file;

/* Opens what fits the settings or prepares a new file beside it, allocated whole (-ENOSPC when the
 * file system is full); changes nothing that is there. A file that weir did not leave so (another
 * owner, mode or kind, a link, a second name) is refused: -EPERM, -ELOOP. -EEXIST: shared, in use,
 * with other parameters; those before in the same nginx count too. */
int zone_file_prepare(const struct zone_settings *settings, struct zone_file **ret,
		      struct failure *why);

/* Puts a prepared file in place, carrying over what is owed; afterwards zone_file_zone is the zone.
 * A failure leaves the zone usable in memory only. ret_lost: keys without a place in the new file.
 * Waits for others who commit in the same directory. What workers of before charge to a replaced
 * file (another entries= or offenders=) after the copy is forgotten, and whom they ban then. */
int zone_file_commit(struct zone_file *file, uint64_t now_ns, enum zone_past *ret_past,
		     uint64_t *ret_lost, struct failure *why);

struct zone *zone_file_zone(struct zone_file *file);

/* Unmaps; removes a prepared file that was never put in place. */
void zone_file_close(struct zone_file *file);

/* Maps a zone's file for reading, as the command line does: nothing in the file is trusted but that
 * nobody truncates it meanwhile (SIGBUS). Root reads what the owner of the directory keeps
 * there as well. -EPROTO: it is no zone; -ESTALE: of another boot. */
int zone_file_open_readonly(const char *path, struct zone_file **ret, struct failure *why);

/* The same, and slots and offenders may be changed while the zone is in use (zone_ban_lift, or a
 * slot's pair by slot_exchange): what is written to the header, as counts are, is lost. */
int zone_file_open_writable(const char *path, struct zone_file **ret, struct failure *why);

#endif
