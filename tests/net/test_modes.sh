#!/bin/bash
# SPDX-License-Identifier: MIT
# Native where the driver can, else generic with a warning; from inside a namespace as well as from
# outside.

# shellcheck source-path=SCRIPTDIR source=refusal.sh
. "$(dirname "$0")/refusal.sh"

# narrow_join DEV: a cable whose server end has fewer queues than the peer's, which veth refuses.
narrow_join() {
	ip link add "$1" netns "$(testbed_name peer)" numtxqueues 4 numrxqueues 4 type veth \
		peer "$1" netns "$server" numtxqueues 1 numrxqueues 1
	testbed_in peer ip link set "$1" up
	testbed_in server ip link set "$1" up
}

warns() {
	grep -qx "weir: warning: generic mode, since $1: .*slower.*" "$TESTBED_DIR/err"
}

pair_open
refuses 'native mode on lo' 1 "'lo': .*has no native XDP" "$WEIR" attach lo --mode native --rate 1/h
tap_check 'and names the cure' hints '--mode generic'
tap_equal 'auto is generic there' 'new generic true' "$(DEV=lo attach --rate 1/h --capacity 7 --json \
	2>"$TESTBED_DIR/err" | jq -r '[.attached, .mode, (.warning | test("slower"))] | join(" ")')"
tap_check 'with a warning on stderr that says what it costs' warns '.*has no native XDP.*'
tap_equal 'status says so' 'lo generic' "$(from_status '.interfaces[0] | "\(.name) \(.mode)"')"
testbed_in server ping -q -i 0.02 -W 1 -c 10 127.0.0.1 >/dev/null || :
tap_equal 'and it limits' '7 true' "$(passed) $(from_status '.verdicts.drop_rate.packets > 0')"
tap_equal 'attached again it stays generic' 'replaced generic' \
	"$(DEV=lo attach --json | jq -r '"\(.attached) \(.mode)"')"
refuses 'to make it native' 1 "'lo': it is attached in generic mode" "$WEIR" attach lo --mode native
tap_equal 'another interface is native beside it' 'native null' \
	"$(attach --json | jq -r '"\(.mode) \(.warning)"')"
weir detach --all >/dev/null
tap_equal 'generic where native would do, if asked for' generic \
	"$(attach --mode generic --rate 1/h --capacity 100 --json | jq -r .mode)"
flood 198.51.100.7 --packets 1000 >/dev/null
tap_equal 'limits to the packet too' '100 900' "$(source_counts 198.51.100.7)"
weir detach --all >/dev/null

narrow_join eth1
refuses 'native mode with too few queues' 1 "'eth1': veth has too few queues free" "$WEIR" attach \
	eth1 --mode native --rate 1/h
tap_check 'and names the cure' hints 'ethtool -L eth1'
tap_equal 'auto is generic there' generic \
	"$(DEV=eth1 attach --rate 1/h --json 2>"$TESTBED_DIR/err" | jq -r .mode)"
tap_check 'and says why' warns 'veth has too few queues free for native XDP'
weir detach --all >/dev/null

testbed_in peer ip link set eth0 mtu 9000
tap_equal 'a peer of a larger MTU is no obstacle' native \
	"$(attach --mode native --rate 1/h --capacity 100 --json | jq -r .mode)"
weir detach --all >/dev/null

tap_equal 'attach works inside nsenter --net' 'new native null' "$(testbed_in server "$WEIR" attach \
	eth0 --rate 1/h --capacity 100 --json | jq -r '[.attached, .mode, .netns // "null"] | join(" ")')"
flood 198.51.100.7 --packets 1000 >/dev/null
tap_equal 'and limits when the command has ended' '100 900' "$(source_counts 198.51.100.7)"
tap_equal 'detach works from there' 1 "$(testbed_in server "$WEIR" detach eth0 --json | jq .detached)"
tap_finish
