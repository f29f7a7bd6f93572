# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Network namespaces for the demo and the net tests: sourced. What it makes has a name of its own
# and goes away on exit, also on Ctrl-C, unless the process is killed outright.

TESTBED_ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
TESTBED_PINS=/sys/fs/bpf/weir
TESTBED_PREFIX=weir-$$
WEIR=${WEIR:-$TESTBED_ROOT/build/weir}
TESTBED_FLOOD=$TESTBED_ROOT/build/tests/net/flood
TESTBED_WIRE=$TESTBED_ROOT/build/tests/net/wire

testbed_namespaces=()
testbed_links=0

# Everything after this runs beside nobody else's weir, and is undone on exit.
testbed_open() {
	[ "$(id -u)" -eq 0 ] || testbed_refuse "network namespaces need root: sudo, or su"
	[ -x "$WEIR" ] || testbed_refuse "$WEIR is missing: run make"
	! testbed_attached ||
		testbed_refuse "weir is attached on this machine ($TESTBED_PINS): detach it first"
	TESTBED_DIR=$(mktemp -d)
	trap testbed_close EXIT
	# make forwards what its whole group got: a second one must not end the cleaning up.
	trap 'trap "" INT TERM HUP; exit 130' INT
	trap 'trap "" INT TERM HUP; exit 143' TERM
	trap 'trap "" INT TERM HUP; exit 129' HUP
}

testbed_refuse() {
	echo "testbed: cannot start: $1" >&2
	exit 1
}

testbed_attached() {
	[ -e "$TESTBED_PINS" ]
}

testbed_close() {
	local status=$? namespace

	set +e
	trap '' INT TERM HUP
	trap - ERR
	# Only those that still run: the number of one that ended may be another's by now.
	jobs -pr | xargs -r kill 2>/dev/null
	wait
	# testbed_open saw no weir, so any there is now is the testbed's.
	if testbed_attached; then
		"$WEIR" detach --all >/dev/null 2>&1 || rm -rf "$TESTBED_PINS"
	fi
	for namespace in "${testbed_namespaces[@]}"; do
		ip netns del "$namespace" 2>/dev/null
	done
	rm -rf "$TESTBED_DIR"
	exit "$status"
}

# testbed_start NS COMMAND...: runs it in the background until it ends or the testbed closes; its
# pid is in $!. Output goes where the caller's does.
testbed_start() {
	local namespace=$1

	shift
	# exec, so that the pid is the command's and a signal reaches it.
	nsenter --net="/run/netns/$TESTBED_PREFIX-$namespace" "$@" &
}

# testbed_in NS COMMAND...: in the namespace, with the caller's /sys, unlike ip netns exec.
testbed_in() {
	local namespace=$1

	shift
	nsenter --net="/run/netns/$TESTBED_PREFIX-$namespace" "$@"
}

# testbed_in_sys NS SCRIPT: with the namespace's own /sys/class/net.
testbed_in_sys() {
	ip netns exec "$TESTBED_PREFIX-$1" sh -c "$2"
}

testbed_name() {
	echo "$TESTBED_PREFIX-$1"
}

# testbed_namespace NS...
testbed_namespace() {
	local name

	for name; do
		ip netns add "$TESTBED_PREFIX-$name"
		testbed_namespaces+=("$TESTBED_PREFIX-$name")
		# Nothing speaks there that a test did not ask to: no address without one being
		# given, no search for duplicates, routers or listeners.
		testbed_in "$name" sysctl -qw net.ipv6.conf.default.accept_dad=0 \
			net.ipv6.conf.all.accept_ra=0 net.ipv6.conf.default.accept_ra=0 \
			net.ipv6.conf.default.autoconf=0 net.ipv6.conf.default.addr_gen_mode=1
		testbed_in "$name" ip link set lo up
	done
}

# testbed_join NS1 DEV1 NS2 DEV2 [MTU]: two ends of a cable.
testbed_join() {
	local ns1=$1 dev1=$2 ns2=$3 dev2=$4 mtu=${5:-1500} end

	testbed_links=$((testbed_links + 1))
	ip link add "$dev1" netns "$TESTBED_PREFIX-$ns1" mtu "$mtu" \
		address "$(printf '02:00:00:00:%02x:01' "$testbed_links")" type veth \
		peer "$dev2" netns "$TESTBED_PREFIX-$ns2" mtu "$mtu" \
		address "$(printf '02:00:00:00:%02x:02' "$testbed_links")"
	for end in "$ns1 $dev1" "$ns2 $dev2"; do
		# Without GRO or XDP of its own a veth takes no frame that XDP sends to it. A
		# checksum left to the other end is lost where XDP forwards, and so are segments
		# larger than the MTU.
		# shellcheck disable=SC2086
		set -- $end
		testbed_in "$1" ethtool -K "$2" gro on tx off tso off gso off >/dev/null
		testbed_in "$1" ip link set "$2" up
	done
}

testbed_mac() {
	testbed_in "$1" ip -json link show "$2" | jq -r '.[0].address'
}

# testbed_address NS DEV ADDRESS/LENGTH
testbed_address() {
	testbed_in "$1" ip address add "$3" dev "$2"
}

# testbed_neighbour NS DEV ADDRESS MAC: known for good, so that no ARP is among what is counted.
testbed_neighbour() {
	testbed_in "$1" ip neigh replace "$3" lladdr "$4" dev "$2" nud permanent
}

# testbed_wire NS FROM TO: what comes in on FROM leaves by TO, by XDP.
testbed_wire() {
	testbed_in "$1" "$TESTBED_WIRE" "$2" "$3"
}

# testbed_flood NS OPTION...: see tests/net/flood.c. Prints {"sent": N, "seconds": S}.
testbed_flood() {
	local namespace=$1

	shift
	testbed_in "$namespace" "$TESTBED_FLOOD" "$@"
}

# testbed_pause SECONDS: reads what nobody writes.
testbed_pause() {
	local silence

	exec {silence}<> <(:)
	read -r -t "$1" -u "$silence" || :
	exec {silence}>&-
}

# testbed_until SECONDS COMMAND...: tries until it succeeds, or fails after that time.
testbed_until() {
	local deadline=$((SECONDS + $1))

	shift
	until "$@"; do
		[ $SECONDS -lt $deadline ] || return 1
		testbed_pause 0.05
	done
}
