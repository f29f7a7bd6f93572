#!/bin/bash
# SPDX-License-Identifier: MIT
# An honest client and a flood share a server's link: what the client gets without weir, and what
# it gets with it. All of it in namespaces of its own, gone at the end.
#
#   client --+                        The switch forwards by XDP, so that the flood reaches the
#            switch -- web0 (server)  server whole. The flood has one CPU, the server's stack
#   flooder -+                        another.
set -euo pipefail

# shellcheck source-path=SCRIPTDIR source=testbed.sh
. "$(dirname "$0")/testbed.sh"

PHASE_SECONDS=8
PER_SECOND=20 # requests, and pings
INTERVAL_SECONDS=0.05
ANSWER_SECONDS_MAX=2
FLOOD_PER_SECOND=2000000
FLOOD_SOURCES=64
FLOOD_CPU=$(($(nproc) - 1))
RATE=500/s
CAPACITY=1k
CLIENT=192.0.2.1
SERVER=192.0.2.2

lay_out() {
	testbed_namespace client flooder switch server
	testbed_join client eth0 switch client
	testbed_join flooder eth0 switch flooder
	testbed_join server web0 switch server
	testbed_wire switch client server
	testbed_wire switch flooder server
	testbed_wire switch server client
	testbed_address client eth0 $CLIENT/24
	testbed_address server web0 $SERVER/24
	testbed_neighbour client eth0 $SERVER "$(testbed_mac server web0)"
	testbed_neighbour server web0 $CLIENT "$(testbed_mac client eth0)"
	# The way back to the flood's forged sources, or the server would not take their packets.
	testbed_in server ip route add default via $CLIENT
	firewall
	receive_on_cpu_0
}

# One rule and connection tracking, as most servers have.
firewall() {
	testbed_in server nft -f - <<'END'
table inet firewall {
	chain input {
		type filter hook input priority 0
		ct state established accept
	}
}
END
}

# What the stack does with a packet is then CPU 0's, however busy the flood keeps its own; what XDP
# does comes before. Receive packet steering, as servers use it to share out a card's queue.
receive_on_cpu_0() {
	testbed_in_sys server 'echo 1 >/sys/class/net/web0/queues/rx-0/rps_cpus'
}

serve() {
	local site=$TESTBED_DIR/site

	mkdir "$site"
	head -c 4096 /dev/zero | tr '\0' w >"$site/index.html"
	# Python's server asks for the host's full name, which no resolver in there could tell.
	cd "$site"
	testbed_start server /usr/bin/python3 -c "
import http.server, socket
socket.getfqdn = str
http.server.test(http.server.SimpleHTTPRequestHandler, http.server.ThreadingHTTPServer,
	port=80, bind='$SERVER')" >/dev/null 2>&1
	cd - >/dev/null
	testbed_until 10 testbed_in client curl -s -o /dev/null --max-time 1 http://$SERVER/ ||
		testbed_refuse "the web server does not answer"
}

# Before what else wants its CPU, as another machine's load would be; in a session of its own, since
# the scheduler shares out between sessions first.
FIRST='echo -10 2>/dev/null >/proc/self/autogroup; exec "$@"'

start_flood() {
	testbed_start flooder setsid sh -c "$FIRST" flood "$TESTBED_FLOOD" --dev eth0 --dst-mac "$(testbed_mac server web0)" \
		--dst-ip $SERVER --src-ip 198.51.100.1 --sources $FLOOD_SOURCES --dst-port 53 --many-ports \
		--rate $FLOOD_PER_SECOND --cpu $FLOOD_CPU \
		--seconds $((PHASE_SECONDS + ANSWER_SECONDS_MAX)) >"$TESTBED_DIR/flood"
	flood_pid=$!
}

# One request every interval, whether or not the ones before were answered.
request_steadily() {
	local count=$((PHASE_SECONDS * PER_SECOND)) i
	local -a pids=()

	: >"$TESTBED_DIR/requests"
	for ((i = 0; i < count; i++)); do
		testbed_start client curl -s -o /dev/null --max-time $ANSWER_SECONDS_MAX \
			-w '%{http_code} %{time_total}\n' http://$SERVER/ >>"$TESTBED_DIR/requests"
		pids+=("$!")
		testbed_pause $INTERVAL_SECONDS
	done
	wait "${pids[@]}" || :
}

# percentile PER_CENT: of all requests in ms; those without an answer are slower than any.
percentile() {
	awk '{ print ($1 == 200 ? $2 * 1000 : 1e9) }' "$TESTBED_DIR/requests" | sort -n |
		awk -v rank="$1" '{ times[NR] = $1 } END {
			time = times[int((NR * rank + 99) / 100)]
			if (time < 1e9) printf "%.1f ms", time; else printf "no answer" }'
}

# phase NAME flooded|quiet: measures, and prints its row of the table.
phase() {
	local ping_pid flooded='-' answered total loss

	[ "$2" = quiet ] || start_flood
	testbed_start client ping -q -i $INTERVAL_SECONDS -W 1 \
		-c $((PHASE_SECONDS * PER_SECOND)) $SERVER >"$TESTBED_DIR/ping"
	ping_pid=$!
	request_steadily
	wait "$ping_pid" || :
	if [ "$2" = flooded ]; then
		wait "$flood_pid"
		flooded=$(jq '.sent / .seconds | round' "$TESTBED_DIR/flood")
	fi
	answered=$(grep -c '^200 ' "$TESTBED_DIR/requests" || :)
	total=$(wc -l <"$TESTBED_DIR/requests")
	loss=$(grep -o '[0-9.]*% packet loss' "$TESTBED_DIR/ping")
	printf "%-16s %12s %9s  %-10s %-10s %s\n" "$1" "$flooded" "$answered/$total" \
		"$(percentile 50)" "$(percentile 99)" "${loss% packet loss}"
}

limit() {
	echo "\$ weir attach web0 --netns $(testbed_name server) --mode native --rate $RATE --capacity $CAPACITY"
	"$WEIR" attach web0 --netns "$(testbed_name server)" --mode native --rate $RATE \
		--capacity $CAPACITY
}

look() {
	echo
	echo "\$ weir $*"
	"$WEIR" "$@"
}

testbed_open
# All but the flood, which would pause whenever one of the others ran beside it.
taskset -pc 0 $$ >/dev/null
lay_out
serve
cat <<END
An honest client makes $PER_SECOND requests and as many pings a second, for $PHASE_SECONDS s in each row;
a request has failed when there is no answer within $ANSWER_SECONDS_MAX s. The flood comes from $FLOOD_SOURCES sources.
END
echo
printf '%-16s %12s %9s  %-10s %-10s %s\n' '' 'flood pkt/s' 'answered' 'p50' 'p99' 'ping loss'
phase 'quiet' quiet
phase 'flood, no weir' flooded
limit >"$TESTBED_DIR/attach"
phase 'flood, weir' flooded
echo
cat "$TESTBED_DIR/attach"
look status
look sources --top 5
look show $CLIENT
