#!/bin/bash
# SPDX-License-Identifier: MIT
# A source gets its capacity and its rate, to the packet, and the figures say so.

# shellcheck source-path=SCRIPTDIR source=pair.sh
. "$(dirname "$0")/pair.sh"

FLOODER=198.51.100.7

pair_open
tap_equal 'attach in native mode says so' 'new native true' "$(attach --mode native \
	--rate 1/h --capacity 100 --json | jq -r '[.attached, .mode, .program_id > 0] | join(" ")')"
flood_start $FLOODER --packets 200000
flood_wait
tap_equal 'a source gets its capacity, to the packet' 100 "$(passed)"
tap_equal 'the rest is dropped and counted' $((flood_arrived - 100)) "$(dropped)"
tap_equal 'bytes are those of the whole frames' \
	"$((100 * FRAME_BYTES)) $(((flood_arrived - 100) * FRAME_BYTES))" \
	"$(from_status '.verdicts | [.pass.bytes, .drop_rate.bytes] | join(" ")')"
tap_equal 'every packet has one verdict' "$flood_arrived" "$(judged)"
tap_equal 'sources says the same' "$FLOODER 100 $((flood_arrived - 100))" "$(weir sources --json |
	jq -r '.sources[0] | [.address, .passed, .dropped] | join(" ")')"
tap_equal 'and so does show' "100 $((flood_arrived - 100))" "$(source_counts $FLOODER)"
flood $FLOODER --packets 1000 >/dev/null
tap_equal 'an empty bucket stays empty' "100 $((flood_arrived + 900))" "$(source_counts $FLOODER)"

tap_equal 'forget finds the source' 1 "$(weir forget $FLOODER --json | jq .forgotten)"
tap_equal 'and fills its bucket' 100 "$(weir show $FLOODER --json | jq '.tokens | round')"
flood $FLOODER --packets 1000 >/dev/null
tap_equal 'which lets one more capacity through' 200 "$(passed)"
tap_equal 'forget --all fills every bucket' 1 "$(weir forget --all --json | jq .forgotten)"
tap_equal 'a stranger is not known, and has a full bucket' 'false 100' \
	"$(weir show 203.0.113.1 --json | jq -r '[.known, .tokens] | join(" ")')"
tap_equal 'and there is nothing to forget' 0 "$(weir forget 203.0.113.1 --json | jq .forgotten)"

flood 198.51.100.64 --sources 50 --packets 50000 >/dev/null
tap_equal 'each source has a bucket of its own' '50 100 100' "$(weir sources --top 100 --json |
	jq -r '[.sources[] | select(.address != "'$FLOODER'") | .passed] |
		[length, min, max] | join(" ")')"

# Two ticks of the coarse clock are worth at most 1 % of the capacity.
weir limit set default --rate 1k/s --capacity 1000 >/dev/null
weir forget --all >/dev/null
before=$(passed)
flood_start $FLOODER --seconds 2
tap_equal 'honest pings are answered in mid-flood' 50 "$(pings_answered 50 $SERVER4)"
flood_wait
got=$(weir show $FLOODER --json | jq .passed)
got=$((got - 200))
tap_true 'a flood gets no more than capacity + rate x time' \
	"$got <= 1000 * 1.01 + 1000 * $flood_seconds"
tap_true 'and no less' "$got >= 1000 * 0.99 + 1000 * ($flood_seconds - 0.2)"
tap_equal 'the honest source lost nothing' 0 "$(weir show $PEER4 --json | jq .dropped)"
tap_true 'and all its packets are counted' "$(passed) == $before + $got + 50"
tap_finish
