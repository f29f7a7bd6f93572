#!/bin/bash
# SPDX-License-Identifier: MIT
# Commands at the same time, and commands killed half way, leave a state the next one copes with.

# shellcheck source-path=SCRIPTDIR source=pair.sh
. "$(dirname "$0")/pair.sh"

# together COUNT COMMAND...: COUNT at once; prints how many succeeded.
together() {
	local count=$1 i succeeded=0
	local -a pids=()

	shift
	for ((i = 0; i < count; i++)); do
		"$@" >"$TESTBED_DIR/together.$i" 2>&1 &
		pids+=("$!")
	done
	for i in "${pids[@]}"; do
		! wait "$i" || succeeded=$((succeeded + 1))
	done
	echo "$succeeded"
}

count_of() {
	cat "$TESTBED_DIR"/together.* | jq -s "[.[] | select($1)] | length"
}

set_own_limit() {
	weir limit set default --rate 1/h --capacity $((BASHPID % 1000 + 1000))
}

# Holding it open is what comes before.
waits_for_the_lock() {
	[ -n "$(find "/proc/$1/fd" -lname /sys/fs/bpf)" ]
}

# A capacity alone is for the rate in force by then, whichever of the two gets the lock first.
capacity_beside_a_new_rate() {
	local lock i set_pid attach_pid

	for i in {2..9}; do
		weir limit set default --rate 1/h --capacity 100 >/dev/null || return
		exec {lock}</sys/fs/bpf
		flock "$lock"
		"$WEIR" limit set default --rate "$i/h" --capacity 70 {lock}<&- >/dev/null &
		set_pid=$!
		testbed_until 10 waits_for_the_lock "$set_pid" || return
		"$WEIR" attach eth0 --netns "$server" --capacity 500 {lock}<&- >/dev/null 2>&1 &
		attach_pid=$!
		testbed_until 10 waits_for_the_lock "$attach_pid" || return
		exec {lock}<&-
		wait "$set_pid" && wait "$attach_pid" || return
		[ "$(weir limit list --json | jq -r '.limits[0].rate')" = "$i/h" ] || return
	done
}

# What it says must hold or be undone: no command fails after another, and no pin is half made.
attach_or_detach() {
	if [ $((BASHPID % 2)) -eq 0 ]; then
		attach --rate 1/h --capacity 100
	else
		weir detach eth0 --netns "$server"
	fi
}

# killed COMMAND...: with SIGKILL, after a random part of the time it takes.
killed() {
	local pid

	"$@" >/dev/null 2>&1 &
	pid=$!
	testbed_pause "0.0$(printf '%02d' $((RANDOM % 50)))"
	kill -KILL "$pid" 2>/dev/null || :
	wait "$pid" 2>/dev/null || :
}

attach_after_a_kill() {
	local i

	for i in {1..25}; do
		killed "$WEIR" attach eth0 --netns "$server" --rate 1/h --capacity 100
		attach --rate 1/h --capacity 100 || return
		killed "$WEIR" detach --all
		attach --rate 1/h --capacity 100 || return
		weir status >/dev/null || return
		weir detach --all || return
		[ ! -e "$TESTBED_PINS" ] || return
	done
}

limit_after_a_kill() {
	local i

	for i in {1..25}; do
		killed "$WEIR" limit set default --rate 1/h --capacity $((200 + i))
		weir limit set default --rate 1/h --capacity $((300 + i)) || return
		[ "$(weir limit list --json | jq '.limits[0].capacity')" -eq $((300 + i)) ] || return
		killed "$WEIR" attach eth0 --netns "$server"
	done
}

pair_open
tap_equal '20 attaches at once all succeed' 20 \
	"$(together 20 attach --rate 1/h --capacity 100 --json)"
tap_equal 'one of them is the first' '1 19' \
	"$(count_of '.attached == "new"') $(count_of '.attached == "replaced"')"
tap_equal 'and weir is attached once' 1 "$(from_status '.interfaces | length')"
rm "$TESTBED_DIR"/together.*
tap_equal '20 limits set at once all succeed' 20 "$(together 20 set_own_limit)"
tap_true 'and one of them is in force' "$(weir limit list --json | jq '.limits[0].capacity') >= 1000"
tap_check 'an attach with a capacity alone reverts no rate' capacity_beside_a_new_rate
rm "$TESTBED_DIR"/together.*
together 20 attach_or_detach >/dev/null
tap_check 'attaches and detaches at once leave a weir to attach' attach --rate 1/h --capacity 100
flood 198.51.100.7 --packets 1000 >/dev/null
tap_equal 'that limits' '100 900' "$(source_counts 198.51.100.7)"
tap_check 'limits and attaches after a killed one hold' limit_after_a_kill
tap_equal 'and no bucket was filled by them' 100 "$(weir show 198.51.100.7 --json | jq .passed)"
flood 198.51.100.7 --packets 1000 >/dev/null
tap_true 'nor by the packets after' "$(weir show 198.51.100.7 --json | jq .passed) <= 100"
weir detach --all >/dev/null
tap_check 'no attach or detach minds one killed before it' attach_after_a_kill
tap_check 'no pin is left' test ! -e "$TESTBED_PINS"
tap_finish
