#!/bin/bash
# SPDX-License-Identifier: MIT
# gRPC calls through nginx: what passes is untouched, and a refusal is a status that clients know.

# shellcheck source-path=SCRIPTDIR source=nginx.sh
. "$(dirname "$0")/nginx.sh"

GRPC=127.0.0.1:8083
SERVICES=(pass held refused quick hurried hidden dear banned paged large observed)
REFUSED='8 too many requests'

serve() {
	node "$TESTBED_ROOT/tests/npm/grpc.mjs" serve "${GRPC#*:}" "${SERVICES[@]}" \
		>"$NGINX_DIR/server" 2>&1 &
	wait_until "$NGINX_SECONDS_MAX" grep -q ready "$NGINX_DIR/server"
}

# call FILTER CALL...: what jq's filter says of each.
call() {
	node "$TESTBED_ROOT/tests/npm/grpc.mjs" call $PORT "${@:2}" | jq -r "$1"
}

status_of() {
	call '"\(.code) \(.details)"' "$@"
}

# calls FILTER CALL...: the filter is true of the array of them.
calls() {
	node "$TESTBED_ROOT/tests/npm/grpc.mjs" call "$PORT" "${@:2}" >"$NGINX_DIR/calls" || return
	jq -se "$1" "$NGINX_DIR/calls" >/dev/null || { cat "$NGINX_DIR/calls" && return 1; }
}

# Lines that repeat: "20*8 1*0".
counted() {
	uniq -c | awk '{ count = $1; $1 = ""; printf "%s%d*%s", sep, count, substr($0, 2); sep = " " }'
}

# What the access log has of a service, in the order of the requests.
logged() {
	sed -n "s|^/$1/[a-z]* ||p" "$NGINX_DIR/access" | counted
}

# frames SERVICE [OPTION]...: of the answer, as nghttp read them.
frames() {
	timeout 20 nghttp --no-dep -nv -t 10 -H 'content-type: application/grpc' -H 'te: trailers' \
		-H ':method: POST' "${@:2}" "$URL/$1/one" 2>&1 | tr -d '\r' |
		sed -e 's/\x1b\[[0-9;]*m//g' >"$NGINX_DIR/frames"
}

# The frames of the answer that are part of the message, and their flags.
message_frames() {
	sed -nE 's/.* recv (HEADERS|DATA|CONTINUATION) frame .*flags=(0x[0-9a-f]+).*/\1 \2/p' \
		"$NGINX_DIR/frames"
}

# as TYPE [OPTION]...: the status of a call of that content type. Without a message, since this curl
# takes any answer that comes before its body has gone for an error.
as() {
	http_status /refused/one -X POST -H "content-type: $1" "${@:2}"
}

grpc_as() {
	as "$1" --http2-prior-knowledge
}

for file in node nghttp jq; do
	command -v "$file" >/dev/null || testbed_refuse "$file is missing: scripts/install-deps.sh"
done
[ -d "$TESTBED_ROOT/build/npm/node_modules/@grpc" ] ||
	testbed_refuse "build/npm is missing: run make tests"

nginx_open
serve
nginx_start "
	weir_zone pass key=\$binary_remote_addr capacity=100 rate=1/h;
	weir_zone held key=\$binary_remote_addr capacity=10 rate=1/s;
	weir_zone one key=\$binary_remote_addr capacity=1 rate=1/h;
	weir_zone quick key=\$binary_remote_addr capacity=1 rate=2/s;
	weir_zone dear key=\$binary_remote_addr capacity=1 rate=1/h;
	weir_zone banned key=\$weir_address capacity=1 rate=1/h;
	weir_penalty banned refusals=2 within=60s ban=15m max=24h;
	weir_zone seen key=\$binary_remote_addr capacity=1 rate=1/h observe;
	log_format calls '\$uri \$status \$weir_status \$weir_zone';
	server {
		listen $PORT http2;
		access_log $NGINX_DIR/access calls;
		client_max_body_size 0;
		location / { grpc_pass grpc://$GRPC; }
		location /pass/ { weir pass; grpc_pass grpc://$GRPC; }
		location /held/ { weir held delay=0; grpc_pass grpc://$GRPC; }
		location /refused/ { weir one; grpc_pass grpc://$GRPC; }
		location /large/ { weir one; grpc_pass grpc://$GRPC; }
		location /quick/ { weir quick; grpc_pass grpc://$GRPC; }
		location /hurried/ { weir quick; weir_reveal off; grpc_pass grpc://$GRPC; }
		location /hidden/ { weir one; weir_reveal off; grpc_pass grpc://$GRPC; }
		location /dear/ { set \$cost 2; weir dear cost=\$cost; grpc_pass grpc://$GRPC; }
		location /banned/ { weir banned; grpc_pass grpc://$GRPC; }
		location /observed/ { weir seen; grpc_pass grpc://$GRPC; }
		location /paged/ {
			weir one;
			weir_body off;
			error_page 429 = @page;
			add_header x-added yes always;
			gzip on;
			gzip_types *;
			charset utf-8;
			charset_types *;
			grpc_pass grpc://$GRPC;
		}
		location @page { return 200 page; }
	}
	server {
		listen 8082;
		location / { weir one; root $NGINX_SITE; }
	}"

tap_equal 'calls of all four kinds pass, whole' '0 1
0 32
0 1
0 32' "$(call '"\(.code) \(.messages)"' pass/{one,download,upload,both})"
tap_check 'and tell the fields, without a promise' calls \
	'.[0].code == 0 and (.[0].metadata | has("retry-after") or has("grpc-retry-pushback-ms") | not)' \
	pass/one
tap_equal 'calls that are held pass whole too' '0 1|0 1|0 32' \
	"$(call '"\(.code) \(.messages)"' held/{one,upload,both} | paste -sd'|')"
tap_check 'those that were too soon' grep -q '^/held/[a-z]* 200 DELAYED held' "$NGINX_DIR/access"
tap_equal 'one call passes, the next is refused' "0 OK
$REFUSED" "$(status_of 'refused/one*2')"
tap_equal 'so are calls of all kinds' "$REFUSED
$REFUSED
$REFUSED" "$(status_of refused/{download,upload,both})"
tap_check 'a refusal has the fields' calls '.[0].metadata |
	.ratelimit == "\"one\";r=0;t=" + .["retry-after"] and
	.["ratelimit-policy"] == "\"one\";q=1;w=3600" and .["cache-control"] == "no-store"' refused/one
tap_check 'and says how long to wait' calls 'all(.[].metadata;
	(.["grpc-retry-pushback-ms"] | tonumber) as $ms | (.["retry-after"] | tonumber) as $sec |
	$ms <= $sec * 1000 and $ms > ($sec - 1) * 1000)' 'refused/one*100'
tap_equal 'to the millisecond' true "$(jq -s '
	(map(.metadata["grpc-retry-pushback-ms"] | tonumber) | first - last) as $less |
	(last.began_ms - first.ended_ms) as $least | (last.ended_ms - first.began_ms) as $most |
	$least > 5 and $less >= $least - 1 and $less <= $most + 1' "$NGINX_DIR/calls")"

tap_equal 'a client that tries again passes, since it waits as long as it is told' '1*0 4*0' \
	"$(call .code quick/one | counted) $(call .code --retry 3 'quick/one*4' | counted)"
tap_check 'it was refused before' grep -q '^/quick/one 200 REFUSED quick' "$NGINX_DIR/access"
tap_equal 'untold it asks at once, and in vain' 8 \
	"$(call .code --retry 3 'hurried/one*3' | tail -1)"
tap_equal 'as often as it may' "$REFUSED 3*200 REFUSED one" \
	"$(status_of --retry 3 hidden/one) $(logged hidden)"
tap_check 'since revealing nothing is no field and no pushback' calls '.[0] |
	.code == 8 and (.metadata | keys - ["cache-control", "date", "server", "content-type"] == [])' \
	hidden/one
tap_equal 'what can never pass is not to be tried again' '8 -1' \
	"$(call '"\(.code) \(.metadata["grpc-retry-pushback-ms"])"' --retry 3 dear/one)"
tap_equal 'and is not' '1*200 REFUSED dear' "$(logged dear)"

status_of 'banned/one*3' >/dev/null
tap_check 'a ban is a refusal that lasts as long as the ban' calls '.[0] | .code == 8 and
	(.metadata["grpc-retry-pushback-ms"] | tonumber | . > 890000 and . <= 900000) and
	(.metadata["retry-after"] | tonumber | . > 890 and . <= 900)' banned/one
tap_equal 'the log tells it from others' \
	'1*200 PASSED banned 1*200 REFUSED banned 2*200 BANNED banned' "$(logged banned)"
tap_equal 'an observed zone refuses no call' '0 0' \
	"$(call .code 'observed/one*2' | paste -sd' ')"
tap_equal 'but the log says that it would' '1*200 PASSED seen 1*200 REFUSED_OBSERVED seen' \
	"$(logged observed)"

tap_equal 'an error page is nothing for gRPC, nor is weir_body' "$REFUSED" \
	"$(status_of paged/one)"
tap_check 'what nginx adds to every header it adds to this one' calls '.[0] | .code == 8 and
	.metadata["x-added"] == "yes" and (.metadata | has("content-encoding") | not)' paged/both
tap_equal 'a page for others' page "$(http_body /paged/one --http2-prior-knowledge)"

tap_equal 'uploads that are refused leave their connection in use' '20*8 1*0 20*8 1*0' \
	"$(call .code 'large/upload*20' pass/upload 'large/both*20' pass/both | counted)"
tap_equal 'so do those whose end the client keeps back' '20*8 1*0' \
	"$(call .code 'large/open*20' pass/both | counted)"
head -c 10000000 /dev/zero >"$NGINX_DIR/upload"
for upload in small large; do
	options=()
	[ $upload = small ] || options=(-d "$NGINX_DIR/upload")
	frames refused "${options[@]}"
	tap_equal "$upload: one header that ends the stream, and no message" 'HEADERS 0x05' \
		"$(message_frames)"
	tap_check 'it is a success of HTTP' grep -q 'recv.*:status: 200$' "$NGINX_DIR/frames"
	tap_check 'of gRPC'"'"'s type' grep -q 'recv.*content-type: application/grpc$' \
		"$NGINX_DIR/frames"
	tap_equal 'without a length' 0 "$(grep -c 'recv.*content-length' "$NGINX_DIR/frames" || :)"
done
tap_equal 'curl reads it so, and no body' '200 0' "$(http /refused/one --http2-prior-knowledge \
	-X POST -H 'content-type: application/grpc' -o /dev/null \
	-w '%{http_code} %{size_download}')"

for type in application/grpc+proto application/grpc+json 'application/grpc;charset=utf-8' \
	'application/grpc ; a=b' Application/GRPC; do
	tap_equal "$type is gRPC" 200 "$(grpc_as "$type")"
done
for type in application/grpc-web application/grpc-web+proto application/grpcx application/grp \
	application/json; do
	tap_equal "$type is not" 429 "$(grpc_as "$type")"
done
tap_equal 'nor is anything over HTTP/1.1' 429 "$(URL=http://127.0.0.1:8082 as application/grpc)"
tap_equal 'no worker ended' 0 "$(grep -c 'exited on signal' "$(nginx_log)" || :)"
tap_finish
