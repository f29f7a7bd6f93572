/* SPDX-License-Identifier: MIT */
/* The only door to the kernel: attach, limits, counters, sources. Nothing here prints; what went
 * wrong is said in a struct failure. Functions return 0 or -errno unless stated. */
#ifndef WEIR_CONTROL_H
#define WEIR_CONTROL_H

#include <stdbool.h>
#include <stdint.h>

#include "text/address.h"
#include "text/failure.h"
#include "text/quantity.h"
#include "weir.h"

#define CONTROL_SOURCES_DEFAULT 262144
#define CONTROL_EXEMPT_RATE     10000 /* packets a second, each kind, each interface */

struct control; /* weir's pinned maps; follows when weir is detached and attached anew */

enum control_mode { CONTROL_MODE_AUTO, CONTROL_MODE_NATIVE, CONTROL_MODE_GENERIC };

struct control_limit {
	struct rate rate;
	uint64_t capacity; /* tokens */
};

/* What attach is to do; zero or absent means: keep what is there, else the default. */
struct control_attach {
	const char *interface;
	const char *netns; /* name under /run/netns, or NULL for the caller's own */
	enum control_mode mode;
	/* A rate without a capacity has two seconds' worth; a capacity alone keeps the rate. */
	struct control_limit limit;
	struct rate exempt_rate;
	uint8_t key4;     /* prefix lengths, 0: keep or 32 */
	uint8_t key6;     /* 0: keep or 64 */
	uint32_t sources; /* entries in the map, 0: keep or CONTROL_SOURCES_DEFAULT */
};

enum control_attached { CONTROL_ATTACHED_NEW, CONTROL_ATTACHED_REPLACED };

struct control_attach_result {
	enum control_attached attached;
	bool generic;
	uint32_t program_id;
	struct control_limit limit; /* in force now */
	bool limit_changed;
	bool keys_changed; /* every bucket starts full */
	char warning[256]; /* empty, or one sentence */
};

struct control_interface {
	char name[WEIR_NAME_SIZE];
	char netns[WEIR_NETNS_SIZE]; /* empty: the one weir was attached from */
	bool gone;                   /* the interface was removed while attached */
	bool generic;
	uint32_t link_id;              /* its own from attach to detach, whatever it is called */
	uint32_t program_id;           /* 0 when gone */
	struct weir_counters counters; /* summed over CPUs */
};

struct control_source {
	struct weir_key key;
	uint64_t passed;
	uint64_t dropped;
	uint64_t last_seen_ns; /* CLOCK_MONOTONIC */
	struct control_limit limit;
	double tokens;       /* left now */
	uint64_t full_in_ns; /* until the bucket is full */
	uint64_t next_in_ns; /* until one more packet passes, 0: at once */
};

enum control_order { CONTROL_BY_DROPS, CONTROL_BY_PASSED, CONTROL_BY_LAST_SEEN };

/* Attaches, or replaces the program of an interface that has one of weir's. -ERANGE when want makes
 * no limit: the first attach without a rate, or a limit out of range. Takes the lock. */
int control_attach(const struct control_attach *want, struct control_attach_result *ret,
		   struct failure *why);

/* Detaches one interface, or all when interface is NULL; with the last one every pin goes. Works
 * on maps of any layout. ret_detached counts them. -ENOENT when weir is not attached to the one;
 * all may be none. Takes the lock. */
int control_detach(const char *interface, const char *netns, unsigned int *ret_detached,
		   struct failure *why);

/* Opens what is attached. -ENOENT when weir is attached nowhere, -EPROTO for another layout. */
int control_open(struct control **ret, struct failure *why);
void control_close(struct control *control);

/* What holds for all interfaces. */
struct control_settings {
	struct control_limit limit; /* the default one */
	bool coarse_clock;          /* the limit's, else the precise one */
	uint8_t key4, key6;         /* prefix lengths, never 0 */
	uint32_t sources;           /* entries in the map */
};
int control_settings(struct control *control, struct control_settings *ret, struct failure *why);

/* Changes a limit live: seen whole by every packet, buckets keep their tokens. id is
 * WEIR_LIMIT_DEFAULT so far. A capacity of 0 is two seconds' worth of the rate; ret is the limit
 * with it. -ERANGE when it is out of range. Takes the lock. */
int control_limit_set(struct control *control, unsigned int id, const struct control_limit *want,
		      struct control_limit *ret, struct failure *why);

/* Calls visit for each attached interface, in order of attaching. Stops at a visit that returns
 * non-zero and returns that. */
int control_interfaces(struct control *control,
		       int (*visit)(const struct control_interface *interface, void *arg),
		       void *arg, struct failure *why);

/* Every source, those first that have most of order; at most top. The caller frees *ret.
 * ret_known is how many there are in all. Reading refreshes nothing. */
int control_sources(struct control *control, enum control_order order, size_t top,
		    struct control_source **ret, size_t *ret_count, size_t *ret_known,
		    struct failure *why);

/* The source that an address belongs to. -ENOENT when it has no entry: its bucket is full. */
int control_source(struct control *control, const struct prefix *address,
		   struct control_source *ret, struct failure *why);

/* Gives one source, or everyone when address is NULL, a full bucket; entries and counters stay.
 * -ENOENT as control_source. Takes the lock. */
int control_forget(struct control *control, const struct prefix *address, uint64_t *ret_forgotten,
		   struct failure *why);

/* The key's prefix, for printing. */
void control_key_prefix(const struct weir_key *key, struct prefix *ret);

#endif
