/* SPDX-License-Identifier: MIT */
#include "text/failure.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int failure_set(struct failure *why, int err, const char *format, ...)
{
	struct failure next = {0};
	va_list arguments;

	if (!why)
		return -abs(err);
	va_start(arguments, format);
	vsnprintf(next.reason, sizeof(next.reason), format, arguments);
	va_end(arguments);
	*why = next;
	return -abs(err);
}

int failure_errno(struct failure *why, int err)
{
	return failure_set(why, err, "%s", strerror(abs(err)));
}

void failure_hint(struct failure *why, const char *format, ...)
{
	struct failure next;
	va_list arguments;

	if (!why)
		return;
	next = *why;
	va_start(arguments, format);
	vsnprintf(next.hint, sizeof(next.hint), format, arguments);
	va_end(arguments);
	*why = next;
}
