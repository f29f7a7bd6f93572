#!/bin/bash
# SPDX-License-Identifier: MIT
# refund-on: a charge is given back once the outcome is known, and never more than was taken.

# shellcheck source-path=SCRIPTDIR source=nginx.sh
. "$(dirname "$0")/nginx.sh"
# shellcheck source-path=SCRIPTDIR source=login_backend.sh
. "$(dirname "$0")/login_backend.sh"

# zone_locations ZONE...: one that refunds, and one that only looks.
zone_locations() {
	local zone

	for zone; do
		echo "location /$zone { weir $zone refund-on=2xx; proxy_pass http://$BACKEND; }
		location /look/$zone { weir $zone cost=0; try_files /ok =500; }"
	done
}

# body [REFUND [WORDS]]: of /login.
body() {
	echo "
	weir_address peer;
	weir_zone login key=\$arg_key capacity=3 rate=1/d entries=1k;
	weir_zone all key=\$arg_key capacity=9 rate=1/d entries=1k;
	weir_zone soon key=\$arg_key capacity=2 rate=30/m entries=1k;
	weir_zone fixed key=\$arg_key algorithm=fixed-window limit=3 per=1d entries=1k;
	weir_zone sliding key=\$arg_key algorithm=sliding-window limit=3 per=1d entries=1k;
	weir_zone shaped key=\$arg_key algorithm=leaky-bucket capacity=6 rate=2/s entries=1k;
	weir_zone seen key=\$arg_key capacity=3 rate=1/d entries=1k observe;
	weir_zone broad key=\$arg_key algorithm=sliding-window limit=40 per=1d entries=1k;
	weir_zone wide key=\$arg_key capacity=40 rate=1/d entries=1k;
	log_format outcome '\$arg_key \$status';
	proxy_http_version 1.1;
	server {
		listen $PORT reuseport;
		access_log $NGINX_DIR/access outcome;
		add_header Seen \$weir_status always;
		location /login { weir login refund-on=${1:-2xx} ${2:-}; proxy_pass http://$BACKEND; }
		location /listed {
			weir login refund-on=404,2xx,302;
			proxy_pass http://$BACKEND;
		}
		location /dear { weir all refund-on=200 cost=4; proxy_pass http://$BACKEND; }
		location /both { weir login refund-on=2xx; weir all; proxy_pass http://$BACKEND; }
		location /paged {
			weir login refund-on=2xx;
			proxy_intercept_errors on;
			error_page 401 =200 /ok;
			error_page 403 /ok;
			error_page 404 = @again;
			proxy_pass http://$BACKEND;
		}
		location @again { weir login refund-on=2xx; return 200 again; }
		location /later { weir login refund-on=504; proxy_read_timeout 1s;
			proxy_pass http://$BACKEND; }
		location /never { weir login refund-on=2xx; proxy_read_timeout 1s;
			proxy_pass http://$BACKEND; }
		location /nobody { weir login refund-on=2xx; proxy_pass http://127.0.0.1:9; }
		location /asked { weir login refund-on=2xx; auth_request /auth;
			proxy_pass http://$BACKEND; }
		location = /auth { internal; return 204; }
		location /look/login { weir login cost=0; try_files /ok =500; }
		location /look/all { weir all cost=0; try_files /ok =500; }
		$(zone_locations soon fixed sliding shaped seen wide broad)
		location /full { weir wide refund-on=4xx; proxy_pass http://$BACKEND; }
	}
	server {
		listen 8082 http2;
		location / { weir login refund-on=2xx; proxy_pass http://$BACKEND; }
	}"
}

# left ZONE KEY
left() {
	http_field ratelimit "/look/$1?key=$2" | grep -o 'r=[0-9]*' | cut -d= -f2
}

is_left() {
	[ "$(left "$1" "$2")" = "$3" ]
}

# told COUNT PATH: $weir_status of as many requests.
told() {
	http_fields "$2&[1-$1]" | sed -n 's/^seen: //Ip' | uniq -c |
		awk '{ printf "%s%d*%s", sep, $1, $2; sep = " " }'
}

# each PATH STATUS...: what is answered where the backend answers so.
each() {
	local status

	for status in "${@:2}"; do
		http_status "$1&status=$status"
		echo
	done | xargs
}

logged() {
	grep -qx "$1" "$NGINX_DIR/access"
}

leaves() {
	curl --silent "$URL/login?key=gone&hold=gone" &
	local pid=$!

	wait_until 5 login_waiting 1 || return
	kill "$pid"
	wait "$pid" || :
	wait_until 5 logged 'gone 499' || return
	is_left login gone 2 || return
	login_release gone
	wait_until 5 login_waiting 0 || return
	is_left login gone 2
}

# The refill repays what the held request took; what it gives back then would be a gift.
is_repaid() {
	http '/soon?key=slow&hold=slow' >/dev/null &
	local pid=$! left

	wait_until 5 login_waiting 1 && is_left soon slow 1 || return
	wait_until 5 is_left soon slow 2 || return
	[ "$(each '/soon?key=slow' 401 401)" = '401 401' ] || return
	login_release slow
	wait "$pid" || return
	left=$(left soon slow)
	echo "$left left"
	[ "$left" = 0 ]
}

in_flight() {
	local -a pids=()
	local at statuses

	for at in 1 2 3 4 5 6 7 8; do
		http_status '/login?key=many&hold=many' >"$NGINX_DIR/flight$at" &
		pids+=($!)
	done
	wait_until 5 login_waiting 3 && wait_until 5 refused_are 5 || return
	is_left login many 0 || return
	login_release many
	wait "${pids[@]}" || return
	statuses=$(for at in 1 2 3 4 5 6 7 8; do cat "$NGINX_DIR/flight$at" && echo; done | sort |
		uniq -c | xargs)
	echo "$statuses"
	[ "$statuses" = '3 200 5 429' ] && wait_until 9 is_left login many 3
}

refused_are() {
	[ "$(grep -cs 429 "$NGINX_DIR"/flight* | awk -F: '{ sum += $2 } END { print sum }')" = "$1" ]
}

over_reload() {
	http '/login?key=reload&hold=reload' >/dev/null &
	local pid=$!

	wait_until 5 login_waiting 1 || return
	nginx_reload_begin
	wait_until 10 nginx_new_serve && is_left login reload 2 || return
	login_release reload
	wait "$pid" && is_left login reload 3 && wait_until 10 nginx_reloaded
}

nginx_open
login_backend_start
nginx_start "$(body)"

tap_equal 'successes cost nothing' '10*200' "$(http_statuses 10 '/login?key=a')"
tap_equal 'and nothing is owed' 3 "$(left login a)"
tap_equal 'failures do, as many as the limit has' '3*401 2*429' \
	"$(http_statuses 5 '/login?key=b&status=401')"
tap_equal 'and then a success is refused as well' 429 "$(http_status '/login?key=b')"
tap_equal 'of both in turn the failures count' '401 200 401 200 401 429 429' \
	"$(each '/login?key=c' 401 200 401 200 401 200 401)"
tap_equal 'RateLimit says what is left after the refund' '"login";r=3' \
	"$(http_field ratelimit '/login?key=d')"
tap_equal 'and where there is none' '"login";r=2' \
	"$(http_field ratelimit '/login?key=d&status=401' | sed 's/;t=.*//')"
tap_equal 'and so it goes on' '"login";r=2' \
	"$(http_field ratelimit '/login?key=d' | sed 's/;t=.*//')"
tap_equal 'a list is of classes and codes' '201 404 204 302 404 200 302 3' \
	"$(each '/listed?key=e' 201 404 204 302 404 200 302) $(left login e)"
tap_equal 'and of no others' '303 400 500 429' "$(each '/listed?key=e' 303 400 500 404)"
tap_equal 'the own cost is given back' '500 200 403 429 1' \
	"$(each '/dear?key=e' 500 200 403 200) $(left all e)"
tap_equal 'a zone without refund-on keeps its charge' '200 401 200, 2 and 6' \
	"$(each '/both?key=f' 200 401 200), $(left login f) and $(left all f)"
tap_equal 'the status that an error page makes is what counts' '200 200 403, 2' \
	"$(each '/paged?key=g' 401 401 403), $(left login g)"
tap_equal 'also where it is another limited location' '200 200, 2' \
	"$(each '/paged?key=g' 404 404), $(left login g)"
tap_equal "a subrequest's status is none" '401 401 401 429' \
	"$(each '/asked?key=h' 401 401 401 200)"
tap_equal 'HEAD' '200 401 429' "$(for status in 200 401 401 401 401; do
	http_status "/login?key=i&status=$status" --head
	echo
done | uniq | xargs)"
tap_equal 'HTTP/2' '200 200 200 200 200 401 401 401 429' "$(for status in 200 200 200 200 200 401 \
	401 401 401; do
	URL=http://127.0.0.1:8082 http_status "/?key=j&status=$status" --http2-prior-knowledge
	echo
done | xargs)"
tap_check 'who leaves before the answer stays charged' leaves
tap_equal 'a backend that never answers is no success' '504 2' \
	"$(http_status '/never?key=k&hold=never') $(left login k)"
tap_equal 'unless the list says so' '504 3' \
	"$(http_status '/later?key=l&hold=never') $(left login l)"
login_release never
tap_equal 'nor is one that is not there' '502 2' \
	"$(http_status '/nobody?key=m') $(left login m)"
tap_check 'what the refill has repaid is not given back again' is_repaid
tap_check 'as many logins are under way as the limit has' in_flight
tap_check 'a response that comes after a reload gives back too' over_reload

for zone in fixed sliding; do
	tap_equal "$zone: successes cost nothing" '8*200 3' \
		"$(http_statuses 8 "/$zone?key=a") $(left "$zone" a)"
	tap_equal "$zone: failures do" '401 200 401 200 401 429' \
		"$(each "/$zone?key=a" 401 200 401 200 401 200)"
done
tap_equal 'a leaky bucket holds nobody back for successes' '5*PASSED' \
	"$(told 5 '/shaped?key=a')"
tap_equal 'but for failures' '1*PASSED 2*DELAYED' "$(told 3 '/shaped?key=b&status=401')"
tap_equal 'an observed zone counts failures only as well' '5*PASSED, 3*PASSED 1*REFUSED_OBSERVED' \
	"$(told 5 '/seen?key=a'), $(told 4 '/seen?key=a&status=401')"

tap_equal 'under load no success is refused' '600 0 0' \
	"$(http_load --h1 -n 600 -c 32 "$URL/broad?key=a")"
tap_equal 'and all is given back' 40 "$(left broad a)"
tap_equal 'by a bucket too' '600 0 0' "$(http_load --h1 -n 600 -c 32 "$URL/wide?key=a")"
tap_true 'but for what was refilled while the requests were under way' "$(left wide a) >= 39"
tap_equal 'and failures are as many as the limit' '0 360 40' \
	"$(http_load --h1 -n 400 -c 32 "$URL/wide?key=b&status=500")"
tap_equal 'what weir refuses is not given back' '0 20 0, 0' \
	"$(http_load --h1 -n 20 -c 4 "$URL/full?key=b"), $(left wide b)"

# refuses REFUND [WORDS]
refuses() {
	tap_check "weir login refund-on=$1 ${2:-}" refused_test "$@"
}

refused_test() {
	local said status=0

	said=$(nginx_test "$(body "$@")") || status=$?
	echo "$said"
	[ "$status" -ne 0 ] && grep -q '\[emerg\].*refund-on=' <<<"$said"
}

for list in 6xx 0xx 99 600 2xx,200 200,200 200,,201 '200,' ,200 2x xx 20x 200-204 2XX 2xx+3xx; do
	refuses "$list"
done
refuses 2xx refund-on=3xx
refuses '"" '

# refund_said ZONE: what nginx -t says of a zone of that kind that refunds.
refund_said() {
	nginx_test "weir_zone z key=\$weir_address $1 entries=1M;
		server { listen $PORT; location / { weir z refund-on=2xx; try_files /ok =500; } }"
}

log_is_refused() {
	local said status=0

	said=$(refund_said 'algorithm=sliding-log limit=3 per=1d') || status=$?
	echo "$said"
	[ "$status" -ne 0 ] &&
		grep -q '\[emerg\].*"z" is a log.*take "algorithm=sliding-window"' <<<"$said"
}

# keeps_part ZONE: nginx -t warns that it does.
keeps_part() {
	refund_said "$1" | grep '\[warn\].*"z".*keeps part of each refund'
}

keeps_none() {
	local said

	said=$(refund_said "$1") && ! grep '\[warn\]' <<<"$said"
}

tap_check 'a sliding log is refused, and which one to take is said' log_is_refused
tap_check 'a bucket whose refill is felt is warned of' keeps_part 'capacity=40 rate=7/min'
tap_check 'a leaky one too' keeps_part 'algorithm=leaky-bucket capacity=40 rate=10/s'
tap_check 'a slow bucket is not' keeps_none 'capacity=40 rate=6/min'
tap_check 'nor is a window' keeps_none 'algorithm=sliding-window limit=40 per=4s'
tap_finish
