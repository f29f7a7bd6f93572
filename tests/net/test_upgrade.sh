#!/bin/bash
# SPDX-License-Identifier: MIT
# Attaching again replaces the program under a flood: nothing is lost, unlimited or forgotten.

# shellcheck source-path=SCRIPTDIR source=pair.sh
. "$(dirname "$0")/pair.sh"

program_id() {
	from_status '.interfaces[0].program_id'
}

replace_often() {
	local times=30

	while [ $((times--)) -gt 0 ]; do
		[ "$(attach --json | jq -r .attached)" = replaced ] || return
	done
}


pair_open
attach --rate 1/h --capacity 1000 >/dev/null
first=$(program_id)
flood_start 198.51.100.7 --seconds 4
pings_answered 150 $SERVER4 >"$TESTBED_DIR/pings" &
ping_pid=$!
tap_check 'the program is replaced 30 times under a flood' replace_often
tap_true 'by another one' "$(program_id) != $first"
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
tap_equal 'and does' 500 "$(weir show 198.51.100.7 --json | jq .tokens)"
flood 198.51.100.7 --sources 50 --packets 5000 >/dev/null
tap_equal 'a /24 is then one source' 500 "$(weir show 198.51.100.99 --json | jq .passed)"
tap_finish
