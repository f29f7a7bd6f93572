/* SPDX-License-Identifier: MIT */
/* Why something could not be done, in words for the user: the code below the command line fills
 * it in and never prints. */
#ifndef WEIR_FAILURE_H
#define WEIR_FAILURE_H

struct failure {
	char reason[256];
	char hint[256]; /* the cure, empty where none is known */
};

/* Stores the reason, clears the hint and returns -|err|, so that a caller can return it at once.
 * What does not fit is cut. why may be NULL; the arguments may point into why. */
int failure_set(struct failure *why, int err, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* The same with the system's words for err, of either sign. */
int failure_errno(struct failure *why, int err);

/* Stores the hint; call it after failure_set. why may be NULL. */
void failure_hint(struct failure *why, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

#endif
