# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2034
# What the tests of other fronts share: the recipes of tests/net/fronts as they are published, the
# check service they ask, and an application behind them. Sourced.
#
#   check_start          the check service of fronts/check.conf, which takes underscores in header
#                        names too; whom it judged is in $JUDGED, a line "METHOD PATH ADDRESS STATUS
#                        CONNECTION" each
#   check_change [SED]   starts it again with this edit of check.conf, or with none
#   check_down, check_up ends it, and starts it again
#   check_hang, check_answer
#                        its connections are taken and nothing is said; and no longer so
#   client_new           asks from an address from now on that has its whole limit: $CLIENT
#   application_start    on $BACKEND: scripts/backend.py, and what is PUT below /stored/ is a file
#                        of $NGINX_DIR/stored; what it saw is in $SEEN, a line "METHOD TARGET" each
#   application_down, application_up
#   front_start NAME [open]
#                        a front on $PORT by its recipe, without or with its line for open; nginx
#                        has a directory /forbidden/ besides
#   front_stop
#   ask PATH [OPTION]    as http, from the client's address; the path as it is written
#   ask_status PATH [OPTION]
#   ask_fields PATH [OPTION]
#                        the status, and which of the fields it has
#   ask_seconds PATH [OPTION]
#                        "503 0.251": the status, and how long it took
#   seen_all             returns once what was asked is in $SEEN
#   seen_count PATH      how many requests below it the application has seen
#   repeat COUNT COMMAND...
#                        what it printed, counted: "3*200 1*429"
#   fields_of            reads an answer's head: "429 ratelimit-policy ratelimit retry-after"

# shellcheck source-path=SCRIPTDIR source=nginx.sh
. "$(dirname "${BASH_SOURCE[0]}")/nginx.sh"

FRONTS=$TESTBED_ROOT/tests/net/fronts
CHECK=http://127.0.0.1:8090
CHECK_ENVOY=http://127.0.0.1:8091
front_pid=
clients=0

fronts_open() {
	local file

	for file in caddy haproxy jq node; do
		command -v "$file" >/dev/null ||
			testbed_refuse "$file is missing: scripts/install-deps.sh"
	done
	nginx_open
	# All of it is then this machine's.
	ip address add 192.0.2.254/24 dev lo
	JUDGED=$NGINX_DIR/judged
	SEEN=$NGINX_DIR/seen
	JUDGED_FORMAT='log_format judged "$weir_method $weir_uri $weir_address $status $connection";'
	JUDGED_LOG="access_log $JUDGED judged;"
	: >"$JUDGED"
	: >"$SEEN"
}

check_start() {
	NGINX_NAME=check nginx_start "$(check_body)"
}

# Not by a reload, for which old workers wait as long as a front has dialled and said nothing.
check_change() {
	NGINX_NAME=check nginx_stop
	NGINX_NAME=check nginx_start "$(check_body "$@")"
}

# check_body [SED]
check_body() {
	echo "$JUDGED_FORMAT underscores_in_headers on;"
	sed -e "s|listen .*;|& $JUDGED_LOG|" -e "${1:-}" "$FRONTS/check.conf"
}

check_down() {
	NGINX_NAME=check nginx_stop QUIT
}

check_up() {
	NGINX_NAME=check nginx_launch
}

check_hang() {
	NGINX_NAME=check nginx_workers | xargs kill -STOP
}

check_answer() {
	NGINX_NAME=check nginx_workers | xargs kill -CONT
}

client_new() {
	clients=$((clients + 1))
	CLIENT=192.0.2.$clients
}

# nginx writes the log, since what the application says cannot tell what else it was asked.
application_start() {
	"$PYTHON" "$TESTBED_ROOT/scripts/backend.py" --listen 127.0.0.1:8082 >"$NGINX_DIR/backend" &
	wait_until "$NGINX_SECONDS_MAX" grep -q listening "$NGINX_DIR/backend"
	mkdir "$NGINX_DIR/stored"
	chown "${NGINX_USER/ /:}" "$NGINX_DIR/stored"
	NGINX_NAME=application nginx_start "
		log_format seen '\$request_method \$request_uri';
		server {
			listen $BACKEND;
			access_log $SEEN seen;
			location / { proxy_pass http://127.0.0.1:8082; }
			location /stored/ {
				root $NGINX_DIR;
				client_max_body_size 1m;
				client_body_temp_path $NGINX_DIR/stored/temp;
				dav_methods PUT;
			}
		}"
}

application_down() {
	NGINX_NAME=application nginx_stop
}

application_up() {
	NGINX_NAME=application nginx_launch
}

# The published file, with the line that is commented out by the word open, or without it.
front_recipe() {
	if [ "${2:-}" = open ]; then
		sed -E 's/(#|--) open: //' "$FRONTS/$1"
	else
		cat "$FRONTS/$1"
	fi
}

front_start() {
	local dir=$NGINX_DIR/front file

	mkdir -p "$dir" "$NGINX_SITE/forbidden"
	for file in Caddyfile haproxy.cfg weir.lua; do
		front_recipe "$file" "${2:-}" | sed 's|/etc/haproxy/weir.lua|weir.lua|' >"$dir/$file"
	done
	front_pid=
	case $1 in
	nginx*) NGINX_NAME=front nginx_start "$(front_nginx "$1.conf" "${2:-}")" ;;
	caddy) front_run "$dir" env HOME="$dir" caddy run --config Caddyfile --adapter caddyfile ;;
	haproxy) front_run "$dir" haproxy -db -f haproxy.cfg ;;
	esac
	wait_until "$NGINX_SECONDS_MAX" front_answers
}

# As published, and besides a location that nginx itself refuses after weir, and the log of what is
# judged here.
front_nginx() {
	echo "$JUDGED_FORMAT"
	front_recipe "$@" | sed "
		s|proxy_pass http://$BACKEND;|& location = /forbidden/ { root $NGINX_SITE; }|
		s|weir_check .*;|& log_subrequest on; $JUDGED_LOG|"
}

front_run() {
	(cd "$1" && exec "${@:2}") >>"$1/output" 2>&1 &
	front_pid=$!
}

front_answers() {
	curl --silent --output /dev/null "$URL/started"
}

front_stop() {
	if [ -n "$front_pid" ]; then
		kill "$front_pid"
		wait "$front_pid" || :
	else
		NGINX_NAME=front nginx_stop
	fi
	wait_until "$NGINX_SECONDS_MAX" front_is_silent
}

front_is_silent() {
	! front_answers
}

ask() {
	http "$1" --interface "$CLIENT" --path-as-is "${@:2}"
}

ask_status() {
	ask "$1" --output /dev/null --write-out '%{http_code}' "${@:2}"
}

fields_of() {
	tr -d '\r' | awk '
	/^HTTP/ { status = $2 }
	{ times[tolower($1)]++ }
	END {
		printf "%s", status
		count = split("ratelimit-policy ratelimit retry-after", names, " ")
		for (i = 1; i <= count; i++)
			if (times[names[i] ":"])
				printf " %s%s", names[i], (times[names[i] ":"] > 1 ? " twice" : "")
	}'
}

ask_fields() {
	ask "$1" --output /dev/null --dump-header - "${@:2}" | fields_of
}

seen_count() {
	grep -c " $1" "$SEEN" || :
}

# Once a later request is in the log, what is not in it will not come.
seen_all() {
	ask_status "/later/$CLIENT" >/dev/null
	wait_until 5 grep -q "/later/$CLIENT" "$SEEN"
}

ask_seconds() {
	ask "$1" --output /dev/null --write-out '%{http_code} %{time_total}\n' "${@:2}"
}

# What a command prints, without its end of line, COUNT times.
repeat() {
	local count=$1

	for _ in $(seq "$count"); do
		"${@:2}"
		echo
	done | uniq -c | awk '{ printf "%s%d*%s", sep, $1, $2; sep = " " }'
}
