/* SPDX-License-Identifier: MIT */
#include "cli/every.h"
#include "cli/http_key.h"
#include "http/zone_offenders.h"
#include "http/zone_rules.h"

/* What was found of the key. */
struct shown {
	const struct zone_slot *slot; /* NULL: not known */
	struct rule rule;
	struct answer answer;
	struct zone_offender offender;
};

static void slot_look(struct zone *zone, uint64_t hash, uint64_t now_ns, struct shown *shown)
{
	struct slot_pair pair;

	shown->slot = zone_find(zone, hash, &pair);
	shown->rule = zone->main;
	if (!shown->slot) {
		shown->answer = (struct answer){.limit = zone->main.capacity,
						.remaining = zone->main.capacity};
		return;
	}
	shown->rule = *zone_rule_at(zone, pair.tag & SLOT_RULE_MASK);
	zone_slot_answer(zone, shown->slot, pair, 1, now_ns, &shown->answer);
}

/* A ban is another reason to wait. */
static void offender_look(struct zone *zone, uint64_t hash, uint64_t now_ns, struct shown *shown)
{
	uint64_t *retry_after_ns = &shown->answer.retry_after_ns;

	if (!zone_offender_find(zone, hash, now_ns, &shown->offender))
		return;
	if (*retry_after_ns < shown->offender.ban_left_ns)
		*retry_after_ns = shown->offender.ban_left_ns;
}

static void report_answer(struct report *report, const struct answer *answer)
{
	report_count(report, "remaining", answer->remaining);
	report_duration(report, "retry_after", answer->retry_after_ns);
	report_duration(report, "next_after", answer->next_after_ns);
	report_duration(report, "reset_after", answer->reset_after_ns);
}

/* Refused are those of the limit and of bans, as in http_top. The slot's counters start anew where
 * a key lost its place and came back, those of bans where it was reset. */
static void report_counters(struct report *report, const struct shown *shown, uint64_t now_ns)
{
	const struct zone_slot *slot = shown->slot;

	report_count(report, "passed", slot ? slot->passed : 0);
	report_count(report, "refused", (slot ? slot->refused : 0) + shown->offender.refused);
	if (!slot)
		return;
	http_last_seen_report(report, slot->last_seen_ns, now_ns);
	if (slot->label.kind == LABEL_ADDRESS)
		report_flag(report, "is_peer", slot->label.is_peer != 0);
}

static int key_show(const struct http_key *key, struct zone *zone, enum report_format format)
{
	struct report *report = report_new(format);
	uint64_t now_ns = monotonic_ns();
	struct shown shown = {0};

	slot_look(zone, key->hash, now_ns, &shown);
	offender_look(zone, key->hash, now_ns, &shown);
	http_key_report(report, key);
	report_flag(report, "known", shown.slot != NULL);
	report_string(report, "algorithm", algorithm_name(shown.rule.algorithm));
	report_object(report, "limit");
	http_rule_report(report, &shown.rule);
	report_end(report);
	report_answer(report, &shown.answer);
	http_ban_report(report, shown.offender.ban_left_ns);
	report_count(report, "bans", shown.offender.bans);
	report_counters(report, &shown, now_ns);
	return report_finish(report);
}

static const struct http_key_verb show = {
	.name = "show",
	.open = zone_file_open_readonly,
	.run = key_show,
};

static int run(const struct arguments *arguments)
{
	return http_key_run(arguments, &show);
}

const struct command command_http_show = {
	.name = "http show",
	.summary = "show one key of a zone: what it has left, its counters",
	.description =
		"Shows what a key has left in a zone, how long until a request of cost 1\n"
		"passes (retry after), until one more can be made (next after) and until all\n"
		"can (reset after), and how long it is banned. Refused are requests over the\n"
		"limit and those of bans. A key that is not known has everything left.",
	.examples = "weir http show login 203.0.113.9\n"
		    "weir http show account alice --json | jq .remaining\n"
		    "weir http show account 7f1c0e6a52d94b38 --hash\n",
	.operands = http_key_operands,
	.options = http_key_options,
	.run = run,
};
