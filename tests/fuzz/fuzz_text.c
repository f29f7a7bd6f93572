/* SPDX-License-Identifier: MIT */
/* Whatever a parser takes, its format function writes so that it reads back the same. */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "required.h"
#include "text/address.h"
#include "text/quantity.h"
#include "weir.h"

static void rate_reads_back(const char *text)
{
	char again[QUANTITY_TEXT_SIZE];
	struct rate rate, back;

	if (!rate_parse(text, &rate))
		return;
	require(rate.count && rate.period_ns);
	rate_format(again, sizeof(again), &rate);
	require(rate_parse(again, &back));
	require(back.count == rate.count && back.period_ns == rate.period_ns);
}

static void count_reads_back(const char *text)
{
	char again[QUANTITY_TEXT_SIZE];
	uint64_t count, back;

	if (!count_parse(text, &count))
		return;
	require(count);
	count_format(again, sizeof(again), count);
	require(strlen(again) <= strlen(text));
	require(count_parse(again, &back) && back == count);
}

static void duration_reads_back(const char *text)
{
	char again[QUANTITY_TEXT_SIZE];
	uint64_t ns, back;

	if (!duration_parse(text, &ns))
		return;
	require(ns);
	duration_format(again, sizeof(again), ns);
	require(duration_parse(again, &back) && back == ns);
	duration_format_rounded(again, sizeof(again), ns);
	require(duration_parse(again, &back) && back <= ns);
}

static void prefix_reads_back(const char *text)
{
	char again[PREFIX_TEXT_SIZE];
	struct prefix prefix, back;

	if (!prefix_parse(text, &prefix))
		return;
	require(prefix.family == WEIR_IPV4 ? prefix.length <= 32 : prefix.length <= 128);
	prefix_format(again, sizeof(again), &prefix);
	require(prefix_parse(again, &back) && !memcmp(&back, &prefix, sizeof(back)));
}

static void prefix_length_is_in_range(const char *text)
{
	uint8_t length;

	if (prefix_length_parse(text, 32, &length))
		require(length >= 1 && length <= 32);
	if (prefix_length_parse(text, 128, &length))
		require(length >= 1 && length <= 128);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

/* A copy of exactly that size, so that a read beyond it is found. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	char *text = malloc(size + 1);

	if (!text)
		return 0;
	memcpy(text, bytes, size);
	text[size] = '\0';
	rate_reads_back(text);
	count_reads_back(text);
	duration_reads_back(text);
	prefix_reads_back(text);
	prefix_length_is_in_range(text);
	free(text);
	return 0;
}
