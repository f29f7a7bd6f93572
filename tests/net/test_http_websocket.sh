#!/bin/bash
# SPDX-License-Identifier: MIT
# WebSockets through nginx: the handshake is a request and counts, what follows on it does not.

# shellcheck source-path=SCRIPTDIR source=nginx.sh
. "$(dirname "$0")/nginx.sh"

SOCKETS=127.0.0.1:8083
# Of a wait a few seconds may have gone by.
HOURS_ROUNDED='s/\b359[0-9]\b/3600/g; s/\b719[0-9]\b/7200/g'
TALK_SECONDS_MAX=60

websocket() {
	timeout $TALK_SECONDS_MAX node "$TESTBED_ROOT/tests/npm/websocket.mjs" "$@"
}

serve() {
	websocket serve "${SOCKETS#*:}" >"$NGINX_DIR/server" 2>&1 &
	wait_until "$NGINX_SECONDS_MAX" grep -q ready "$NGINX_DIR/server"
}

# talk WORD...: the answers, in one line.
talk() {
	websocket talk $PORT "$@" | sed "$HOURS_ROUNDED" | paste -sd'|'
}

# counts ZONE: what passed it, what it refused, and what was refused by a ban.
counts() {
	"$TESTBED_ROOT/build/weir" http zones --dir "$NGINX_ZONES" --json |
		jq -r ".zones[] | select(.zone == \"$1\") | \"\(.passed) \(.refused) \(.banned)\""
}

# logged ZONE: how many of its requests were answered so.
logged() {
	sed -n "s|^/$1/ ||p" "$NGINX_DIR/access" | sort | uniq -c | awk '{ $1 = $1; print }' |
		paste -sd'|'
}

logged_is() {
	[ "$(logged "$1")" = "$2" ]
}

for file in node jq; do
	command -v "$file" >/dev/null || testbed_refuse "$file is missing: scripts/install-deps.sh"
done
[ -d "$TESTBED_ROOT/build/npm/node_modules/ws" ] ||
	testbed_refuse "build/npm is missing: run make tests"

nginx_open
serve
nginx_start "
	weir_zone refused key=\$binary_remote_addr capacity=2 rate=1/h;
	weir_zone messages key=\$binary_remote_addr capacity=2 rate=1/h;
	weir_zone banned key=\$weir_address capacity=2 rate=1/h;
	weir_penalty banned refusals=2 within=60s ban=2h max=24h;
	log_format sockets '\$uri \$status \$weir_status';
	map \$http_upgrade \$connection_upgrade { default upgrade; '' close; }
	server {
		listen $PORT;
		access_log $NGINX_DIR/access sockets;
		proxy_http_version 1.1;
		proxy_set_header Upgrade \$http_upgrade;
		proxy_set_header Connection \$connection_upgrade;
		location /refused/ { weir refused; proxy_pass http://$SOCKETS; }
		location /messages/ { weir messages; proxy_pass http://$SOCKETS; }
		location /banned/ { weir banned; proxy_pass http://$SOCKETS; }
	}"

tap_equal 'two handshakes pass and say so, the third is refused and told when to come' \
	'open "refused";r=1;t=3600|open "refused";r=0;t=3600|429 3600|closed 2' \
	"$(talk open:/refused/ open:/refused/ open:/refused/ close)"
tap_equal 'that is what the zone counted' '2 1 0' "$(counts refused)"
tap_check 'and what the log says' wait_until "$NGINX_SECONDS_MAX" \
	logged_is refused '2 101 PASSED|1 429 REFUSED'

# Between the handshakes, of which the second would not pass if any message had counted.
tap_equal 'a thousand messages count nothing' \
	'open "messages";r=1;t=3600|1000|open "messages";r=0;t=3600|2000|closed 2' \
	"$(talk open:/messages/ echo:1000 open:/messages/ echo:1000 close)"
tap_equal 'nor does the zone know of them' '2 0 0' "$(counts messages)"

tap_equal 'open sockets are not touched while their address is refused, nor while it is banned' \
	'open "banned";r=1;t=3600|open "banned";r=0;t=3600|429 3600|200|429 7200|429 7200|2000|closed 2' \
	"$(talk open:/banned/ open:/banned/ open:/banned/ echo:100 open:/banned/ open:/banned/ \
		echo:1000 close)"
tap_equal 'two refusals made the ban, which refused the last handshake' '2 2 1' "$(counts banned)"
tap_check 'the log tells them apart' wait_until "$NGINX_SECONDS_MAX" \
	logged_is banned '2 101 PASSED|2 429 BANNED|1 429 REFUSED'
tap_equal 'no worker ended' 0 "$(grep -c 'exited on signal' "$(nginx_log)" || :)"
tap_finish
