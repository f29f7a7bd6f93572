# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2034
# The net tests' place: a peer and a server joined by a cable, weir on the server's end. Sourced.

# shellcheck source-path=SCRIPTDIR source=tap.sh
. "$(dirname "${BASH_SOURCE[0]}")/tap.sh"

PEER4=192.0.2.1
SERVER4=192.0.2.2
PEER6=2001:db8::1
SERVER6=2001:db8::2
FRAME_BYTES=60  # of flood's over IPv4
FRAME6_BYTES=80 # over IPv6

# pair_open [MTU]
pair_open() {
	testbed_open
	server=$(testbed_name server)
	testbed_namespace peer server
	pair_join eth0 "${1:-1500}"
	testbed_address peer eth0 $PEER4/24
	testbed_address server eth0 $SERVER4/24
	testbed_neighbour peer eth0 $SERVER4 "$(testbed_mac server eth0)"
	testbed_neighbour server eth0 $PEER4 "$(testbed_mac peer eth0)"
}

# pair_join DEV MTU: another cable between the two, DEV at both ends.
pair_join() {
	testbed_join peer "$1" server "$1" "$2"
}

pair_address6() {
	testbed_address peer eth0 $PEER6/64
	testbed_address server eth0 $SERVER6/64
}

weir() {
	"$WEIR" "$@"
}

attach() {
	weir attach "${DEV:-eth0}" --netns "$server" "$@"
}

# flood SOURCE OPTION...: to the server by DEV; prints what flood does.
flood() {
	local source=$1 destination=$SERVER4

	shift
	[[ $source != *:* ]] || { destination=$SERVER6 && set -- --ipv6 "$@"; }
	testbed_flood peer --dev "${DEV:-eth0}" --dst-mac "$(testbed_mac server "${DEV:-eth0}")" \
		--dst-ip "$destination" --src-ip "$source" "$@"
}

# flood_start OPTION...: as flood, in the background, and here already. flood_wait waits, and sets
# flood_seconds and flood_arrived: what the cable's ring had room for.
flood_start() {
	local before

	before=$(dropped)
	ring_before=$(ring_dropped)
	flood "$@" >"$TESTBED_DIR/flood" &
	flood_pid=$!
	testbed_until 10 flood_arrives "$before"
}

ring_dropped() {
	testbed_in server ip -json -statistics link show "${DEV:-eth0}" | jq '.[0].stats64.rx.dropped'
}

flood_arrives() {
	[ "$(dropped)" -gt "$1" ]
}

flood_wait() {
	wait "$flood_pid"
	flood_arrived=$(($(jq .sent "$TESTBED_DIR/flood") - $(ring_dropped) + ring_before))
	flood_seconds=$(jq .seconds "$TESTBED_DIR/flood")
}

# pings_answered COUNT ADDRESS [OPTION...]: from the peer; prints how many.
pings_answered() {
	local count=$1 address=$2

	shift 2
	{ testbed_in peer ping -q -i 0.02 -W 1 -c "$count" "$@" "$address" || :; } |
		sed -n 's/.* \([0-9]*\) received.*/\1/p'
}

# source_counts ADDRESS: what passed and what was dropped.
source_counts() {
	weir show "$1" --json | jq -r '"\(.passed) \(.dropped)"'
}

# from_status FILTER: of jq, on weir status --json.
from_status() {
	weir status --json | jq -r "$1"
}

passed() {
	from_status .verdicts.pass.packets
}

dropped() {
	from_status .verdicts.drop_rate.packets
}

# Of every verdict, exempt and not IP as well.
judged() {
	from_status '[.verdicts[].packets] | add'
}
