/* SPDX-License-Identifier: (GPL-2.0-only OR MIT) */
/* What the kernel program and user space share: keys, values, verdicts. Every struct that crosses
 * the boundary lives here once, with its size asserted; changing one means raising WEIR_LAYOUT. */
#ifndef WEIR_H
#define WEIR_H

#include <linux/types.h>

/* Raised whenever a pinned map's meaning changes, so that no version reads another's maps. */
#define WEIR_LAYOUT         1
#define WEIR_INTERFACES_MAX 64
#define WEIR_LIMITS_MAX     16
#define WEIR_LIMIT_DEFAULT  0
#define WEIR_NAME_SIZE      16
#define WEIR_NETNS_SIZE     64
#define WEIR_CACHE_LINE     64

/* One word names a verdict everywhere: counter index, JSON key, table row and manual. */
#define WEIR_VERDICTS(VERDICT)                  \
	VERDICT(PASS, pass)                     \
	VERDICT(PASS_NOT_IP, pass_not_ip)       \
	VERDICT(PASS_EXEMPT, pass_exempt)       \
	VERDICT(PASS_OPAQUE, pass_opaque)       \
	VERDICT(PASS_UNTRACKED, pass_untracked) \
	VERDICT(DROP_RATE, drop_rate)           \
	VERDICT(DROP_CONTENDED, drop_contended) \
	VERDICT(DROP_MALFORMED, drop_malformed) \
	VERDICT(DROP_BUDGET, drop_budget)

#define WEIR_VERDICT_ENUM(symbol, name) WEIR_##symbol,
enum weir_verdict { WEIR_VERDICTS(WEIR_VERDICT_ENUM) WEIR_VERDICT_MAX };

/* Why a packet passed untracked: each is a fault of weir's or the host's, never the sender's. */
#define WEIR_CAUSES(CAUSE)                    \
	CAUSE(INSERT_FAILED, insert_failed)   \
	CAUSE(ENTRY_VANISHED, entry_vanished) \
	CAUSE(NO_LIMIT, no_limit)             \
	CAUSE(UNREADABLE, unreadable)         \
	CAUSE(CLOCK_SPENT, clock_spent)

#define WEIR_CAUSE_ENUM(symbol, name) WEIR_CAUSE_##symbol,
enum weir_cause { WEIR_CAUSES(WEIR_CAUSE_ENUM) WEIR_CAUSE_MAX };

/* Traffic that keeps a host on its network, each kind with a budget of its own per interface. */
#define WEIR_EXEMPTIONS(EXEMPTION)      \
	EXEMPTION(ARP, arp)             \
	EXEMPTION(NEIGHBOUR, neighbour) \
	EXEMPTION(DHCP, dhcp)           \
	EXEMPTION(MULTICAST, multicast) \
	EXEMPTION(LINK_LOCAL, link_local)

#define WEIR_EXEMPTION_ENUM(symbol, name) WEIR_EXEMPT_##symbol,
enum weir_exemption {
	WEIR_EXEMPTIONS(WEIR_EXEMPTION_ENUM) WEIR_EXEMPT_MAX,
	WEIR_EXEMPT_NONE = WEIR_EXEMPT_MAX
};

enum weir_family { WEIR_IPV4 = 4, WEIR_IPV6 = 6 };

enum weir_clock { WEIR_CLOCK_PRECISE, WEIR_CLOCK_COARSE };

/* A bucket belongs to a source prefix and a class of traffic. address is masked, IPv4 in its first
 * word, the rest zero. class is 0 until there are classes. */
struct weir_key {
	__be32 address[4];
	__u8 family;
	__u8 prefix_length;
	__u8 class;
	__u8 zero;
};
_Static_assert(sizeof(struct weir_key) == 20, "key size");

/* A limit as the arithmetic of bucket.h wants it; see there for units and epochs. The last three
 * fields are what the owner asked for: rate_count tokens per rate_period_ns, capacity tokens. */
struct weir_limit {
	__u32 multiplier;
	__u8 token_shift;
	__u8 epoch;
	__u8 clock;
	__u8 zero;
	__u64 capacity_units;
	/* How to carry over a bucket of the epoch before this one. */
	__u64 changed_at_ticks;
	__u64 previous_capacity_units;
	__u32 previous_multiplier;
	__u32 carry_multiplier;
	__u8 carry_left;
	__u8 carry_right;
	__u8 zero_too[6];
	__u64 rate_count;
	__u64 rate_period_ns;
	__u64 capacity;
};
_Static_assert(sizeof(struct weir_limit) == 72, "limit size");

/* Every limit, and what makes an address a source. */
struct weir_policy {
	struct weir_limit limits[WEIR_LIMITS_MAX];
	/* What each interface may pass as exempt, of each kind. */
	struct weir_limit budgets[WEIR_INTERFACES_MAX];
	__be32 mask4;
	__be32 mask6[4];
	__u8 key4; /* prefix lengths of the masks */
	__u8 key6;
	__u8 zero[2];
};
_Static_assert(sizeof(struct weir_policy) == 5784, "policy size");

/* Two copies of the policy; generation's low bit says which is in force. The other is rewritten
 * only when no packet can still be reading it. Generation 0 means nothing was configured yet. */
struct weir_config {
	__u32 layout;
	__u32 generation;
	struct weir_policy copies[2];
};
_Static_assert(sizeof(struct weir_config) == 11576, "config size");

/* A source's state. word is bucket.h's; outcome is the generation it was computed under (high
 * half) and the limit it led to (low half). passed is exact; dropped lacks what waits in
 * weir_drops; last_seen_ns is that of the last packet passed or counted here. */
struct weir_entry {
	__u64 word;
	__u64 outcome;
	__u64 passed;
	__u64 dropped;
	__u64 last_seen_ns;
};
_Static_assert(sizeof(struct weir_entry) == 40, "entry size");

/* Drops of one source that wait on one CPU. held rises with its own drops and falls with those of
 * others who want the place, so that the heaviest keeps it. */
struct weir_pending {
	struct weir_key key;
	__u32 held;
	__u64 drops;
	__u64 last_seen_ns;
};
_Static_assert(sizeof(struct weir_pending) == 40, "pending size");

#define WEIR_PENDING_SETS 512 /* a power of two */
#define WEIR_PENDING_WAYS 2

struct weir_pending_set {
	struct weir_pending ways[WEIR_PENDING_WAYS];
};
_Static_assert(sizeof(struct weir_pending_set) == 80, "pending set size");

struct weir_count {
	__u64 packets;
	__u64 bytes;
};

/* One interface's counters on one CPU. */
struct weir_counters {
	struct weir_count verdicts[WEIR_VERDICT_MAX];
	__u64 causes[WEIR_CAUSE_MAX];
};
_Static_assert(sizeof(struct weir_counters) == 184, "counters size");

/* One interface's exemption buckets, shared by all CPUs. */
struct weir_budget {
	__u64 words[WEIR_EXEMPT_MAX];
};
_Static_assert(sizeof(struct weir_budget) == 40, "budget size");

/* Which interface holds a slot. */
struct weir_interface {
	char name[WEIR_NAME_SIZE];
	char netns[WEIR_NETNS_SIZE]; /* empty: the loader's own */
	__u32 ifindex;
	__u32 generic; /* 1: generic mode, 0: native */
};
_Static_assert(sizeof(struct weir_interface) == 88, "interface size");

/* Argument and answer of the syscall programs. */
struct weir_forget {
	struct weir_key key;
	__u32 everyone; /* 1: every source, key is ignored */
	__u64 forgotten;
};
_Static_assert(sizeof(struct weir_forget) == 32, "forget size");

struct weir_sweep {
	__u64 rescaled;
};
_Static_assert(sizeof(struct weir_sweep) == 8, "sweep size");

#endif
