#!/bin/bash
# SPDX-License-Identifier: MIT
# Zones that cannot be: no room for them, files that are not theirs, directories that others may
# write to. Refused with a sentence, and what runs goes on.

[ -n "${HTTP_MOUNTS_APART:-}" ] || HTTP_MOUNTS_APART=1 exec unshare --mount -- bash "$0" "$@"

# shellcheck source-path=SCRIPTDIR source=nginx.sh
. "$(dirname "$0")/nginx.sh"

# body ENTRIES
body() {
	echo "
	weir_zone small key=\$arg_key capacity=5 rate=1/h entries=$1;
	server { listen $PORT; location / { weir small; } }"
}

# A reload that is refused: old workers go on, and the log says why.
reload_is_refused() {
	local workers

	workers=$(nginx_workers)
	nginx_reload_begin "$(body "$1")" || return
	wait_until 10 nginx_says '\[emerg\]' || return
	[ "$(nginx_workers)" = "$workers" ] || return
	nginx_log_since
	nginx_says "$2"
}

start_is_refused() {
	! nginx_start "$(body "$1")" || return
	nginx_log_since
	nginx_says "\[emerg\].*$2"
}

left_behind() {
	find "$NGINX_ZONES" -type f | wc -l
}

zone_path() {
	find "$NGINX_ZONES" -name small -type f
}

# What is damaged is set aside, and the zone starts empty.
starts_anew() {
	nginx_start "$(body 1k)" || return
	[ "$(http_statuses 6 '/ok?key=a')" = '5*200 1*429' ] || return
	nginx_log_since
	nginx_says '\[notice\].*aside' && [ -e "$(zone_path).aside" ]
}

nginx_open
NGINX_MOUNT=$NGINX_DIR/tmpfs
mkdir "$NGINX_MOUNT"
mount -t tmpfs -o size=2m,mode=755 tmpfs "$NGINX_MOUNT"
NGINX_ZONES=$NGINX_MOUNT/zones
tap_check 'a start without room is refused, and says what is full' \
	start_is_refused 1M 'small.*No space left'
tap_check 'and leaves no file' test "$(left_behind)" -eq 0
nginx_start "$(body 1k)"
tap_equal 'one that fits serves' '5*200 1*429' "$(http_statuses 6 '/ok?key=a')"
tap_check 'a reload without room is refused' reload_is_refused 1M 'small.*No space left'
tap_equal 'the old one goes on, with what is owed' 429 "$(http_status '/ok?key=a')"
tap_equal 'and no other file is left' 1 "$(left_behind)"
head -c 4m /dev/zero >"$NGINX_MOUNT/fill" 2>/dev/null || :
tap_check 'a full file system does not disturb a reload that needs no room' \
	nginx_reload "$(body 1k)"
tap_equal 'and what is owed stays' 429 "$(http_status '/ok?key=a')"
tap_equal 'and new keys find their place' '5*200 1*429' "$(http_statuses 6 '/ok?key=b')"
rm "$NGINX_MOUNT/fill"
nginx_stop

path=$(zone_path)
truncate -s 1000 "$path"
tap_check 'a truncated zone is set aside' starts_anew
nginx_stop
head -c 8192 /dev/urandom >"$path"
tap_check 'and so is a file that is no zone' starts_anew
nginx_stop
mv "$path" "$NGINX_DIR/elsewhere"
ln -s "$NGINX_DIR/elsewhere" "$path"
before=$(sha256sum <"$NGINX_DIR/elsewhere")
tap_check 'a link in its place is refused' start_is_refused 1k 'symbolic link'
tap_equal 'and not followed' "$before" "$(sha256sum <"$NGINX_DIR/elsewhere")"
nginx_stop
rm -rf "$NGINX_ZONES"
mkdir -m 777 "$NGINX_ZONES"
tap_check 'a directory that others may write to is refused' \
	start_is_refused 1k 'may be written by others'
rmdir "$NGINX_ZONES"
ln -s "$NGINX_SITE" "$NGINX_ZONES"
tap_check 'and one that is a link' start_is_refused 1k 'symbolic link'
tap_finish
