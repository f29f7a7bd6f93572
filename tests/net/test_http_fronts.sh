#!/bin/bash
# SPDX-License-Identifier: MIT
# Other fronts that ask the check service, by the recipes as they are published: who is over the
# limit is told so by the front and never reaches the application.

# shellcheck source-path=SCRIPTDIR source=fronts.sh
. "$(dirname "$0")/fronts.sh"

# What a client would send to be taken for another, for any front, and spelt as some servers would
# let pass.
FORGED=(
	-H 'X-Original-URI: /free' -H 'X-Original-Method: HEAD' -H 'X-Real-IP: 198.51.100.1'
	-H 'x-original-uri: /free' -H 'X_Original_URI: /free' -H 'X_Real_IP: 198.51.100.1'
	-H 'X-Forwarded-Uri: /free' -H 'X-Forwarded-Method: HEAD' -H 'X-Forwarded-For: 198.51.100.1'
	-H 'X-FORWARDED-URI: /free' -H 'X_Forwarded_Uri: /free' -H 'X_Forwarded_For: 198.51.100.1'
	-H 'x-forwarded-for: 198.51.100.2, 127.0.0.1' -H 'Forwarded: for=198.51.100.1'
	-H 'X-HAProxy-URI: /free' -H 'X-HAProxy-Method: HEAD' -H 'X-HAProxy-Address: 198.51.100.1'
	-H 'x-haproxy-uri: /free' -H 'X_HAProxy_URI: /free' -H 'X_HAProxy_Address: 198.51.100.1'
	-H 'X-Envoy-External-Address: 198.51.100.1' -H 'X-Envoy-Original-Path: /free'
	-H 'X-HTTP-Method-Override: HEAD' -H 'X-Rewrite-URL: /free'
)

FRONT_HEADERS='X-Original-URI, X-Original-Method, X-Real-IP, X-Forwarded-Uri, X-Forwarded-Method'
FRONT_HEADERS+=', X-Forwarded-For, X-HAProxy-URI, X-HAProxy-Method, X-HAProxy-Address'

# Headers that a server answers by itself, unless it is told that this one is no document.
CONDITIONAL=(-H 'If-Match: "none"' -H 'If-Unmodified-Since: Thu, 01 Jan 1970 00:00:00 GMT'
	-H 'If-None-Match: *' -H 'Range: bytes=5-' -H 'Expect: 100-continue')

HANDSHAKE=(-H 'Connection: Upgrade' -H 'Upgrade: websocket' -H 'Sec-WebSocket-Version: 13'
	-H 'Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==')

# judged PATH: "METHOD PATH ADDRESS" of those below it that were judged, one a line.
judged() {
	awk -v path="$1" 'index($2, path) == 1 { print $1, $2, $3 }' "$JUDGED"
}

judged_is() {
	[ "$(judged "$1")" = "$2" ]
}

refuses() {
	local before

	client_new
	before=$(seen_count /login)
	tap_equal "$1: three pass, and the fourth is told 429" '3*200 1*429' \
		"$(repeat 4 ask_status /login)"
	seen_all
	tap_equal "$1: the application does not see the fourth" $((before + 3)) "$(seen_count /login)"
	tap_equal "$1: a refusal has the fields" '429 ratelimit-policy ratelimit retry-after' \
		"$(ask_fields /login)"
	tap_equal "$1: and a body" '429 application/problem+json' "$(
		ask /login | jq -j '.status, " "' &&
			ask /login --output /dev/null --write-out '%{content_type}')"
	client_new
	tap_equal "$1: another client passes, and is told its limit" \
		'200 ratelimit-policy ratelimit' "$(ask_fields /login)"
	tap_equal "$1: what no route names passes without" 200 "$(ask_fields /free)"
}

# stores FILE NAME [OPTION]: it is sent to the application, which then has the same.
stores() {
	ask "/stored/$2" --upload-file "$1" --output /dev/null "${@:3}"
	cmp "$1" "$NGINX_DIR/stored/$2"
}

passes_unharmed() {
	local sent=$NGINX_DIR/sent method

	client_new
	head -c 200000 /dev/urandom | base64 >"$sent"
	tap_check "$1: a body of 270 kB reaches the application as it was" stores "$sent" "$1"
	tap_check "$1: also in chunks" stores "$sent" "$1-chunked" -H 'Transfer-Encoding: chunked'
	tap_equal "$1: and by POST" "POST $(stat -c %s "$sent")" "$(
		ask /post --data-binary "@$sent" | jq -j '.method, " ", .body')"
	tap_equal "$1: methods and the query too" 'PUT /a?b=%2F PATCH /a?b=%2F DELETE /a?b=%2F' "$(
		for method in PUT PATCH DELETE; do
			ask '/a?b=%2F' -X "$method" | jq -j '.method, " ", .target, "\n"'
		done | xargs)"
}

asks_about_all() {
	client_new
	tap_equal "$1: a handshake for another protocol is asked about" '3*200 1*429' \
		"$(repeat 4 ask_status /login "${HANDSHAKE[@]}")"
	client_new
	tap_equal "$1: and HEAD" '3*200 1*429' "$(repeat 4 ask_status /login --head)"
	client_new
	tap_equal "$1: and who asks for a part, or on a condition" '3*200 1*429' \
		"$(repeat 4 ask_status /login "${CONDITIONAL[@]}")"
}

judges_truly() {
	local path

	client_new
	: >"$JUDGED"
	tap_equal "$1: forged headers earn nothing" '3*200 2*429' \
		"$(repeat 5 ask_status /login "${FORGED[@]}" -d body)"
	tap_check "$1: it was judged by its own method, path and address" \
		wait_until 5 judged_is /login "$(printf "POST /login $CLIENT\n%.0s" {1..5})"
	tap_equal "$1: nor do those that Connection names" 429 \
		"$(ask_status /login -H "Connection: close, $FRONT_HEADERS")"
	for path in //login /./login /x/../login /%6cogin /log%69n/ '/login?free' /login/below; do
		tap_equal "$1: $path is /login" 429 "$(ask_status "$path")"
	done
}

connections() {
	awk '$2 == "/kept" { print $5 }' "$JUDGED" | sort -u | wc -l
}

keeps_alive() {
	client_new
	: >"$JUDGED"
	ask '/kept?[1-20]' --output /dev/null
	wait_until 5 judged_is /kept "$(printf "GET /kept $CLIENT\n%.0s" {1..20})"
	tap_true "$1: twenty questions on at most two connections" "$(connections) <= 2"
}

keeps_403() {
	tap_equal "$1: a 403 of nginx itself stays one" 403 "$(ask_status /forbidden/)"
}

front() {
	front_start "$1"
	refuses "$1"
	passes_unharmed "$1"
	asks_about_all "$1"
	judges_truly "$1"
}

fronts_open
application_start
check_start
for name in nginx caddy haproxy; do
	front "$name"
	keeps_alive "$name"
	[ "$name" != nginx ] || keeps_403 "$name"
	front_stop
done
check_down
front nginx-here
keeps_403 nginx-here
front_stop
tap_finish
