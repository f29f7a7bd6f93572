#!/bin/bash
# SPDX-License-Identifier: MIT
# No request ends a worker: oversized, malformed, of every kind, and with the module's memory
# watched by AddressSanitizer and by valgrind.

# shellcheck source-path=SCRIPTDIR source=nginx.sh
. "$(dirname "$0")/nginx.sh"
# shellcheck source-path=SCRIPTDIR source=http_everything.sh
. "$(dirname "$0")/http_everything.sh"

ASAN_MODULE=${ASAN_MODULE:-$TESTBED_ROOT/build/asan/ngx_http_weir_module.so}

same_workers() {
	[ "$(nginx_workers)" = "$workers" ] && ! grep 'exited on signal' "$(nginx_log)"
}

# What sanitizers write about nginx comes with its output.
sanitizers_are_silent() {
	! grep -h -A 20 -e Sanitizer -e 'runtime error' "$(nginx_directory)/output" "$(nginx_log)"
}

under_asan() {
	NGINX_MODULE=$ASAN_MODULE
	NGINX_BEFORE=(env
		"LD_PRELOAD=$(gcc -print-file-name=libasan.so) $(gcc -print-file-name=libubsan.so)"
		"ASAN_OPTIONS=detect_leaks=0:abort_on_error=1" "UBSAN_OPTIONS=print_stacktrace=1")
	nginx_start "$(everything)" || return
	workers=$(nginx_workers)
	python_client bad && mix 6 && same_workers || return
	nginx_reload "$(everything | sed 's/entries=64/entries=1k/')" || return
	workers=$(nginx_workers)
	mix 6 && same_workers || return
	nginx_stop QUIT
	sanitizers_are_silent
}

under_valgrind() {
	NGINX_MODULE=${NGINX_MODULE_PLAIN}
	NGINX_BEFORE=(valgrind -q --vgdb=no --trace-children=yes
		"--log-file=$NGINX_DIR/valgrind.%p")
	NGINX_WORKERS=1 NGINX_START_SECONDS=30
	nginx_start "$(everything)" || return
	NGINX_SECONDS_MAX=30
	mix 1 || return
	nginx_reload "$(everything | sed 's/entries=64/entries=1k/')" || return
	mix 1 || return
	nginx_stop QUIT
	# nginx's own faults are not ours.
	! grep -h -B 5 -A 12 -e weir -e zone_ -e rule_ "$NGINX_DIR"/valgrind.*
}

nginx_open
NGINX_MODULE_PLAIN=$NGINX_MODULE
nginx_start "$(everything)"
workers=$(nginx_workers)
tap_true 'requests as they should not be are answered or cut off' "$(python_client bad) > 100"
tap_check 'and no worker ends' same_workers
mix 20
tap_check 'nor by any other' same_workers
tap_equal 'and what is right is answered' 200 \
	"$(wait_until 5 test "$(http_status '/seen?fine')" = 200 && echo 200)"
tap_equal 'all kinds of decision were among them' \
	'BANNED DELAYED OVERFLOW PASSED REFUSED REFUSED_OBSERVED' \
	"$(cut -d' ' -f1 "$NGINX_DIR/access" | sort -u | grep -vx -e - -e DELAYED_OBSERVED \
		-e OVERFLOW_OBSERVED | xargs)"
nginx_stop
if [ -e "$ASAN_MODULE" ]; then
	tap_check 'AddressSanitizer finds nothing' under_asan
else
	tap_result 1 "$ASAN_MODULE is there"
fi
tap_check 'nor does valgrind' under_valgrind
tap_finish
