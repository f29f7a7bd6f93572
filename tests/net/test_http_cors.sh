#!/bin/bash
# SPDX-License-Identifier: MIT
# weir_cors: the fields by which a browser lets a script of another origin read a refusal.

# shellcheck source-path=SCRIPTDIR source=nginx.sh
. "$(dirname "$0")/nginx.sh"

APP=https://app.example
ALLOWED="Access-Control-Allow-Origin: $APP"
EXPOSED='Access-Control-Expose-Headers: Retry-After, RateLimit, RateLimit-Policy'
MAY_SEND='Access-Control-Allow-Credentials: true'
VARY='Vary: Origin'

# cors PATH [OPTION]...: what an answer has of the CORS protocol.
cors() {
	http_fields "$@" | sed -n -e '/^access-control-/Ip' -e '/^vary:/Ip' | sort
}

from() {
	cors "$1/ok" -H "Origin: $2" "${@:3}"
}

lines() {
	printf '%s\n' "$@" | sort
}

# preflight COMMAND PATH: on a browser's question whether it may.
preflight() {
	"$1" "$2/ok" -X OPTIONS -H "Origin: $APP" -H 'Access-Control-Request-Method: PUT'
}

# asked COMMAND: on what a front would pass on of a refusal.
asked() {
	"$1" /asked -H "Origin: $APP" -H 'X-Forwarded-Method: GET' -H 'X-Forwarded-Uri: /one' \
		-H 'X-Forwarded-For: 127.0.0.1'
}

# rejected SENTENCE TEXT ARGUMENTS: as weir_cors has them.
rejected() {
	tap_check "refuses $1" configuration_fails "$2" "weir_cors $3;"
}

configuration_holds() {
	nginx_test "server { listen $PORT; $1 }"
}

# It is refused, for that reason.
configuration_fails() {
	if nginx_test "server { listen $PORT; $2 }" >"$NGINX_DIR/said"; then
		return 1
	fi
	grep -qF -e "$1" "$NGINX_DIR/said" || { cat "$NGINX_DIR/said" && return 1; }
}

nginx_open
nginx_start "
	weir_zone one key=\$binary_remote_addr capacity=1 rate=1/h;
	weir_zone many key=\$binary_remote_addr capacity=1000 rate=1/h;
	weir_zone banned key=\$weir_address capacity=1 rate=1/h;
	weir_penalty banned refusals=1 within=60s ban=15m max=24h;
	weir_cors $APP http://127.0.0.1:3000;
	server {
		listen $PORT;
		root $NGINX_SITE;
		weir one;
		location /free/ { weir off; alias $NGINX_SITE/; }
		location /listed/ { alias $NGINX_SITE/; }
		location /credentials/ {
			weir_cors $APP credentials;
			alias $NGINX_SITE/;
			location /credentials/inner/ { alias $NGINX_SITE/; }
			location /credentials/other/ { weir_cors $APP; alias $NGINX_SITE/; }
		}
		location /any/ { weir_cors *; alias $NGINX_SITE/; }
		location /off/ {
			weir_cors off;
			alias $NGINX_SITE/;
			location /off/inner/ { alias $NGINX_SITE/; }
		}
		location /legacy/ { weir_headers legacy; alias $NGINX_SITE/; }
		location /both/ { weir_headers both; alias $NGINX_SITE/; }
		location /bare/ { weir_headers off; alias $NGINX_SITE/; }
		location /secret/ { weir_reveal off; alias $NGINX_SITE/; }
		location /plain/ { weir_body off; alias $NGINX_SITE/; }
		location /varied/ {
			add_header Vary Accept-Language always;
			alias $NGINX_SITE/;
		}
		location /paged/ { error_page 429 = @page; alias $NGINX_SITE/; }
		location @page { proxy_pass http://$BACKEND; }
		location /passing/ { weir many; alias $NGINX_SITE/; }
		location /banned/ { weir banned; alias $NGINX_SITE/; }
		location /exempt/ { weir_exempt_preflight on; proxy_pass http://$BACKEND; }
		location /preflight/ { proxy_pass http://$BACKEND; }
		location /asked { weir_check caddy from=127.0.0.1; weir_route /one one; }
	}
	$(backend "add_header Access-Control-Allow-Origin \$http_origin; add_header Vary Accept;")"
http_status /listed/ok >/dev/null

tap_equal 'a refusal lets a listed origin read it' "$(lines "$ALLOWED" "$EXPOSED" "$VARY")" \
	"$(from /listed $APP)"
tap_equal 'each of them' \
	"$(lines 'Access-Control-Allow-Origin: http://127.0.0.1:3000' "$EXPOSED" "$VARY")" \
	"$(from /listed http://127.0.0.1:3000)"
for origin in https://other.example null $APP. $APP:8443 http://app.example ${APP}x \
	https://x.app.example https://APP.example "$APP, $APP"; do
	tap_equal "not the origin $origin, but caches are told that it matters" "$VARY" \
		"$(from /listed "$origin")"
done
tap_equal 'nor where there is none' "$VARY" "$(cors /listed/ok)"
tap_equal 'nor where there are two' "$VARY" \
	"$(from /listed https://other.example -H "Origin: $APP")"
tap_equal 'credentials are allowed where the configuration says so' \
	"$(lines "$ALLOWED" "$EXPOSED" "$MAY_SEND" "$VARY")" "$(from /credentials $APP)"
tap_equal 'not to others' "$VARY" "$(from /credentials https://other.example)"
tap_equal 'any origin, by one answer for all' \
	"$(lines 'Access-Control-Allow-Origin: *' "$EXPOSED")" "$(from /any null)"
tap_equal 'who names none gets none of it' '' "$(cors /any/ok)"

tap_equal 'an inner location has what is around it' \
	"$(lines "$ALLOWED" "$EXPOSED" "$MAY_SEND" "$VARY")" "$(from /credentials/inner $APP)"
tap_equal 'or all of its own' "$(lines "$ALLOWED" "$EXPOSED" "$VARY")" \
	"$(from /credentials/other $APP)"
tap_equal 'off is nothing' '' "$(from /off $APP)"
tap_equal 'further in too' '' "$(from /off/inner $APP)"

tap_equal 'legacy fields are the ones to read' \
	"${EXPOSED%%:*}: Retry-After, X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset" \
	"$(from /legacy $APP | grep -i expose)"
tap_equal 'or both kinds' "$EXPOSED, X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset" \
	"$(from /both $APP | grep -i expose)"
tap_equal 'without fields Retry-After alone' "${EXPOSED%%:*}: Retry-After" \
	"$(from /bare $APP | grep -i expose)"
tap_equal 'where nothing is revealed the status alone' "$(lines "$ALLOWED" "$VARY")" \
	"$(from /secret $APP)"
tap_equal 'a refusal of nginx'"'"'s own form too' "$(lines "$ALLOWED" "$EXPOSED" "$VARY")" \
	"$(from /plain $APP)"
tap_equal 'Vary stands beside another' "$(lines "$ALLOWED" "$EXPOSED" "$VARY" \
	'Vary: Accept-Language')" "$(from /varied $APP)"
tap_equal 'an error page'"'"'s own fields give way, its Vary stays' "$(lines "$ALLOWED" \
	"$EXPOSED" "$VARY" 'Vary: Accept')" "$(from /paged $APP)"
tap_equal 'what passes is the application'"'"'s' '' "$(from /passing $APP)"
tap_equal 'and so is what is not limited' '' "$(from /free $APP)"
http_statuses 2 /banned/ok >/dev/null
tap_equal 'a ban can be read' "429 $(lines "$ALLOWED" "$EXPOSED" "$VARY")" \
	"$(http_status /banned/ok) $(from /banned $APP)"

tap_equal 'a preflight that is exempt is the application'"'"'s' \
	"200 $(lines "$ALLOWED" 'Vary: Accept')" \
	"$(preflight http_status /exempt) $(preflight cors /exempt)"
tap_equal 'one that is not is refused, which browsers take for a no' 429 \
	"$(preflight http_status /preflight)"
tap_equal 'what a check answers can be handed on' \
	"429 $(lines "$ALLOWED" "$EXPOSED" "$VARY")" "$(asked http_status) $(asked cors)"

tap_check 'takes ports, addresses and other schemes' configuration_holds \
	"weir_cors http://localhost:3000 http://[::1]:8080 https://x.example:80 app://shell;"
tap_check 'takes nothing off' configuration_holds 'weir_cors off;'
for origin in app.example https:// ://app.example $APP/ $APP/path "'$APP '" https://App.example \
	HTTPS://app.example 'https://*.example' '$http_origin' null "$APP,$APP" https://user@app.example \
	"'$APP?x'" https://münchen.example https://app.example:443 http://app.example:80 a/b://app \
	off 'credentials credentials'; do
	rejected "$origin" 'invalid origin' "$APP $origin"
done
rejected 'any origin with credentials' 'has "*" beside' '* credentials'
rejected 'any origin beside one' 'has "*" beside' "* $APP"
rejected 'one beside any' 'has "*" beside' "$APP *"
rejected 'credentials alone' 'needs an origin' credentials
rejected 'off with credentials' 'invalid origin' 'off credentials'
rejected 'it twice' 'is duplicate' "$APP; weir_cors $APP"
rejected 'nothing' 'invalid number of arguments' ''
tap_equal 'no worker ended' 0 "$(grep -c 'exited on signal' "$(nginx_log)" || :)"
tap_finish
