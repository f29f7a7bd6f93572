/* SPDX-License-Identifier: MIT */
/* Zones with a table of offenders, and keys that offend. */
#ifndef WEIR_OFFENDERS_MADE_H
#define WEIR_OFFENDERS_MADE_H

#include "zone_made.h"

#include "http/zone_offenders.h"

#define MINUTE   (60 * NS_PER_SEC)
#define ONE_SET  ZONE_OFFENDER_WAYS
#define REFUSALS 10

static const struct penalty ten = {REFUSALS, MINUTE, 15 * MINUTE, 24 * 60 * MINUTE};

static inline struct zone made_zone_of(uint64_t offenders)
{
	struct rule rule = made_rule_of(ALGORITHM_TOKEN_BUCKET, 5);
	struct zone zone;

	made_offenders = offenders;
	made_zone(&zone, 64, &rule, 1);
	return zone;
}

static inline enum zone_offence offend(struct zone *zone, uint64_t number)
{
	struct zone_key key = made_charge(zone, number, 1).key;
	uint64_t ban_ns = 0;
	enum zone_offence offence = zone_offend(zone, &ten, &key, made_clock(), &ban_ns);

	assert_int_equal(ban_ns != 0, offence == OFFENCE_BANNED);
	return offence;
}

static inline void offend_times(struct zone *zone, uint64_t number, unsigned int times)
{
	while (times--)
		assert_int_equal(offend(zone, number), OFFENCE_COUNTED);
}

static inline void ban(struct zone *zone, uint64_t number)
{
	offend_times(zone, number, REFUSALS - 1);
	assert_int_equal(offend(zone, number), OFFENCE_BANNED);
}

static inline uint64_t ban_left(const struct zone *zone, uint64_t number)
{
	return zone_ban_left_ns(zone, made_hash(number), made_clock());
}

static inline uint64_t refusals_of(const struct zone *zone, uint64_t number)
{
	struct zone_offender offender;

	if (!zone_offender_find(zone, made_hash(number), made_clock(), &offender))
		return 0;
	return offender.refusals;
}

#endif
