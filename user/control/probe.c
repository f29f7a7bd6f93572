/* SPDX-License-Identifier: MIT */
#include "control/probe.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/capability.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))

struct capability {
	int number;
	const char *name;
};

static const struct capability capabilities[] = {
	{CAP_BPF, "CAP_BPF"},
	{CAP_PERFMON, "CAP_PERFMON"},
	{CAP_NET_ADMIN, "CAP_NET_ADMIN"},
};

static bool capability_held(const struct __user_cap_data_struct *held, int number)
{
	return held[number / 32].effective >> number % 32 & 1;
}

static void list_append(char *list, size_t size, const char *name)
{
	size_t length = strlen(list);

	snprintf(list + length, size - length, "%s%s", length ? ", " : "", name);
}

int probe_privileges(struct failure *why)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct held[_LINUX_CAPABILITY_U32S_3] = {0};
	char missing[64] = "";
	int err;

	/* What every kernel that has BPF answers; if not, the kernel will refuse by itself. */
	if (syscall(SYS_capget, &header, held) || capability_held(held, CAP_SYS_ADMIN))
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(capabilities); i++) {
		if (!capability_held(held, capabilities[i].number))
			list_append(missing, sizeof(missing), capabilities[i].name);
	}
	if (!missing[0])
		return 0;
	err = failure_set(why, EPERM, "not permitted: this process lacks %s", missing);
	failure_hint(why, "run it as root, such as with sudo");
	return err;
}

/* What the program needs of the kernel, and the version that has it; xdp.frags came with
 * bpf_xdp_load_bytes. */
static const struct feature {
	enum bpf_prog_type type;
	int helper; /* 0: the type itself */
	const char *name;
} features[] = {
	{BPF_PROG_TYPE_XDP, 0, "XDP programs"},
	{BPF_PROG_TYPE_SYSCALL, 0, "BPF programs run by a system call (Linux 5.14)"},
	{BPF_PROG_TYPE_XDP, BPF_FUNC_ktime_get_coarse_ns, "bpf_ktime_get_coarse_ns (Linux 5.11)"},
	{BPF_PROG_TYPE_SYSCALL, BPF_FUNC_for_each_map_elem, "bpf_for_each_map_elem (Linux 5.13)"},
	{BPF_PROG_TYPE_XDP, BPF_FUNC_xdp_load_bytes, "XDP in several buffers (Linux 5.18)"},
};

static bool feature_is_missing(const struct feature *feature)
{
	int answer = feature->helper
			     ? libbpf_probe_bpf_helper(feature->type,
						       (enum bpf_func_id)feature->helper, NULL)
			     : libbpf_probe_bpf_prog_type(feature->type, NULL);

	return answer == 0;
}

static const struct feature *feature_missing(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(features); i++) {
		if (feature_is_missing(&features[i]))
			return &features[i];
	}
	return NULL;
}

static bool line_is_statistics(const char *line, size_t length)
{
	static const char *const starts[] = {"processed ", "verification time", "stack depth",
					     "max_states", "peak_states"};

	if (!length)
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(starts); i++) {
		if (!strncmp(line, starts[i], strlen(starts[i])))
			return true;
	}
	return false;
}

/* The verifier's verdict: the last line before its statistics. */
static void verdict_copy(const char *log, char *buf, size_t size)
{
	const char *end = log + strlen(log);

	buf[0] = '\0';
	while (end > log) {
		const char *newline = memrchr(log, '\n', (size_t)(end - log));
		const char *line = newline ? newline + 1 : log;
		size_t length = (size_t)(end - line);

		if (!line_is_statistics(line, length)) {
			snprintf(buf, size, "%.*s", (int)length, line);
			return;
		}
		end = newline ? newline : log;
	}
}

static int explain_permission(int err, struct failure *why)
{
	err = failure_set(why, err, "the kernel does not let this process use BPF: %s",
			  strerror(-err));
	failure_hint(why, "a container, a user namespace or a security module (see dmesg) may "
			  "forbid it: run weir on the host, as root");
	return err;
}

static int explain_feature(const struct feature *feature, struct failure *why)
{
	int err = failure_set(why, EOPNOTSUPP, "this kernel lacks %s", feature->name);

	failure_hint(why, "weir needs Linux 5.18 or newer with CONFIG_BPF_SYSCALL");
	return err;
}

int probe_load(int err, const char *log, struct failure *why)
{
	const struct feature *missing;
	char verdict[160];

	if (err == -EPERM)
		return explain_permission(err, why);
	if (err == -ENOSYS)
		return explain_feature(&(struct feature){.name = "BPF"}, why);
	if (!log[0] && (err == -ENOMEM || err == -E2BIG)) {
		err = failure_set(why, err, "not enough memory for the maps");
		failure_hint(why, "a smaller --sources needs less");
		return err;
	}
	missing = feature_missing();
	if (missing)
		return explain_feature(missing, why);
	verdict_copy(log, verdict, sizeof(verdict));
	if (verdict[0])
		return failure_set(why, err, "the kernel's verifier refuses the program: %s",
				   verdict);
	return failure_set(why, err, "the kernel does not load the program: %s", strerror(-err));
}

void probe_program_name(uint32_t program_id, char *buf, size_t size)
{
	struct bpf_prog_info program = {0};
	uint32_t program_size = sizeof(program);
	int fd = bpf_prog_get_fd_by_id(program_id);

	buf[0] = '\0';
	if (fd < 0)
		return;
	if (!bpf_obj_get_info_by_fd(fd, &program, &program_size))
		snprintf(buf, size, "%s", program.name);
	close(fd);
}
