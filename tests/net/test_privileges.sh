#!/bin/bash
# SPDX-License-Identifier: MIT
# What weir needs of the process that runs it: three capabilities, and a BPF file system that
# outlives it.

# shellcheck source-path=SCRIPTDIR source=refusal.sh
. "$(dirname "$0")/refusal.sh"

THREE=-all,+bpf,+net_admin,+perfmon
WITH_THREE=(setpriv --bounding-set="$THREE" --inh-caps=-all --ambient-caps=-all --)
WITHOUT_BPFFS=(unshare --mount --propagation private -- sh -c
	"umount -l /sys/fs/bpf && exec \"\$@\"" sh)
WITH_OWN_BPFFS=(unshare --mount --propagation private -- sh -c
	'mount -t bpf bpf /sys/fs/bpf && exec "$@"' sh)
# The first process of its PID namespace, so that weir takes its mounts for those of the machine.
AS_FIRST=(unshare --pid --fork --mount --propagation private --mount-proc -- sh -c
	"umount -l /sys/fs/bpf && \"\$@\"; exit" sh)

# with_three WORD...: weir with these capabilities, in the server's namespace.
with_three() {
	testbed_in server "${WITH_THREE[@]}" "$WEIR" "$@"
}

has_three_only() {
	local held

	held=$("${WITH_THREE[@]}" sed -n 's/^CapEff:\s*//p' /proc/self/status)
	# CAP_NET_ADMIN 12, CAP_PERFMON 38, CAP_BPF 39
	[ $((16#$held)) -eq $((1 << 12 | 1 << 38 | 1 << 39)) ]
}

server_has_xdp() {
	testbed_in server ip -json -details link show eth0 | jq -e '.[0].xdp' >/dev/null
}

server_has_no_xdp() {
	! server_has_xdp
}

# In the first process's place: attaches, and tells how the file system is mounted and what status
# says while that lives.
first_attaches() {
	cat <<END
"$WEIR" attach eth0 --rate 1/h --capacity 100 --json >"$TESTBED_DIR/attached" || exit
stat -f -c %T /sys/fs/bpf
stat -c %a /sys/fs/bpf
sed -n 's, - bpf .*,,; t found; d; :found s,.* /sys/fs/bpf ,,p' /proc/self/mountinfo
"$WEIR" status --json | jq -r '.interfaces[0].name'
END
}

pair_open
tap_check 'the three are what is left' has_three_only
tap_equal 'they suffice to attach' 'new native' "$(with_three attach eth0 --rate 1/h --capacity 100 \
	--json | jq -r '"\(.attached) \(.mode)"')"
tap_equal 'and again' replaced "$(with_three attach eth0 --json | jq -r .attached)"
flood 198.51.100.7 --packets 300 >/dev/null
tap_equal 'to see the status' '100 200' "$(with_three status --json |
	jq -r '.verdicts | "\(.pass.packets) \(.drop_rate.packets)"')"
tap_equal 'a source' '100 200' "$(with_three show 198.51.100.7 --json | jq -r '"\(.passed) \(.dropped)"')"
tap_equal 'the sources' 1 "$(with_three sources --json | jq .known)"
tap_equal 'to change a limit' 50 \
	"$(with_three limit set default --rate 1/h --capacity 50 --json | jq .capacity)"
tap_equal 'to forget' 1 "$(with_three forget 198.51.100.7 --json | jq .forgotten)"
tap_equal 'and to detach' 1 "$(with_three detach eth0 --json | jq .detached)"
tap_check 'which leaves no pin' test ! -e "$TESTBED_PINS"
refuses 'another namespace to them' 1 "cannot enter network namespace '$server'" "${WITH_THREE[@]}" \
	"$WEIR" attach eth0 --netns "$server" --rate 1/h
tap_check 'and names what it takes' hints CAP_SYS_ADMIN
for capability in bpf perfmon net_admin; do
	refuses "to attach without CAP_${capability^^}" 1 "this process lacks CAP_${capability^^}$" \
		setpriv --bounding-set="$THREE,-$capability" --inh-caps=-all \
		--ambient-caps=-all -- "$WEIR" attach eth0 --rate 1/h
done

unseen='no BPF file system is mounted on /sys/fs/bpf in this mount namespace'
for command in 'attach eth0 --rate 1/h' status 'detach --all'; do
	read -ra words <<<"$command"
	refuses "'weir $command' in a mount namespace without bpffs" 1 "$unseen" \
		"${WITHOUT_BPFFS[@]}" "$WEIR" "${words[@]}"
	tap_check 'and names the cures' hints '--netns NAME.*nsenter --net='
done
refuses 'an attach whose limit would end with ip netns exec' 1 "$unseen" ip netns exec "$server" \
	"$WEIR" attach eth0 --rate 1k/s
tap_check 'and names the cures' hints '--netns NAME.*nsenter --net='
tap_equal 'a bpffs of that namespace alone is used, with a warning' \
	'only this mount namespace sees /sys/fs/bpf: the limit ends when the namespace does' \
	"$(testbed_in server "${WITH_OWN_BPFFS[@]}" "$WEIR" attach eth0 --rate 1/h --json \
		2>"$TESTBED_DIR/err" | jq -r .warning)"
tap_check 'on stderr too' grep -q '^weir: warning: only this mount namespace' "$TESTBED_DIR/err"
tap_check 'which is true' testbed_until 10 server_has_no_xdp

testbed_in server "${AS_FIRST[@]}" sh -ec "$(first_attaches)" >"$TESTBED_DIR/first" 2>&1 || :
tap_equal "bpffs is mounted where the first process's is missing" \
	'bpf_fs 1700 rw,nosuid,nodev,noexec,relatime eth0' \
	"$(tr '\n' ' ' <"$TESTBED_DIR/first" | sed 's/ $//; s/ shared:[0-9]*//')"
tap_equal 'and the attach is as usual' 'new null' \
	"$(jq -r '[.attached, .warning // "null"] | join(" ")' "$TESTBED_DIR/attached")"
tap_check 'which leaves nothing here' test ! -e "$TESTBED_PINS"
tap_finish
