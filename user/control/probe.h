/* SPDX-License-Identifier: MIT */
/* Why the kernel refuses, in words that help: its own error numbers mislead. */
#ifndef WEIR_PROBE_H
#define WEIR_PROBE_H

#include <stddef.h>
#include <stdint.h>

#include "text/failure.h"

/* -EPERM, naming what is missing, for a process that may not use BPF and the network. */
int probe_privileges(struct failure *why);

/* Explains why the program could not be loaded; log is the verifier's, and may be empty. */
int probe_load(int err, const char *log, struct failure *why);

/* "name" of a program, empty if it has none or may not be looked at. */
void probe_program_name(uint32_t program_id, char *buf, size_t size);

#endif
