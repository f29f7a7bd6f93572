#!/bin/bash
# SPDX-License-Identifier: MIT
# A limit changes under traffic: no bucket is reset, no packet goes unlimited or uncounted. At one
# token an hour, what passes is the first capacity and nothing else, whatever is changed meanwhile.

# shellcheck source-path=SCRIPTDIR source=pair.sh
. "$(dirname "$0")/pair.sh"

tokens_of() {
	weir show "$1" --json | jq '.tokens | round'
}

change_often() {
	local i

	for i in {1..40}; do
		weir limit set default --rate "$((i % 3 + 1))/h" --capacity "$((500 + i * 37))" ||
			return
	done
}

pair_open
attach --rate 1/h --capacity 1000 >/dev/null
flood 198.51.100.8 --packets 400 >/dev/null
tap_equal 'a source has sent 400 of 1000' 600 "$(tokens_of 198.51.100.8)"
weir limit set default --rate 1/h --capacity 2000 >/dev/null
tap_equal 'twice the capacity, twice the tokens' 1200 "$(tokens_of 198.51.100.8)"
weir limit set default --rate 1/h --capacity 100 >/dev/null
tap_equal 'a twentieth of it, a twentieth' 60 "$(tokens_of 198.51.100.8)"
weir limit set default --rate 7/h --capacity 100 >/dev/null
tap_equal 'another rate alone changes no tokens' 60 "$(tokens_of 198.51.100.8)"
flood 198.51.100.8 --packets 5000 >/dev/null
tap_equal 'and these are what passes' 460 "$(passed)"
attach --capacity 50 >/dev/null 2>&1
tap_equal 'a capacity given to attach alone keeps the rate' '7/h 50' "$(weir limit list --json |
	jq -r '.limits[0] | [.rate, .capacity] | join(" ")')"
weir limit set default --rate 7/h --capacity 100 >/dev/null
tap_equal 'the limit list shows the limit in force' 'default 100' "$(weir limit list --json |
	jq -r '.limits[0] | [.name, .capacity] | join(" ")')"

flood_start 198.51.100.9 --seconds 3
tap_check '40 changes under a flood' change_often
flood_wait
tap_equal 'nothing passed but the first capacity' 560 "$(passed)"
tap_equal 'and every packet was judged' $((400 + 5000 + flood_arrived)) "$(judged)"
tap_equal 'none of them untracked' 0 "$(from_status .verdicts.pass_untracked.packets)"
tap_equal 'nor contended' 0 "$(from_status .verdicts.drop_contended.packets)"

flood_start 198.51.100.9 --seconds 3
before=$(passed)
weir limit set default --rate 100k/s --capacity 200k >/dev/null
flood_wait
tap_true 'a higher rate takes effect at once' "$(passed) - $before > 50000"
before=$(passed)
weir limit set default --rate 1/h --capacity 1 >/dev/null
flood 198.51.100.9 --packets 100000 >/dev/null
tap_true 'and so does a lower one' "$(passed) - $before <= 1"
tap_finish
