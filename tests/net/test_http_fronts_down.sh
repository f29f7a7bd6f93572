#!/bin/bash
# SPDX-License-Identifier: MIT
# Other fronts while the check service is down, or takes questions and says nothing: by the recipes
# as they are published a request is refused with 503, and with their line for open it passes. Where
# front and service do not fit each other it is refused by both.

# shellcheck source-path=SCRIPTDIR source=fronts.sh
. "$(dirname "$0")/fronts.sh"

# unreachable FRONT STATUS SENTENCE
unreachable() {
	local status seconds

	check_down
	tap_equal "$1, the service down: $3" "$2" "$(ask_fields /login)"
	read -r status seconds < <(ask_seconds /login)
	tap_true "$1: and says so within a second" "$seconds < 1"
	check_up
	check_hang
	read -r status seconds < <(ask_seconds /login -d body)
	tap_equal "$1, the service hanging: $3" "${2%% *}" "$status"
	tap_true "$1: and does within a second" "$seconds < 1"
	check_answer
}

# misconfigured FRONT NAME
misconfigured() {
	local before

	before=$(seen_count /login)
	check_change "s|location = /$1 |location = /moved |"
	tap_equal "$2, the service elsewhere: a request is refused" '503 retry-after' \
		"$(ask_fields /login)"
	check_change 's|from=127.0.0.1|from=127.0.0.9|'
	tap_equal "$2, the front not in from=: a request is refused" '503 retry-after' \
		"$(ask_fields /login)"
	tap_check "$2: and its visitor sees no page of the service's" page_is_own
	check_change
	tap_equal "$2, both mended: it passes" '200 ratelimit-policy ratelimit' "$(ask_fields /login)"
	seen_all
	tap_equal "$2: which alone the application saw" $((before + 1)) "$(seen_count /login)"
}

# The service's page says 400, the fronts' say 503 or nothing.
page_is_own() {
	! ask /login | grep 400
}

# A path that the front takes, and that is too long for the service in a header: it takes 8 kB.
ask_long() {
	ask_status "/long?$(head -c 8170 /dev/zero | tr '\0' a)"
}

# stays_closed NAME WHAT_A_DEAD_APPLICATION_GIVES
stays_closed() {
	front_start "$1"
	client_new
	application_down
	tap_equal "$1: a dead application is not taken for a dead service" "$2" "$(ask_fields /login)"
	application_up
	unreachable "$1" '503 retry-after' 'a request is refused'
	client_new
	misconfigured "$1" "$1"
	front_stop
}

stays_open() {
	front_start "$1" open
	client_new
	misconfigured "$1" "$1 (open)"
	client_new
	unreachable "$1 (open)" 200 'a request passes'
	check_down
	tap_equal "$1 (open): and with it its body" 'POST 9' \
		"$(ask /post -d 'some body' | jq -j '.method, " ", .body')"
	check_up
	tap_equal "$1 (open): the limit holds when it is back" 429 "$(
		repeat 4 ask_status /login >/dev/null && ask_status /login)"
	tap_equal "$1 (open): a request that the service cannot read does not pass" 0 "$(
		ask_long >/dev/null
		seen_all && seen_count '/long')"
	front_stop
}

fronts_open
application_start
check_start
stays_closed nginx '502 ratelimit-policy ratelimit'
stays_closed caddy '502 ratelimit-policy ratelimit'
stays_closed haproxy 503
stays_open nginx
stays_open caddy
stays_open haproxy
tap_finish
