/* SPDX-License-Identifier: MIT */
/* A zone: the states of its keys, in memory that processes share (zone_file.h maps it). Without a
 * lock: no process that dies can hold up another.
 *
 * A key has two sets of four slots, by its hash. It takes a slot there that is free: never used, or
 * with nothing owed, so that whoever is pushed out loses nothing. Where all eight are in debt, or
 * where the client's /24 or /48 has had its share of the zone, the key is judged by its sets' two
 * overflow buckets, which it shares with others: it passes if either has room and is charged in
 * each that has. */
#ifndef WEIR_HTTP_ZONE_H
#define WEIR_HTTP_ZONE_H

#include <stddef.h>

#include "http/algorithm.h"
#include "http/log.h"
#include "http/slot.h"

#define ZONE_LAYOUT            2
#define ZONE_PAGE_SIZE         4096 /* each part of a file begins on one */
#define ZONE_MAGIC             "weirzone"
#define ZONE_NAME_SIZE         32
#define ZONE_WAYS              4
#define ZONE_RULES_MAX         256
#define ZONE_SHARES            4096 /* hashed prefixes; a power of two */
#define ZONE_SHARE_PART        8    /* of the entries, what one prefix may have: one part in */
#define ZONE_ENTRIES_MIN       64
#define ZONE_ENTRIES_MAX       (1ULL << 28)
#define ZONE_OFFENDERS_DEFAULT 4096
#define ZONE_OFFENDERS_MAX     (1ULL << 24)

/* One count for each reason that is not a plain pass or refusal. Name, key in JSON and report. */
#define ZONE_COUNTS(COUNT)                                                                      \
	COUNT(PASSED, passed)                                                                   \
	COUNT(REFUSED, refused)                                                                 \
	COUNT(OVERFLOW_PASSED, overflow_passed)                                                 \
	COUNT(OVERFLOW_REFUSED, overflow_refused)                                               \
	COUNT(SHARE_EXCEEDED, share_exceeded) /* sent to overflow by the prefix's share */      \
	COUNT(DELAYED, delayed)                                                                 \
	COUNT(DEFAULTED, defaulted)           /* a per-request value that was no good */        \
	COUNT(CONTENDED, contended)           /* refused: lost the race for a slot too often */ \
	COUNT(BANNED, banned)                 /* refused: its key is banned */                  \
	COUNT(BANS, bans)                     /* made */                                        \
	COUNT(OFFENDERS_FULL, offenders_full) /* a refusal that found no place */

#define ZONE_COUNT_ENUM(symbol, name) ZONE_COUNT_##symbol,
enum zone_count { ZONE_COUNTS(ZONE_COUNT_ENUM) ZONE_COUNT_MAX };

enum zone_rule_ready { RULE_FREE, RULE_BEING_WRITTEN, RULE_READABLE };

/* A rule as the file keeps it; the rest may be read once ready says so. */
struct zone_rule {
	uint64_t capacity;
	uint64_t rate_count;
	uint64_t rate_period_ns;
	uint32_t ready; /* enum zone_rule_ready */
	uint32_t zero;
};
_Static_assert(sizeof(struct zone_rule) == 32, "rule size");

/* What identifies a zone. Another key, algorithm or boot means other contents. */
struct zone_identity {
	uint8_t boot_id[16];
	uint64_t key_hash; /* of the key's expressions */
	uint32_t algorithm;
	uint32_t is_address; /* the key is a client's address, ipv6_prefix bits of it */
	uint32_t ipv6_prefix;
	uint32_t zero;
};
_Static_assert(sizeof(struct zone_identity) == 40, "identity size");

/* The file: this, then ZONE_SHARES words, then sets words of overflow, then the slots, then
 * cells_per_slot cells for each slot, then the offenders and what is shown of each; each part
 * begins on a page. */
struct zone_header {
	char magic[8];
	uint32_t layout;
	uint32_t header_size;
	uint64_t file_size;
	char name[ZONE_NAME_SIZE];
	struct zone_identity identity;
	uint8_t secret[16]; /* SipHash key */
	uint64_t sets;      /* slots / ZONE_WAYS */
	uint64_t cells_per_slot;
	uint64_t offenders;        /* entries of their table, whole sets; 0: none */
	uint64_t banned_until_ns;  /* no ban lasts longer */
	struct zone_rule main;     /* the configured limit, or the default of a variable one */
	struct zone_rule overflow; /* token bucket */
	uint64_t counts[ZONE_COUNT_MAX];
	uint64_t claims; /* made so far: what makes each claim of a slot another (zone_place.h) */
	/* How often the rules of overflow and shares changed. Their words bear its low bits;
	 * whoever built his rules under another leaves them alone (zone_words.h). */
	uint64_t words_epoch;
	/* Every rule that a slot's state may belong to. Number 0 is the main rule of when the file
	 * was made; main may change later (zone_file.c), then the new one has a number of its own.
	 */
	struct zone_rule rules[ZONE_RULES_MAX];
};

struct zone_offender_detail;

/* A process' view, of one thread: rules are built as they are met. */
struct zone {
	struct zone_header *header;
	uint64_t *shares;
	uint64_t *overflow;
	struct zone_slot *slots;
	struct log_cell *cells;
	struct slot_pair *offenders; /* zone_offenders.h */
	struct zone_offender_detail *offender_details;
	uint64_t sets;
	uint64_t cells_per_slot;
	uint64_t offenders_count;
	struct rule main;
	unsigned int main_rule;   /* its number, found by zone_attach */
	unsigned int recent_rule; /* the last that zone_rule_find was asked for */
	struct rule overflow_rule;
	struct rule share_rule; /* slots that one prefix may take */
	uint64_t words_epoch;   /* the header's when these two were built */
	struct rule rules[ZONE_RULES_MAX];
	bool known[ZONE_RULES_MAX]; /* rules[i] was built */
};

/* Who asks. */
struct zone_key {
	uint64_t hash;
	struct slot_label label;
	uint64_t origin; /* hash of the client's /24 or /48 (key.h); 0: has none, no share */
};

enum zone_status { ZONE_PASSED, ZONE_REFUSED, ZONE_OVERFLOW_PASSED, ZONE_OVERFLOW_REFUSED };

/* One zone's part in a request. */
struct zone_charge {
	struct zone *zone;
	struct zone_key key;
	unsigned int rule; /* of zone_rule_find */
	uint64_t cost;
	enum take_mode mode;
	/* written by zone_take_all */
	enum zone_status status;
	uint64_t now_ns;        /* when it was decided */
	struct slot_pair pair;  /* the slot after it, or of overflow */
	struct zone_slot *slot; /* NULL: judged by overflow */
	/* what giving back needs */
	struct slot_pair before;
	uint64_t cell;
	uint64_t overflow_words[4];
};

typedef uint64_t (*zone_clock)(void); /* nanoseconds, monotonic */

/* Of a file for entries and offenders (both rounded up to whole sets) and cells. 0 where there is
 * no such file. */
uint64_t zone_size(uint64_t entries, uint64_t cells_per_slot, uint64_t offenders);

/* Entries of a table for so many offenders: whole sets. */
uint64_t zone_offenders_rounded(uint64_t offenders);

/* Points zone's parts into memory that holds a whole file whose header was checked; builds the
 * rules in it: main, overflow_rule and share_rule from the header's main and overflow. Writes
 * nothing but, where main is not among the header's rules, main there (zone_rule_find). May be
 * called again after the header's main or overflow changed. -ENOSPC: no place for main. */
int zone_attach(struct zone *zone, void *memory, struct failure *why);

/* The number of a rule in the file, which is added where it is new; -ENOSPC when there are
 * ZONE_RULES_MAX others. The main rule's is zone->main_rule. */
int zone_rule_find(struct zone *zone, const struct rule *rule);

/* All or nothing: looks at each, then charges each, and gives back where a race was lost. Returns
 * whether all passed; each charge's status says what that zone said, so the refusing ones are
 * known. A charge with TAKE_CHARGE_REFUSED takes from its own zone even then. */
bool zone_take_all(struct zone_charge *charges, size_t count, zone_clock clock);

/* Makes a refusal by one of the zones, for a reason of the caller's, of a zone_take_all that
 * passed: what was charged is given back. */
void zone_refuse(struct zone_charge *charges, size_t count, size_t refusing);

/* Gives back what a passed charge took, now that the request's outcome is known; once. As much as
 * rule_refund does; nothing where the slot is another key's by now, or under another rule; of an
 * overflow's words only where nobody has moved them since. Not for logs: a cell given back is of
 * use only once those before it are over. The request stays counted as passed. zone_answer tells
 * what there is afterwards; of overflow, what there was before. */
void zone_refund(struct zone_charge *charge, zone_clock clock);

/* What a client is told about a charge. */
void zone_answer(const struct zone_charge *charge, struct answer *ret);

/* A key's slot, or NULL. ret_pair as read. Writes nothing. */
const struct zone_slot *zone_find(const struct zone *zone, uint64_t hash,
				  struct slot_pair *ret_pair);

/* What a slot as read would be told now (zone_find, or any slot of the file). */
void zone_slot_answer(struct zone *zone, const struct zone_slot *slot, struct slot_pair pair,
		      uint64_t cost, uint64_t now_ns, struct answer *ret);

/* Whether a slot, as read, holds a key that owes something now. */
bool zone_slot_owes(struct zone *zone, const struct zone_slot *slot, struct slot_pair pair,
		    uint64_t now_ns);

/* Copies whatever is owed in from to a zone of another size or with other rules, with the key's
 * labels and counters, and the offenders. Returns how many keys found no place, and how many bans
 * and levels. */
uint64_t zone_carry_over(struct zone *to, struct zone *from, uint64_t now_ns);

/* Adds to a count. */
void zone_count(struct zone *zone, enum zone_count which);

#endif
