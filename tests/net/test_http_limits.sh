#!/bin/bash
# SPDX-License-Identifier: MIT
# Keys, costs, limits a request brings itself, who is exempt, and what the log and variables say.

# shellcheck source-path=SCRIPTDIR source=nginx.sh
. "$(dirname "$0")/nginx.sh"

# last FIELD: of the access log's last line.
last() {
	tail -1 "$NGINX_DIR/access" | tr ' ' '\n' | sed -n "s/^$1=//p"
}

# asked FIELD PATH [OPTION]: then that field of the log.
asked() {
	http_status "${@:2}" >/dev/null
	last "$1"
}

preflight() {
	http_status /preflight -X OPTIONS -H 'Origin: https://example.org' "$@"
}

# Refusals in the error log, and the requests it says it left out.
log_is_sampled() {
	local lines suppressed

	nginx_log_mark
	http_load --h1 -n 3000 -c 8 "$URL/logged?key=log" >/dev/null
	testbed_pause 1.1
	http_status '/logged?key=log' >/dev/null
	wait_until 5 nginx_says '[1-9][0-9]* more not logged'
	lines=$(nginx_log_since | grep -c 'weir refused')
	suppressed=$(nginx_log_since | grep -o '[0-9]* more not logged' |
		awk '{ sum += $1 } END { print sum }')
	nginx_log_since | tail -3
	echo "$lines lines, $suppressed more"
	[ "$lines" -le 20 ] && [ $((lines + suppressed)) -eq 3000 ]
}

NGINX_WORKERS=1
nginx_open
nginx_start "
	map \$http_x_api_key \$known { secret-one one; secret-two two; default ''; }
	map \$known \$plan_capacity { one 3; two 5; junk many; default ''; }
	map \$known \$plan_rate { one 1/h; two 2/h; default ''; }
	geo \$checked { default 0; 192.0.2.77 1; }
	map \$checked \$not_checked { 1 ''; default \$binary_remote_addr; }
	weir_zone keyed key=\$arg_key capacity=2 rate=1/h;
	weir_zone either key=\$known key=\$arg_key capacity=2 rate=1/h;
	weir_zone plan key=\$arg_key capacity=\$arg_capacity rate=\$arg_rate default=2,1/h;
	weir_zone tiers key=\$known capacity=\$plan_capacity rate=\$plan_rate default=1,1/h;
	weir_zone windows key=\$arg_key algorithm=fixed-window limit=\$arg_limit per=1h
		default=4,1h;
	weir_zone costly key=\$arg_key capacity=10 rate=1/h;
	weir_zone exempt key=\$not_checked capacity=1 rate=1/h;
	weir_zone counted key=\$arg_key capacity=1 rate=20/m count-refused;
	weir_zone uncounted key=\$arg_key capacity=1 rate=30/m;
	weir_zone preflight key=\$binary_remote_addr capacity=1 rate=1/h;
	weir_zone logged key=\$arg_key capacity=1 rate=1/h;
	weir_zone seen key=\$arg_key capacity=2 rate=1/h observe;
	weir_zone enforced key=\$arg_key capacity=4 rate=1/h;
	weir_zone tiny key=\$arg_key capacity=2 rate=1/h entries=64 overflow=5,1/h;
	log_format all 'status=\$status weir=\$weir_status zone=\$weir_zone limit=\$weir_limit '
		'remaining=\$weir_remaining retry=\$weir_retry_after hash=\$weir_key_hash';
	server {
		listen $PORT;
		access_log $NGINX_DIR/access all;
		location /keyed { weir keyed; try_files /ok =500; }
		location /either { weir either; try_files /ok =500; }
		location /plan { weir plan; try_files /ok =500; }
		location /tiers { weir tiers; try_files /ok =500; }
		location /windows { weir windows; try_files /ok =500; }
		location /costly { weir costly cost=\$arg_cost; try_files /ok =500; }
		location /three { weir costly cost=3; try_files /ok =500; }
		location /look { weir costly cost=0; try_files /ok =500; }
		location /exempt { weir exempt; try_files /ok =500; }
		location /counted { weir counted; try_files /ok =500; }
		location /uncounted { weir uncounted; try_files /ok =500; }
		location /preflight {
			weir preflight;
			weir_exempt_preflight on;
			proxy_pass http://$BACKEND;
		}
		location /logged { weir logged; try_files /ok =500; }
		location /seen { weir seen; try_files /ok =500; }
		location /beside { weir seen; weir enforced; try_files /ok =500; }
		location /tiny { weir tiny; try_files /ok =500; }
		location /free { try_files /ok =500; }
	}
	$(backend)"

tap_equal 'each key has a bucket of its own' '2*200 1*429, 2*200 1*429' \
	"$(http_statuses 3 '/keyed?key=a'), $(http_statuses 3 '/keyed?key=b')"
tap_equal 'a key counts whole' '2*200 1*429' \
	"$(http_statuses 3 "/keyed?key=$(printf 'k%.0s' {1..3000})1")"
tap_equal 'however long' 2*200 "$(http_statuses 2 "/keyed?key=$(printf 'k%.0s' {1..3000})2")"
tap_equal 'an empty key is exempt' 5*200 "$(http_statuses 5 /keyed)"
tap_equal 'and told nothing' '' "$(http_field ratelimit /keyed)"
tap_equal 'the first key that is not empty counts' '2*200 1*429, 2*200 1*429' \
	"$(http_statuses 3 '/either?key=a' -H 'X-Api-Key: secret-one'), \
$(http_statuses 3 '/either?key=a')"
tap_equal 'an address that checks is exempt' '1*200 1*429' "$(http_statuses 2 /exempt)"

tap_equal 'a limit that the request brings' '3*200 1*429' \
	"$(http_statuses 4 '/plan?key=a&capacity=3&rate=1/h')"
for bad in '' 'capacity=&rate=' 'capacity=junk&rate=1/h' 'capacity=3&rate=junk' \
	'capacity=0&rate=1/h' 'capacity=-3&rate=1/h' 'capacity=3&rate=9999999/s' \
	'capacity=99999999999999999999&rate=1/h' \
	'capacity=3&rate=1/0s' 'capacity=3'; do
	key=$(printf %s "$bad" | md5sum | cut -c1-8)
	tap_equal "junk is the default: '$bad'" '2*200 1*429' \
		"$(http_statuses 3 "/plan?key=$key&$bad")"
done
tap_equal 'tiers by map' '3*200 1*429, 5*200 1*429, 3*200' \
	"$(http_statuses 4 /tiers -H 'X-Api-Key: secret-one'), \
$(http_statuses 6 /tiers -H 'X-Api-Key: secret-two'), \
$(http_statuses 3 /tiers -H 'X-Api-Key: guess')"
tap_equal 'a window whose limit the request brings, and its default' '3*200 1*429, 4*200 1*429' \
	"$(http_statuses 4 '/windows?key=a&limit=3'), $(http_statuses 5 '/windows?key=b&limit=x')"
http_statuses 3 '/plan?key=change&capacity=10&rate=1/h' >/dev/null
tap_equal 'a larger limit keeps what is owed' 16 \
	"$(asked remaining '/plan?key=change&capacity=20&rate=1/h')"
tap_equal 'a smaller one clamps it' '429 1' \
	"$(http_status '/plan?key=change&capacity=2&rate=1/h') $(last limit | sed s/2/1/)"

tap_equal 'a constant cost' '3*200 1*429' "$(http_statuses 4 '/three?key=a')"
tap_equal 'leaves what does not suffice' 1 "$(asked remaining '/three?key=a')"
tap_equal 'one from the request' '1*200 1*429' "$(http_statuses 2 '/costly?key=b&cost=6')"
tap_equal 'above capacity it is refused' 429 "$(http_status '/costly?key=c&cost=11')"
tap_equal 'without a promise' '' "$(http_field retry-after '/costly?key=c&cost=11')"
tap_equal 'and charges nothing' 9 "$(asked remaining '/costly?key=c&cost=1')"
tap_equal 'junk costs one' 8 "$(asked remaining '/costly?key=c&cost=junk')"
tap_equal 'none only looks' '8 8' \
	"$(asked remaining '/look?key=c') $(asked remaining '/look?key=c')"

http_status '/uncounted?key=a' >/dev/null
deadline=$((SECONDS + 8))
until [ "$(http_status '/uncounted?key=a')" = 200 ] || [ $SECONDS -gt $deadline ]; do :; done
tap_true 'who keeps asking is let in in time' "$SECONDS <= $deadline"
http_status '/counted?key=a' >/dev/null
tap_equal 'unless refusals count' 40*429 "$(http_statuses 40 '/counted?key=a' --rate 600/m)"

tap_equal 'a real preflight is exempt' '200 200 200' "$(for i in 1 2 3; do
	preflight -H 'Access-Control-Request-Method: PUT'; done | sed 's/200/200 /g; s/ $//')"
tap_equal 'another OPTIONS is not' '200 429' "$(preflight) $(preflight)"
tap_equal 'nor is a GET with its fields' 429 \
	"$(preflight -X GET -H 'Access-Control-Request-Method: PUT')"

tap_equal 'variables of one that passes' 'PASSED keyed 2 1 -' \
	"$(asked weir '/keyed?key=v') $(last zone) $(last limit) $(last remaining) $(last retry)"
hash=$(last hash)
tap_check 'a hash of the key' grep -qx '[0-9a-f]\{16\}' <<<"$hash"
http_status '/keyed?key=v' >/dev/null
tap_equal 'and of one that is refused' 'REFUSED keyed 2 0 3600' \
	"$(asked weir '/keyed?key=v') $(last zone) $(last limit) $(last remaining) \
$(last retry | sed 's/^359.$/3600/')"
tap_equal 'of the same key the same hash' "$hash" "$(last hash)"
tap_true 'of another another' "\"$(asked hash '/keyed?key=w')\" != \"$hash\""
tap_equal 'where nothing is limited there is none' - "$(asked weir /free)"
tap_check 'refusals are logged by sample, and each is accounted for' log_is_sampled
tap_equal 'the key is not in the log' 0 \
	"$(http_statuses 2 '/either' -H 'X-Api-Key: secret-two' >/dev/null
		grep -v 'request: ' "$(nginx_log)" | grep -c secret-two || :)"

tap_equal 'observed, it refuses nobody' 4*200 "$(http_statuses 4 '/seen?key=a')"
tap_equal 'says what would have been' REFUSED_OBSERVED "$(last weir)"
tap_equal 'and tells the client nothing' '' "$(http_field ratelimit '/seen?key=a')"
tap_equal 'beside one that is enforced' '4*200 1*429' "$(http_statuses 5 '/beside?key=b')"
tap_equal 'which decides' 'PASSED PASSED REFUSED_OBSERVED REFUSED_OBSERVED REFUSED' \
	"$(tail -5 "$NGINX_DIR/access" | tr ' ' '\n' | sed -n s/^weir=//p | xargs)"
tap_equal 'and is told alone' '"enforced"' "$(http_field ratelimit '/beside?key=b' | cut -d';' -f1)"

for i in {1..150}; do
	echo "url = $URL/tiny?key=many$i"
	echo "output = /dev/null"
done >"$NGINX_DIR/many"
curl -s --config "$NGINX_DIR/many" -w '%{http_code}\n' | sort | uniq -c >"$NGINX_DIR/answers"
tap_true 'keys beyond what a zone holds share its overflow' \
	"$(grep -c weir=OVERFLOW "$NGINX_DIR/access") >= 50"
tap_true 'whose own limit refuses in the end' \
	"$(awk '$2 == 429 { print $1 }' "$NGINX_DIR/answers") > 0"
tap_equal 'no worker ended' 0 "$(grep -c 'exited on signal' "$(nginx_log)" || :)"
tap_finish
