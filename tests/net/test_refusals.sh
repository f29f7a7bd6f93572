#!/bin/bash
# SPDX-License-Identifier: MIT
# What weir cannot do it says in one sentence, on stderr alone, and it changes nothing.

# shellcheck source-path=SCRIPTDIR source=refusal.sh
. "$(dirname "$0")/refusal.sh"

AS_NOBODY=(setpriv --reuid=65534 --regid=65534 --clear-groups --)
WITHOUT_CAPABILITIES=(setpriv --bounding-set=-all --inh-caps=-all --ambient-caps=-all --)

# misuse_all: a line each, of words after weir and what the sentence says.
misuse_all() {
	local line pattern
	local -a words

	while IFS='|' read -r line pattern; do
		read -ra words <<<"$line"
		read -r pattern <<<"$pattern"
		[ -n "$pattern" ] || return
		refuses "'weir ${words[*]}'" 2 "$pattern" "$WEIR" "${words[@]}"
	done
}

pair_open
pair_join eth1 1500
# Anybody may run it there, wherever the tree is.
install -m 755 "$WEIR" "$TESTBED_DIR/weir"
chmod 755 "$TESTBED_DIR"

tap_equal 'no interface of the host is in reach' lo "$(ip -json link show | jq -r '.[].ifname')"
misuse_all <<'END'
no-such-command                              | command 'no-such-command'
attach                                       | 'attach': IFACE is missing
attach eth0                                  | 'eth0': the first attach needs --rate
attach eth0 --rate                           | '--rate': its value RATE is missing
attach eth0 --rate fast                      | 'fast' for --rate: .*1/year to 100M/s
attach eth0 --rate 0/s                       | '0/s' for --rate: .*1/year to 100M/s
attach eth0 --rate -5/s                      | '-5/s' for --rate: .*1/year to 100M/s
attach eth0 --rate 5                         | '5' for --rate: .*1/year to 100M/s
attach eth0 --rate 5/fortnight               | '5/fortnight' for --rate: .*1/year to 100M/s
attach eth0 --rate 101M/s                    | '101M/s' for --rate: .*1/year to 100M/s
attach eth0 --rate 1/2day                    | '1/2day' for --rate: .*1/year to 100M/s
attach eth0 --rate 99999999999999999999/s    | '99999999999999999999/s' for --rate: .*100M/s
attach eth0 --rate 1k/s --capacity 0         | '0' for --capacity: .*from 1 to
attach eth0 --rate 1k/s --capacity -1        | '-1' for --capacity: .*from 1 to
attach eth0 --rate 1k/s --capacity 99999999999999999999 | '9*' for --capacity: .*from 1 to
attach eth0 --rate 1/day --capacity 100k     | 'eth0': a capacity of 100000 .*the largest is 16[0-9][0-9]$
attach eth0 --rate 1k/s --mode fast          | 'fast' for --mode: .*auto, native, generic
attach eth0 --rate 1k/s --key4 33            | '33' for --key4: .*from 1 to 32
attach eth0 --rate 1k/s --key4 0             | '0' for --key4: .*from 1 to 32
attach eth0 --rate 1k/s --key6 129           | '129' for --key6: .*from 1 to 128
attach eth0 --rate 1k/s --sources 0          | '0' for --sources: .*from 1 to 16M
attach eth0 --rate 1k/s --sources 17M        | '17M' for --sources: .*from 1 to 16M
attach eth0 --rate 1k/s --exempt-rate 0/s    | '0/s' for --exempt-rate: .*1/year to 100M/s
attach eth0 --rate 1k/s --rate 2k/s          | '--rate': it was given before
attach eth0 --rate 1k/s --colour blue        | '--colour': weir attach has no such option
attach eth0 --rate 1k/s --json=yes           | '--json=yes': it takes no value
attach eth0 eth1 --rate 1k/s                 | 'eth1': weir attach takes no such argument
attach a-name-of-over-15-characters --rate 1k/s | for IFACE: .*of 1 to 15 characters
attach eth0 --rate 1k/s --netns a/b          | 'a/b' for --netns: .*of 1 to 63 characters
detach                                       | detach: name either an interface or --all
detach --all eth0                            | detach: name either an interface or --all
detach eth0 eth1                             | 'eth1': weir detach takes no such argument
limit set                                    | 'limit set': NAME is missing
limit set default                            | 'limit set': --rate is missing
limit set default --rate 1k/s --capacity 0   | '0' for --capacity: .*from 1 to
limit set other --rate 1k/s                  | 'other' for NAME: it can only be default
limit unset                                  | command 'limit unset'
status --every 0s                            | '0s' for --every: .*from 10ms to 1d
status --every never                         | 'never' for --every: .*from 10ms to 1d
status eth0                                  | 'eth0': weir status takes no such argument
sources --top 0                              | '0' for --top: .*from 1 to
sources --top -3                             | '-3' for --top: .*from 1 to
sources --sort name                          | 'name' for --sort: .*drops, passed, seen
show                                         | 'show': ADDRESS is missing
show not-an-address                          | 'not-an-address' for ADDRESS: .*192\.0\.2\.1
show 192.0.2.256                             | '192\.0\.2\.256' for ADDRESS: .*not an address
show 192.0.2.0/33                            | '192\.0\.2\.0/33' for ADDRESS: .*not an address
forget                                       | forget: name either an address or --all
forget 192.0.2.1 --all                       | forget: name either an address or --all
forget 192.0.2.1.5                           | '192\.0\.2\.1\.5' for ADDRESS: .*not an address
help no-such-command                         | command 'no-such-command'
END
longest=$(sed -n 's/.*the largest is //p' <(testbed_in server "$WEIR" attach eth0 --rate 1/day \
	--capacity 100k 2>&1 || :))
# 4.5 years to fill are over 1640 days, and 365.25 make a year.
tap_true 'the longest capacity is 4.5 years of the rate' "$longest >= 1640 && $longest < 1740"
refuses 'one more than it' 2 "a capacity of $((longest + 1)) .*the largest is $longest$" "$WEIR" \
	attach eth0 --rate 1/day --capacity $((longest + 1))
tap_check 'and takes it' attach --rate 1/day --capacity "$longest"
weir detach --all >/dev/null

refuses 'an interface that does not exist' 1 "'nosuch0': there is no interface of that name" \
	"$WEIR" attach nosuch0 --rate 1k/s
refuses 'a network namespace that does not exist' 1 "no network namespace 'nosuchns'" \
	"$WEIR" attach eth0 --netns nosuchns --rate 1k/s
for command in status sources 'show 192.0.2.1' 'forget --all' 'limit list' 'detach eth0' \
	'limit set default --rate 1k/s'; do
	read -ra words <<<"$command"
	refuses "'weir $command' where weir is not attached" 1 ': weir is not attached' "$WEIR" \
		"${words[@]}"
done
tap_equal 'while detach --all has nothing to do' 0 "$(weir detach --all --json | jq .detached)"
refuses 'an attach by nobody' 1 'lacks CAP_BPF, CAP_PERFMON, CAP_NET_ADMIN' "${AS_NOBODY[@]}" \
	"$TESTBED_DIR/weir" attach eth0 --rate 1k/s
refuses 'an attach without capabilities' 1 'lacks CAP_BPF, CAP_PERFMON, CAP_NET_ADMIN' \
	"${WITHOUT_CAPABILITIES[@]}" "$WEIR" attach eth0 --rate 1k/s
tap_check 'and names the cure' hints root

testbed_wire server eth1 eth0
wire_id=$(testbed_in server ip -json link show eth1 | jq '.[0].xdp.prog.id')
wire="another XDP program is attached there: id $wire_id, name wire"
refuses 'to replace a foreign program, naming it' 1 "$wire" "$WEIR" attach eth1 --rate 1k/s
tap_equal 'which stays' "$wire_id" \
	"$(testbed_in server ip -json link show eth1 | jq '.[0].xdp.prog.id')"

attach --rate 1/h --capacity 100 >/dev/null
refuses 'an interface that does not exist, attached or not' 1 "'nosuch0': there is no interface" \
	"$WEIR" attach nosuch0
refuses 'a foreign program beside an attached interface' 1 "$wire" "$WEIR" attach eth1 --rate 5k/s
refuses 'another number of sources while attached' 1 'there is room for 262144 sources' "$WEIR" \
	attach eth0 --sources 1000
refuses 'another mode while attached' 1 'it is attached in native mode' "$WEIR" attach eth0 \
	--mode generic
refuses 'to detach what is not attached' 1 "'eth1': weir is not attached to it" "$WEIR" detach eth1
tap_check 'and names what is' hints "eth0.*$server"
refuses 'a limit that would last too long' 2 "'default': a capacity of 100000 .*is $longest$" \
	"$WEIR" limit set default --rate 1/day --capacity 100k
for command in 'status' 'status --every 1s' 'sources' 'show 192.0.2.1' 'detach --all' \
	'limit set default --rate 2/h' 'forget --all' 'attach eth0 --rate 2/h'; do
	read -ra words <<<"$command"
	refuses "'weir $command' by nobody" 1 'not permitted: this process lacks CAP_BPF' \
		"${AS_NOBODY[@]}" "$TESTBED_DIR/weir" "${words[@]}"
done
flood 198.51.100.7 --packets 1000 >/dev/null
tap_equal 'after all of which it limits as before' '100 900' "$(source_counts 198.51.100.7)"
tap_finish
