#!/bin/bash
# SPDX-License-Identifier: MIT
# Checks in the company of nginx's own ways: conditions, method limits, error pages, redirects; and
# form bodies that come chunked, pipelined, late or not to their end. The module's memory is watched
# by AddressSanitizer.

# shellcheck source-path=SCRIPTDIR source=nginx.sh
. "$(dirname "$0")/nginx.sh"

ASAN_MODULE=${ASAN_MODULE:-$TESTBED_ROOT/build/asan/ngx_http_weir_module.so}
ASKED=192.0.2.1 # who is asked about
TOLD=(-H "X-Envoy-External-Address: $ASKED")
TWO_OF_FIVE='200 200 429 429 429'

forms() {
	"$PYTHON" "$TESTBED_ROOT/tests/net/odd_clients.py" forms "$PORT" "$@"
}

# What sanitizers write ends the worker too.
sanitizers_are_silent() {
	[ "$(nginx_workers)" = "$workers" ] || return
	! grep -h -A 20 -e Sanitizer -e 'runtime error' "$(nginx_directory)/output" "$(nginx_log)"
}

# logged FIELD URI: once there is a line of it.
logged() {
	wait_until "$NGINX_SECONDS_MAX" grep -q "^$2 " "$NGINX_DIR/access" || return
	sed -n "s|^$2 .*$1=\([^ ]*\).*|\1|p" "$NGINX_DIR/access" | sort -u | xargs
}

# decided COUNT [OPTION]: what is decided of so many requests by the unix socket.
decided() {
	local _

	for _ in $(seq "$1"); do
		http_field Decided /named --unix-socket "$NGINX_DIR/socket" "${@:2}"
	done | xargs
}

# envoy_in LOCATION: how many warnings its check is worth.
envoy_in() {
	nginx_test "
		weir_zone zone key=\$weir_address capacity=2 rate=1/h;
		server { location $1 { weir_check envoy from=127.0.0.1; weir_route / zone; } }" |
		grep -c 'leads to other locations' || :
}

nginx_open
[ -e "$ASAN_MODULE" ] || testbed_refuse "$ASAN_MODULE is missing: run make tests"
NGINX_MODULE=$ASAN_MODULE
NGINX_BEFORE=(env
	"LD_PRELOAD=$(gcc -print-file-name=libasan.so) $(gcc -print-file-name=libubsan.so)"
	"ASAN_OPTIONS=detect_leaks=0:abort_on_error=1" "UBSAN_OPTIONS=print_stacktrace=1")
NGINX_WORKERS=1
mkdir "$NGINX_SITE/within"
echo index >"$NGINX_SITE/within/index.html"
nginx_start "
	weir_form_field \$login_name username;
	weir_zone condition key=\$weir_address capacity=2 rate=1/h;
	weir_zone methods key=\$weir_address capacity=2 rate=1/h;
	weir_zone wrong key=\$weir_address capacity=2 rate=1/h;
	weir_zone within key=\$weir_address capacity=2 rate=1/h;
	weir_zone absent key=\$weir_address capacity=2 rate=1/h;
	weir_address x-forwarded-for from=unix:;
	weir_zone named key=\$weir_address capacity=1 rate=1/h;
	weir_penalty named refusals=1 within=60s ban=60s max=60s;
	weir_zone abused key=\$weir_address capacity=1 rate=1/h;
	weir_penalty abused refusals=2 within=60s ban=60s max=60s;
	weir_zone login key=\$login_name capacity=2 rate=1/h;
	weir_zone asked key=\$weir_address capacity=9 rate=1/h;
	log_format told '\$uri address=\$weir_address code=\$status';
	client_body_timeout 1s;
	server {
		listen $PORT;
		listen unix:$NGINX_DIR/socket;
		access_log $NGINX_DIR/access told;
		add_header Decided \$weir_status always;
		location /condition/ {
			weir_check envoy from=127.0.0.1;
			weir_route / condition;
			if (\$arg_if) { set \$condition held; }
		}
		location /methods/ {
			weir_check envoy from=127.0.0.1;
			weir_route / methods;
			limit_except GET { allow all; }
		}
		location /abused/ { weir_check envoy from=127.0.0.1; weir_route / abused; }
		location = /abused-nginx { weir_check nginx from=127.0.0.1; weir_route / abused; }
		location /stranger/ {
			weir_check caddy from=192.0.2.1;
			weir_route / asked;
			error_page 400 /wrong;
		}
		location = /wrong { weir wrong; proxy_pass http://$BACKEND; }
		location = /app { weir_check app from=127.0.0.1; }
		location = /check/within { internal; weir_check nginx; weir_route / within; }
		location = /check/absent { internal; weir_check nginx; weir_route / absent methods=GET; }
		location /within/ { auth_request /check/within; }
		location /absent/ { auth_request /check/absent; error_page 404 /absent/page; }
		location = /absent/page { auth_request /check/absent; alias $NGINX_SITE/ok; }
		location /login/ { weir login; proxy_pass http://$BACKEND; }
		location /paged/ { weir login; error_page 429 /page; proxy_pass http://$BACKEND; }
		location = /page { return 429; }
		location = /named { weir named; proxy_pass http://$BACKEND; }
	}
	$(backend)"
workers=$(nginx_workers)

tap_equal 'a check answers where an "if" in its location holds, and charges' '2*200 3*429' \
	"$(http_statuses 5 '/condition/x?if=1' "${TOLD[@]}")"
tap_equal 'and the answer to all other methods is the same' '2*200 3*429' \
	"$(http_statuses 5 /methods/x -X POST "${TOLD[@]}")"
tap_equal 'who is refused too often by checks is banned' '200 PASSED 429 REFUSED 429 BANNED' "$(
	for _ in 1 2 3; do
		http_fields /abused/x "${TOLD[@]}" |
			sed -nE 's,^HTTP/1.1 ([0-9]+).*,\1,p; s/^decided: //Ip'
	done | xargs)"
tap_true 'the front is told what is left of the ban' \
	"$(http_field retry-after /abused/x "${TOLD[@]}") <= 60"
tap_equal 'fronts of other kinds as well' '403 0 true' "$(
	http /abused-nginx --output /dev/null --write-out '%{http_code} %{size_download} ' \
		-H 'X-Original-Method: GET' -H 'X-Original-URI: /' -H "X-Real-IP: $ASKED"
	http_field retry-after /abused-nginx -H 'X-Original-Method: GET' -H 'X-Original-URI: /' \
		-H "X-Real-IP: $ASKED" | jq '. <= 60')"
tap_equal 'and applications' 'false BANNED abused true' "$(
	http /app -d "{\"zones\":[\"abused\"],\"key\":\"$ASKED\"}" |
		jq -r '[.allowed, .status, .zone, .retry_after <= 60] | map(tostring) | join(" ")')"
tap_equal 'who asks a check wrongly is limited by the error page he is led to' '2*400 3*429' \
	"$(http_statuses 5 /stranger/x)"
tap_equal 'by his own address' 127.0.0.1 "$(logged address /wrong)"
http_status /app -d '{"zones":["asked"],"key":"192.0.2.9"}' >/dev/null
tap_equal 'an application that asks is not the address of its line in the log' - \
	"$(logged address /app)"
tap_equal 'a directory with an index is one request to auth_request' '2*200 3*403' \
	"$(http_statuses 5 /within/)"
tap_equal 'and so is what is not found and has an error page' '2*404 3*403' \
	"$(http_statuses 5 /absent/x)"
tap_equal 'of which no other method is asked about than the client'\''s' '5*404' \
	"$(http_statuses 5 /absent/x -d '')"

tap_equal 'of a unix socket, those whom nobody names are refused, but not banned' \
	'PASSED REFUSED REFUSED' "$(decided 3)"
tap_equal 'and who is named is banned alone' 'PASSED BANNED BANNED' \
	"$(decided 3 -H 'X-Forwarded-For: 192.0.2.5')"

tap_equal 'nginx -t warns of a check for Envoy that a path with ".." leads out of' '1 0' \
	"$(envoy_in /check/) $(envoy_in /)"

tap_equal 'forms in a pipeline are answered each and in step' "$TWO_OF_FIVE" \
	"$(forms pipelined /login/x ann)"
tap_equal 'those whose last bytes are late too' "$TWO_OF_FIVE" "$(forms late /login/x ben)"
tap_equal 'and those in chunks' "$TWO_OF_FIVE" "$(forms chunked /login/x cid)"
tap_equal 'a connection is in step after a refusal that has an error page' "$TWO_OF_FIVE" \
	"$(forms late /paged/x dan)"
http_status /login/cut -H 'Content-Length: 20' -d username=eve >/dev/null 2>&1 || :
tap_equal 'a form that is not whole in time is given up' 408 "$(logged code /login/cut)"
tap_equal 'and owes nothing' '2*200 1*429' "$(http_statuses 3 /login/x -d username=eve)"
forms left /login/x fay
tap_equal 'nor do those whose clients left in their midst' '2*200 1*429' \
	"$(http_statuses 3 /login/x -d username=fay)"
tap_check 'AddressSanitizer finds nothing, and no worker ended' sanitizers_are_silent
tap_finish
