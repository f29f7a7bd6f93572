#!/bin/bash
# SPDX-License-Identifier: MIT
# What is owed outlives workers, reloads, restarts and other sizes: under load, with the bucket
# empty, nobody gets a request more.

# shellcheck source-path=SCRIPTDIR source=nginx.sh
. "$(dirname "$0")/nginx.sh"

CAPACITY=200

# body [ENTRIES [MORE]]
body() {
	echo "
	log_format short '\$arg_key \$status';
	map \$status \$admitted { 429 ''; default 1; }
	weir_zone arg key=\$arg_key capacity=$CAPACITY rate=1/h entries=${1:-1k};
	${2:-}
	server {
		listen $PORT reuseport;
		access_log $NGINX_DIR/admitted short if=\$admitted;
		location / { weir arg; }
	}"
}

# How many passed, by the server's own account.
admitted() {
	grep -c -x -e "$1 200" "$NGINX_DIR/admitted" || :
}

# load_begin KEY: until load_end, which sets refused: how many were.
load_begin() {
	wrk -t 1 -c 16 -d 30 "$URL/ok?key=$1" >"$NGINX_DIR/wrk" 2>&1 &
	load_pid=$!
	wait_until 10 load_arrives "$1"
}

load_arrives() {
	[ "$(admitted "$1")" -ge "$CAPACITY" ]
}

load_end() {
	kill -INT "$load_pid" 2>/dev/null || :
	wait "$load_pid" || :
	refused=$(awk '/Non-2xx/ { print $NF }' "$NGINX_DIR/wrk")
}

zone_files() {
	find "$NGINX_ZONES" -type f -printf '%P %i %s\n' | sort
}

# Under load; the bucket of KEY is empty.
reload_often() {
	local times=4

	while [ $((times--)) -gt 0 ]; do
		nginx_reload || return
	done
}

# -t leaves the zones and the workers as they are.
test_changes_nothing() {
	local files workers

	files=$(zone_files) workers=$(nginx_workers)
	NGINX_NAME=main nginx_test || return
	nginx_test "$(body 4k 'weir_zone more key=$arg_key capacity=1 rate=1/s;')" || return
	[ "$(zone_files)" = "$files" ] && [ "$(nginx_workers)" = "$workers" ]
}

kill_workers() {
	local old pid times=3

	while [ $((times--)) -gt 0 ]; do
		old=$(nginx_workers)
		for pid in $old; do
			kill -KILL "$pid" || return
		done
		nginx_old_workers=$old
		wait_until 10 nginx_new_serve || return
	done
}

resize() {
	local size

	for size in 64 100k 2k 1k; do
		nginx_reload "$(body "$size")" || return
	done
}

restart() {
	nginx_stop QUIT
	nginx_launch
}

# A master killed outright leaves workers that serve on.
kill_master() {
	local pid workers

	workers=$(nginx_workers)
	nginx_stop KILL
	for pid in $workers; do
		kill "$pid"
		wait_until 10 nginx_is_gone "$pid"
	done
}

nginx_open
tap_check 'nginx -t before the first start' nginx_test "$(body)"
tap_check 'makes no directory' test ! -e "$NGINX_ZONES"
tap_check 'a start does' nginx_start "$(body)"
tap_equal 'the zone is a file of root alone, below one nobody else may write to' '600 0 755' \
	"$(find "$NGINX_ZONES" -name arg -printf '%m %U') $(stat -c %a "$NGINX_ZONES")"

load_begin reload
tap_check 'four reloads under load' reload_often
load_end
tap_equal 'nobody gets a request more' $CAPACITY "$(admitted reload)"
tap_true 'while the others were refused' "${refused:-0} > 100"

load_begin tested
tap_check 'nginx -t under load changes no zone and no worker' test_changes_nothing
load_end
tap_equal 'and nobody gets a request more' $CAPACITY "$(admitted tested)"

load_begin killed
tap_check 'all workers are killed outright under load, three times' kill_workers
load_end
tap_equal 'what was owed is still owed' $CAPACITY "$(admitted killed)"
tap_equal 'and is lent once, exactly, to those who come after' '200 300 0' \
	"$(http_load --h1 -n 500 -c 20 "$URL/ok?key=after")"

# A key that owes little, and one in debt for each of several sizes.
http_statuses 30 '/ok?key=little' >/dev/null
load_begin resized
tap_check 'other sizes under load' resize
load_end
tap_equal 'carry the debt over' $CAPACITY "$(admitted resized)"
tap_equal 'of those that owe little too' '170 30 0' \
	"$(http_load --h1 -n 200 -c 8 "$URL/ok?key=little")"

tap_check 'a restart' restart
tap_equal 'keeps what is owed' '0 100 0' "$(http_load --h1 -n 100 -c 8 "$URL/ok?key=little")"
kill_master
tap_check 'and so does a start after the master was killed' nginx_launch
tap_equal 'with the same debt' '0 100 0' "$(http_load --h1 -n 100 -c 8 "$URL/ok?key=little")"
nginx_log_mark
tap_check 'another key' nginx_reload "$(body | sed 's/key=\$arg_key/key=\$arg_key\$uri/')"
tap_equal 'starts empty' '100 0 0' "$(http_load --h1 -n 100 -c 8 "$URL/ok?key=little")"
tap_equal 'with one notice' 1 "$(nginx_log_since | grep -c '\[notice\].*arg.*empty')"
tap_finish
