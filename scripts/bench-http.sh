#!/bin/bash
# SPDX-License-Identifier: MIT
# What a limit costs a web server: CPU time a request and requests a second, of nginx without one,
# with its own, with weir, of HAProxy and of express-rate-limit, in one run. And how many requests
# a limit lets through beside how many it should. The server has one CPU, the load the other.
#
# ROUNDS (5) rounds of SECONDS_EACH (2) for every row, in turn, and half as many of limits.
set -euo pipefail

# A tmpfs for the zones, as /run is: a file on a disk is written back as it changes.
[ -n "${BENCH_APART:-}" ] || BENCH_APART=1 exec unshare --mount -- bash "$0" "$@"

# shellcheck source-path=SCRIPTDIR source=../tests/net/nginx.sh
. "$(dirname "${BASH_SOURCE[0]}")/../tests/net/nginx.sh"

ROUNDS=${ROUNDS:-5}
SECONDS_EACH=${SECONDS_EACH:-2}
SECONDS_LIMITED=5
CLIENTS=32
CLIENTS_LIMITED=3 # enough for several times the rate, without keeping a CPU from the server
RATE=5000
BURST=100
NODE_RATE=500 # it answers 5,000 a second and less
SERVER_CPU=$(($(nproc) - 1))
LOAD_CPU=0
HAPROXY_PORT=8070
NODE_PORT=8071
BENCH=$TESTBED_ROOT/tests/bench/http

# label | server | port | path | keys: so many clients, or what else is asked (load.lua)
rows() {
	cat <<-END
	nginx, no limit                 |main   |$PORT|/plain|0
	nginx, limit_req                |main   |$PORT|/limit_req|0
	nginx, weir, headers off        |main   |$PORT|/off|0
	nginx, weir, headers on         |main   |$PORT|/on|0
	nginx, weir, three zones, off   |main   |$PORT|/three-off|0
	nginx, weir, three zones, on    |main   |$PORT|/three|0
	nginx, a proxied 200            |main   |$PORT|/proxied|0
	nginx, limit_req: 429           |main   |$PORT|/limit_req-429|0
	nginx, weir: 429                |main   |$PORT|/429|0
	nginx, weir: 429, headers off   |main   |$PORT|/429-off|0
	nginx, weir: banned             |main   |$PORT|/banned|0
	POST: no limit, proxied         |main   |$PORT|/form-plain|form
	POST: weir by address           |main   |$PORT|/form-address|form
	POST: weir by a form's field    |main   |$PORT|/form-field|form
	POST: weir by a member of JSON  |main   |$PORT|/form-field|json
	check service: nothing limited  |main   |$PORT|/check|check
	check service: for a front      |main   |$PORT|/check|check-limited
	check service: refused          |main   |$PORT|/check|check-refused
	check service: for an app       |main   |$PORT|/app|app
	X-Forwarded-For: no limit       |main   |$PORT|/plain|10000
	X-Forwarded-For: limit_req, 10k |main   |$PORT|/limit_req-key|10000
	X-Forwarded-For: weir, 1 key    |main   |$PORT|/key|1
	X-Forwarded-For: weir, 10k keys |main   |$PORT|/key|10000
	X-Forwarded-For: weir, 1M keys  |main   |$PORT|/key|1000000
	HAProxy, no limit               |haproxy|$HAPROXY_PORT|/plain|0
	HAProxy, stick table            |haproxy|$HAPROXY_PORT|/allow|0
	HAProxy, stick table: 429       |haproxy|$HAPROXY_PORT|/refuse|0
	express, no limit               |node   |$NODE_PORT|/plain|0
	express-rate-limit              |node   |$NODE_PORT|/allow|0
	express-rate-limit: 429         |node   |$NODE_PORT|/refuse|0
	END
}

# label | server | port | path | rate | capacity, or windows: so many in each second of a clock.
limited_rows() {
	cat <<-END
	nginx, weir, token bucket of $BURST  |main|$PORT|/limited|$RATE|$BURST
	nginx, weir, two of them        |main|$PORT|/limited-two|$RATE|$BURST
	nginx, limit_req, burst=$((BURST - 1))     |main|$PORT|/limit_req-limited|$RATE|$BURST
	nginx, limit_req, no burst      |main|$PORT|/limit_req-bare|$RATE|1
	HAProxy, stick table            |haproxy|$HAPROXY_PORT|/limited|$RATE|0
	express-rate-limit              |node|$NODE_PORT|/limited|$NODE_RATE|windows
	END
}

nginx_body() {
	local room='capacity=1M rate=1M/s'
	local proxied="proxy_pass http://behind; proxy_http_version 1.1;
		proxy_set_header Connection '';"

	cat <<-END
	weir_address x-forwarded-for from=127.0.0.1;
	weir_zone a key=\$weir_address $room;
	weir_zone b key=\$weir_address $room;
	weir_zone c key=\$weir_address $room;
	weir_zone keys key=\$weir_address $room entries=2M;
	weir_zone never key=\$weir_address capacity=1 rate=1/h;
	weir_zone banned key=\$weir_address capacity=1 rate=1/h;
	weir_penalty banned refusals=1 within=1m ban=1h max=1h;
	weir_form_field \$account username;
	weir_zone account key=\$account $room;
	weir_zone limited key=\$weir_address capacity=$BURST rate=$RATE/s;
	weir_zone two key=\$weir_address capacity=$BURST rate=$RATE/s;
	limit_req_zone \$binary_remote_addr zone=l:10m rate=1000000r/s;
	limit_req_zone \$http_x_forwarded_for zone=k:64m rate=1000000r/s;
	limit_req_zone \$binary_remote_addr zone=n:10m rate=1r/m;
	limit_req_zone \$binary_remote_addr zone=r:10m rate=${RATE}r/s;
	limit_req_zone \$binary_remote_addr zone=s:10m rate=${RATE}r/s;
	limit_req_status 429;
	limit_req_log_level info;
	weir_log_level info;
	weir_body json;
	keepalive_timeout 1h;
	upstream behind { server $BACKEND; keepalive 64; }
	server {
		listen $PORT;
		location /plain { empty_gif; }
		location /limit_req { limit_req zone=l burst=1000000 nodelay; empty_gif; }
		location /limit_req-key { limit_req zone=k burst=1000000 nodelay; empty_gif; }
		location /limit_req-429 { limit_req zone=n; empty_gif; }
		location /limit_req-limited {
			limit_req zone=r burst=$((BURST - 1)) nodelay;
			empty_gif;
		}
		location /limit_req-bare { limit_req zone=s; empty_gif; }
		location /off { weir a; weir_headers off; empty_gif; }
		location /on { weir a; empty_gif; }
		location /three-off { weir a; weir b; weir c; weir_headers off; empty_gif; }
		location /three { weir a; weir b; weir c; empty_gif; }
		location /key { weir keys; weir_headers off; empty_gif; }
		location /429 { weir never; empty_gif; }
		location /banned { weir banned; empty_gif; }
		location /form-plain { $proxied }
		location /form-address { weir a; weir_headers off; $proxied }
		location /form-field { weir account; weir_headers off; $proxied }
		location = /check {
			weir_check caddy from=127.0.0.1;
			weir_route /limited a;
			weir_route /refused never;
		}
		location = /app { weir_check app from=127.0.0.1; }
		location /429-off { weir never; weir_headers off; weir_body off; empty_gif; }
		location /limited { weir limited; empty_gif; }
		location /limited-two { weir limited; weir two; empty_gif; }
		location /proxied { $proxied }
	}
	END
}

haproxy_start() {
	cat >"$NGINX_DIR/haproxy.cfg" <<-END
	global
		nbthread 1
		maxconn 4000
	defaults
		mode http
		timeout client 1m
		timeout server 1m
		timeout connect 1s
	frontend all
		bind 127.0.0.1:$HAPROXY_PORT
		acl plain path /plain
		http-request track-sc0 src table wide if { path /allow }
		http-request track-sc0 src table hour if { path /refuse }
		http-request track-sc0 src table second if { path /limited }
		http-request deny status 429 if { path /allow } { sc0_http_req_rate gt 1000000 }
		http-request deny status 429 if { path /refuse } { sc0_http_req_rate gt 1 }
		http-request deny status 429 if { path /limited } { sc0_http_req_rate gt $RATE }
		http-request return status 200 content-type text/plain string fine
	backend wide
		stick-table type ip size 1m expire 1h store http_req_rate(1s)
	backend hour
		stick-table type ip size 1m expire 1h store http_req_rate(1h)
	backend second
		stick-table type ip size 1m expire 1h store http_req_rate(1s)
	END
	taskset -c "$SERVER_CPU" haproxy -db -f "$NGINX_DIR/haproxy.cfg" \
		>"$NGINX_DIR/haproxy.log" 2>&1 &
	pids[haproxy]=$!
}

servers_start() {
	declare -gA pids

	NGINX_NAME=behind NGINX_BEFORE=(taskset -c "$LOAD_CPU")
	nginx_start "keepalive_timeout 1h; server {
		listen $BACKEND;
		location / { empty_gif; }
		location /form { return 200; }
	}"
	NGINX_NAME=main NGINX_BEFORE=(taskset -c "$SERVER_CPU")
	nginx_start "$(nginx_body)"
	pids[main]=$(nginx_workers)
	haproxy_start
	NODE_ENV=production taskset -c "$SERVER_CPU" node "$BENCH/express.mjs" $NODE_PORT &
	pids[node]=$!
	wait_until 10 curl -s -o /dev/null "http://127.0.0.1:$NODE_PORT/plain"
	wait_until 10 curl -s -o /dev/null "http://127.0.0.1:$HAPROXY_PORT/plain"
}

# cpu_ns PID: what all its threads have run.
cpu_ns() {
	cat "/proc/$1"/task/*/schedstat | awk '{ sum += $1 } END { printf "%.0f", sum }'
}

# load PORT PATH KEYS SECONDS CLIENTS: keys as in rows; prints how many were answered, how many of them not by 200,
# and in how many microseconds.
load() {
	KEYS=$3 taskset -c "$LOAD_CPU" wrk -t 1 -c "$5" -d "$4" -s "$BENCH/load.lua" \
		"http://127.0.0.1:$1$2" | awk '/^counted/ { print $2, $3, $4 }'
}

# measure LABEL SERVER PORT PATH KEYS: appends "label|ns a request|requests a second|share of 429".
measure() {
	local before after requests refused micros

	before=$(cpu_ns "${pids[$2]}")
	read -r requests refused micros <<<"$(load "$3" "$4" "$5" "$SECONDS_EACH" $CLIENTS)"
	after=$(cpu_ns "${pids[$2]}")
	awk -v label="$1" -v ns=$((after - before)) -v requests="$requests" -v refused="$refused" \
		-v micros="$micros" 'BEGIN { printf "%s|%.0f|%.0f|%.4f\n", label, ns / requests,
			requests * 1e6 / micros, refused / requests }' >>"$NGINX_DIR/costs"
}

# limited_measure LABEL SERVER PORT PATH RATE CAPACITY. Both ends run before whatever else the
# machine does: a pause of theirs would be one of the load, and what it left unused is lost. Of
# windows, all between the whole ones in that time and one more is right.
limited_measure() {
	local requests refused micros

	chrt --fifo --all-tasks --pid 1 "${pids[$2]}"
	read -r requests refused micros <<<"$(chrt --fifo 1 "$BASH" -c "$(declare -f load)
		LOAD_CPU=$LOAD_CPU BENCH=$BENCH load $3 $4 0 $SECONDS_LIMITED $CLIENTS_LIMITED")"
	chrt --other --all-tasks --pid 0 "${pids[$2]}"
	awk -v label="$1" -v rate="$5" -v capacity="$6" -v requests="$requests" \
		-v refused="$refused" -v micros="$micros" 'BEGIN {
			seconds = micros / 1e6
			admitted = due = requests - refused
			windows = capacity == "windows"
			least = windows ? rate * int(seconds) : capacity + rate * seconds
			most = least + (windows ? rate : 0)
			if (due < least) due = least
			if (due > most) due = most
			printf "%s|%d|%d|%d\n", label, requests, admitted, due
		}' >>"$NGINX_DIR/limits"
}

trimmed() {
	sed 's/ *| */|/g'
}

# Each row's medians over the rounds. more and ratio: beside the first row of the same kind in the
# same round, since a machine's speed changes from round to round.
costs_print() {
	trimmed <"$NGINX_DIR/costs" | awk -F'|' '
	function median(values, count,    i, j, held) {
		for (i = 2; i <= count; i++)
			for (j = i; j > 1 && values[j - 1] > values[j]; j--) {
				held = values[j]
				values[j] = values[j - 1]
				values[j - 1] = held
			}
		return values[int((count + 1) / 2)]
	}
	{
		if (!count[$1]++) order[++rows] = $1
		cost[$1, count[$1]] = $2 / 1000
		if ($3 > most[$1]) most[$1] = $3
		refused[$1] = $4
	}
	END {
		printf "%-32s %8s %8s %7s %9s %6s\n", "", "CPU us", "more", "ratio", "a second", "429"
		for (r = 1; r <= rows; r++) {
			label = kind = order[r]
			sub(/[,:].*|-rate.*/, "", kind)
			if (!(kind in base)) base[kind] = label
			for (i = 1; i <= count[label]; i++) {
				plain = cost[base[kind], i]
				costs[i] = cost[label, i]
				more[i] = costs[i] - plain
				ratio[i] = costs[i] / plain
			}
			printf "%-32s %8.2f %+8.2f %7.2f %9.0f %5.0f%%\n", label,
				median(costs, count[label]), median(more, count[label]),
				median(ratio, count[label]), most[label], refused[label] * 100
		}
	}'
}

limits_print() {
	trimmed <"$NGINX_DIR/limits" | awk -F'|' '
	{
		off = ($3 - $4) / $4 * 100
		if (!($1 in best)) order[++rows] = $1
		if (!($1 in best) || off * off < best[$1] * best[$1]) {
			best[$1] = off; line[$1] = sprintf("%9d %9d %9d", $2, $3, $4)
		}
		if (!($1 in worst) || off * off > worst[$1] * worst[$1]) worst[$1] = off
	}
	END {
		printf "%-32s %9s %9s %9s %9s %9s\n", "", "offered", "admitted", "due", "best",
			"worst"
		for (r = 1; r <= rows; r++)
			printf "%-32s %s %+8.3f%% %+8.3f%%\n", order[r], line[order[r]],
				best[order[r]], worst[order[r]]
	}'
}

main() {
	local round label server port path keys rate capacity

	NGINX_WORKERS=1 NGINX_LEVEL=error
	nginx_open
	NGINX_MOUNT=$NGINX_ZONES
	mkdir "$NGINX_MOUNT"
	mount -t tmpfs -o mode=755 tmpfs "$NGINX_MOUNT"
	servers_start
	for ((round = 1; round <= ROUNDS; round++)); do
		echo "round $round of $ROUNDS" >&2
		while IFS='|' read -r label server port path keys; do
			measure "$label" "${server// /}" "$port" "$path" "$keys"
		done < <(rows)
		[ $((round % 2)) -eq 1 ] || continue
		while IFS='|' read -r label server port path rate capacity; do
			limited_measure "$label" "$server" "$port" "$path" "$rate" "$capacity"
		done < <(limited_rows)
	done
	echo "CPU time of the server a request; more and ratio: beside the first of its kind"
	costs_print
	echo
	echo "Requests let through in $SECONDS_LIMITED s under several times the rate"
	limits_print
}

main
