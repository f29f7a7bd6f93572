#!/bin/bash
# SPDX-License-Identifier: MIT
# Frames that are not plain: VLAN tags are no way round, and jumbo frames count whole.

# shellcheck source-path=SCRIPTDIR source=pair.sh
. "$(dirname "$0")/pair.sh"

ETHERNET_BYTES=14
PING_BYTES=8900
PING_FRAME_BYTES=$((ETHERNET_BYTES + 20 + 8 + PING_BYTES))

jumbo_pings() {
	pings_answered "$1" $SERVER4 -M "do" -s $PING_BYTES
}

pair_open 9000
tap_equal 'an MTU of 9000 attaches natively' native \
	"$(attach --mode native --rate 1/h --capacity 100 --json | jq -r .mode)"
tap_equal 'jumbo pings are answered' 10 "$(jumbo_pings 10)"
tap_equal 'their bytes count whole' "10 $((10 * PING_FRAME_BYTES))" \
	"$(from_status '.verdicts.pass | "\(.packets) \(.bytes)"')"
flood 198.51.100.7 --packets 300 --vlan 7 >/dev/null
tap_equal 'a tagged packet belongs to its source' '100 200' \
	"$(source_counts 198.51.100.7)"
tap_equal 'and counts its tag' $((200 * (FRAME_BYTES + 4))) "$(from_status .verdicts.drop_rate.bytes)"
flood 198.51.100.7 --packets 300 >/dev/null
tap_equal 'whose bucket is the same without a tag' 100 "$(weir show 198.51.100.7 --json | jq .passed)"
flood 2001:db8:7::1 --packets 300 --vlan 7 >/dev/null
tap_equal 'tagged IPv6 as well' '100 200' \
	"$(source_counts 2001:db8:7::1)"

weir limit set default --rate 1/h --capacity 5 >/dev/null
weir forget --all >/dev/null
before=$(from_status .verdicts.drop_rate.bytes)
tap_equal 'jumbo pings are limited' 5 "$(jumbo_pings 15)"
tap_equal 'and dropped whole' $((10 * PING_FRAME_BYTES)) \
	$(($(from_status .verdicts.drop_rate.bytes) - before))
tap_finish
