/* SPDX-License-Identifier: MIT */
#include "control/device.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/ethtool.h>
#include <linux/if_link.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "control/netns.h"
#include "control/probe.h"

_Static_assert(WEIR_NAME_SIZE == IF_NAMESIZE, "interface names fit exactly");

static uint32_t xdp_program_on(unsigned int ifindex)
{
	struct bpf_xdp_query_opts query = {.sz = sizeof(query)};

	if (bpf_xdp_query((int)ifindex, 0, &query))
		return 0;
	if (query.prog_id)
		return query.prog_id;
	if (query.drv_prog_id)
		return query.drv_prog_id;
	return query.skb_prog_id ? query.skb_prog_id : query.hw_prog_id;
}

/* For error messages only, so that failing leaves both empty. */
static void describe(struct device *device)
{
	struct ethtool_drvinfo driver = {.cmd = ETHTOOL_GDRVINFO};
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct ifreq request = {0};

	if (fd < 0)
		return;
	snprintf(request.ifr_name, sizeof(request.ifr_name), "%s", device->name);
	if (!ioctl(fd, SIOCGIFMTU, &request))
		device->mtu = (unsigned int)request.ifr_mtu;
	request.ifr_data = (void *)&driver;
	if (!ioctl(fd, SIOCETHTOOL, &request))
		snprintf(device->driver, sizeof(device->driver), "%.31s", driver.driver);
	close(fd);
}

static int explain_absent(const struct device *device, struct failure *why)
{
	bool visiting = device->netns && device->netns[0];
	int err = failure_set(why, ENODEV, "there is no interface of that name%s%.64s",
			      visiting ? " in network namespace " : "",
			      visiting ? device->netns : "");

	if (visiting)
		failure_hint(why, "'ip -n %s link' lists them", device->netns);
	else
		failure_hint(why, "'ip link' lists them; one in another network namespace is "
				  "reached with --netns NAME");
	return err;
}

int device_find(const char *name, const char *netns, struct device *ret, struct failure *why)
{
	struct device device = {.name = name, .netns = netns};
	int home, err;

	err = netns_enter(netns, &home, why);
	if (err)
		return err;
	device.ifindex = if_nametoindex(name);
	if (device.ifindex) {
		device.program_id = xdp_program_on(device.ifindex);
		describe(&device);
	}
	netns_leave(home);
	if (!device.ifindex)
		return explain_absent(&device, why);
	*ret = device;
	return 0;
}

int device_occupied(uint32_t program_id, const char *name, struct failure *why)
{
	char program[32];
	int err;

	probe_program_name(program_id, program, sizeof(program));
	if (!program_id)
		err = failure_set(why, EBUSY,
				  "an XDP program is attached above or below it, such "
				  "as on its bond or on a port of it");
	else
		err = failure_set(why, EBUSY,
				  "another XDP program is attached there: id %u, name %s",
				  program_id, program[0] ? program : "hidden");
	failure_hint(why,
		     "weir never replaces it: detach it first, with the tool that attached "
		     "it or, unless a link holds it, by 'ip link set dev %.15s xdp off'",
		     name);
	return err;
}

/* What a driver's error number means. */
static void native_refusal(const struct device *device, int err, char *buf, size_t size)
{
	const char *driver = device->driver[0] ? device->driver : "its driver";

	switch (-err) {
	case EOPNOTSUPP:
		snprintf(buf, size,
			 "%s has no native XDP, or a feature it cannot have with it is on", driver);
		break;
	case ERANGE:
	case EINVAL:
	case EMSGSIZE:
		snprintf(buf, size, "%s refuses native XDP, most likely for its MTU of %u", driver,
			 device->mtu);
		break;
	case ENOSPC:
	case ENOMEM:
	case EAGAIN:
		snprintf(buf, size, "%s has too few queues free for native XDP", driver);
		break;
	default:
		snprintf(buf, size, "%s refuses native XDP: %s", driver, strerror(-err));
	}
}

static void native_cure(const struct device *device, int err, struct failure *why)
{
	switch (-err) {
	case ERANGE:
	case EINVAL:
	case EMSGSIZE:
		failure_hint(why,
			     "lower the MTU ('ip link set dev %s mtu 1500'; for veth the "
			     "peer's), or use --mode generic, which is several times slower",
			     device->name);
		break;
	case ENOSPC:
	case ENOMEM:
	case EAGAIN:
		failure_hint(why,
			     "use fewer queues ('ethtool -L %s combined 1'; a veth needs "
			     "as many as its peer has), or --mode generic, which is several times "
			     "slower",
			     device->name);
		break;
	default:
		failure_hint(why,
			     "switch off LRO ('ethtool -K %s lro off'), or use --mode "
			     "generic, which is several times slower",
			     device->name);
	}
}

static int link_create(const struct device *device, int program_fd, uint32_t flags)
{
	struct bpf_link_create_opts opts = {.sz = sizeof(opts), .flags = flags};
	int fd = bpf_link_create(program_fd, (int)device->ifindex, BPF_XDP, &opts);

	return fd < 0 ? -errno : fd;
}

/* Errors that say nothing about the mode: the other one would meet them too. */
static bool error_is_final(int err)
{
	return err == -EBUSY || err == -EEXIST || err == -EPERM || err == -ENODEV;
}

static int explain_link(const struct device *device, int err, bool generic, struct failure *why)
{
	char refusal[128];

	if (err == -EBUSY || err == -EEXIST)
		return device_occupied(xdp_program_on(device->ifindex), device->name, why);
	if (err == -ENODEV)
		return explain_absent(device, why);
	if (err == -EPERM)
		return failure_set(why, err, "the kernel does not let this process attach XDP");
	if (generic)
		return failure_set(why, err, "the kernel refuses generic XDP there: %s",
				   strerror(-err));
	native_refusal(device, err, refusal, sizeof(refusal));
	err = failure_set(why, err, "%s", refusal);
	native_cure(device, err, why);
	return err;
}

static int attach_here(const struct device *device, int program_fd, enum control_mode mode,
		       struct device_link *ret, struct failure *why)
{
	struct device_link link = {.fd = -1, .generic = mode == CONTROL_MODE_GENERIC};

	if (mode != CONTROL_MODE_GENERIC)
		link.fd = link_create(device, program_fd, XDP_FLAGS_DRV_MODE);
	if (mode == CONTROL_MODE_AUTO && link.fd < 0 && !error_is_final(link.fd)) {
		native_refusal(device, link.fd, link.why_not_native, sizeof(link.why_not_native));
		link.generic = true;
	}
	if (link.generic)
		link.fd = link_create(device, program_fd, XDP_FLAGS_SKB_MODE);
	if (link.fd < 0)
		return explain_link(device, link.fd, link.generic, why);
	*ret = link;
	return 0;
}

int device_attach(const struct device *device, int program_fd, enum control_mode mode,
		  struct device_link *ret, struct failure *why)
{
	int home, err;

	err = netns_enter(device->netns, &home, why);
	if (err)
		return err;
	err = attach_here(device, program_fd, mode, ret, why);
	netns_leave(home);
	return err;
}

bool device_name_now(uint32_t ifindex, const char *netns, uint32_t program_id,
		     char name[WEIR_NAME_SIZE])
{
	char found[IF_NAMESIZE];
	bool ours;
	int home;

	if (!ifindex || netns_enter(netns, &home, NULL))
		return false;
	ours = xdp_program_on(ifindex) == program_id && if_indextoname(ifindex, found);
	netns_leave(home);
	if (ours)
		memcpy(name, found, WEIR_NAME_SIZE);
	return ours;
}
