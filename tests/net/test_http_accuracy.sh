#!/bin/bash
# SPDX-License-Identifier: MIT
# Under several times its rate a limit admits what it says, to 0.1 %, and never more.

# shellcheck source-path=SCRIPTDIR source=nginx.sh
. "$(dirname "$0")/nginx.sh"

RATE=5000
SECONDS_OFFERED=5
OFFERED_TIMES_MIN=3 # the rate; without a pause, so that more would change nothing
# Before whatever else the machine does: in a pause of 2 ms nothing is offered. A process that ran
# all the time would be held back by the kernel, and how many clients it takes for the load but not
# for that depends on what else runs: these are tried in turn.
FIRST=(chrt --fifo 1)
CLIENTS_TRIED=(1 2 3 4)

# offer KEY SECONDS CLIENTS: sets offered, admitted, and the seconds from the first to the last.
offer() {
	"${FIRST[@]}" taskset -c 0 wrk -t 1 -c "$3" -d "$2" "$URL/$1?key=$1" >"$NGINX_DIR/wrk" 2>&1
	offered=$(awk '/requests in/ { print $1 }' "$NGINX_DIR/wrk")
	read -r admitted seconds <<<"$(awk -v key="$1" '
		$1 == key { if (!count++) first = $2; last = $2 }
		END { printf "%d %.3f\n", count, last - first }' "$NGINX_DIR/admitted")"
}

# The log's clock ticks in milliseconds, so as much may be missing from seconds.
never_above() {
	awk "BEGIN { exit !($admitted <= $1 + $RATE * ($seconds + 0.002)) }"
}

due() {
	awk "BEGIN { print $1 + $RATE * $seconds }"
}

# accurate CAPACITY: in one of the tries; above in none.
accurate() {
	local clients key=bucket$1

	for clients in "${CLIENTS_TRIED[@]}"; do
		: >"$NGINX_DIR/admitted"
		nginx_reload "$(body "$clients")" || return
		offer "$key" "$SECONDS_OFFERED" "$clients"
		awk -v key="$key" -v offered="$offered" -v admitted="$admitted" -v seconds="$seconds" \
			-v due="$(due "$1")" 'BEGIN {
				off = (admitted - due) / due * 100
				printf "%s: offered %d, admitted %d of %.0f in %.3f s, %+.3f %%\n",
					key, offered, admitted, due, seconds, off
			}' | tee -a "$NGINX_DIR/figures"
		never_above "$1" || return
		[ "$offered" -ge $((OFFERED_TIMES_MIN * RATE * SECONDS_OFFERED)) ] || continue
		! awk "BEGIN { exit !($admitted >= $(due "$1") * 0.999) }" || return 0
	done
	return 1
}

# Another key expression: every try starts with a full bucket.
body() {
	echo "
	log_format short '\$arg_key \$msec';
	map \$status \$admitted { 429 ''; default 1; }
	weir_zone bucket10 key=\${arg_key}-$1 capacity=10 rate=$RATE/s;
	weir_zone bucket100 key=\${arg_key}-$1 capacity=100 rate=$RATE/s;
	weir_zone bucket1 key=\${arg_key}-$1 capacity=1 rate=$RATE/s;
	server {
		listen $PORT;
		access_log $NGINX_DIR/admitted short if=\$admitted;
		location /bucket10 { weir bucket10; weir_body json; try_files /ok =500; }
		location /bucket100 { weir bucket100; weir_body json; try_files /ok =500; }
		location /bucket1 { weir bucket1; weir_body json; try_files /ok =500; }
	}"
}

if ! "${FIRST[@]}" true 2>/dev/null; then
	tap_skip 'admitted is within 0.1 %' "no process may go before others here (chrt --fifo)"
	tap_finish
fi
NGINX_WORKERS=1
NGINX_BEFORE=("${FIRST[@]}" taskset -c $(($(nproc) - 1)))
nginx_open
nginx_start "$(body '')"
tap_check 'a capacity of 20 ms at the rate: within 0.1 %' accurate 100
tap_check 'a capacity of 2 ms at the rate: within 0.1 %' accurate 10
offer bucket1 2 1
tap_check 'a capacity of one is never above' never_above 1
tap_true 'nor far below' "$admitted > $RATE * $seconds / 2"
sed 's/^/# /' "$NGINX_DIR/figures"
tap_finish
