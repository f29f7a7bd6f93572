#!/bin/bash
# SPDX-License-Identifier: MIT
# A refused request's body is nobody's next request: connections stay in step, or end.

# shellcheck source-path=SCRIPTDIR source=nginx.sh
. "$(dirname "$0")/nginx.sh"

BODY=100000

are_in_step() {
	echo "$1"
	grep -qxE '(100 )?429:[0-9]+( closed| 200:5 200:5)?' <<<"$1"
}

# in_step SENTENCE REQUEST: refused, and what follows on the same connection is answered as itself,
# or the connection is at its end.
in_step() {
	tap_check "$1" are_in_step "$(python_client talk "$2" 'GET /free/ok' 'GET /free/ok')"
}

nginx_open
nginx_start "
	weir_zone one key=\$binary_remote_addr capacity=1 rate=1/h;
	weir_zone paged key=\$binary_remote_addr capacity=1 rate=1/h;
	log_format who '\$request';
	client_max_body_size 1m;
	server {
		listen $PORT;
		access_log $NGINX_DIR/access who;
		location /one/ { weir one; proxy_pass http://$BACKEND; }
		location /json/ { weir one; weir_body json; proxy_pass http://$BACKEND; }
		location /off/ { weir one; weir_body off; proxy_pass http://$BACKEND; }
		location /paged/ { weir one; error_page 429 = @page; proxy_pass http://$BACKEND; }
		location /read/ { weir one; error_page 429 = @read; proxy_pass http://$BACKEND; }
		location @read { proxy_pass http://$BACKEND; }
		location @page { root $NGINX_SITE; try_files /ok =500; }
		location /free/ { alias $NGINX_SITE/; }
		location /echo/ { proxy_pass http://$BACKEND; }
	}
	server {
		listen 8082 http2;
		location / { weir one; proxy_pass http://$BACKEND; }
		location /free/ { alias $NGINX_SITE/; }
	}
	$(backend 'client_max_body_size 1m;')"
http_status /one/x >/dev/null

for path in /one/x /json/x /off/x; do
	in_step "$path: a small body" "POST $path length 10"
	in_step "$path: a large body" "POST $path length $BODY"
	in_step "$path: a chunked body" "POST $path chunked $BODY"
	in_step "$path: an expected body" "POST $path expect $BODY"
	in_step "$path: no body" "POST $path length 0"
done
tap_equal 'no body was taken for a request' 0 "$(grep -c smuggled "$NGINX_DIR/access" || :)"
tap_equal 'pipelined requests are answered in turn' '200:5 429 200:5 429 200:5' \
	"$(python_client pipeline 'GET /free/ok' "POST /one/x length $BODY" 'GET /free/ok' \
		'GET /one/x' 'GET /free/ok' | sed 's/429:[0-9]*/429/g')"
tap_equal 'a refused HEAD has no body' '429:0 200:5' \
	"$(python_client talk 'HEAD /one/x' 'GET /free/ok')"
tap_equal 'pipelined too' '429:0 200:0 200:5' \
	"$(python_client pipeline 'HEAD /one/x' 'HEAD /free/ok' 'GET /free/ok')"
tap_equal 'what nothing limits has its body' '200:21 200:5' \
	"$(python_client talk "POST /echo/xx length $BODY" 'GET /free/ok')"
head -c $BODY /dev/zero >"$NGINX_DIR/upload"
tap_equal 'an error page that wants the body asks for it' 200 "$(http_status /read/x \
	--header 'Expect: 100-continue' --expect100-timeout 60 --max-time 20 \
	--data-binary "@$NGINX_DIR/upload")"
tap_equal 'refused uploads over HTTP/2 leave their connection in use' '0 50 0' \
	"$(http_load -n 50 -c 1 -m 4 -d "$NGINX_DIR/upload" http://127.0.0.1:8082/a)"
tap_equal 'no worker ended' 0 "$(grep -c 'exited on signal' "$(nginx_log)" || :)"
tap_finish
