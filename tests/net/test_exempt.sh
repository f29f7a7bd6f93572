#!/bin/bash
# SPDX-License-Identifier: MIT
# What keeps a host on its network passes without a token, but only within its budget, and only
# where it comes from the network it is on.

# shellcheck source-path=SCRIPTDIR source=pair.sh
. "$(dirname "$0")/pair.sh"

SEND=$TESTBED_ROOT/build/tests/net/send
UDP=11 ICMPV6=3a IGMP=02
FROM=020000000001
ARP=0806 IPV4=0800 IPV6=86dd

# send COUNT ETHERTYPE HEX: to the server, by DEV.
send() {
	testbed_in peer "$SEND" "${DEV:-eth0}" "$1" "$server_mac$FROM$2$3"
}

# hex_of FORMAT VALUE...
hex_of() {
	# shellcheck disable=SC2059
	printf "$@"
}

# ipv4 SOURCE PROTOCOL TTL PAYLOAD: padded to the shortest frame.
ipv4() {
	local source=$1 payload=$4 packet

	# shellcheck disable=SC2086
	packet=4500$(hex_of %04x $((20 + ${#payload} / 2)))00000000$(hex_of %02x "$3")${2}0000$(
		hex_of %02x ${source//./ })c0000202$payload
	printf '%-92s' "$packet" | tr ' ' 0
}

# ipv6 SOURCE PROTOCOL HOP_LIMIT PAYLOAD; SOURCE in 32 digits.
ipv6() {
	echo "60000000$(hex_of %04x $((${#4} / 2)))$2$(hex_of %02x "$3")${1}20010db8$(
		hex_of %024x 2)$4"
}

# udp SOURCE_PORT DESTINATION_PORT
udp() {
	hex_of %04x%04x00080000 "$1" "$2"
}

counts_begin() {
	weir status --json >"$TESTBED_DIR/before"
}

# What the verdicts counted since counts_begin.
counts() {
	weir status --json | jq -r --slurpfile before "$TESTBED_DIR/before" '
		[(.verdicts | to_entries[] | .value.packets -= $before[0].verdicts[.key].packets |
			select(.value.packets > 0) | "\(.key) \(.value.packets)")] | join(" ")'
}

# sends SENTENCE EXPECTED COUNT ETHERTYPE HEX
sends() {
	counts_begin
	send "$3" "$4" "$5"
	tap_equal "$1" "$2" "$(counts)"
}

pair_open
server_mac=$(testbed_mac server eth0 | tr -d :)
# An exempt rate of one a day has room for one, and none for the next. So does the limit.
attach --rate 1/day --capacity 10 --exempt-rate 1/day >/dev/null

global6=20010db8$(hex_of %024x 7)
link6=fe80$(hex_of %028x 7)
arp=0001080006040001$FROM$(hex_of %02x%02x%02x%02x 192 0 2 1)000000000000c0000202
solicitation=8700000000000000${global6/%7/2}
sends 'ARP beyond its budget is dropped' 'pass_exempt 1 drop_budget 99' 100 $ARP "$arp"
attach >/dev/null
sends 'and an attach again does not fill it' 'drop_budget 20' 20 $ARP "$arp"
pair_join eth1 1500
DEV=eth1 attach --exempt-rate 1/day >/dev/null
DEV=eth1 sends 'while another interface has its own' 'pass_exempt 1 drop_budget 19' 20 $ARP "$arp"
weir detach eth1 --netns "$server" >/dev/null
sends 'neighbour discovery beyond it belongs to its source' 'pass 10 pass_exempt 1 drop_rate 89' \
	100 $IPV6 "$(ipv6 "$global6" $ICMPV6 255 "$solicitation")"
tap_equal 'which pays for it' '10 89' "$(source_counts 2001:db8::7)"
weir forget --all >/dev/null
sends 'and so do link-local sources' 'pass 10 pass_exempt 1 drop_rate 89' 100 $IPV4 \
	"$(ipv4 169.254.7.7 $UDP 64 "$(udp 9 9)")"
sends 'whose budget is the same for IPv6' 'pass 10 drop_rate 90' 100 $IPV6 \
	"$(ipv6 "$link6" $UDP 64 "$(udp 9 9)")"
sends 'answers to the DHCP client' 'pass 10 pass_exempt 1 drop_rate 89' 100 $IPV4 \
	"$(ipv4 198.51.100.67 $UDP 64 "$(udp 67 68)")"
sends 'and multicast reports' 'pass 10 pass_exempt 1 drop_rate 89' 100 $IPV4 \
	"$(ipv4 198.51.100.2 $IGMP 1 1600000000000000)"
tap_equal 'ping has a budget in none of them' '10 5' \
	"$(pings_answered 15 $SERVER4) $(weir show $PEER4 --json | jq .dropped)"

attach --exempt-rate 200/s >/dev/null
counts_begin
begin=$EPOCHREALTIME
send 5000 $ARP "$arp"
took=$(awk "BEGIN { print $EPOCHREALTIME - $begin }")
read -r _ exempt _ refused <<<"$(counts)"
tap_true 'another budget starts full, and refills' \
	"$exempt >= 200 && $exempt <= 200 * (1.01 + $took) + 1 && $exempt + $refused == 5000"

weir limit set default --rate 1/day --capacity 5 >/dev/null
weir forget --all >/dev/null
sends 'discovery that came through a router is a packet like any' 'pass 5 drop_rate 15' 20 $IPV6 \
	"$(ipv6 "${global6/%7/8}" $ICMPV6 254 "$solicitation")"
sends 'what is neither IP nor ARP passes' 'pass_not_ip 20' 20 88b5 "$(hex_of %092x 0)"
sends 'MPLS passes as opaque' 'pass_opaque 20' 20 8847 "$(hex_of %092x 0)"
sends 'an IPv4 header of 16 bytes is malformed' 'drop_malformed 20' 20 $IPV4 "$(
	ipv4 198.51.100.9 $UDP 64 "$(udp 9 9)" | sed 's/^45/44/')"
tap_finish
