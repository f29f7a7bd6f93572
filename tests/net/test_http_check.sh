#!/bin/bash
# SPDX-License-Identifier: MIT
# The check service, asked by curl as each front asks it: it reads that front's headers and no
# others, and nobody it has not been told to believe. And asked by applications.

# shellcheck source-path=SCRIPTDIR source=fronts.sh
. "$(dirname "$0")/fronts.sh"

WEIR=$TESTBED_ROOT/build/weir
TOLD=
declare -A HEADERS=(
	[nginx]='X-Original-Method X-Original-URI X-Real-IP'
	[caddy]='X-Forwarded-Method X-Forwarded-Uri X-Forwarded-For'
	[traefik]='X-Forwarded-Method X-Forwarded-Uri X-Forwarded-For'
	[haproxy]='X-HAProxy-Method X-HAProxy-URI X-HAProxy-Address'
	[envoy]='X-Envoy-External-Address'
)

# question FRONT METHOD PATH ADDRESS [OPTION]: asks as that front; $WITHOUT is a header it lacks.
question() {
	local front=$1 url=$CHECK/$1 values=("${@:2:3}") options=() name

	if [ "$front" = envoy ]; then
		url=$CHECK_ENVOY$3
		options=(-X "$2")
		values=("$4")
	fi
	for name in ${HEADERS[$front]}; do
		[ "$name" = "${WITHOUT:-}" ] || options+=(-H "$name: ${values[0]}")
		values=("${values[@]:1}")
	done
	curl --silent --show-error --max-time 5 --path-as-is "${options[@]}" "${@:5}" "$url"
}

# answer FRONT METHOD PATH ADDRESS [OPTION]: the status.
answer() {
	question "$@" --output /dev/null --write-out '%{http_code}'
}

judged_next() {
	: >"$JUDGED"
	answer "$@" >/dev/null
	wait_until 5 test -s "$JUDGED"
	awk '{ print $1, $2, $3 }' "$JUDGED"
}

# Other fronts' headers, and this one's as servers may spell them, all with another's address.
forged_for() {
	local front name

	for front in "${!HEADERS[@]}"; do
		for name in ${HEADERS[$front]}; do
			[[ " ${HEADERS[$1]} " = *" $name "* ]] || printf '%s: /forged\n' "$name"
			printf '%s: /forged\n' "${name//-/_}" "${name//-/.}" "HTTP_${name//-/_}"
		done
	done | sort -u | sed 's/^/-H\n/'
}

limits() {
	local refused=429 body=1

	[ "$1" != nginx ] || refused=403 body=0
	client_new
	tap_equal "$1: three pass" "3*200 2*$refused" "$(repeat 5 answer "$1" POST /login "$CLIENT")"
	tap_equal "$1: the path is normalised" "$refused $refused" \
		"$(answer "$1" POST //%6cogin/./x/.. "$CLIENT") $(answer "$1" GET '/login?a' "$CLIENT")"
	tap_true "$1: a refusal's body" "($(question "$1" GET /login "$CLIENT" | wc -c) > 0) == $body"
	tap_equal "$1: and fields" "$refused ratelimit-policy ratelimit retry-after" \
		"$(question "$1" GET /login "$CLIENT" --dump-header - --output /dev/null | fields_of)"
	client_new
	tap_equal "$1: an answer that lets pass is empty" 0 \
		"$(question "$1" GET /login "$CLIENT" | wc -c)"
	tap_equal "$1: whatever the client asks to be told conditionally" 200 "$(
		answer "$1" GET /login "$CLIENT" -H 'If-Match: "none"' -H 'Range: bytes=5-' \
			-H 'If-Unmodified-Since: Thu, 01 Jan 1970 00:00:00 GMT')"
}

believes() {
	local -a forged
	local name

	mapfile -t forged < <(forged_for "$1")
	client_new
	tap_equal "$1: its own headers and no others" "DELETE /login $CLIENT" \
		"$(judged_next "$1" DELETE /login "$CLIENT" "${forged[@]}")"
	for name in ${HEADERS[$1]}; do
		tap_equal "$1: without $name it is no question" 400 \
			"$(WITHOUT=$name answer "$1" GET /login "$CLIENT" "${forged[@]}")"
		[ "$name" = X-Forwarded-For ] || tap_equal "$1: nor with two of $name" 400 \
			"$(answer "$1" GET /login "$CLIENT" -H "$(lower "$name"): /other")"
	done
	[ "$name" = X-Forwarded-For ] || tap_equal "$1: nor with an address that is none" 400 \
		"$(answer "$1" GET /login 192.0.2.x)"
	tap_equal "$1: who is not in from= is not believed" 400 \
		"$(answer "$1" GET /login "$CLIENT" --interface "$CLIENT")"
	tap_equal "$1: and none of these was charged" '2*200' \
		"$(repeat 2 answer "$1" GET /login "$CLIENT")"
}

lower() {
	tr '[:upper:]' '[:lower:]' <<<"$1"
}

forwarded_for() {
	client_new
	tap_equal "$1: the client is the last who is not in from=" "GET /login $CLIENT" \
		"$(judged_next "$1" GET /login "198.51.100.7, $CLIENT, 127.0.0.1")"
	tap_equal "$1: over several lines" "GET /login $CLIENT" \
		"$(judged_next "$1" GET /login 198.51.100.7 -H "X-Forwarded-For: $CLIENT")"
}

# asked JSON [OPTION]: the answer to an application's question.
asked() {
	curl --silent --max-time 5 "$CHECK/app" -d "$1" "${@:2}"
}

asked_status() {
	asked "$1" --output /dev/null --write-out '%{http_code}' "${@:2}"
}

# app_complains JSON REASON: asks; once a second and worker the reason is logged.
app_complains() {
	asked_status "$1" >/dev/null
	NGINX_NAME=check nginx_says "\[error\].*weir_check app answers 400: $2"
}

app_complaints() {
	NGINX_NAME=check nginx_log_since | grep -c 'weir_check app answers 400' || :
}

app_logs() {
	tap_check 'app: why a question is none is in the log' wait_until 5 app_complains \
		'{"zones":["none"],"key":"a"}' 'there is no such zone'
	tap_check 'app: also what is no JSON' wait_until 5 app_complains '{' 'not a JSON object: line 1'
	NGINX_NAME=check nginx_log_mark
	curl --silent --max-time 30 "$CHECK/app?[1-100]" -d '{' --output /dev/null
	tap_true 'app: but not a line for each' "$(app_complaints) < 50"
	: >"$JUDGED"
	asked_status '{"zones":["account"],"key":"logged"}' >/dev/null
	asked_status '{' >/dev/null
	asked_status '{' --interface "$CLIENT" >/dev/null
	tap_check 'app: a question that was decided has no address in the log' \
		wait_until 5 grep -q '^- - - 200 ' "$JUDGED"
	tap_check 'app: what was none has that of its sender' \
		wait_until 5 grep -q '^- - 127.0.0.1 400 ' "$JUDGED"
	tap_check 'app: and so has who is not believed' \
		wait_until 5 grep -q "^- - $CLIENT 403 " "$JUDGED"
}

# The log format for a check service, as the manual has it.
manual_format() {
	sed -n '/^log_format weir_check$/,/;$/p' "$TESTBED_ROOT/user/man/ngx_http_weir_module.7"
}

# report FILTER: what weir http log shows of all that was asked.
report() {
	"$WEIR" http log --json "$TOLD" | jq -r "$1"
}

app_refusals() {
	[ "$(grep -c '"- - HTTP/1.1" 200 .* weir=REFUSED zone=account ' "$TOLD")" -eq "$1" ]
}

check_reports() {
	wait_until 5 app_refusals 2
	tap_equal 'weir http log shows the paths that fronts asked about' '- /login /login/' \
		"$(report '[.routes[].route] | sort | join(" ")')"
	tap_equal "and its offenders are clients, not the application's host" '192.0.2' \
		"$(report '[.offenders[].client | split(".")[:3] | join(".")] | unique | join(" ")')"
	tap_equal 'though its refusals are counted' 2 \
		"$(report '.zones[] | select(.zone == "account").refused')"
}

app_answers() {
	local question='{"zones":["account"],"key":"alice"}'

	tap_equal 'app: the decision' 'true PASSED account 5 4 null' "$(asked "$question" |
		jq -r '[.allowed, .status, .zone, .limit, .remaining, .retry_after] | map(tostring) | join(" ")')"
	tap_equal 'app: with the fields' 'RateLimit RateLimit-Policy' \
		"$(asked "$question" | jq -r '.fields | keys | join(" ")')"
	tap_equal 'app: a cost' 'false REFUSED 3' "$(asked '{"zones":["account"],"key":"alice","cost":4}' |
		jq -r '[.allowed, .status, .remaining] | join(" ")')"
	tap_equal 'app: a refusal says when' 'Retry-After RateLimit RateLimit-Policy true' "$(
		asked '{"zones":["account"],"key":"alice","cost":5}' | jq -r '
			(.fields | keys_unsorted | sort_by(. != "Retry-After", .) | join(" ")) + " " +
			((.fields["Retry-After"] | tonumber) == .retry_after and .retry_after > 0 | tostring)')"
	tap_equal 'app: another key has a limit of its own' true \
		"$(asked '{"zones":["account"],"key":"bob"}' | jq .allowed)"
	tap_equal 'app: who is not in from= is not believed' 403 \
		"$(asked_status "$question" --interface "$CLIENT")"
	for question in '' '{' '[]' '{"zones":["account"]}' '{"zones":["account"],"key":""}' \
		'{"zones":["none"],"key":"a"}' '{"zones":["account"],"key":"a","price":2}' \
		'{"zones":[],"key":"a"}' '{"zones":["account","account"],"key":"a"}'; do
		tap_equal "app: no question: '$question'" '400 string' "$(asked_status "$question") $(
			asked "$question" | jq -r '.error | type')"
	done
}

# application LANGUAGE COMMAND...: the example as it is published.
application() {
	local name=$1 pid

	"${@:2}" >"$NGINX_DIR/output" 2>&1 &
	pid=$!
	wait_until 10 greets
	tap_equal "$name: five pass, then 429" '5*200 1*429' "$(repeat 6 greet_status "$name")"
	tap_equal "$name: its answer has the fields" '429 ratelimit-policy ratelimit retry-after' \
		"$(greet "$name" --dump-header - --output /dev/null | fields_of)"
	passes_unasked "$name"
	shows_a_fault "$name"
	kill "$pid"
	wait "$pid" || :
}

passes_unasked() {
	check_down
	tap_equal "$1: it passes while the service is down" 200 "$(greet_status "$1")"
	check_up
	check_hang
	tap_equal "$1: and while it hangs" 200 "$(greet_status "$1")"
	check_answer
	check_change 's|weir_check app .*;|return 503;|'
	tap_equal "$1: and while it answers 503" 200 "$(greet_status "$1")"
}

shows_a_fault() {
	check_change 's|^weir_zone account |weir_zone accounts |'
	tap_equal "$1: a zone that there is not does not pass" 500 "$(greet_status "$1")"
	tap_check "$1: and the reason is in its log" \
		grep 'weir answers 400.*no such zone' "$NGINX_DIR/output"
	check_change 's|app from=127.0.0.1|app from=127.0.0.9|'
	tap_equal "$1: nor when it is not in from=" 500 "$(greet_status "$1")"
	check_change
	tap_equal "$1: and answers when that is mended" 200 "$(greet_status "$1-mended")"
}

# greet ACCOUNT [OPTION]
greet() {
	curl --silent --max-time 5 -H "X-Account: $1" "${@:2}" http://127.0.0.1:8083/
}

greets() {
	greet started >/dev/null
}

greet_status() {
	greet "$1" --output /dev/null --write-out '%{http_code}'
}

fronts_open
TOLD=$NGINX_DIR/told
JUDGED_FORMAT+=$(manual_format)
JUDGED_LOG+=" access_log $TOLD weir_check;"
check_start
for name in nginx caddy traefik haproxy envoy; do
	limits "$name"
	believes "$name"
done
forwarded_for caddy
forwarded_for traefik
app_answers
app_logs
check_reports
application node node "$FRONTS/app.mjs"
application python "$PYTHON" "$FRONTS/app.py"
tap_finish
