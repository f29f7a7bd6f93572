/* SPDX-License-Identifier: MIT */
/* wire FROM TO: from now on every frame that comes in on FROM leaves by TO. Lasts as long as the
 * interface does. */
#include <net/if.h>
#include <stdio.h>
#include <string.h>

#include <bpf/libbpf.h>
#include <linux/if_link.h>

#include "wire.skel.h"

int main(int argc, char **argv)
{
	unsigned int from = argc == 3 ? if_nametoindex(argv[1]) : 0;
	unsigned int to = argc == 3 ? if_nametoindex(argv[2]) : 0;
	struct wire_bpf *skel;
	int err;

	if (!from || !to) {
		fprintf(stderr, "usage: wire FROM TO, both interfaces of this network namespace\n");
		return 2;
	}
	skel = wire_bpf__open();
	if (!skel)
		return 1;
	*(unsigned int *)&skel->rodata->wire_ifindex = to;
	err = wire_bpf__load(skel);
	if (!err)
		err = bpf_xdp_attach(from, bpf_program__fd(skel->progs.wire), XDP_FLAGS_DRV_MODE,
				     NULL);
	wire_bpf__destroy(skel);
	if (err)
		fprintf(stderr, "wire: cannot join '%s' to '%s': %s\n", argv[1], argv[2],
			strerror(-err));
	return err ? 1 : 0;
}
