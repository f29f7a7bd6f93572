#!/bin/bash
# SPDX-License-Identifier: MIT
# What a version with other maps has pinned is not touched but by detach: it limits on until then.

# shellcheck source-path=SCRIPTDIR source=refusal.sh
. "$(dirname "$0")/refusal.sh"

# The first four bytes of the configuration are the layout's number.
layout_write() {
	local -a bytes

	mapfile -t bytes < <(bpftool -j map lookup pinned "$TESTBED_PINS/config" key hex 0 0 0 0 |
		jq -r '.value[] | ltrimstr("0x")')
	[ ${#bytes[@]} -gt 4 ] || return
	bytes[0]=$(printf %02x "$1")
	bpftool map update pinned "$TESTBED_PINS/config" key hex 0 0 0 0 value hex "${bytes[@]}"
}

map_replace() {
	rm "$TESTBED_PINS/$1"
	bpftool map create "$TESTBED_PINS/$1" type "$2" key 4 value "$3" entries "$4" name "$1"
}

layout_refused() {
	local reason="a version that is not compatible with this one: $1" command
	local -a words

	for command in status 'show 192.0.2.1' 'limit set default --rate 2/h' 'forget --all' \
		'attach eth0' 'attach eth0 --rate 1/h'; do
		read -ra words <<<"$command"
		refuses "'weir $command'" 1 "$reason" "$WEIR" "${words[@]}"
		tap_check 'and names the cure' hints "weir detach --all"
	done
}

# recovers SOURCE: what is attached limits still, is detached, and gives way to a new one.
recovers() {
	flood "$1" --packets 50 >/dev/null
	tap_equal 'it limits on' 0 "$(pings_answered 3 $SERVER4)"
	tap_equal 'detach --all takes it away' 1 "$(weir detach --all --json | jq .detached)"
	tap_check 'all of it' test ! -e "$TESTBED_PINS"
	tap_equal 'then attach works' new "$(attach --rate 1/h --capacity 3 --json | jq -r .attached)"
	flood "$1" --packets 10 >/dev/null
	tap_equal 'and limits anew' '3 7' "$(source_counts "$1")"
	tap_equal 'the peer as well' 3 "$(pings_answered 5 $SERVER4)"
}

pair_open
attach --rate 1/h --capacity 3 >/dev/null
tap_equal 'pings are limited' 3 "$(pings_answered 5 $SERVER4)"
tap_check 'another layout is written' layout_write 77
layout_refused 'its maps have layout 77, this has [0-9]'
recovers 198.51.100.7

tap_check 'a map of other values is pinned' map_replace counters percpu_array 8 64
layout_refused 'the layout of counters differs'
recovers 198.51.100.8

tap_check 'a map of another number of entries is pinned' map_replace interfaces array 88 128
layout_refused 'the layout of interfaces differs'
recovers 198.51.100.9

rm "$TESTBED_PINS/drops"
layout_refused 'drops is missing'
recovers 198.51.100.10
tap_finish
