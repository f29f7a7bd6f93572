/* SPDX-License-Identifier: MIT */
#include "http/status_list.h"

#define ITEM_SIZE  3 /* "2xx" or "404" */
#define CLASS_SIZE 100

struct range {
	unsigned int first;
	unsigned int count;
};

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool item_parse(const char *text, struct range *ret)
{
	if (text[0] < '1' || text[0] > '5')
		return false;
	ret->first = (unsigned int)(text[0] - '0') * CLASS_SIZE;
	ret->count = CLASS_SIZE;
	if (text[1] == 'x' && text[2] == 'x')
		return true;
	if (!is_digit(text[1]) || !is_digit(text[2]))
		return false;
	ret->first += (unsigned int)(text[1] - '0') * 10 + (unsigned int)(text[2] - '0');
	ret->count = 1;
	return true;
}

/* False where one is there already. */
static bool list_add(struct status_list *list, struct range range)
{
	for (unsigned int status = range.first; status < range.first + range.count; status++) {
		if (status_list_contains(list, status))
			return false;
		list->words[status / 64] |= 1ULL << (status % 64);
	}
	return true;
}

bool status_list_parse(const char *text, struct status_list *ret)
{
	struct status_list list = {{0}};
	struct range range;

	while (item_parse(text, &range) && list_add(&list, range)) {
		text += ITEM_SIZE;
		if (!*text) {
			*ret = list;
			return true;
		}
		if (*text++ != ',')
			return false;
	}
	return false;
}

bool status_list_contains(const struct status_list *list, unsigned int status)
{
	return status <= STATUS_MAX && (list->words[status / 64] >> (status % 64) & 1);
}
