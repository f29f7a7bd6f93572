#!/bin/bash
# SPDX-License-Identifier: MIT
# Attaching again replaces the program under a flood: nothing is lost, unlimited or forgotten.

# shellcheck source-path=SCRIPTDIR source=pair.sh
. "$(dirname "$0")/pair.sh"

NEXT=$TESTBED_ROOT/build/tests/net/next

# Another version: the same but for a program that parses by another path.
next_build() {
	env -u MAKEFLAGS -u MFLAGS make -s -C "$TESTBED_ROOT" B="$NEXT" \
		CLANG="${CLANG:-clang} -DWEIR_PARSE_LINEAR=0" "$NEXT/weir"
}

program_id() {
	from_status '.interfaces[0].program_id'
}

program_tag() {
	bpftool -j prog show id "$(program_id)" | jq -r .tag
}

program_is_gone() {
	! bpftool prog show id "$1" >/dev/null 2>&1
}

# What attach says it put there is what runs.
replaced() {
	[ "$(attach --json | jq -r '"\(.attached) \(.program_id)"')" = "replaced $(program_id)" ]
}

# By each version in turn, the other one last.
replace_often() {
	local times=15

	while [ $((times--)) -gt 0 ]; do
		replaced || return
		WEIR=$NEXT/weir replaced || return
	done
}

pair_open
tap_check 'another version is built' next_build
attach --rate 1/h --capacity 1000 >/dev/null
first=$(program_id) first_tag=$(program_tag)
flood_start 198.51.100.7 --seconds 4
pings_answered 150 $SERVER4 >"$TESTBED_DIR/pings" &
ping_pid=$!
tap_check 'the program is replaced 30 times under a flood, by two versions in turn' replace_often
tap_true 'by another one' "$(program_id) != $first"
tap_check 'of other instructions' test "$(program_tag)" != "$first_tag"
tap_check 'while the first is gone' testbed_until 10 program_is_gone "$first"
wait "$ping_pid" || :
flood_wait
tap_equal 'no ping was lost' 150 "$(cat "$TESTBED_DIR/pings")"
tap_equal 'no packet went unlimited' "1000 $((flood_arrived - 1000))" \
	"$(source_counts 198.51.100.7)"
tap_equal 'every packet was judged' $((flood_arrived + 150)) "$(judged)"
tap_equal 'none of them untracked' 0 "$(from_status .verdicts.pass_untracked.packets)"
tap_equal 'another capacity comes with it' true \
	"$(attach --rate 1/h --capacity 500 --json | jq .limit.changed)"
tap_equal 'and another key length' true "$(attach --key4 24 --json 2>"$TESTBED_DIR/err" |
	jq .keys_changed)"
tap_check 'which starts with full buckets, and says so' grep -q 'every bucket starts full' \
	"$TESTBED_DIR/err"
flood 198.51.100.7 --sources 50 --packets 5000 >/dev/null
tap_equal 'a /24 is then one source' 500 "$(weir show 198.51.100.99 --json | jq .passed)"
tap_finish
