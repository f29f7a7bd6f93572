#!/bin/bash
# SPDX-License-Identifier: MIT
# Who is refused too often is banned for a while: counted by the zone that refused and nobody else,
# and kept through whatever becomes of nginx.

# shellcheck source-path=SCRIPTDIR source=nginx.sh
. "$(dirname "$0")/nginx.sh"

WEIR=$TESTBED_ROOT/build/weir
PENALTY='refusals=3 within=60s ban=30m max=2h'

zone_locations() {
	local zone

	for zone; do
		echo "location /$zone { weir $zone; try_files /ok =500; }"
	done
}

# body [SED]: what is replaced in it.
body() {
	sed -e "${1:-}" <<-END
	weir_held_max 1;
	weir_address x-forwarded-for from=127.0.0.0/8;
	weir_penalty api $PENALTY;
	weir_zone api key=\$weir_address capacity=2 rate=1/h entries=1k;
	weir_zone beside key=\$weir_address capacity=9 rate=1/h entries=1k;
	weir_zone empty key=\$weir_address capacity=1 rate=1/d entries=1k;
	weir_zone again key=\$weir_address capacity=1 rate=1/d entries=1k;
	weir_penalty again refusals=1 within=1s ban=1s max=3s;
	weir_zone fading key=\$weir_address capacity=1 rate=1/d entries=1k;
	weir_penalty fading refusals=1 within=1s ban=1s max=8s;
	weir_zone quick key=\$weir_address capacity=1 rate=2/s entries=1k;
	weir_penalty quick refusals=1 within=1s ban=1s max=1s;
	weir_zone seldom key=\$weir_address capacity=1 rate=1/d entries=1k;
	weir_penalty seldom refusals=2 within=1s ban=1h max=1h;
	weir_zone seen key=\$weir_address capacity=1 rate=1/d entries=1k observe;
	weir_penalty seen refusals=1 within=60s ban=1h max=1h;
	weir_zone crowd key=\$weir_address capacity=1 rate=1/d entries=64;
	weir_penalty crowd refusals=1 within=60s ban=1h max=1h;
	weir_zone held key=\$weir_address algorithm=leaky-bucket capacity=9 rate=1/d entries=1k;
	weir_penalty held refusals=1 within=60s ban=1h max=1h;
	weir_zone few key=\$weir_address capacity=1 rate=1/d entries=1k;
	weir_penalty few refusals=1 within=60s ban=1h max=1h offenders=8;
	weir_zone many key=\$weir_address capacity=5 rate=1/d entries=1k;
	weir_penalty many refusals=40 within=60s ban=1h max=1h;
	weir_zone loud key=\$weir_address capacity=1 rate=1/d entries=1k;
	weir_penalty loud refusals=1 within=60s ban=1h max=1h;
	weir_zone account key=\$arg_key capacity=1 rate=1/d entries=1k;
	weir_penalty account refusals=2 within=60s ban=1h max=1h penalty-any-key;
	log_format told '\$weir_address \$weir_status \$weir_zone \$pid';
	server {
		listen $PORT reuseport;
		access_log $NGINX_DIR/access told;
		add_header Seen \$weir_status always;
		location /api { weir api; try_files /ok =500; }
		location /elsewhere { weir api cost=2; try_files /ok =500; }
		location /free { weir api cost=0; try_files /ok =500; }
		location /with { weir beside; weir api; try_files /ok =500; }
		location /beside { weir beside cost=0; try_files /ok =500; }
		location /hidden { weir api; weir_reveal off; }
		location /hidden-other { weir empty; weir_reveal off; try_files /ok =500; }
		location /other { weir empty; weir api; try_files /ok =500; }
		$(zone_locations again fading quick seldom seen crowd held few many)
		location /loud { weir loud; weir_log_level error; try_files /ok =500; }
		location /account { weir account; try_files /ok =500; }
	}
	END
}

# from ADDRESS COMMAND...: COMMAND with the header of a proxy that names ADDRESS.
from() {
	"${@:2}" --header "X-Forwarded-For: $1"
}

# told COUNT ADDRESS PATH: $weir_status of as many requests.
told() {
	from "$2" http_fields "$3?[1-$1]" | sed -n 's/^seen: //Ip' | uniq -c |
		awk '{ printf "%s%d*%s", sep, $1, $2; sep = " " }'
}

is_told() {
	[ "$(told 1 "$1" "$2")" = "1*$3" ]
}

# counted ZONE NAME...
counted() {
	local zone=$1

	shift
	"$WEIR" http zones --json --dir "$NGINX_ZONES" |
		jq -r --arg zone "$zone" --args '[.zones[] | select(.zone == $zone)[$ARGS.positional[]]] |
			join(" ")' "$@"
}

now() {
	echo "${EPOCHREALTIME/,/.}"
}

# reached MOMENT: as now prints it.
reached() {
	awk "BEGIN { exit !($(now) >= $1) }"
}

# later SECONDS: that moment.
later() {
	awk "BEGIN { printf \"%.3f\", $(now) + $1 }"
}

retry_after() {
	from "$1" http_field retry-after "$2"
}

# ban ADDRESS: in zone api.
ban() {
	[ "$(told 6 "$1" /api)" = '2*PASSED 2*REFUSED 2*BANNED' ]
}

# bans_next ADDRESS PATH DURATION: asks once; whether that made a ban as long as that.
bans_next() {
	from "$1" http_status "$2" >/dev/null
	nginx_says "weir bans $1, key [0-9a-f]\{16\} for $3, zone \"${2#/}\""
}

# elapses ADDRESS PATH: passes again once the ban is over, and no earlier.
elapses() {
	local begin

	begin=$(now)
	[ "$(told 3 "$1" "$2")" = '1*PASSED 2*BANNED' ] || return
	[ "$(retry_after "$1" "$2")" -eq 1 ] || return
	wait_until 5 is_told "$1" "$2" PASSED || return
	awk "BEGIN { print passed = $(now) - $begin; exit !(passed >= 1 && passed < 3) }"
}

# stays_banned ADDRESS: refused and banned, with about what was left before.
stays_banned() {
	local left

	left=$(retry_after "$1" /api)
	echo "$left left, $(told 1 "$1" /api)"
	[ "$left" -gt 1700 ] && [ "$left" -le 1800 ] && is_told "$1" /api BANNED
}

# survives COMMAND...: whether a ban is the same after it.
survives() {
	"$@" >/dev/null && stays_banned 10.0.2.1
}

nginx_restart() {
	nginx_stop QUIT
	nginx_configure "$(body "${1:-}")"
	nginx_launch
}

workers_are_killed() {
	nginx_old_workers=$(nginx_workers)
	xargs kill -KILL <<<"$nginx_old_workers"
	wait_until 5 nginx_new_serve
}

# refused_test PATTERN SED: nginx -t refuses the changed configuration, and says why.
refused_test() {
	local said status=0

	said=$(nginx_test "$(body "$2")") || status=$?
	echo "$said"
	[ "$status" -ne 0 ] && grep -q "\[emerg\].*$1" <<<"$said"
}

# crowd PATH COUNT: one request in the name of each of as many addresses.
crowd() {
	local at

	for ((at = 0; at < $2; at++)); do
		[ "$at" -eq 0 ] || echo next
		printf 'url = "%s"\nheader = "X-Forwarded-For: 172.%d.%d.1"\noutput = /dev/null\n' \
			"$URL$1" $((16 + at % 16)) $((at / 16))
	done | curl --silent --config -
}

nginx_open
nginx_start "$(body)"

tap_equal 'the third refusal bans, and says so' '2*PASSED 2*REFUSED 3*BANNED' "$(told 7 10.0.0.1 /api)"
tap_equal 'a banned client is refused by 429' '3*429' "$(from 10.0.0.1 http_statuses 3 /api)"
tap_equal 'counted are refusals, bans, and what they refused' '3 5 1 0' \
	"$(counted api refused banned bans offenders_full)"
tap_true 'Retry-After is what is left of the ban' \
	"$(retry_after 10.0.0.1 /api) > 1790 && $(retry_after 10.0.0.1 /api) <= 1800"
fields=$(from 10.0.0.1 http_fields /api)
tap_equal 'and RateLimit says the same' \
	"\"api\";r=0;t=$(sed -n 's/^retry-after: //Ip' <<<"$fields")" \
	"$(sed -n 's/^ratelimit: //Ip' <<<"$fields")"
tap_check 'the log tells who is banned, for how long, and by which zone' nginx_says \
	'\[warn\].*weir bans 10.0.0.1, key [0-9a-f]\{16\} for 30m, zone "api"'
told 2 10.0.0.3 /loud >/dev/null
tap_check 'at the level of refusals' nginx_says '\[error\].*weir bans 10.0.0.3, '
tap_check 'a variable tells that it was a ban' wait_until 5 grep -q '^10.0.0.1 BANNED api ' \
	"$NGINX_DIR/access"
tap_equal 'the ban holds on every route of the zone, whatever it costs' \
	'1*BANNED 1*BANNED 1*BANNED' "$(told 1 10.0.0.1 /elsewhere) $(told 1 10.0.0.1 /free) $(
		told 1 10.0.0.1 /with)"
tap_equal 'and on no other' '1*PASSED' "$(told 1 10.0.0.1 /beside)"
tap_equal 'the other zones of a route have no say' '"api"' \
	"$(from 10.0.0.1 http_field ratelimit /with | grep -o '"[a-z]*"' | xargs -d'\n')"
tap_equal 'and their policy is not told' '"api"' \
	"$(from 10.0.0.1 http_field ratelimit-policy /with | grep -o '"[a-z]*"' | xargs -d'\n')"
tap_equal 'nor are they charged' 9 \
	"$(from 10.0.0.1 http_field ratelimit /beside | grep -o 'r=[0-9]*' | cut -d= -f2)"
tap_equal 'a neighbour is not banned with it' '2*PASSED 1*REFUSED' "$(told 3 10.0.0.2 /api)"
tap_equal 'who believes no headers is told nothing of the ban' '' \
	"$(from 10.0.0.1 http_fields /hidden | grep -i -e retry-after -e ratelimit || :)"
from 10.0.0.1 http_status /hidden-other >/dev/null
tap_equal 'and its answer is that to any other refusal' \
	"$(from 10.0.0.1 http /hidden-other --include | sed '/^Date:/d; /^Seen:/d')" \
	"$(from 10.0.0.1 http /hidden --include | sed '/^Date:/d; /^Seen:/d')"
tap_check 'a ban ends when it has said' elapses 10.0.3.1 /quick
bans_double() {
	local duration

	told 1 10.0.3.2 /again
	for duration in 1s 2s 3s 3s; do
		nginx_log_mark
		wait_until 6 bans_next 10.0.3.2 /again "$duration" || return
		[ "$(retry_after 10.0.3.2 /again)" -le "${duration%s}" ] || return
	done
}
tap_check 'each further ban lasts twice as long, up to max=' bans_double
fades() {
	told 1 10.0.3.3 /fading
	bans_next 10.0.3.3 /fading 1s || return
	wait_until 9 reached "$(later 3.1)" || return
	nginx_log_mark
	bans_next 10.0.3.3 /fading 1s
}
tap_check 'and is forgotten after as long a time again without refusals' fades
is_seldom() {
	[ "$(told 2 10.0.3.4 /seldom)" = '1*PASSED 1*REFUSED' ] || return
	wait_until 5 reached "$(later 1.1)" || return
	[ "$(told 1 10.0.3.4 /seldom)" = '1*REFUSED' ] || return
	[ "$(told 2 10.0.3.4 /seldom)" = '2*BANNED' ]
}
tap_check 'refusals further apart than within= do not add up' is_seldom

tap_equal 'what another zone refuses bans nobody' '1*PASSED 9*REFUSED' "$(told 10 10.0.4.1 /other)"
tap_equal 'so all of the own limit is there' '1*PASSED 2*REFUSED 2*BANNED' "$(told 5 10.0.4.1 /api)"
tap_equal 'an observed zone bans nobody' '1*PASSED 9*REFUSED_OBSERVED' "$(told 10 10.0.4.2 /seen)"
http_status /held >/dev/null
held_max_refuses() {
	local refused

	read -r _ refused _ < <(python_client --patience 1 \
		together 8 /held)
	echo "$refused, $(counted held refused bans)"
	[ "$refused" -ge 6 ] && [ "$(counted held bans)" = 0 ]
}
tap_check 'nor does a refusal because too many are held already' held_max_refuses
crowd /crowd 400
tap_true 'keys without a slot were refused' "$(counted crowd overflow_refused) > 50"
tap_equal 'and nobody is banned for what a shared bucket refuses' 0 "$(counted crowd bans)"

for last in 1 2 3 4 5 6 7 8; do
	told 2 "10.0.5.$last" /few >/dev/null
done
tap_equal 'as many are banned as there is room for' '8 0' "$(counted few bans offenders_full)"
tap_equal 'the next is refused, and counted' '1*PASSED 3*REFUSED, 8 3' \
	"$(told 4 10.0.5.9 /few), $(counted few bans offenders_full)"
tap_equal 'no ban is dropped for it' '8 1*BANNED' \
	"$(for last in 1 2 3 4 5 6 7 8; do
		told 1 "10.0.5.$last" /few
		echo
	done | uniq -c | xargs)"
tap_equal 'an account is banned only where it is asked for' '1*PASSED 1*REFUSED 2*BANNED' \
	"$(from 10.0.6.1 http_fields '/account?key=alice&[1-4]' | sed -n 's/^seen: //Ip' | uniq -c |
		awk '{ printf "%s%d*%s", sep, $1, $2; sep = " " }')"
tap_check 'and the log has the hash of its name' nginx_says \
	'weir bans key [0-9a-f]\{16\} for 1h, zone "account"'

http_load --h1 -n 200 -c 8 "$URL/many" >"$NGINX_DIR/load"
tap_equal 'two workers count together: one ban' '5 195 0, 1' \
	"$(cat "$NGINX_DIR/load"), $(counted many bans)"
tap_true 'after as many refusals, and those that were under way' \
	"$(counted many refused) >= 40 && $(counted many refused) < 40 + 8"
tap_equal 'and the rest is its doing' 195 "$(counted many refused banned | awk '{ print $1 + $2 }')"
tap_equal 'both having had their part' 2 \
	"$(awk '$3 == "many" { print $4 }' "$NGINX_DIR/access" | sort -u | wc -l)"

tap_check 'a ban is made' ban 10.0.2.1
tap_check 'it outlives a reload' survives nginx_reload
tap_check 'a reload with another limit' survives nginx_reload "$(body 's/capacity=2/capacity=3/')"
tap_check 'with other parameters of the penalty' survives nginx_reload \
	"$(body 's/refusals=3 within=60s ban=30m max=2h/refusals=9 within=5s ban=1s max=1s/')"
tap_check 'with another number of entries' survives nginx_reload \
	"$(body 's/entries=1k/entries=4k/')"
tap_check 'and of offenders' survives nginx_reload "$(body 's/max=2h/max=2h offenders=64/')"
tap_check 'workers that are killed' survives workers_are_killed
tap_check 'a restart' survives nginx_restart
tap_check 'and one with another number of entries' survives nginx_restart 's/entries=1k/entries=2k/'
tap_check 'a new client is banned as before' ban 10.0.2.2
nginx_reload "$(body '/weir_penalty api/d')"
tap_equal 'without weir_penalty nobody is banned' '2*REFUSED 6*REFUSED' \
	"$(told 2 10.0.2.1 /api) $(told 6 10.0.2.2 /api)"
nginx_reload "$(body)"
tap_equal 'nor any more once it is there again' '2*REFUSED 2*BANNED' "$(told 4 10.0.2.1 /api)"

tap_check 'a key that is no address needs penalty-any-key' \
	refused_test 'zone "account" is not keyed by $weir_address alone' 's/ penalty-any-key//'
tap_check 'so does an address with something behind it' refused_test 'zone "api" is not keyed' \
	's/zone api key=$weir_address/& key=$arg_key/'
tap_check 'or beside it' refused_test 'zone "api" is not keyed' \
	's/zone api key=$weir_address/&$arg_key/'
tap_check 'a zone that is not there is named' refused_test 'zone "nowhere" is not defined' \
	's/weir_penalty api/weir_penalty nowhere/'
tap_check 'and so is one with two penalties' refused_test 'is there twice for the zone' \
	's/weir_penalty quick/weir_penalty api/'

# refuses WORDS PATTERN: in place of the parameters of a penalty.
refuses() {
	tap_check "weir_penalty api $1: $2" refused_test "$2" "s/$PENALTY/$1/"
}

refuses 'refusals=3 within=60s ban=30m' 'needs "refusals="'
refuses 'refusals=3 within=60s max=2h' 'needs "refusals="'
refuses 'refusals=3 ban=30m max=2h' 'needs "refusals="'
refuses 'within=60s ban=30m max=2h' 'needs "refusals="'
refuses 'refusals=0 within=60s ban=30m max=2h' 'refusals=0'
refuses 'refusals=1001 within=60s ban=30m max=2h' 'refusals must be 1 to 1000'
refuses 'refusals=4294967299 within=60s ban=30m max=2h' 'refusals=4294967299'
refuses 'refusals=-3 within=60s ban=30m max=2h' 'refusals=-3'
refuses 'refusals=3 within=999ms ban=30m max=2h' 'within must be'
refuses 'refusals=3 within=25h ban=30m max=2h' 'within must be'
refuses 'refusals=3 within=60s ban=500ms max=2h' 'ban must be'
refuses 'refusals=3 within=60s ban=3h max=2h' 'max must lie between'
refuses 'refusals=3 within=60s ban=30m max=367d' 'max must lie between'
refuses 'refusals=3 within=60 ban=30m max=2h' 'invalid parameter "within=60"'
refuses 'refusals=3 within=60s ban= max=2h' 'invalid parameter "ban="'
refuses "$PENALTY offenders=0" 'invalid parameter "offenders=0"'
refuses "$PENALTY offenders=17M" 'invalid parameter "offenders=17M"'
refuses "$PENALTY for-ever" 'invalid parameter "for-ever"'
refuses "$PENALTY penalty-any-keys" 'invalid parameter "penalty-any-keys"'
refuses 'refusals=1 refusals=2 within=60s ban=30m max=2h' 'invalid parameter "refusals=2"'
tap_finish
