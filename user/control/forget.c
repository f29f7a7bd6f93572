/* SPDX-License-Identifier: MIT */
#include <bpf/bpf.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "control/config.h"
#include "control/control.h"
#include "control/keys.h"
#include "control/pins.h"

static int forget_run(const struct control *control, struct weir_forget *forget,
		      struct failure *why)
{
	struct bpf_test_run_opts run = {
		.sz = sizeof(run), .ctx_in = forget, .ctx_size_in = sizeof(*forget)};

	if (bpf_prog_test_run_opts(control->fds[PIN_FORGET], &run))
		return failure_set(why, errno, "the kernel does not run the program for it: %s",
				   strerror(errno));
	if (!forget->everyone && !forget->forgotten)
		return failure_set(why, ENOENT, "nothing is known of it: its bucket is full");
	return 0;
}

static int forget_locked(struct control *control, const struct prefix *address,
			 uint64_t *ret_forgotten, struct failure *why)
{
	struct weir_forget forget = {.everyone = !address};
	int err = pins_refresh(control, why);

	if (!err && address)
		err = keys_of(address, config_policy(control), &forget.key, why);
	if (!err)
		err = forget_run(control, &forget, why);
	if (!err)
		*ret_forgotten = forget.forgotten;
	return err;
}

int control_forget(struct control *control, const struct prefix *address, uint64_t *ret_forgotten,
		   struct failure *why)
{
	int lock = pins_lock(why);
	int err;

	if (lock < 0)
		return lock;
	err = forget_locked(control, address, ret_forgotten, why);
	close(lock);
	return err;
}
