#!/bin/bash
# SPDX-License-Identifier: MIT
# What a client sees that asks too often: five requests pass, the sixth is a 429 that says when to
# come back, and that is right to the second. Checks what it shows; all of it is gone at the end.
set -euo pipefail

# As root in a network namespace of its own, where nobody else has the ports.
if [ "$(id -u)" -eq 0 ] && [ -z "${DEMO_APART:-}" ]; then
	DEMO_APART=1 exec unshare --net -- bash "$0" "$@"
fi

# shellcheck source-path=SCRIPTDIR source=testbed.sh
. "$(dirname "$0")/testbed.sh"

CAPACITY=5
RATE=20/min # one in 3 s
RETRY_AFTER=3
START_SECONDS_MAX=10

pids=()
differences=0

demo_open() {
	local tool

	for tool in nginx curl python3; do
		PATH=$PATH:/usr/sbin command -v "$tool" >/dev/null ||
			testbed_refuse "$tool is missing: scripts/install-deps.sh"
	done
	[ -x "$WEIR" ] || testbed_refuse "$WEIR is missing: run make"
	trap demo_close EXIT
	trap 'trap "" INT TERM HUP; exit 130' INT
	trap 'trap "" INT TERM HUP; exit 143' TERM
	trap 'trap "" INT TERM HUP; exit 129' HUP
	DEMO_DIR=$(mktemp -d)
	[ -z "${DEMO_APART:-}" ] || ip link set lo up
}

demo_close() {
	local status=$?

	set +e
	trap '' INT TERM HUP
	[ ${#pids[@]} -eq 0 ] || kill "${pids[@]}" 2>/dev/null
	wait
	rm -rf "${DEMO_DIR:-}"
	exit "$status"
}

# start NAME COMMAND...: in the background; it prints to files of that name.
start() {
	local name=$1

	shift
	"$@" >"$DEMO_DIR/$name.out" 2>"$DEMO_DIR/$name.err" &
	pids+=("$!")
}

free_port() {
	/usr/bin/python3 -c 'import socket
with socket.socket() as s:
	s.bind(("127.0.0.1", 0))
	print(s.getsockname()[1])'
}

start_backend() {
	start backend "$TESTBED_ROOT/scripts/backend.py"
	testbed_until $START_SECONDS_MAX grep -qs listening "$DEMO_DIR/backend.out" ||
		testbed_refuse "the backend says: $(cat "$DEMO_DIR/backend.err")"
	backend=$(cut -d ' ' -f 2 "$DEMO_DIR/backend.out")
}

# On a path without a limit.
front_answers() {
	kill -0 "${pids[-1]}" 2>/dev/null || return 0
	curl -s -o /dev/null --max-time 1 "http://$front/"
}

start_front() {
	local -a words=(http run --listen "$front" --upstream "$backend" --limit "/login $CAPACITY $RATE")

	printf "\$ weir %s '%s'\n" "${words[*]:0:7}" "${words[7]}"
	start front "$WEIR" "${words[@]}"
	testbed_until $START_SECONDS_MAX front_answers
	curl -s -o /dev/null --max-time 1 "http://$front/" ||
		testbed_refuse "nginx says: $(cat "$DEMO_DIR/front.err")"
	cat "$DEMO_DIR/front.err"
	zones=$(sed -n "s/.*--dir '\(.*\)'$/\1/p" "$DEMO_DIR/front.err")
}

# expect WHAT PATTERN TEXT: the demo fails in the end where it differs.
expect() {
	[[ $3 =~ $2 ]] && return
	differences=$((differences + 1))
	echo "  ^ $1 should be like $2, and is: $3"
}

# request PATH: prints a line for each that the path's [N-M] makes, on one connection: the status, and
# the fields that matter.
request() {
	curl -s --max-time 5 -o "$DEMO_DIR/body" -w \
		'%{http_code}  RateLimit: %header{ratelimit}  Retry-After: %header{retry-after}\n' \
		"http://$front$1" | sed -e 's/  Retry-After: $//'
}

# show TITLE STATUS REMAINING ANSWER
show() {
	printf '%6s  %s\n' "$1" "$4"
	expect 'the answer' "^$2  RateLimit: \"login\";r=$3(;|\$|  )" "$4"
}

# Both within much less than a second, or Retry-After would tell of it.
request_all() {
	mapfile -t passing < <(request "/login?[1-$CAPACITY]")
	refusal=$(curl -s -i --max-time 5 "http://$front/login" | tr -d '\r')
	refused_at=$EPOCHREALTIME
}

show_passing() {
	local number

	echo
	for ((number = 1; number <= CAPACITY; number++)); do
		show "$number" 200 $((CAPACITY - number)) "${passing[number - 1]:-nothing}"
	done
}

show_refusal() {
	echo
	echo "\$ curl -i http://$front/login"
	echo "$refusal"
	expect 'the status' '^HTTP/1.1 429 ' "$refusal"
	expect 'Retry-After' $'\n'"Retry-After: $RETRY_AFTER"$'\n' "$refusal"
	expect 'RateLimit-Policy' $'\n''RateLimit-Policy: "login";q=5;w=15'$'\n' "$refusal"
	expect 'the type' $'\n''Content-Type: application/problem\+json' "$refusal"
	expect 'the body' '"violated-policies":\["login"\]' "$refusal"
}

# wait_until_after SECONDS: since the refusal.
wait_until_after() {
	testbed_pause "$(awk "BEGIN {
		left = $refused_at + $1 - $EPOCHREALTIME; print(left > 0.001 ? left : 0.001) }")"
}

show_return() {
	echo
	echo "Retry-After is $RETRY_AFTER s. That many seconds less one after the refusal, and then that many:"
	wait_until_after $((RETRY_AFTER - 1))
	show "$((RETRY_AFTER - 1)) s" 429 0 "$(request /login)"
	wait_until_after $RETRY_AFTER
	show "$RETRY_AFTER s" 200 0 "$(request /login)"
}

# look WORD...: a command that reads the zones; it finds the one that there is.
look() {
	local printed

	echo
	echo "\$ weir $*"
	printed=$("$WEIR" "$@" 2>&1) || differences=$((differences + 1))
	echo "$printed"
	expect 'the zone' 'login' "$printed"
}

demo_open
front=127.0.0.1:$(free_port)
start_backend
start_front
request_all
show_passing
show_refusal
show_return
look http zones --dir "$zones"
look http show login 127.0.0.1 --dir "$zones"
echo
if [ $differences -gt 0 ]; then
	echo "demo-http: $differences differences from what it should show"
	exit 1
fi
echo "All as it should be."
