#!/bin/bash
# SPDX-License-Identifier: MIT
# What weir cannot do it says in one sentence, on stderr alone, and it changes nothing.

# shellcheck source-path=SCRIPTDIR source=pair.sh
. "$(dirname "$0")/pair.sh"

# What a refused command must not change.
state() {
	find "$TESTBED_PINS" 2>/dev/null | sort || :
	"$WEIR" limit list --json 2>/dev/null || :
	testbed_in server ip -json -details link show eth0 | jq -c '.[0].xdp'
}

# refuse STATUS PATTERN COMMAND...: it exits with STATUS and a sentence that has PATTERN in it.
refuse() {
	local status=0 want=$1 pattern=$2 before

	shift 2
	before=$(state)
	"$@" >"$TESTBED_DIR/out" 2>"$TESTBED_DIR/err" || status=$?
	cat "$TESTBED_DIR/err"
	echo "(status $status)"
	[ "$status" -eq "$want" ] && [ ! -s "$TESTBED_DIR/out" ] || return
	grep -q "^weir: .*$pattern" "$TESTBED_DIR/err" || return
	[ "$(grep -c '^weir: ' "$TESTBED_DIR/err")" -eq 1 ] || return
	! grep -qv -e '^weir: ' -e '^hint: ' "$TESTBED_DIR/err" || return
	[ "$(state)" = "$before" ]
}

refuses() {
	local sentence=$1

	shift
	tap_check "refuses $sentence" refuse "$@"
}

# misuse_all: a line each, of words after weir.
misuse_all() {
	local -a words

	while read -ra words; do
		refuses "'weir ${words[*]}'" 2 'cannot' "$WEIR" "${words[@]}"
	done
}

without_capabilities() {
	setpriv --bounding-set=-all --inh-caps=-all --ambient-caps=-all -- "$@"
}

as_nobody() {
	setpriv --reuid=65534 --regid=65534 --clear-groups -- "$@"
}

pair_open
pair_join eth1 1500
# Anybody may run it there, wherever the tree is.
install -m 755 "$WEIR" "$TESTBED_DIR/weir"
chmod 755 "$TESTBED_DIR"

misuse_all <<'END'
no-such-command
attach
attach eth0
attach eth0 --rate
attach eth0 --rate fast
attach eth0 --rate 0/s
attach eth0 --rate -5/s
attach eth0 --rate 5
attach eth0 --rate 5/fortnight
attach eth0 --rate 101M/s
attach eth0 --rate 1/2day
attach eth0 --rate 99999999999999999999/s
attach eth0 --rate 1k/s --capacity 0
attach eth0 --rate 1k/s --capacity -1
attach eth0 --rate 1k/s --capacity 99999999999999999999
attach eth0 --rate 1/day --capacity 100k
attach eth0 --rate 1k/s --mode fast
attach eth0 --rate 1k/s --key4 33
attach eth0 --rate 1k/s --key4 0
attach eth0 --rate 1k/s --key6 129
attach eth0 --rate 1k/s --sources 0
attach eth0 --rate 1k/s --sources 17M
attach eth0 --rate 1k/s --rate 2k/s
attach eth0 --rate 1k/s --colour blue
attach eth0 eth1 --rate 1k/s
attach a-name-of-over-15-characters --rate 1k/s
attach eth0 --rate 1k/s --netns a/b
detach
detach --all eth0
detach eth0 eth1
limit set
limit set default
limit set default --rate 1k/s --capacity 0
limit set other --rate 1k/s
limit unset
status --every 0s
status --every never
status eth0
sources --top 0
sources --top -3
sources --sort name
show
show not-an-address
show 192.0.2.256
show 192.0.2.0/33
forget
forget 192.0.2.1 --all
forget 192.0.2.1.5
END
refuses 'a capacity that would last too long, naming the longest' 2 '[0-9]' "$WEIR" attach eth0 \
	--netns "$server" --rate 1/day --capacity 100k
refuses 'an interface that does not exist' 1 "'nosuch0'" "$WEIR" attach nosuch0 --rate 1k/s
refuses 'a network namespace that does not exist' 1 'nosuchns' "$WEIR" attach eth0 \
	--netns nosuchns --rate 1k/s
for command in status sources 'show 192.0.2.1' 'forget --all' 'limit list' 'detach eth0' \
	'limit set default --rate 1k/s'; do
	read -ra words <<<"$command"
	refuses "'weir $command' where weir is not attached" 1 'attached' "$WEIR" "${words[@]}"
done
refuses 'an attach by nobody' 1 '' as_nobody "$TESTBED_DIR/weir" attach eth0 --rate 1k/s
refuses 'an attach without capabilities' 1 'CAP_' without_capabilities "$WEIR" attach eth0 \
	--rate 1k/s
refuses 'an attach whose limit would end with ip netns exec' 1 '' ip netns exec "$server" "$WEIR" \
	attach eth0 --rate 1k/s
tap_check 'and names the cure' grep -q -e '--netns' "$TESTBED_DIR/err"

testbed_wire server eth1 eth0
wire_id=$(testbed_in server ip -json link show eth1 | jq '.[0].xdp.prog.id')
refuses 'to replace a foreign program, naming it' 1 "wire.*$wire_id\|$wire_id.*wire" "$WEIR" attach \
	eth1 --netns "$server" --rate 1k/s
tap_equal 'which stays' "$wire_id" \
	"$(testbed_in server ip -json link show eth1 | jq '.[0].xdp.prog.id')"

attach --rate 1/h --capacity 100 >/dev/null
refuses 'an interface that does not exist, attached or not' 1 "'nosuch0'" "$WEIR" attach nosuch0
refuses 'a foreign program beside an attached interface' 1 'wire' "$WEIR" attach eth1 \
	--netns "$server" --rate 5k/s
refuses 'another number of sources while attached' 1 '' "$WEIR" attach eth0 --netns "$server" \
	--sources 1000
refuses 'another mode while attached' 1 '' "$WEIR" attach eth0 --netns "$server" --mode generic
refuses 'to detach what is not attached' 1 "'eth1'" "$WEIR" detach eth1 --netns "$server"
refuses 'a limit that would last too long' 2 '' "$WEIR" limit set default --rate 1/day \
	--capacity 100k
for command in 'status' 'detach --all' 'limit set default --rate 2/h' 'forget --all'; do
	read -ra words <<<"$command"
	refuses "'weir $command' by nobody" 1 '' as_nobody "$TESTBED_DIR/weir" "${words[@]}"
done
flood 198.51.100.7 --packets 1000 >/dev/null
tap_equal 'after all of which it limits as before' '100 900' "$(source_counts 198.51.100.7)"
tap_finish
