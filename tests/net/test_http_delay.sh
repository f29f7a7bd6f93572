#!/bin/bash
# SPDX-License-Identifier: MIT
# Requests that are held until their turn: at the rate, as many as may be, and without a trace of
# those who left.

# shellcheck source-path=SCRIPTDIR source=nginx.sh
. "$(dirname "$0")/nginx.sh"

LATE_MAX=2

# hold COUNT PATH: at once; prints how many passed, were refused and left, and when the last passed.
hold() {
	python_client --patience "${patience:-20}" together "$@"
}

# came_late SECONDS: last, that much after all were sent; a busy machine may need a while more.
came_late() {
	echo "after $last s"
	awk "BEGIN { exit !($last >= $1 - 0.02 && $last < $1 + $LATE_MAX) }"
}

# kinds KEY: what the log says of it, in the order of the alphabet.
kinds() {
	grep "^/[a-z]* $1 " "$NGINX_DIR/access" | cut -d' ' -f4 | sort | uniq -c |
		awk '{ printf "%s%d*%s", sep, $1, $2; sep = " " }'
}

established() {
	ss -Htn state established "sport = :$PORT" | wc -l
}

nobody_is_connected() {
	[ "$(established)" -eq 0 ]
}

held_are() {
	[ "$(established)" -ge "$1" ]
}

# The old workers finish what they hold, and end.
reload_lets_finish() {
	hold 6 '/shaped?key=reload' >"$NGINX_DIR/held" &
	local pid=$!

	wait_until 5 held_are 3 || return
	nginx_reload_begin
	wait_until 5 nginx_new_serve || return
	[ "$(http_status /free/ok)" = 200 ] || return
	wait "$pid"
	cat "$NGINX_DIR/held"
	[ "$(cut -d' ' -f1-3 "$NGINX_DIR/held")" = '6 0 0' ] || return
	wait_until 10 nginx_reloaded
}

NGINX_WORKERS=1
nginx_open
nginx_start "
	weir_held_max 8;
	log_format short '\$uri \$arg_key \$status \$weir_status';
	weir_zone shaped key=\$arg_key algorithm=leaky-bucket capacity=11 rate=5/s;
	weir_zone some key=\$arg_key algorithm=leaky-bucket capacity=11 rate=2/s;
	weir_zone still key=\$arg_key algorithm=leaky-bucket capacity=11 rate=1/m;
	weir_zone idle key=\$arg_key capacity=11 rate=1/m;
	weir_zone slow key=\$arg_key algorithm=leaky-bucket capacity=100 rate=1/m;
	weir_zone bucket key=\$arg_key capacity=11 rate=5/s;
	weir_zone pace key=\$arg_key algorithm=leaky-bucket capacity=11 rate=10/s;
	server {
		listen $PORT;
		access_log $NGINX_DIR/access short;
		location /shaped { weir shaped; try_files /ok =500; }
		location /some { weir some delay=5; try_files /ok =500; }
		location /now { weir still nodelay; try_files /ok =500; }
		location /bucket { weir idle; try_files /ok =500; }
		location /held { weir bucket delay=0; try_files /ok =500; }
		location /slow { weir slow; try_files /ok =500; }
		location /look { weir slow cost=0 nodelay; try_files /ok =500; }
		location /both { weir pace; weir shaped; try_files /ok =500; }
		location /free/ { alias $NGINX_SITE/; }
	}"

read -r passed refused _ last <<<"$(hold 6 '/shaped?key=a')"
tap_equal 'what a leaky bucket holds passes in the end' '6 0' "$passed $refused"
tap_check 'the last one when its turn has come' came_late 1
tap_equal 'as the log says' '5*DELAYED 1*PASSED' "$(kinds a)"
read -r passed refused _ last <<<"$(hold 14 '/some?key=b')"
tap_equal 'the first excess passes at once, the next is held, beyond capacity it is refused' \
	'11 3' "$passed $refused"
tap_check 'the last after its excess beyond delay= has drained' came_late 2.5
read -r passed refused _ last <<<"$(hold 14 '/now?key=c')"
tap_equal 'nodelay refuses what is beyond capacity' '11 3' "$passed $refused"
tap_equal 'and holds nobody' '11*PASSED 3*REFUSED' "$(kinds c)"
read -r passed refused _ last <<<"$(hold 14 '/bucket?key=d')"
tap_equal 'a token bucket refuses likewise' '11 3' "$passed $refused"
tap_equal 'and holds nobody unless told' '11*PASSED 3*REFUSED' "$(kinds d)"
read -r passed refused _ last <<<"$(hold 6 '/held?key=e')"
tap_equal 'and holds if told' '6 0' "$passed $refused"
tap_check 'as a leaky one does' came_late 1
read -r passed refused _ last <<<"$(hold 4 '/both?key=f')"
tap_equal 'of two zones' '4 0' "$passed $refused"
tap_check 'the longer hold counts' came_late 0.6

tap_check 'a reload lets those that are held finish' reload_lets_finish

tap_equal 'a first one passes' 200 "$(http_status '/slow?key=g')"
patience=3
tap_equal 'as many as may be held are, the others refused' '0 4 8' \
	"$(hold 12 '/slow?key=g' | cut -d' ' -f1-3)"
wait_until 5 nobody_is_connected
tap_equal 'who is refused for that is not charged' 91 \
	"$(http_field ratelimit '/look?key=g' | grep -o 'r=[0-9]*' | cut -d= -f2)"
tap_equal 'those who left freed their places' '0 4 8' \
	"$(hold 12 '/slow?key=g' | cut -d' ' -f1-3)"
tap_finish
