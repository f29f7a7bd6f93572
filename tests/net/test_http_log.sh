#!/bin/bash
# SPDX-License-Identifier: MIT
# weir http log on what a real nginx wrote: plain, by gzip, rotated, cut short and with junk in it.

# shellcheck source-path=SCRIPTDIR source=nginx.sh
. "$(dirname "$0")/nginx.sh"

WEIR=${WEIR:-$TESTBED_ROOT/build/weir}
MILLION=1000000
GRPC=127.0.0.1:8082

body() {
	local format="\$weir_address - \$remote_user [\$time_local] \"\$request\" \$status"

	format+=" \$body_bytes_sent \"\$http_referer\" \"\$http_user_agent\" weir=\$weir_status"
	format+=" zone=\$weir_zone retry_after=\$weir_retry_after msec=\$msec"
	echo "
	log_format weir '$format';
	weir_address x-forwarded-for from=127.0.0.0/8;
	weir_zone login key=\$weir_address capacity=3 rate=1/h;
	weir_zone seen key=\$weir_address capacity=1 rate=1/h observe;
	weir_zone strict key=\$weir_address capacity=1 rate=1/h;
	weir_penalty strict refusals=2 within=1m ban=1h max=1h;
	server {
		listen $PORT;
		listen $GRPC http2;
		access_log $dir/combined;
		access_log $dir/weir weir;
		location /login { weir login; try_files /ok =404; }
		location /seen { weir seen; try_files /ok =404; }
		location /strict {
			weir strict;
			access_log $dir/strict weir;
			try_files /ok =404;
		}
		location / { try_files /ok =404; }
	}"
}

# from ADDRESS COUNT PATH [OPTION]: requests, all the same.
from() {
	http_statuses "$2" "$3" --header "X-Forwarded-For: $1" "${@:4}" >/dev/null
}

# junk_send BYTES: as a request.
junk_send() {
	exec 3<>"/dev/tcp/127.0.0.1/$PORT"
	printf '%b' "$1" >&3
	timeout 5 cat <&3 >/dev/null
	exec 3>&-
}

# One passes, one is refused, the next is banned for it, and so is one of gRPC.
bans_send() {
	from 192.0.2.9 3 /strict
	URL=http://$GRPC from 192.0.2.9 1 /strict --http2-prior-knowledge \
		--header 'Content-Type: application/grpc'
	wait_until 5 has_lines "$dir/strict" 4
}

has_lines() {
	[ "$(wc -l <"$1")" -eq "$2" ]
}

# 12 of /login by two clients, 5 of /api, 3 of /seen, and one that is no request.
requests_send() {
	from 192.0.2.1 8 /login
	from 2001:db8::1 2 /login
	from 2001:db8::2 2 /login
	from 192.0.2.2 5 /api/users/7?a=/b --user-agent 'a"b\ weir=REFUSED'
	from 192.0.2.3 3 /seen --user 'x [01/Jan/2000:00:00:00 +0000]:'
	junk_send '\x16\x03\x01\x02\n\n'
	wait_until 5 has_lines "$dir/weir" 21
}

# log WORD...: its status, stdout and stderr are kept.
log() {
	status=0
	"$WEIR" http log "$@" >"$dir/out" 2>"$dir/err" || status=$?
}

# says FILTER WORD...: it ends well, says nothing else, and jq finds FILTER true.
says() {
	log --json "${@:2}"
	cat "$dir/err"
	jq . "$dir/out"
	[ "$status" -eq 0 ] && [ ! -s "$dir/err" ] && jq -es "length == 1 and (.[0] | $1)" "$dir/out"
}

# fails STATUS PATTERN WORD...: and what is printed all the same is in $dir/out.
fails() {
	log --json "${@:3}"
	echo "(status $status)"
	cat "$dir/err"
	[ "$status" -eq "$1" ] && grep -q -e "$2" "$dir/err"
}

prints() {
	jq -es "length == 1 and (.[0] | $1)" "$dir/out"
}

is_silent() {
	[ ! -s "$dir/out" ]
}

# A log of so many lines; every tenth is refused.
lines_make() {
	awk -v count="$1" 'BEGIN {
		for (i = 0; i < count; i++)
			printf "10.%d.%d.1 - - [01/Dec/2026:17:%02d:%02d +0000] \"GET /api/users/%d?page=2 HTTP/1.1\" %d 512 \"https://example.com/\" \"Mozilla/5.0 (X11; Linux x86_64; rv:133.0) Gecko/20100101 Firefox/133.0\"\n", i * 7 % 256, i * 13 % 80, i * 60 / count, i * 3600 / count % 60, i, i % 10 ? 200 : 429
	}'
}

# seconds COMMAND...: of processor time.
seconds() {
	local TIMEFORMAT=%U

	{ time "$@" >/dev/null 2>&1; } 2>&1
}

completes() {
	# shellcheck source=/dev/null
	. <("$WEIR" completion)
	COMP_WORDS=(weir http log "$@")
	COMP_CWORD=$(($# + 2))
	_weir
	printf '%s\n' "${COMPREPLY[@]}"
}

nginx_open
dir=$NGINX_DIR
nginx_start "$(body)"
requests_send
bans_send
wait_until 5 has_lines "$dir/combined" 21
nginx_stop

# What it counts.
tap_check 'every line of the combined format is read' says '.lines == 21 and .junk == 0' "$dir/combined"
tap_check 'and of ours' says '.lines == 21 and .junk == 0' "$dir/weir"
tap_check 'the refused of the combined format are those with 429' says \
	'.requests == 21 and .refused == 6 and .would_be_refused == 0' "$dir/combined"
tap_check 'of ours those it says, what is only observed apart' says \
	'.refused == 6 and .would_be_refused == 2' "$dir/weir"
tap_equal 'of gRPC too, where a refusal has status 200' '429 REFUSED, 429 BANNED, 200 BANNED' \
	"$(sed -n 's/.*" \([0-9]*\) .* weir=\([A-Z]*\) .* retry_after=[0-9].*/\1 \2/p' "$dir/strict" |
		paste -sd , | sed 's/,/, /g')"
tap_check 'and of bans' says '.requests == 4 and .refused == 3 and
	.zones == [{zone: "strict", requests: 4, refused: 3, would_be_refused: 0, refused_share: 0.75}]' \
	"$dir/strict"
tap_check 'by route' says '.routes[0] == {route: "/login", requests: 12, refused: 6,
	would_be_refused: 0, refused_share: 0.5} and (.routes[] | select(.route == "/api/users/")
	.requests == 5) and (.routes[] | select(.route == "-") .requests == 1)' "$dir/combined"
tap_check 'as deep as asked' says '[.routes[].route] | sort ==
	["-", "/api/", "/login", "/seen"]' --route-depth 1 "$dir/combined"
tap_check 'by zone' says '[.zones[] | {zone, requests, refused, would_be_refused}] ==
	[{zone: "login", requests: 12, refused: 6, would_be_refused: 0},
	{zone: "seen", requests: 3, refused: 0, would_be_refused: 2}]' "$dir/weir"
tap_check 'by client, an IPv6 /64 as one' says '[.clients[:3][] | [.client, .requests, .refused]] ==
	[["192.0.2.1", 8, 5], ["192.0.2.2", 5, 0], ["2001:db8::/64", 4, 1]]' "$dir/weir"
tap_check 'offenders are those refused, most first' says '[.offenders[] | [.client, .refused]] ==
	[["192.0.2.1", 5], ["2001:db8::/64", 1]]' "$dir/weir"
tap_check 'with the first and the last refusal' says '.from as $from | .to as $to | all(.offenders[];
	.first_refused >= $from and .first_refused <= .last_refused and .last_refused <= $to)' "$dir/weir"
tap_check 'times are of today, in UTC' says "(now - (.from | fromdate)) | . >= 0 and . < 300" \
	"$dir/weir"
tap_check 'another time zone is the same time' says \
	'.from == "2026-12-01T16:35:03Z"' - <<<'192.0.2.1 - - [01/Dec/2026:17:35:03 +0100] "GET / HTTP/1.1" 200 1'
tap_check '--top bounds every list' says '[.routes, .zones, .clients, .offenders | length] ==
	[1, 1, 1, 1]' --top 1 "$dir/weir"
log "$dir/weir"
tap_check 'the text has the same' grep -q '^192\.0\.2\.1  *5  *8 ' "$dir/out"

# What a draft limit would have done.
tap_check 'the limit in force would have refused those that it did' says '.simulated | length == 1 and
	(.[0] | .limit == "/login 3 1/h" and .requests == 12 and .would_be_refused == 6 and
	.clients == 2 and .clients_refused == 2) and .[0].offenders[0] as $first |
	$first.client == "192.0.2.1" and $first.would_be_refused == 5 and
	($first.first_refused | fromdate) > 0' --simulate '/login 3 1/h' "$dir/weir"
sed 's/ msec=.*//' "$dir/weir" >"$dir/seconds"
tap_check 'by whole seconds too' says '.simulated[0].would_be_refused == 6' \
	--simulate '/login 3 1/h' "$dir/seconds"
tap_check 'each on its own' says '[.simulated[] | [.requests, .would_be_refused]] ==
	[[12, 10], [12, 0], [20, 16], [0, 0]]' "$dir/weir" --simulate '/login 1 1/h' \
	--simulate '/login 100 1/h' --simulate '/ 1 1/h' --simulate '/none 1 1/h'
tap_check 'what is no limit is refused' fails 2 "for --simulate: .*such as '/login 5 1/s'" \
	--simulate /login "$dir/weir"
tap_check 'before anything is read' is_silent

# Which files it takes.
head -n 12 "$dir/weir" | gzip >"$dir/log.2.gz"
tail -n +13 "$dir/weir" | head -n 5 >"$dir/log.1"
tail -n +18 "$dir/weir" >"$dir/log"
"$WEIR" http log --json --simulate '/ 2 1/h' "$dir/weir" >"$dir/whole"
"$WEIR" http log --json --simulate '/ 2 1/h' "$dir/log" "$dir/log.1" "$dir/log.2.gz" >"$dir/rotated"
tap_check 'rotated logs are one, whatever their order' cmp "$dir/whole" "$dir/rotated"
gzip -c "$dir/weir" >"$dir/weir.gz"
tap_equal 'gzip makes no difference' "$(cat "$dir/whole")" \
	"$("$WEIR" http log --json --simulate '/ 2 1/h' "$dir/weir.gz")"
cat "$dir/log.2.gz" <(gzip -c "$dir/log.1") >"$dir/both.gz"
tap_check 'nor do several in one file' says '.lines == 17' "$dir/both.gz"
tap_check 'standard input is -' says '.lines == 21' - <"$dir/weir.gz"
tap_check 'a pipe can be read' says '.lines == 21' <(cat "$dir/log") <(cat "$dir/both.gz")
tap_check 'an empty log has no requests' says '.lines == 0 and .from == null' /dev/null
tap_check 'a log that is not there is told' fails 1 "read '/nonexistent': No such file" /nonexistent \
	"$dir/weir"
tap_check 'and the others are read' prints '.lines == 21'
tap_check 'without any there is nothing to say' fails 1 "read '/nonexistent': No such" /nonexistent
tap_check 'and nothing is said' is_silent
tap_check 'a directory is no log' fails 1 "'/etc': Is a directory" /etc
tap_check 'a file is needed' fails 2 'FILE is missing' --top 3

# What is wrong in them.
lines_make 2000 | gzip >"$dir/cut.gz"
truncate -s -100 "$dir/cut.gz"
tap_check 'a gzip that is cut short is told' fails 1 "read '$dir/cut.gz': its gzip ends too early" \
	"$dir/cut.gz"
tap_check 'and what was read of it counts' prints '.requests > 1000 and .requests < 2000'
lines_make 2000 | gzip >"$dir/bad.gz"
printf '\377\377\377\377\377\377\377\377' | dd of="$dir/bad.gz" bs=1 seek=5000 conv=notrunc status=none
tap_check 'a gzip that is damaged too' fails 1 "read '$dir/bad.gz': its gzip is damaged" "$dir/bad.gz"
printf 'junk\n\n\377\376\n' | cat - "$dir/weir" >"$dir/junk"
tap_check 'junk is told with its place' fails 0 "$dir/junk:3 is left out: it lacks an address" "$dir/junk"
tap_check 'and counted' prints '.junk == 3 and .lines == 24 and .requests == 21'
awk 'BEGIN { for (i = 0; i < 1000; i++) print "junk" }' >"$dir/junk"
tap_check 'the first few of it' fails 0 '995 more lines are left out' "$dir/junk"
tap_equal 'and no more' 6 "$(wc -l <"$dir/err")"
head -c -30 "$dir/combined" >"$dir/cut"
tap_check 'a last line that is cut short is junk' fails 0 'cut:21 .*lacks the end of' "$dir/cut"
tap_check 'and the others count' prints '.requests == 20 and .junk == 1'
tap_check 'a name that a terminal could obey is told harmlessly' fails 1 "read 'no?2J?2J?x'" \
	$'no\xc2\x9b2J\x9b2J\xe2\x80\xaex'
{
	printf '192.0.2.1 - - [01/Dec/2026:17:35:03 +0000] "GET /'
	head -c 3000000 /dev/zero | tr '\0' a
	printf ' HTTP/1.1" 200 5\n'
	head -n 1 "$dir/weir"
} >"$dir/long"
tap_check 'a line of megabytes is junk' fails 0 'long:1 .*lacks the end of its request' "$dir/long"
tap_check 'and the next is a line' prints '.junk == 1 and .requests == 1'
sed 's/$/\r/' "$dir/weir" >"$dir/crlf"
tap_check 'lines may end with a carriage return' says '.lines == 21 and .refused == 6' "$dir/crlf"
{
	printf '192.0.2.1 - - [01/Dec/2026:17:35:%02d +0000] "GET / HTTP/1.1" 200 5\n' 30 10 20
} >"$dir/back"
tap_check 'time that goes back is told' fails 0 'time goes back in 1 lines, by 20s at most' "$dir/back"
tap_check 'and counted' prints '.times_back == 1 and .times_back_most_ns == 20000000000'

tap_check 'completion knows files' grep -qxF "$dir/combined" <(completes "$dir/comb")
tap_check 'and options' grep -qxF -e --simulate <(completes "$dir/combined" --sim)

lines_make $MILLION >"$dir/million"
gzip -1 -c "$dir/million" >"$dir/million.gz"
tap_check 'a million lines are read' says ".requests == $MILLION and .refused == $MILLION / 10" \
	"$dir/million"
echo "# of a million lines: weir http log $(seconds "$WEIR" http log "$dir/million") s," \
	"by gzip $(seconds "$WEIR" http log "$dir/million.gz") s," \
	"with a limit $(seconds "$WEIR" http log --simulate '/api 5 1/s' "$dir/million") s," \
	"wc -lw $(seconds wc -lw "$dir/million") s"
tap_finish
