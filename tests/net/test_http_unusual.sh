#!/bin/bash
# SPDX-License-Identifier: MIT
# Clients that do not wait for an answer, ways to a limit that lead through an error page, a worker
# that starts after a reload has failed.

# shellcheck source-path=SCRIPTDIR source=nginx.sh
. "$(dirname "$0")/nginx.sh"

H2_PORT=8082
RESETS=20
BIG=32M # more than the socket's buffers

odd_clients() {
	"$PYTHON" "$TESTBED_ROOT/tests/net/odd_clients.py" "$@"
}

log_has_lines() {
	[ -e "$1" ] && [ "$(wc -l <"$1")" -ge "$2" ]
}

# resets_counted PATH: what became of requests that were reset before nginx read them.
resets_counted() {
	local worker

	worker=$(nginx_workers)
	kill -STOP "$worker"
	odd_clients reset "$RESETS" "$PORT" "$1"
	kill -CONT "$worker"
	wait_until "$NGINX_SECONDS_MAX" log_has_lines "$NGINX_DIR/access" "$RESETS"
	cut -d ' ' -f 2 "$NGINX_DIR/access" | sort | uniq -c | xargs
}

worker_is_new() {
	local worker

	worker=$(nginx_workers)
	[ -n "$worker" ] && [ "$worker" != "$1" ]
}

# A configuration without zones, which nginx reads to its end and then cannot use.
reload_fails() {
	nginx_reload_begin "server { listen $PORT; listen 192.0.2.1:$H2_PORT; }"
	wait_until "$NGINX_SECONDS_MAX" nginx_says 'emerg.*bind'
}

worker_replaced() {
	local worker

	worker=$(nginx_workers)
	kill -KILL "$worker"
	wait_until "$NGINX_SECONDS_MAX" worker_is_new "$worker"
}

nginx_open
truncate -s "$BIG" "$NGINX_SITE/big"
NGINX_WORKERS=1
nginx_start "
	weir_zone address key=\$weir_address capacity=2 rate=1/h;
	weir_zone unread key=\$server_port capacity=1 rate=1/h;
	weir_zone fallback key=\$server_port capacity=1 rate=1/h;
	weir_zone paged key=\$server_port capacity=1 rate=1/h;
	weir_zone replaced key=\$server_port capacity=1 rate=1/h;
	log_format seen '\$uri \$weir_status \$weir_address';
	server {
		listen $PORT;
		location /reset/ {
			access_log $NGINX_DIR/access seen;
			try_files /none /redirected/x;
		}
		location /redirected/ {
			access_log $NGINX_DIR/access seen;
			weir address;
			proxy_ignore_client_abort on;
			proxy_pass http://$BACKEND;
		}
		location /missing/ { error_page 404 /fallback/x; }
		location /fallback/ { weir fallback; proxy_pass http://$BACKEND; }
		location /absent/ { error_page 404 /paged/x; }
		location /replaced/ { weir replaced; alias $NGINX_SITE/; }
		location /paged/ { weir paged; error_page 429 /ok; proxy_pass http://$BACKEND; }
	}
	server {
		listen $H2_PORT http2;
		location = /big {}
		location /unread/ { weir unread; proxy_pass http://$BACKEND; }
	}
	$(backend)
"

tap_equal 'a client that resets before a redirect leads to its limit is limited' \
	"2 PASSED 18 REFUSED" "$(resets_counted /reset/x)"
tap_equal 'its address is known' 127.0.0.1 \
	"$(cut -d ' ' -f 3 "$NGINX_DIR/access" | sort -u | xargs)"
tap_equal 'over HTTP/2 who reads late gets the body of each 429' 'ended ended ended' \
	"$(odd_clients unread "$H2_PORT" /big /unread/1 /unread/2 /unread/3)"
tap_equal 'an error page passes with its own status and is refused with 429' '404 429' \
	"$(http_status /missing/none) $(http_status /missing/none)"
http_status /absent/none >/dev/null
tap_equal 'where nginx takes no error page for a refusal, the body is ours' 'application/problem+json' \
	"$(http_field content-type /absent/none)"
tap_check 'a reload without zones fails' reload_fails
tap_check 'a worker that is killed is replaced' worker_replaced
tap_equal 'it says when to come back' 3600 \
	"$(http_field retry-after /replaced/ok >/dev/null; http_field retry-after /replaced/ok)"
tap_finish
