#!/bin/bash
# SPDX-License-Identifier: MIT
# Promises that no other test keeps an eye on: every algorithm's Retry-After by a real clock, the
# status of a refusal wherever it happens, one network's share, another boot, a new binary.

[ -n "${HTTP_MOUNTS_APART:-}" ] || HTTP_MOUNTS_APART=1 exec unshare --mount -- bash "$0" "$@"

# shellcheck source-path=SCRIPTDIR source=nginx.sh
. "$(dirname "$0")/nginx.sh"

WEIR=${WEIR:-$TESTBED_ROOT/build/weir}
NOBODY=65534
JITTER=3
HELD_MAX=2 # by each worker
SHARE=64 # of 512 entries

# pause_until SECONDS: of the day's clock.
pause_until() {
	testbed_pause "$(awk "BEGIN { left = $1 - $EPOCHREALTIME; print (left > 0 ? left : 0.001) }")"
}

is_past() {
	awk "BEGIN { exit !($EPOCHREALTIME > $1) }"
}

# refused_after PATH: asks until it is refused; sets wait, to what Retry-After then says, and the
# moments around.
refused_after() {
	local tries=5

	wait=
	while [ -z "$wait" ] && [ $((tries--)) -gt 0 ]; do
		before=$EPOCHREALTIME
		wait=$(http_field retry-after "$1")
		after=$EPOCHREALTIME
	done
	echo "$1: $wait"
	[[ $wait =~ ^[1-9]$ ]]
}

# Once it is refused: a request passes after Retry-After, and none does a second before that. On a
# busy machine the earlier one may be late, pass, and so spoil the other: then all over again.
keeps_its_word() {
	local path=$1 rounds=5 wait before after

	while [ $((rounds--)) -gt 0 ]; do
		refused_after "$path" || return
		if [ "$wait" -gt 1 ]; then
			pause_until "$before + $wait - 1.2"
			[ "$(http_status "$path")" = 429 ] ||
				{ is_past "$before + $wait - 1" && continue || return; }
		fi
		pause_until "$after + $wait"
		[ "$(http_status "$path")" = 200 ]
		return
	done
	return 1
}

# All at once, each with a key of its own.
algorithms_keep_their_word() {
	local algorithm pid failed=0
	local -a pids=()

	for algorithm in token leaky fixed sliding log; do
		keeps_its_word "/$algorithm" &
		pids+=($!)
	done
	for pid in "${pids[@]}"; do
		wait "$pid" || failed=1
	done
	return "$failed"
}

# What Retry-After adds to RateLimit's t, over many refusals: nothing up to JITTER, and not always
# the same.
jitter_is_within() {
	local added

	added=$(for _ in {1..40}; do
		http_fields /jittered | awk '
		tolower($1) == "ratelimit:" { sub(/.*t=/, ""); left = $0 }
		tolower($1) == "retry-after:" { wait = $2 }
		END { print wait - left }'
	done | sort -n)
	uniq -c <<<"$added"
	[ "$(head -1 <<<"$added")" -ge 0 ] && [ "$(tail -1 <<<"$added")" -le "$JITTER" ] &&
		[ "$(uniq <<<"$added" | wc -l)" -gt 1 ]
}

# told PATH: the status, and whether Retry-After is there.
told() {
	http_fields "$1" | awk '
	/^HTTP/ { status = $2 }
	tolower($1) == "retry-after:" { wait = " and when" }
	END { print status wait }'
}

refused_by() {
	http_status "$1" >/dev/null
	told "$1"
}

names_of() {
	http_fields "$1" | sed -n 's/^\(x-ratelimit-[a-z]*\): .*/\1/Ip' | sort -f | xargs
}

# asked_from PREFIX FIRST LAST: each address once; prints how many were told PASSED.
asked_from() {
	local i

	for ((i = $2; i <= $3; i++)); do
		printf 'url = "%s/client"\nheader = "X-Forwarded-For: %s%d"\nnext\n' "$URL" "$1" "$i"
	done | sed '$d' | curl -s --config - | grep -c '^PASSED' || :
}

overflow_is_told() {
	local lines

	lines=$(grep -c 'zone "client" has no slot' "$(nginx_log)" || :)
	echo "$lines lines"
	[ "$lines" -ge 1 ] && [ "$lines" -le "$NGINX_WORKERS" ]
}

# One after the other more than all workers may hold at once: none is refused.
held_over_http2_leaves() {
	local requests=$((2 * HELD_MAX * NGINX_WORKERS))

	for ((; requests > 0; requests--)); do
		! curl -s --http2-prior-knowledge --max-time 0.2 http://127.0.0.1:8082/held || return
	done
	sort "$NGINX_DIR/held" | uniq -c
	[ "$(tail -n +2 "$NGINX_DIR/held" | sort -u)" = '499 DELAYED' ]
}

# counted ZONE NAME...: counts of weir http zones.
counted() {
	local zone=$1

	shift
	"$WEIR" http zones --dir "$NGINX_ZONES" --json | jq -r --arg zone "$zone" \
		'.zones[] | select(.zone == $zone) | [.[$ARGS.positional[]]] | join(" ")' --args "$@"
}

another_boot() {
	cat /proc/sys/kernel/random/uuid >"$NGINX_DIR/boot_id"
	mount --bind "$NGINX_DIR/boot_id" /proc/sys/kernel/random/boot_id
}

# Not in the foreground, where nginx does not listen to USR2.
daemon_start() {
	local dir

	dir=$(nginx_directory)
	"$(command -v nginx)" -p "$dir" -e "$dir/error.log" -c "$dir/nginx.conf" 2>>"$dir/output" || return
	cp "$dir/pid" "$dir/master"
	wait_until 10 nginx_started_or_ended "$(nginx_pid)"
}

is_another_pid() {
	[ -s "$(nginx_directory)/pid" ] && [ "$(cat "$(nginx_directory)/pid")" != "$1" ]
}

# A new binary's master beside the old one, which then ends.
new_binary() {
	local old=$1

	kill -USR2 "$old"
	wait_until 10 is_another_pid "$old" || return
	cp "$(nginx_directory)/pid" "$(nginx_directory)/master"
	wait_until 10 nginx_started_or_ended "$(nginx_pid)" || return
	[ "$(http_status /kept)" = 429 ] || return
	kill -QUIT "$old"
	wait_until 10 nginx_is_gone "$old"
}

as_nobody() {
	NGINX_BEFORE=(setpriv "--reuid=$NOBODY" "--regid=$NOBODY" --clear-groups)
	NGINX_NAME=plain
	NGINX_ZONES=$NGINX_DIR/plain/zones
	nginx_configure "$1"
	: >"$NGINX_DIR/plain/error.log"
	chown -R "$NOBODY:$NOBODY" "$NGINX_DIR/plain"
	nginx_launch
}

# What nginx -t says of a zone.
said_of_zone() {
	sed -n "s/.*weir zone \"$1\": \(.*\), [0-9]* entries.*/\1/p" "$NGINX_DIR/said"
}

nginx_open
nginx_start "
	weir_address x-forwarded-for from=127.0.0.0/8;
	weir_held_max $HELD_MAX;
	weir_zone token key=\$uri capacity=2 rate=30/min entries=1k;
	weir_zone leaky key=\$uri algorithm=leaky-bucket capacity=2 rate=20/min entries=1k;
	weir_zone fixed key=\$uri algorithm=fixed-window limit=2 per=4s entries=1k;
	weir_zone sliding key=\$uri algorithm=sliding-window limit=2 per=3s entries=1k;
	weir_zone log key=\$uri algorithm=sliding-log limit=2 per=3s entries=1k;
	weir_zone one key=\$request_uri capacity=1 rate=1/h;
	weir_zone client key=\$weir_address capacity=2 rate=1/h entries=512;
	weir_zone kept key=\$uri capacity=1 rate=1/h;
	weir_zone secret key=\$http_x_api_key capacity=5 rate=1/h;
	weir_zone junk key=\$weir_address capacity=\$arg_capacity rate=1/h default=5,1/h;
	weir_zone hold key=\$uri algorithm=leaky-bucket capacity=9 rate=1/h observe;
	weir_zone few key=\$request_uri capacity=1 rate=1/h entries=64 overflow=1,1/year observe;
	weir_zone slow key=\$uri algorithm=leaky-bucket capacity=100 rate=1/m;
	log_format status '\$weir_status';
	log_format held '\$status \$weir_status';
	server {
		listen [::]:$PORT ipv6only=off;
		listen 8082 http2;
		location = /token { weir token; try_files /ok =500; }
		location = /leaky { weir leaky nodelay; try_files /ok =500; }
		location = /fixed { weir fixed; try_files /ok =500; }
		location = /sliding { weir sliding; try_files /ok =500; }
		location = /log { weir log; try_files /ok =500; }
		location = /jittered { weir one; weir_retry_jitter ${JITTER}s; try_files /ok =500; }
		location /missing/ { error_page 404 /limited; alias $NGINX_SITE/; }
		location = /limited { weir one; try_files /ok =500; }
		location = /limited-json { weir one; weir_body json; try_files /ok =500; }
		location = /limited-plain { weir one; weir_body off; try_files /ok =500; }
		location /down/ { error_page 502 @limited; proxy_pass http://127.0.0.1:1; }
		location @limited { weir one; try_files /ok =500; }
		location /legacy { weir one; weir_headers legacy; proxy_pass http://$BACKEND; }
		location = /client { weir client; proxy_pass http://$BACKEND/\$weir_status; }
		location = /who { proxy_pass http://$BACKEND/\$weir_address; }
		location = /kept { weir kept; try_files /ok =500; }
		location = /secret { weir secret; try_files /ok =500; }
		location = /junk { weir junk cost=\$arg_cost; try_files /ok =500; }
		location = /hold { weir hold; proxy_pass http://$BACKEND/\$weir_status; }
		location = /few { weir few; access_log $NGINX_DIR/few status; try_files /ok =500; }
		location = /held { weir slow; access_log $NGINX_DIR/held held; try_files /ok =500; }
	}
	server {
		listen $BACKEND;
		add_header X-RateLimit-Limit 9 always;
		add_header x-ratelimit-reset 9 always;
		location ~ ^/(.*)\$ { return 200 \"\$1\n\"; }
	}"

tap_check 'every algorithm keeps what Retry-After says' algorithms_keep_their_word
http_status /jittered >/dev/null
tap_check 'jitter only adds' jitter_is_within

tap_equal 'a refusal is a 429' '429 and when' "$(refused_by /limited)"
tap_equal 'also on the way to a missing page' '429 and when' "$(refused_by /missing/none)"
tap_equal 'and to a page for a backend that is down' '429 and when' "$(refused_by /down/x)"
tap_equal 'a backend says no legacy field beside ours' \
	'X-RateLimit-Limit X-RateLimit-Remaining X-RateLimit-Reset' "$(names_of /legacy)"
tap_equal 'and ours is what counts' 0 "$(http_field x-ratelimit-remaining /legacy)"

tap_equal 'IPv4 on an IPv6 socket is IPv4' 127.0.0.1 "$(http_body /who)"
tap_equal 'one /24 gets its share of a zone' $SHARE "$(asked_from 192.0.2. 1 200)"
tap_equal 'others still find their place' 10 "$(asked_from 198.51.100. 1 10)"
tap_check 'which each worker tells once' overflow_is_told

tap_equal 'who is not lent a place is counted' 136 "$(counted client share_exceeded)"
for query in 'capacity=x&cost=1' 'capacity=0&cost=1' 'capacity=5&cost=' 'capacity=5&cost=-1'; do
	http_status "/junk?$query" >/dev/null
done
tap_equal 'a value that is no good is counted each time' 4 "$(counted junk defaulted)"
tap_equal 'an observed zone holds nobody' 'PASSED DELAYED_OBSERVED' "$(
	{ http_body /hold && http_body /hold; } | xargs)"
tap_equal 'nor refuses by overflow' '80*200' "$(http_statuses 80 /few)"
tap_check 'but says so' grep -qx OVERFLOW_OBSERVED "$NGINX_DIR/few"
http_status /secret -H 'X-Api-Key: correct-horse-battery' >/dev/null
tap_equal 'a secret is not in its file' '1 0' "$(counted secret in_debt) $(
	find "$NGINX_ZONES" -type f -exec cat {} + | grep -c correct-horse || :)"

http_status /held >/dev/null
tap_check 'who leaves over HTTP/2 frees the place it was held in' held_over_http2_leaves

nginx_stop
tap_check 'a daemon starts' daemon_start
tap_equal 'and limits' '200 429' "$(http_status /kept) $(http_status /kept)"
tap_check 'a new binary takes over' new_binary "$(nginx_pid)"
tap_equal 'with what is owed' 429 "$(http_status /kept)"
nginx_stop
another_boot
nginx_launch
tap_equal 'after a boot nobody owes anything' '200 429' "$(http_status /kept) $(http_status /kept)"
tap_equal 'which is said once of each zone' 1 \
	"$(nginx_log_since | grep -c '\[notice\].*"kept".*another boot')"
nginx_stop

tap_check 'an nginx of a plain user has its zones where weir_dir says' as_nobody "
	weir_zone kept key=\$uri capacity=1 rate=1/h;
	server { listen $PORT; location = /kept { weir kept; try_files /ok =500; } }"
tap_equal 'and limits' '200 429' "$(http_status /kept) $(http_status /kept)"
tap_equal 'with files of its own' "600 $NOBODY" \
	"$(find "$NGINX_DIR/plain/zones" -name kept -printf '%m %U')"
nginx_stop

NGINX_BEFORE=()
nginx_test "
	map \$http_x_api_key \$known_api_key { default ''; secret one; }
	map \$known_api_key \$plan_capacity { default ''; one 100; }
	map \$known_api_key \$plan_rate { default ''; one 10/s; }
	map \$uri \$cost { default 1; /api/export 10; }
	weir_address x-forwarded-for from=10.0.0.0/8;
	weir_zone address key=\$weir_address algorithm=token-bucket capacity=100 rate=20/s entries=100k;
	weir_zone account key=\$cookie_account capacity=5 rate=1/s;
	weir_zone plan key=\$known_api_key capacity=\$plan_capacity rate=\$plan_rate default=10,1/s;
	weir_zone shaped key=\$weir_address algorithm=leaky-bucket capacity=50 rate=10/s;
	weir_zone sliding key=\$weir_address algorithm=sliding-window limit=100 per=60s;
	weir_zone fixed key=\$weir_address algorithm=fixed-window limit=100 per=60s;
	weir_zone log key=\$weir_address algorithm=sliding-log limit=100 per=60s;
	server {
		location /login { weir address; weir account; proxy_pass http://$BACKEND; }
		location /api/ { weir address; weir plan cost=\$cost; proxy_pass http://$BACKEND; }
		location /slow/ { weir shaped delay=20; proxy_pass http://$BACKEND; }
		location /windows/ { weir sliding; weir fixed; weir log; proxy_pass http://$BACKEND; }
	}" >"$NGINX_DIR/said"
tap_equal 'a configuration as it should be is not warned of' 0 \
	"$(grep -c '\[warn\]' "$NGINX_DIR/said" || :)"
tap_equal 'its bounds are said: of a bucket' 'token-bucket, at most 100 + 20/s x t in any t' \
	"$(said_of_zone address)"
tap_equal 'of a fixed window' 'fixed-window, at most 200 in any 1m' "$(said_of_zone fixed)"
tap_equal 'of a sliding window' 'sliding-window, at most 199 in any 1m' "$(said_of_zone sliding)"
tap_equal 'of a log' 'sliding-log, at most 100 in any 1m' "$(said_of_zone log)"
tap_equal 'and the memory of each' 7 "$(grep -c 'entries in [0-9]* MB' "$NGINX_DIR/said")"
tap_finish
