#!/bin/bash
# SPDX-License-Identifier: MIT
# What is wrong in a configuration is said by nginx -t, with the file and the line; what is likely a
# mistake is warned of, and what is right is silent.

# shellcheck source-path=SCRIPTDIR source=nginx.sh
. "$(dirname "$0")/nginx.sh"

# said_of HTTP LOCATION: what nginx -t says. The two stand in lines of their own.
said_of() {
	nginx_test "
	weir_zone good key=\$weir_address capacity=5 rate=1/s;
	weir_zone claimed key=\$http_x_api_key capacity=5 rate=1/s;
	weir_zone window key=\$weir_address algorithm=fixed-window limit=5 per=1s;
	map \$uri \$mapped { default 3; }
	weir_form_field \$field username;
	weir_zone formed key=\$field capacity=5 rate=1/s;
	weir_zone mixed key=\$field key=\$weir_address capacity=5 rate=1/s;
	weir_zone variable key=\$weir_address capacity=\$mapped rate=1/s default=5,1/s;
	$1
	server {
		listen $PORT;
		location / {
			root $NGINX_SITE;
			$2
		}
	}"
}

# line_of TEXT: where it stands in the configuration that was tested.
line_of() {
	grep -nF -e "$1" "$NGINX_DIR/tested/nginx.conf" | tail -1 | cut -d: -f1
}

# Refused once, with the pattern, file and line.
refused() {
	local fragment=$1 pattern=$2 said

	shift 2
	! said=$(said_of "$@") || return
	echo "$said"
	grep -q "\[emerg\].*$pattern.* in .*/nginx.conf:$(line_of "$fragment")\$" <<<"$said" &&
		[ "$(grep -c '\[emerg\]' <<<"$said")" -eq 1 ]
}

warned() {
	local fragment=$1 pattern=$2 said

	shift 2
	said=$(said_of "$@") || return
	echo "$said"
	grep -q "\[warn\].*$pattern.* in .*/nginx.conf:$(line_of "$fragment")\$" <<<"$said"
}

accepted() {
	local said

	said=$(said_of "$@") || { echo "$said" && return 1; }
	echo "$said"
	# Zones of the table's own that this fragment does not use.
	! grep '\[warn\]' <<<"$said" | grep -qv 'limits nothing'
}

# table CHECK WORD: lines of "where | fragment | pattern" on stdin; where is http or location.
table() {
	local check=$1 word=$2 place fragment pattern

	while IFS='|' read -r place fragment pattern; do
		place=${place// /}
		fragment=$(sed 's/^ *//; s/ *$//' <<<"$fragment")
		pattern=$(sed 's/^ *//; s/ *$//' <<<"$pattern")
		if [ "$place" = http ]; then
			tap_check "$word: $fragment" "$check" "$fragment" "$pattern" "$fragment" ''
		else
			tap_check "$word: $fragment" "$check" "$fragment" "$pattern" '' "$fragment"
		fi
	done
}

nginx_open
table refused refused <<'END'
http | weir_zone; | number of arguments
http | weir_zone z; | number of arguments
http | weir_zone z key=$uri; | "z".*"capacity=" is missing
http | weir_zone z key=$uri capacity=5; | "z".*"rate=" is missing
http | weir_zone z capacity=5 rate=1/s; | "key="
http | weir_zone z key= capacity=5 rate=1/s; | empty parameter "key="
http | weir_zone z key=same capacity=5 rate=1/s; | same for every request
http | weir_zone Z key=$uri capacity=5 rate=1/s; | invalid zone name "Z"
http | weir_zone a.b key=$uri capacity=5 rate=1/s; | invalid zone name "a.b"
http | weir_zone ../z key=$uri capacity=5 rate=1/s; | invalid zone name
http | weir_zone z23456789012345678901234567890123 key=$uri capacity=5 rate=1/s; | invalid zone name
http | weir_zone off key=$uri capacity=5 rate=1/s; | off
http | weir_zone good key=$uri capacity=5 rate=1/s; | defined twice
http | weir_zone z key=$uri capacity=5 capacity=6 rate=1/s; | duplicate parameter "capacity=6"
http | weir_zone z key=$uri capacity= rate=1/s; | empty parameter "capacity="
http | weir_zone z key=$uri capacity=0 rate=1/s; | "0"
http | weir_zone z key=$uri capacity=-1 rate=1/s; | must be a count
http | weir_zone z key=$uri capacity=5x rate=1/s; | must be a count
http | weir_zone z key=$uri capacity=1.5 rate=1/s; | must be a count
http | weir_zone z key=$uri capacity=18446744073709551616 rate=1/s; | must be a count
http | weir_zone z key=$uri capacity=18446744073709551615 rate=1/s; | "z"
http | weir_zone z key=$uri capacity=200M rate=1/s; | 4.5 years
http | weir_zone z key=$uri capacity=5 rate=0/s; | rate
http | weir_zone z key=$uri capacity=5 rate=5; | must be such as 20/s
http | weir_zone z key=$uri capacity=5 rate=2M/s; | rate must lie between 1/year and 1M/s
http | weir_zone z key=$uri capacity=5 rate=1/2year; | rate
http | weir_zone z key=$uri capacity=5 rate=1/parsec; | must be such as 20/s
http | weir_zone z key=$uri capacity=5 rate=99999999999999999999/s; | must be such as 20/s
http | weir_zone z key=$uri algorithm=magic capacity=5 rate=1/s; | sliding-log, not "magic"
http | weir_zone z key=$uri algorithm=fixed-window capacity=5 rate=1/s; | windows take
http | weir_zone z key=$uri limit=5 per=1s; | buckets take
http | weir_zone z key=$uri capacity=5 rate=1/s limit=5; | buckets take
http | weir_zone z key=$uri algorithm=fixed-window limit=5; | "per=" is missing
http | weir_zone z key=$uri algorithm=fixed-window per=5s; | "limit=" is missing
http | weir_zone z key=$uri algorithm=fixed-window limit=0 per=1s; | "0"
http | weir_zone z key=$uri algorithm=fixed-window limit=5 per=0s; | "0s"
http | weir_zone z key=$uri algorithm=fixed-window limit=5 per=2year; | window
http | weir_zone z key=$uri algorithm=fixed-window limit=5 per=soon; | must have a unit
http | weir_zone z key=$uri algorithm=sliding-window limit=9000000000 per=1ms; | "z"
http | weir_zone z key=$uri algorithm=sliding-log limit=40000 per=1m; | "z"
http | weir_zone z key=$uri algorithm=sliding-log limit=10 per=1m max=5; | max
http | weir_zone z key=$uri algorithm=sliding-log limit=10 per=1m max=0; | max
http | weir_zone z key=$uri algorithm=sliding-log limit=10 per=1m max=99999999; | max
http | weir_zone z key=$uri capacity=5 rate=1/s max=5; | "max=" is for sliding-log
http | weir_zone z key=$uri capacity=$arg_c rate=1/s; | needs "default="
http | weir_zone z key=$uri capacity=5 rate=1/s default=5,1/s; | "default=" is for
http | weir_zone z key=$uri capacity=$arg_c rate=1/s default=5; | such as 10,1/s
http | weir_zone z key=$uri capacity=$arg_c rate=1/s default=0,1/s; | invalid pair\|at least 1
http | weir_zone z key=$uri capacity=$arg_c rate=1/s default=5,often; | invalid pair "5,often"
http | weir_zone z key=$uri capacity=5 rate=1/s entries=63; | entries
http | weir_zone z key=$uri capacity=5 rate=1/s entries=1T; | entries
http | weir_zone z key=$uri capacity=5 rate=1/s entries=many; | invalid entries "many"
http | weir_zone z key=$uri capacity=5 rate=1/s overflow=5; | such as 10,1/s
http | weir_zone z key=$uri capacity=5 rate=1/s overflow=0,1/s; | overflow\|invalid pair
http | weir_zone z key=$uri capacity=5 rate=1/s shared=../other; | share
http | weir_zone z key=$uri capacity=5 rate=1/s shared=; | empty parameter "shared="
http | weir_zone z key=$uri capacity=5 rate=1/s observed; | invalid parameter "observed"
http | weir_zone z key=$uri capacity=5 rate=1/s observe observe; | parameter "observe"
http | weir_address; | number of arguments
http | weir_address x-real-ip from=10.0.0.0/8; | invalid source "x-real-ip"
http | weir_address x-forwarded-for; | needs "from="
http | weir_address peer from=10.0.0.0/8; | "from="
http | weir_address x-forwarded-for from=10.0.0.0/33; | invalid parameter "from=10.0.0.0/33"
http | weir_address x-forwarded-for from=example.org; | invalid parameter
http | weir_address x-forwarded-for from=10.0.0.1/8; | invalid parameter
http | weir_address peer ipv6-prefix=129; | invalid parameter "ipv6-prefix=129"
http | weir_address peer ipv6-prefix=; | invalid parameter "ipv6-prefix="
http | weir_address peer; weir_address peer; | duplicate
http | weir_dir /run/a; weir_dir /run/b; | duplicate
http | weir_dir relative/path; | weir_dir
http | weir_held_max -1; | weir_held_max
http | weir_held_max many; | weir_held_max\|invalid number
http | weir_held_max 1000001; | 0 to 1000000
location | weir_dir /run/a; | not allowed here
location | weir_zone z key=$uri capacity=5 rate=1/s; | not allowed here
location | weir; | number of arguments
location | weir none; | "none".*not defined
location | weir good good; | invalid parameter "good"
location | weir good; weir good; | duplicate
location | weir good; weir off; | "off" beside a zone
location | weir off; weir good; | "off" beside a zone
location | weir off cost=1; | off
location | weir good cost=6; | cost
location | weir good cost=-1; | cost=-1
location | weir good cost=two; | cost=two
location | weir good cost=99999999; | cost
location | weir good delay=6; | delay
location | weir good delay=-1; | invalid parameter "delay=-1"
location | weir good delay=1 nodelay; | twice
location | weir window delay=1; | windows
location | weir window nodelay; | windows
location | weir_headers none; | invalid value "none"
location | weir_headers draft draft; | number of arguments
location | weir_reveal maybe; | weir_reveal\|invalid value
location | weir_refusal_status 399; | 400 to 599
location | weir_refusal_status 600; | 400 to 599
location | weir_refusal_status 444; | but for 408, 444 and 494 to 499
location | weir_refusal_status 499; | but for 408, 444 and 494 to 499
http | weir_address proxy-protocol; | needs "from="
location | weir_refusal_status none; | invalid number
location | weir_body html; | invalid value "html"
location | weir_retry_jitter -1; | invalid value
location | weir_retry_jitter 2h; | 3600s
location | weir_exempt_preflight maybe; | invalid value
location | weir_log_level crit; | invalid value "crit"
location | weir_check caddy from=127.0.0.1; weir_route / formed; | zone "formed".*a check has none: it would limit nothing
location | weir_check caddy from=127.0.0.1; weir_route /api good; weir_route / good formed; | zone "formed".*it would limit nothing
END
# nginx itself looks for variables, at the end, and says no line.
no_such_variable() {
	local said

	! said=$(said_of "$@") || return
	echo "$said"
	grep -q '\[emerg\].*unknown "none_such" variable' <<<"$said"
}

for fragment in 'key=$none_such capacity=5 rate=1/s' \
	'key=$uri capacity=$none_such rate=1/s default=5,1/s'; do
	tap_check "refused: $fragment" no_such_variable "weir_zone z $fragment;" ''
done
tap_check 'refused: a cost in no variable' no_such_variable '' 'weir good cost=$none_such;'

table warned 'warned of' <<'END'
location | weir good; return 200; | return
location | weir claimed; | claim
location | weir_check caddy from=127.0.0.1; weir_route / good mixed; | zone "mixed".*only its other keys count here
http | weir_zone z key=$uri capacity=5 rate=1/s; | "z" limits nothing
http | weir_zone z key=$uri capacity=1k rate=1/h entries=64; | entries
http | weir_zone z key=$weir_address capacity=1 rate=1/year; | room for 0 new keys
END
claim='weir_zone z key=$weir_address capacity=$arg_a rate=1/s default=10,1/s;'
tap_check 'warned of: a limit that the client says itself' \
	warned "$claim" 'own limit' "$claim" 'weir z;'
# forms KEYS: by fields alone.
forms() {
	local zone="weir_zone z $1 capacity=5 rate=1/s; weir_form_field \$later user;"

	tap_check "warned of: $1" warned "$zone" 'zone "z".*unreadable.*second "key=$weir_address"' \
		"$zone" 'weir good; weir z;'
}
forms 'key=$field'
forms 'key=${Field}'
forms 'key=$later'
forms 'key=$field key=$later'
tap_check 'warned of: a location that drops what its server limits' warned 'weir window;' \
	'drops zone "good"' "server { listen 8085; weir good; location / { 
		weir window;
	} }" ''

table_accepted() {
	local fragment

	while read -r fragment; do
		tap_check "accepted: $fragment" accepted "$fragment" 'weir z;'
	done
}
table_accepted <<'END'
weir_zone z key=$weir_address capacity=1 rate=1/min entries=1M;
weir_zone z key=$weir_address capacity=1M rate=1M/s;
weir_zone z key=$weir_address capacity=10 rate=100/m;
weir_zone z key=$weir_address algorithm=sliding-log limit=100 per=1m max=200;
weir_zone z key=$weir_address algorithm=sliding-window limit=100 per=1d entries=10M;
weir_zone z key=$weir_address algorithm=leaky-bucket capacity=50 rate=10/s observe;
weir_zone z key=$weir_address key=$uri capacity=10 rate=1/s count-refused shared=all;
weir_zone z key=$weir_address$uri capacity=$mapped rate=$mapped/s default=10,1/s overflow=100,10/s;
weir_zone z key=$field key=$weir_address capacity=5 rate=1/s;
weir_zone z key=$field$weir_address capacity=5 rate=1/s;
weir_address forwarded from=10.0.0.0/8 from=unix:; weir_zone z key=$uri capacity=5 rate=1/s;
END
tap_check 'accepted: an application, which names the key itself' accepted '' \
	'weir_check app from=127.0.0.1;'
tap_equal 'and nothing was made by it' 0 "$(find "$NGINX_DIR" -path "$NGINX_ZONES*" | wc -l)"
tap_finish
