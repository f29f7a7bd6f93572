#!/bin/bash
# SPDX-License-Identifier: MIT
# Several interfaces share sources and limits; they come, go and vanish; the last one leaves
# nothing behind.

# shellcheck source-path=SCRIPTDIR source=pair.sh
. "$(dirname "$0")/pair.sh"

SOURCE=198.51.100.7

detach() {
	weir detach "$1" --netns "$server" --json
}

has_xdp() {
	testbed_in server ip -json -details link show "$1" | jq -e '.[0].xdp' >/dev/null
}

object_ids() {
	local pin kind

	for pin in "$TESTBED_PINS"/*; do
		for kind in map prog link; do
			{ bpftool -j "$kind" show pinned "$pin" 2>/dev/null || :; } |
				jq -r --arg kind "$kind" '"\($kind) \(.id // empty)"'
		done
	done
}

# The kernel frees what is no longer held a moment later.
objects_are_gone() {
	local kind id

	while read -r kind id; do
		! bpftool "$kind" show id "$id" >/dev/null 2>&1 || return
	done <<<"$1"
}

pair_open
pair_join eth1 1500
attach --rate 1/h --capacity 100 >/dev/null
tap_equal 'a second interface joins without a limit of its own' 'new 100' "$(DEV=eth1 attach --json |
	jq -r '[.attached, .limit.capacity] | join(" ")')"
flood $SOURCE --packets 150 >/dev/null
DEV=eth1 flood $SOURCE --packets 250 >/dev/null
tap_equal 'a source has one bucket for both' '100 300' "$(passed) $(dropped)"
tap_equal 'each counts its own' 'eth0 100 50 eth1 0 250' "$(from_status '[.interfaces[] |
	.name, .verdicts.pass.packets, .verdicts.drop_rate.packets] | join(" ")')"
tap_check 'their sum is the total' jq -e '. as $all | [.verdicts | keys[]] | all(. as $name |
	([$all.interfaces[].verdicts[$name].packets] | add) == $all.verdicts[$name].packets)' \
	<(weir status --json)

testbed_in peer ip link del eth1
tap_equal 'status says which interface was removed' 'eth0 false eth1 true' \
	"$(from_status '[.interfaces[] | .name, .gone] | join(" ")')"
tap_equal 'in text too' 1 "$(weir status | grep -c '^ *gone: *yes$')"
pair_join eth1 1500
tap_equal 'a new one of that name attaches' new "$(DEV=eth1 attach --json | jq -r .attached)"
tap_equal 'and takes the place of the old' 'eth0 false eth1 false' \
	"$(from_status '[.interfaces[] | .name, .gone] | join(" ")')"
tap_equal 'with counters of its own' 0 "$(from_status \
	'[.interfaces[] | select(.name == "eth1") | .verdicts[].packets] | add')"
DEV=eth1 flood $SOURCE --packets 50 >/dev/null
tap_equal 'while buckets were kept' 100 "$(weir show $SOURCE --json | jq .passed)"

testbed_in peer ip link del eth1
tap_equal 'a removed interface detaches by its name' 1 "$(detach eth1 | jq .detached)"
tap_equal 'the other stays' eth0 "$(from_status '[.interfaces[].name] | join(" ")')"
tap_check 'and limits on' has_xdp eth0

objects=$(object_ids)
tap_true 'what is pinned is seen' "$(wc -l <<<"$objects") > 5"
tap_equal 'the last interface detaches' 1 "$(detach eth0 | jq .detached)"
tap_check 'no pin is left' test ! -e "$TESTBED_PINS"
tap_check 'no program, map or link is left' testbed_until 10 objects_are_gone "$objects"
tap_check 'nothing is on the interface' eval '! has_xdp eth0'
tap_equal 'status says that weir is attached nowhere, and fails' 1 \
	"$(weir status >/dev/null 2>&1 || echo $?)"

pair_join eth1 1500
attach --rate 1/h --capacity 100 >/dev/null
DEV=eth1 attach >/dev/null
tap_equal 'detach --all takes all' 2 "$(weir detach --all --json | jq .detached)"
tap_check 'and leaves no pin either' test ! -e "$TESTBED_PINS"
tap_finish
