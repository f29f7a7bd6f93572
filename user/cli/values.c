/* SPDX-License-Identifier: MIT */
/* The kinds of values on the command line, and what is wrong with one that is refused. Pure. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "control/limit.h"

static int rate_read(const struct argument_spec *spec, const char *text, struct argument *ret,
		     struct failure *why)
{
	struct weir_limit limit;

	(void)spec;
	if (!rate_parse(text, &ret->rate) || limit_build(&ret->rate, 1, 0, &limit, NULL))
		return failure_set(why, EINVAL,
				   "it is not a rate from 1/year to 100M/s, with its unit, such as "
				   "20k/s or 5/min");
	return 0;
}

static int count_read(const struct argument_spec *spec, const char *text, struct argument *ret,
		      struct failure *why)
{
	uint64_t max = spec->max ? spec->max : UINT64_MAX;
	char max_text[QUANTITY_TEXT_SIZE];

	if (count_parse(text, &ret->number) && ret->number <= max)
		return 0;
	count_format(max_text, sizeof(max_text), max);
	return failure_set(why, EINVAL, "it is not a whole number from 1 to %s, such as 500 or 1k",
			   max_text);
}

static int duration_read(const struct argument_spec *spec, const char *text, struct argument *ret,
			 struct failure *why)
{
	char min[QUANTITY_TEXT_SIZE], max[QUANTITY_TEXT_SIZE];

	if (duration_parse(text, &ret->number) && ret->number >= spec->min &&
	    ret->number <= spec->max)
		return 0;
	duration_format(min, sizeof(min), spec->min);
	duration_format(max, sizeof(max), spec->max);
	return failure_set(why, EINVAL, "it is not a duration from %s to %s, such as 1s", min, max);
}

static int prefix_read(const struct argument_spec *spec, const char *text, struct argument *ret,
		       struct failure *why)
{
	(void)spec;
	if (prefix_parse(text, &ret->prefix))
		return 0;
	return failure_set(why, EINVAL,
			   "it is not an address or prefix, such as 192.0.2.1 or 2001:db8::/64");
}

static int length_read(const struct argument_spec *spec, const char *text, struct argument *ret,
		       struct failure *why)
{
	uint8_t length;

	if (!prefix_length_parse(text, (unsigned int)spec->max, &length))
		return failure_set(why, EINVAL, "it is not a prefix length from 1 to %u",
				   (unsigned int)spec->max);
	ret->number = length;
	return 0;
}

/* Names that are one component of a path, as the kernel and iproute2 want them. */
static bool is_name(const char *text, size_t size)
{
	size_t length = strlen(text);

	return length && length < size && !strpbrk(text, "/ \t\n\v\f\r") && strcmp(text, ".") &&
	       strcmp(text, "..");
}

static int interface_read(const struct argument_spec *spec, const char *text, struct argument *ret,
			  struct failure *why)
{
	(void)spec;
	(void)ret;
	if (is_name(text, WEIR_NAME_SIZE) && !strchr(text, ':'))
		return 0;
	return failure_set(why, EINVAL, "it is not an interface's name of 1 to %d characters",
			   WEIR_NAME_SIZE - 1);
}

static int netns_read(const struct argument_spec *spec, const char *text, struct argument *ret,
		      struct failure *why)
{
	(void)spec;
	(void)ret;
	if (is_name(text, WEIR_NETNS_SIZE))
		return 0;
	return failure_set(why, EINVAL,
			   "it is not a network namespace's name of 1 to %d characters",
			   WEIR_NETNS_SIZE - 1);
}

static int choice_read(const struct argument_spec *spec, const char *text, struct argument *ret,
		       struct failure *why)
{
	char list[128] = "";

	for (size_t i = 0; spec->choices[i]; i++) {
		size_t length = strlen(list);

		if (!strcmp(spec->choices[i], text)) {
			ret->number = i;
			return 0;
		}
		snprintf(list + length, sizeof(list) - length, "%s%s", i ? ", " : "",
			 spec->choices[i]);
	}
	if (!spec->choices[1])
		return failure_set(why, EINVAL, "it can only be %s", list);
	return failure_set(why, EINVAL, "it can only be one of %s", list);
}

typedef int reader(const struct argument_spec *spec, const char *text, struct argument *ret,
		   struct failure *why);

/* NULL where any text will do. */
static reader *const readers[] = {
	[VALUE_TEXT] = NULL,
	[VALUE_RATE] = rate_read,
	[VALUE_COUNT] = count_read,
	[VALUE_DURATION] = duration_read,
	[VALUE_PREFIX] = prefix_read,
	[VALUE_LENGTH] = length_read,
	[VALUE_INTERFACE] = interface_read,
	[VALUE_NETNS] = netns_read,
	[VALUE_FILE] = NULL,
	[VALUE_CHOICE] = choice_read,
};

int value_read(const struct argument_spec *spec, const char *text, struct argument *ret,
	       struct failure *why)
{
	return readers[spec->kind] ? readers[spec->kind](spec, text, ret, why) : 0;
}
