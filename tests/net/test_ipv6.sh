#!/bin/bash
# SPDX-License-Identifier: MIT
# IPv6: a /64 is one source, and neighbours are found in mid-flood.

# shellcheck source-path=SCRIPTDIR source=pair.sh
. "$(dirname "$0")/pair.sh"

pair_open
pair_address6
attach --rate 1/h --capacity 100 >/dev/null
flood 2001:db8:7:1::1 --packets 1000 >/dev/null
flood 2001:db8:7:1::2 --packets 1000 >/dev/null
tap_equal 'two addresses of a /64 share a bucket' '2001:db8:7:1::/64 100 1900' \
	"$(weir sources --json | jq -r '.sources[0] | "\(.address) \(.passed) \(.dropped)"')"
tap_equal 'which each of its addresses shows' 100 "$(weir show 2001:db8:7:1:ffff::9 --json | jq .passed)"
tap_equal 'bytes are those of the whole frames' $((1900 * FRAME6_BYTES)) \
	"$(from_status .verdicts.drop_rate.bytes)"
flood 2001:db8:8:: --sources 10 --packets 5000 >/dev/null
tap_equal 'ten /64 have ten buckets' '10 100 100' "$(weir sources --json |
	jq -r '[.sources[] | select(.address | startswith("2001:db8:8:") or startswith("2001:db8:8::")) | .passed] |
		"\(length) \(min) \(max)"')"
tap_equal 'forget takes an address' 1 "$(weir forget 2001:db8:7:1::77 --json | jq .forgotten)"

testbed_in peer ip -6 neigh flush dev eth0
testbed_in server ip -6 neigh flush dev eth0
flood_start 2001:db8:9::1 --seconds 3
tap_equal 'a neighbour is found and its pings answered in mid-flood' 50 \
	"$(pings_answered 50 $SERVER6)"
flood_wait
tap_true 'discovery passed as exempt' "$(from_status .verdicts.pass_exempt.packets) >= 1"
tap_equal 'and every packet of the flood was judged' "100 $((flood_arrived - 100))" \
	"$(source_counts 2001:db8:9::1)"

attach --key6 128 >/dev/null 2>&1
flood 2001:db8:7:1::1 --packets 1000 >/dev/null
flood 2001:db8:7:1::2 --packets 1000 >/dev/null
tap_equal 'with --key6 128 each address is a source' '100 100' \
	"$(weir show 2001:db8:7:1::1 --json | jq .passed) $(weir show 2001:db8:7:1::2 --json | jq .passed)"
tap_finish
