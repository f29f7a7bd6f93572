// SPDX-License-Identifier: MIT
/* One frame, written out in hexadecimal, sent a number of times from an interface of the caller's
 * network namespace: what no socket would send. */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <sys/socket.h>

#define COUNT_MAX      1000000
#define FRAME_SIZE_MAX 9014

struct frame {
	uint8_t bytes[FRAME_SIZE_MAX];
	size_t size;
};

static int frame_parse(const char *text, struct frame *ret)
{
	size_t length = strlen(text);

	if (length % 2 || length / 2 > sizeof(ret->bytes) || length / 2 < ETH_HLEN ||
	    strspn(text, "0123456789abcdef") != length)
		return -EINVAL;
	ret->size = length / 2;
	for (size_t i = 0; i < ret->size; i++)
		sscanf(text + 2 * i, "%2hhx", &ret->bytes[i]);
	return 0;
}

static int device_open(const char *name)
{
	struct sockaddr_ll device = {
		.sll_family = AF_PACKET,
		.sll_protocol = htons(ETH_P_ALL),
		.sll_ifindex = (int)if_nametoindex(name),
	};
	int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -errno;
	if (!device.sll_ifindex || bind(fd, (struct sockaddr *)&device, sizeof(device))) {
		int err = -errno;

		close(fd);
		return err;
	}
	return fd;
}

static int send_all(int fd, const struct frame *frame, unsigned long count)
{
	while (count--) {
		if (send(fd, frame->bytes, frame->size, 0) < 0)
			return -errno;
	}
	return 0;
}

int main(int argc, char **argv)
{
	struct frame frame;
	unsigned long count = argc == 4 ? strtoul(argv[2], NULL, 10) : 0;
	int fd, err;

	if (!count || count > COUNT_MAX || frame_parse(argv[3], &frame)) {
		fprintf(stderr, "usage: send IFACE COUNT FRAME, which is hexadecimal\n");
		return 2;
	}
	fd = device_open(argv[1]);
	err = fd < 0 ? fd : send_all(fd, &frame, count);
	if (err)
		fprintf(stderr, "send: %s\n", strerror(-err));
	if (fd >= 0)
		close(fd);
	return err ? 1 : 0;
}
