#!/bin/bash
# SPDX-License-Identifier: MIT
# weir http top and weir http reset beside a running nginx: who is refused most, and that a key
# which is reset starts anew, also while it is charged.

# shellcheck source-path=SCRIPTDIR source=nginx.sh
. "$(dirname "$0")/nginx.sh"

WEIR=${WEIR:-$TESTBED_ROOT/build/weir}
AS_NOBODY=(setpriv --reuid=65534 --regid=65534 --clear-groups)
OWED_MIN=50 # until then a key is reset under load

# json FILTER WORD...: of weir http WORD... as jq sees it.
json() {
	"$WEIR" http "${@:2}" --dir "$NGINX_ZONES" --json | jq -r "$1"
}

text() {
	"$WEIR" http "$@" --dir "$NGINX_ZONES"
}

# What goes to stderr.
said() {
	{ "$WEIR" http "$@" --dir "$NGINX_ZONES" >/dev/null; } 2>&1 || :
}

# rows FILTER WORD...: of each key.
rows() {
	json "[.keys[] | $1] | join(\" \")" top "${@:2}"
}

body() {
	echo "
	weir_zone address key=\$weir_address capacity=5 rate=1/h $*;
	weir_zone few key=\$weir_address capacity=5 rate=1/h entries=64;
	weir_zone account key=\$arg_key algorithm=sliding-log limit=3 per=1h entries=1k;
	weir_zone window key=\$arg_key algorithm=fixed-window limit=3 per=1h entries=1k;
	server {
		listen $PORT;
		location /address { weir address; add_header X-Hash \$weir_key_hash always; try_files /ok =404; }
		location /few { weir few; try_files /ok =404; }
		location /account { weir account; try_files /ok =404; }
		location /window { weir window; try_files /ok =404; }
	}"
}

# from ADDRESS COUNT PATH
from() {
	http_statuses "$2" "$3" --interface "$1"
}

# Of 127.0.0.1 as nginx tells it.
address_hash() {
	http_field X-Hash /address
}

fails_with() {
	local status=$1 words=$2 printed got=0

	printed=$("${@:3}" --dir "$NGINX_ZONES" 2>&1 >/dev/null) || got=$?
	echo "$printed (status $got)"
	[ "$got" -eq "$status" ] && grep -q -e "$words" <<<"$printed"
}

# misses_zones STATUS WORD...: in a directory that has none.
misses_zones() {
	local status=$1 printed got=0

	printed=$("$WEIR" http "${@:2}" --dir "$NGINX_DIR/empty" 2>&1 >/dev/null) || got=$?
	echo "$printed (status $got)"
	[ "$got" -eq "$status" ] && grep -q 'no zones in .*/empty' <<<"$printed" &&
		grep -q -e '--dir .*weir_dir' <<<"$printed"
}

files_seen() {
	find "$NGINX_ZONES" -type f -exec sha256sum {} +
}

load_until() {
	while [ ! -e "$1" ]; do
		http_load --h1 -n 500 -c 16 "$URL/address"
	done
}

# Resets 127.0.0.1 while it comes again and again; prints how much that forgot, and what it owes in
# the end.
owed_under_load() {
	local owed=0 load

	load_until "$NGINX_DIR/stop" >"$NGINX_DIR/load" &
	load=$!
	for _ in $(seq 1000); do
		owed=$((owed + $(json .owed reset address 127.0.0.1)))
		[ "$owed" -lt "$OWED_MIN" ] || break
	done
	touch "$NGINX_DIR/stop"
	wait "$load"
	echo $((owed + 5 - $(json .remaining show address 127.0.0.1)))
}

nginx_open
nginx_start "$(body)"
from 127.0.0.1 6 /address >/dev/null
from 127.0.0.2 9 /address >/dev/null
from 127.0.0.3 2 /address >/dev/null
http_statuses 8 '/account?key=alice' >/dev/null
hash=$(json .key_hash show account alice)

tap_equal 'who is refused most comes first, of all zones' \
	"$hash 127.0.0.2 127.0.0.1 127.0.0.3" "$(rows .key)"
tap_equal 'with what passed, was refused and is left' '3 5 0 5 4 0 5 1 0 2 0 3' \
	"$(rows '.passed, .refused, .remaining')"
tap_equal 'none of them is banned' 'null null null null' "$(rows '.banned_for_ns | tojson')"
tap_equal 'how many there are is told' 4 "$(json .known top --top 1)"
tap_equal 'who passed most' '127.0.0.2 127.0.0.1' "$(rows .key --sort passed --top 2)"
tap_equal 'who came last' "$hash 127.0.0.3" "$(rows .key --sort seen --top 2)"
tap_equal 'one zone' '127.0.0.2 127.0.0.1 127.0.0.3' "$(rows .key --zone address)"
tap_equal 'as text an instance that is the only one is not told' \
	'zone key passed refused remaining banned for last seen ago' \
	"$(text top | awk '/passed/ { $1 = $1; print }')"
before=$(files_seen)
json . top >/dev/null
tap_equal 'reading changes nothing' "$before" "$(files_seen)"
tap_check 'a zone that is not there' fails_with 1 'no such zone' "$WEIR" http top --zone login
instance=$(json '.zones[0].instance' zones)
for words in 'top --zone address' 'show address 127.0.0.1' 'reset address 127.0.0.1'; do
	# shellcheck disable=SC2086 # several words
	tap_check "an instance that has it not names those that have, $words" fails_with 1 \
		"no such zone in that instance: --instance can be $instance\$" \
		"$WEIR" http $words --instance nobody
done
tap_check 'an instance that is not there names those that are' fails_with 1 \
	"no such instance: --instance can be $instance\$" "$WEIR" http top --instance nobody
tap_check 'of an instance without the zone nobody has either' fails_with 1 'no such zone$' \
	"$WEIR" http top --zone login --instance nobody
tap_check 'no key at all' fails_with 2 'from 1 to' "$WEIR" http top --top 0
tap_check 'an order that is none' fails_with 2 'refused' "$WEIR" http top --sort address

tap_equal 'a key that is reset owed all it could' '127.0.0.1 address 5 5 null 0' \
	"$(json '[.address, .zone, .limit, .owed, (.banned_for_ns | tojson), .bans] | join(" ")' \
		reset address 127.0.0.1)"
tap_equal 'it starts anew' '5*200 1*429' "$(from 127.0.0.1 6 /address)"
tap_equal 'others do not' '1*429' "$(from 127.0.0.2 1 /address)"
tap_equal 'its counters stay' '10 2' "$(json '[.passed, .refused] | join(" ")' \
	show address 127.0.0.1)"
tap_equal 'a log' 3 "$(json .owed reset account alice)"
tap_equal 'is empty' '3*200 1*429' "$(http_statuses 4 '/account?key=alice')"
tap_equal 'again' 3 "$(json .owed reset account alice)"
tap_equal 'and again' '3*200 1*429' "$(http_statuses 4 '/account?key=alice')"
http_statuses 4 '/window?key=alice' >/dev/null
tap_equal 'a window' 3 "$(json .owed reset window alice)"
tap_equal 'is empty too' '3*200 1*429' "$(http_statuses 4 '/window?key=alice')"
tap_equal 'as text it says what it did' 'address: 127.0.0.3 owed: 2' \
	"$(text reset address 127.0.0.3 | sed -n '/^address\|^owed/p' | paste -sd ' ')"
tap_equal 'who is reset is known or not' 'true false' \
	"$(json .known reset account alice) $(json .known reset account bob)"
tap_equal 'who owes nothing' 0 "$(json .owed reset address 127.0.0.3)"
tap_equal 'and who never came is no failure' 0 "$(json .owed reset account nobody)"
tap_equal 'nor worth a word' '' "$(said reset account nobody)"

http_statuses 4 '/account?key=alice' >/dev/null
tap_equal 'a key is shown by its hash too' "$hash true 0" \
	"$(json '[.key_hash, .known, .remaining] | join(" ")' show account "$hash" --hash)"
tap_equal 'and an address' 'true null' "$(json '[.known, .address] | map(tojson) | join(" ")' \
	show address "$(address_hash)" --hash)"
tap_equal 'and reset' "$hash true 3" \
	"$(json '[.key_hash, .known, .owed] | join(" ")' reset account "$hash" --hash)"
tap_equal 'so that it starts anew' '3*200 1*429' "$(http_statuses 4 '/account?key=alice')"
tap_equal 'nothing is to be said of that' '' "$(said show account "$hash" --hash)"
for verb in show reset; do
	tap_check "a text like a hash that is not known points there, $verb" fails_with 0 \
		"'$hash' is known.*--hash" "$WEIR" http "$verb" account "$hash"
done
tap_equal 'and is no key then' false "$(json .known show account "$hash" 2>/dev/null)"
http_statuses 1 "/account?key=$hash" >/dev/null
tap_equal 'one that is known does not' ' true' \
	"$(said show account "$hash") $(json .known show account "$hash")"
tap_check 'what is no hash is refused' fails_with 2 'hex digits' \
	"$WEIR" http show account alice --hash
tap_check 'nor is more than one' fails_with 2 'hex digits' \
	"$WEIR" http reset account "${hash}0" --hash

json . reset address 127.0.0.1 >/dev/null
json . reset address 127.0.0.2 >/dev/null
owed=$(owed_under_load)
tap_true 'it is reset under load' "$owed >= $OWED_MIN"
tap_equal 'and each unit that was forgotten has passed once' "$owed 0" \
	"$(awk '{ passed += $1; other += $3 } END { print passed, other }' "$NGINX_DIR/load")"

for i in $(seq 12); do
	from "127.0.0.$i" 1 /few >/dev/null
done
tap_equal 'some find no place in a small zone' 8 "$(json .known top --zone few)"
tap_check 'that is said of who shares one' fails_with 0 "'127.0.0.12' has no place of its own" \
	"$WEIR" http reset few 127.0.0.12
tap_equal 'and not of who has one' '' "$(said reset few 127.0.0.1)"

tap_check 'a zone that is not there has nothing to reset' fails_with 1 'no such zone' \
	"$WEIR" http reset login 127.0.0.1
tap_check 'what is no address is refused' fails_with 2 'keys are addresses.*--hash' \
	"$WEIR" http reset address alice
from 127.0.0.1 6 /address >/dev/null
tap_check 'who is not root resets nothing' fails_with 1 "cannot reset '127.0.0.1'.*denied" \
	"${AS_NOBODY[@]}" "$WEIR" http reset address 127.0.0.1
tap_equal 'the key owes what it did' 0 "$(json .remaining show address 127.0.0.1)"
tap_check 'nor does he see who comes first' fails_with 1 "denied" \
	"${AS_NOBODY[@]}" "$WEIR" http top
completed=$("$WEIR" completion)
for word in top reset; do
	tap_check "completion knows http $word" grep -q "'http_$word '" <<<"$completed"
done

mkdir -p "$NGINX_ZONES/other"
cp -p "$(find "$NGINX_ZONES" -name address)" "$NGINX_ZONES/other/address"
tap_check 'of two instances one has to be named' fails_with 2 'instance: other, ' \
	"$WEIR" http reset address 127.0.0.1
tap_equal 'then that one is reset' 'other 5' \
	"$(json '[.instance, .owed] | join(" ")' reset address 127.0.0.1 --instance other)"
tap_equal 'and no other' 0 "$(json .remaining show address 127.0.0.1 --instance \
	"$(json '[.zones[].instance | select(. != "other")][0]' zones)")"
tap_equal 'a list of two names them' 'zone instance key' \
	"$(text top | awk '/passed/ { print $1, $2, $3 }')"
tap_equal 'or one of them' other \
	"$(json '[.keys[].instance] | unique | join(" ")' top --instance other)"
head -c 65536 /dev/urandom >"$NGINX_ZONES/other/address"
tap_check 'a file that is no zone fails the list' fails_with 1 "'address' of 'other'.*no zone" \
	"$WEIR" http top
tap_check 'which shows the others all the same' test 0 -lt \
	"$({ "$WEIR" http top --dir "$NGINX_ZONES" --json 2>/dev/null || :; } | jq '.keys | length')"
tap_check 'nor can it be reset' fails_with 1 'no zone' \
	"$WEIR" http reset address 127.0.0.1 --instance other
rm -r "$NGINX_ZONES/other"
nginx_stop
tap_equal 'without nginx a key is reset all the same' '5 5' \
	"$(json .owed reset address 127.0.0.1) $(json .remaining show address 127.0.0.1)"

rm -r "$NGINX_ZONES"
nginx_start "weir_penalty address refusals=3 within=60s ban=2h max=24h;
	weir_penalty window refusals=1 within=60s ban=2h max=24h penalty-any-key; $(body)"
from 127.0.0.1 8 /address >/dev/null
from 127.0.0.2 7 /address >/dev/null
from 127.0.0.1 2 /address >/dev/null
tap_equal 'a key with so many refusals is banned' '127.0.0.1 127.0.0.2' "$(rows .key)"
tap_equal 'which is told of it, and not of others' 'number null' "$(rows '.banned_for_ns | type')"
tap_true 'for as long as is left' \
	"$(json '.banned_for_ns / 1e9' show address 127.0.0.1) > 7200 - 1 - $NGINX_SECONDS_MAX"
tap_equal 'requests that the ban refused count with it' 5 "$(rows .refused --top 1)"
tap_equal 'the same by itself' '5 5' "$(json '[.passed, .refused] | join(" ")' \
	show address 127.0.0.1)"
tap_equal 'how often it was banned is shown' 1 "$(json .bans show address 127.0.0.1)"
tap_equal 'it waits as long, though it would owe nothing sooner' true \
	"$(json '.retry_after_ns == .banned_for_ns' show address 127.0.0.1)"
tap_equal 'a reset says that it was banned' 'number 1' \
	"$(json '[(.banned_for_ns | type), .bans] | join(" ")' reset address 127.0.0.1)"
tap_equal 'and lifts it' '5*200 1*429' "$(from 127.0.0.1 6 /address)"
tap_equal 'with all that was held against it' 'null 0' \
	"$(json '[(.banned_for_ns | tojson), .bans] | join(" ")' show address 127.0.0.1)"
tap_equal 'what the ban refused is not counted any more, all else is' '10 4 10 4' \
	"$(json '[.passed, .refused] | join(" ")' show address 127.0.0.1) $(json '[.keys[] |
		select(.key == "127.0.0.1") | .passed, .refused] | join(" ")' top)"
http_statuses 4 '/window?key=alice' >/dev/null
tap_equal 'the ban of a key without an address is lifted by its hash' '1 0' \
	"$(json .bans reset window "$(rows .key --zone window)" --hash) $(json .bans show window alice)"

nginx_stop
mkdir "$NGINX_DIR/empty"
for words in 'top --zone address' 'show address 127.0.0.1' 'top --instance nobody'; do
	# shellcheck disable=SC2086 # several words
	tap_check "a directory without zones points to --dir, $words" misses_zones 1 $words
done
for words in top zones; do
	tap_check "a list says that there are none, $words" misses_zones 0 $words
done
tap_finish
