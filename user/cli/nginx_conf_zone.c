/* SPDX-License-Identifier: MIT */
#include "cli/nginx_conf_zone.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/nginx_conf_key.h"
#include "http/offender.h"

#define PARAMETERS_FIRST 2

static const char *value_of(const char *word, const char *name)
{
	size_t length = strlen(name);

	return !strncmp(word, name, length) && word[length] == '=' ? word + length + 1 : NULL;
}

const char *conf_parameter_find(const struct nginx_directive *directive, const char *name)
{
	for (size_t i = PARAMETERS_FIRST; i < directive->words_count; i++) {
		const char *value = value_of(directive->words[i], name);

		if (value)
			return value;
	}
	return NULL;
}

bool conf_has_flag(const struct nginx_directive *directive, const char *flag)
{
	for (size_t i = PARAMETERS_FIRST; i < directive->words_count; i++) {
		if (!strcmp(directive->words[i], flag))
			return true;
	}
	return false;
}

/* What was written to a memory stream, or NULL without memory. */
static char *stream_finish(FILE *out, char **text)
{
	bool failed = ferror(out);

	if (!fclose(out) && !failed)
		return *text;
	free(*text);
	return NULL;
}

char *conf_words_join(const struct nginx_directive *directive, size_t first, const char *between)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	for (size_t i = first; i < directive->words_count; i++)
		fprintf(out, "%s%s", i > first ? between : "", directive->words[i]);
	return stream_finish(out, &text);
}

/* "1 per second" of "1/s", "100 per 90s": what comes after the '/' or is a window's length. */
static const char *period_name(const char *period)
{
	static const char *const names[][2] = {
		{"s", "second"}, {"1s", "second"}, {"min", "minute"}, {"1m", "minute"},
		{"h", "hour"},   {"1h", "hour"},   {"1d", "day"},
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (!strcmp(period, names[i][0]))
			return names[i][1];
	}
	return period;
}

static void rule_write(FILE *out, const struct rule *rule)
{
	char text[QUANTITY_TEXT_SIZE];
	char *slash;

	if (algorithm_is_window(rule->algorithm)) {
		duration_format(text, sizeof(text), rule->rate.period_ns);
		fprintf(out, "%" PRIu64 " per %s", rule->capacity, period_name(text));
		return;
	}
	rate_format(text, sizeof(text), &rule->rate);
	slash = strchr(text, '/');
	fprintf(out, "%" PRIu64 ", then %.*s per %s", rule->capacity, (int)(slash - text), text,
		period_name(slash + 1));
}

/* How a zone says its limit. */
struct rule_words {
	const char *count, *time, *defaults;
	bool is_window;
};

static bool is_variable(const char *text)
{
	return strchr(text, '$');
}

static bool has_variable(const struct rule_words *words)
{
	return is_variable(words->count) || is_variable(words->time);
}

static bool time_parse(const struct rule_words *words, const char *text, struct rate *ret)
{
	return words->is_window ? duration_parse(text, &ret->period_ns) : rate_parse(text, ret);
}

/* "10,1/s" */
static bool defaults_parse(const struct rule_words *words, uint64_t *ret_count, struct rate *ret)
{
	const char *comma = strchr(words->defaults, ',');
	char count[QUANTITY_TEXT_SIZE];

	if (!comma || (size_t)(comma - words->defaults) >= sizeof(count))
		return false;
	snprintf(count, sizeof(count), "%.*s", (int)(comma - words->defaults), words->defaults);
	return count_parse(count, ret_count) && time_parse(words, comma + 1, ret);
}

/* As the module reads it: of two values of which one is constant, that one is not the default's. */
static int rule_read(const struct rule_words *words, struct conf_zone *zone, struct failure *why)
{
	struct rate rate = {0};
	uint64_t count = 0;
	int err;

	if (!words->count || !words->time)
		return failure_set(why, EINVAL, "it has no limit");
	if (has_variable(words) != (words->defaults != NULL))
		return failure_set(why, EINVAL,
				   "a limit in a variable needs default=, others none");
	if (words->defaults && !defaults_parse(words, &count, &rate))
		return failure_set(why, EINVAL, "'%s' is not a default", words->defaults);
	if (!is_variable(words->count) && !count_parse(words->count, &count))
		return failure_set(why, EINVAL, "'%s' is not a count", words->count);
	if (!is_variable(words->time) && !time_parse(words, words->time, &rate))
		return failure_set(why, EINVAL, "'%s' is not a %s", words->time,
				   words->is_window ? "duration" : "rate");
	if (words->is_window)
		rate.count = count;
	err = rule_build(zone->algorithm, count, &rate, &zone->rule, why);
	zone->has_rule = !err;
	return err;
}

static void variables_write(FILE *out, const struct rule_words *words)
{
	bool both = is_variable(words->count) && is_variable(words->time);

	fprintf(out, "by %s%s%s; unless set ", is_variable(words->count) ? words->count : "",
		both ? " and " : "", is_variable(words->time) ? words->time : "");
}

static char *limit_format(const struct conf_zone *zone, const struct rule_words *words,
			  const struct nginx_directive *directive)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	if (has_variable(words))
		variables_write(out, words);
	rule_write(out, &zone->rule);
	if (conf_has_flag(directive, "count-refused"))
		fputs(", refused requests count", out);
	return stream_finish(out, &text);
}

static int limit_read(struct conf_zone *zone, const struct nginx_directive *directive,
		      struct failure *why)
{
	const char *algorithm = conf_parameter_find(directive, "algorithm");
	struct rule_words words = {.defaults = conf_parameter_find(directive, "default")};
	int err = 0;

	zone->algorithm = ALGORITHM_TOKEN_BUCKET;
	if (algorithm && !algorithm_parse(algorithm, &zone->algorithm))
		err = failure_set(why, EINVAL, "'%s' is not an algorithm", algorithm);
	words.is_window = algorithm_is_window(zone->algorithm);
	words.count = conf_parameter_find(directive, words.is_window ? "limit" : "capacity");
	words.time = conf_parameter_find(directive, words.is_window ? "per" : "rate");
	if (!err)
		err = rule_read(&words, zone, why);
	zone->limit = err ? conf_words_join(directive, PARAMETERS_FIRST, " ")
			  : limit_format(zone, &words, directive);
	return zone->limit ? err : failure_errno(why, ENOMEM);
}

/* Of several keys the first that is not empty counts. */
static int keys_read(struct conf_zone *zone, const struct nginx_directive *directive,
		     const struct nginx_directive *http, struct failure *why)
{
	char *text = NULL;
	size_t size, count = 0;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return failure_errno(why, ENOMEM);
	for (size_t i = PARAMETERS_FIRST; i < directive->words_count; i++) {
		const char *key = value_of(directive->words[i], "key");

		if (!key)
			continue;
		zone->is_address |= conf_key_is_address(key);
		fputs(count++ ? ", else " : "", out);
		conf_key_write(out, key, http);
	}
	zone->per = stream_finish(out, &text);
	if (!zone->per)
		return failure_errno(why, ENOMEM);
	return count ? 0 : failure_set(why, EINVAL, "it has no key=");
}

int conf_zone_read(const struct nginx_directive *directive, const struct nginx_directive *http,
		   struct conf_zone *ret, struct failure *why)
{
	int err, keys_err;

	*ret = (struct conf_zone){.name = directive->words[1],
				  .is_observed = conf_has_flag(directive, "observe")};
	err = limit_read(ret, directive, why);
	if (err == -ENOMEM)
		return err;
	keys_err = keys_read(ret, directive, http, err ? NULL : why);
	return keys_err == -ENOMEM || !err ? keys_err : err;
}

void conf_zone_free(struct conf_zone *zone)
{
	free(zone->limit);
	free(zone->per);
}

static bool duration_find(const struct nginx_directive *directive, const char *name,
			  uint64_t *ret_ns)
{
	const char *text = conf_parameter_find(directive, name);

	return text && duration_parse(text, ret_ns);
}

static int penalty_read(const struct nginx_directive *directive, struct penalty *ret,
			struct failure *why)
{
	const char *refusals = conf_parameter_find(directive, "refusals");
	uint64_t count;

	if (!refusals || !count_parse(refusals, &count) || count > UINT32_MAX ||
	    !duration_find(directive, "within", &ret->within_ns) ||
	    !duration_find(directive, "ban", &ret->ban_ns) ||
	    !duration_find(directive, "max", &ret->max_ns))
		return failure_set(why, EINVAL, "the penalty cannot be read");
	ret->refusals = (uint32_t)count;
	return penalty_check(ret, why);
}

/* NULL without memory. */
static char *penalty_format(const struct penalty *penalty)
{
	char within[QUANTITY_TEXT_SIZE], ban[QUANTITY_TEXT_SIZE], max[QUANTITY_TEXT_SIZE];
	char *text = NULL;

	duration_format(within, sizeof(within), penalty->within_ns);
	duration_format(ban, sizeof(ban), penalty->ban_ns);
	duration_format(max, sizeof(max), penalty->max_ns);
	if (asprintf(&text, "%" PRIu32 " refusals within %s: banned for %s, at most %s",
		     penalty->refusals, within, ban, max) < 0)
		return NULL;
	return text;
}

int conf_penalty_format(const struct nginx_directive *directive, char **ret, struct failure *why)
{
	struct penalty penalty;
	int err = penalty_read(directive, &penalty, why);

	*ret = err ? conf_words_join(directive, PARAMETERS_FIRST, " ") : penalty_format(&penalty);
	return *ret ? err : failure_errno(why, ENOMEM);
}
