#!/bin/bash
# SPDX-License-Identifier: MIT
# weir http zones and weir http show beside a running nginx: what they say is what a client is told,
# and reading changes nothing.

# shellcheck source-path=SCRIPTDIR source=nginx.sh
. "$(dirname "$0")/nginx.sh"

WEIR=${WEIR:-$TESTBED_ROOT/build/weir}

# json FILTER WORD...: of weir http WORD... as jq sees it.
json() {
	"$WEIR" http "${@:2}" --dir "$NGINX_ZONES" --json | jq -r "$1"
}

body() {
	echo "
	weir_zone address key=\$weir_address capacity=5 rate=1/h;
	weir_zone account key=\$arg_key algorithm=sliding-window limit=3 per=1h entries=1k;
	server {
		listen $PORT;
		location /address { weir address; try_files /ok =404; }
		location /account { weir account; try_files /ok =404; }
	}"
}

fails_with() {
	local status=$1 words=$2 printed got=0

	printed=$("$WEIR" http "${@:3}" --dir "$NGINX_ZONES" 2>&1 >/dev/null) || got=$?
	echo "$printed (status $got)"
	[ "$got" -eq "$status" ] && grep -q -e "$words" <<<"$printed"
}

# nothing_listed DIR: the status, and what is on stdout.
nothing_listed() {
	local printed got=0

	printed=$("$WEIR" http zones --dir "$1" 2>/dev/null) || got=$?
	echo "$got $printed"
}

no_removal() {
	local said

	said=$("$WEIR" http zones --dir "$1" 2>&1 || :)
	echo "$said"
	grep -q '^hint: ' <<<"$said" && ! grep -q remove <<<"$said"
}

files_seen() {
	find "$NGINX_ZONES" -type f -exec sha256sum {} +
}

nginx_open
mkdir "$NGINX_ZONES"
tap_equal 'without zones the list is empty' '[]' "$(json .zones zones | tr -d '[:space:]')"
rmdir "$NGINX_ZONES"
tap_check 'a directory that is not there is none of zones' fails_with 1 \
	"'$NGINX_ZONES': No such file" zones
tap_check 'nor of keys' fails_with 1 "'$NGINX_ZONES': No such file" show address 127.0.0.1
echo >"$NGINX_ZONES"
tap_check 'nor is a file' fails_with 1 "'$NGINX_ZONES': Not a directory" zones
rm "$NGINX_ZONES"
tap_equal 'without the default directory the list is empty' 0 "$(unshare --mount sh -c '
	mount --bind "$1" /run && exec "$2" http zones --json' sh "$NGINX_SITE" "$WEIR" |
	jq '.zones | length')"
nginx_start "$(body)"
http_statuses 7 /address >/dev/null
http_statuses 2 '/account?key=alice' >/dev/null
tap_equal 'each zone is a row' 'account 3,1h 1000 address 5,1/h 100000' \
	"$(json '[.zones[] | .zone, .limit, .entries] | join(" ")' zones)"
tap_equal 'with what it counted' '2 0 5 2' \
	"$(json '[.zones[] | .passed, .refused] | join(" ")' zones)"
tap_equal 'and how many keys owe something' '1 1' \
	"$(json '[.zones[].in_debt] | join(" ")' zones)"
tap_equal 'its bytes are its file' "$(find "$NGINX_ZONES" -name address -printf %s)" \
	"$(json '.zones[] | select(.zone == "address").bytes' zones)"
tap_equal 'an address is shown with what it was told' '127.0.0.1 true 5 0 5 2 true' \
	"$(json '[.address, .known, .limit.capacity, .remaining, .passed, .refused, .is_peer] |
		join(" ")' show address 127.0.0.1)"
told=$(http_field Retry-After /address)
shown=$(json '.retry_after_ns / 1e9' show address 127.0.0.1)
tap_true 'retry after is the Retry-After of a moment ago' \
	"$shown <= $told && $shown > $told - 1 - $NGINX_SECONDS_MAX"
tap_equal 'a mapped address is the same' true "$(json .known show address ::ffff:127.0.0.1)"
tap_equal 'one that never came has all left' 'false 5 0' \
	"$(json '[.known, .remaining, .retry_after_ns] | join(" ")' show address 192.0.2.1)"
tap_equal 'a key is found by its text and shown by its hash' 'true 1 16' \
	"$(json '[.known, .remaining, (.key_hash | length)] | join(" ")' show account alice)"
tap_check 'which no file holds' test -z "$(grep -r -l alice "$NGINX_ZONES" || :)"
before=$(files_seen)
json . zones >/dev/null
json . show account alice >/dev/null
json . show account nobody >/dev/null
tap_equal 'reading changes nothing' "$before" "$(files_seen)"
tap_check 'what is no address is refused' fails_with 2 'keys are addresses' show address alice
tap_check 'and so is a zone that is not there' fails_with 1 'no such zone' show login alice
mkdir -p "$NGINX_ZONES/other"
cp -p "$(find "$NGINX_ZONES" -name address)" "$NGINX_ZONES/other/address"
tap_check 'of two instances one has to be named' fails_with 2 'instance: other, ' \
	show address 127.0.0.1
tap_equal 'then it is shown' other \
	"$(json .instance show address 127.0.0.1 --instance other)"
head -c 16384 /dev/urandom >"$NGINX_ZONES/other/address"
tap_check 'a file that is no zone fails the list' fails_with 1 "'address' of 'other'.*no zone" zones
tap_equal 'which shows the others all the same' 2 \
	"$({ "$WEIR" http zones --dir "$NGINX_ZONES" --json 2>/dev/null || :; } | jq '.zones | length')"
rm -r "$NGINX_ZONES/other"
mkdir -p "$NGINX_DIR/strange/one"
echo >"$NGINX_DIR/strange/one/file"
tap_equal 'where none reads nothing is listed' '1 ' "$(nothing_listed "$NGINX_DIR/strange")"
tap_check 'and no removal is advised' no_removal "$NGINX_DIR/strange"
nginx_stop
tap_equal 'without nginx they still read' 0 "$(json .remaining show address 127.0.0.1)"
tap_finish
