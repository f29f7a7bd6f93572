/* SPDX-License-Identifier: MIT */
#include "text/failure.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

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
