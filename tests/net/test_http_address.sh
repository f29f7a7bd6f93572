#!/bin/bash
# SPDX-License-Identifier: MIT
# Who is asking: the header is believed from those who are trusted and from nobody else, and the
# peer is what the socket says.

# shellcheck source-path=SCRIPTDIR source=nginx.sh
. "$(dirname "$0")/nginx.sh"

# says EXPECTED SENTENCE [OPTION]: $weir_address, as a backend is told it. OPTIONs are curl's.
says() {
	tap_equal "$2" "$1" "$(http_body /address "${@:3}")"
}

# body WEIR_ADDRESS [SERVER]
body() {
	echo "
	weir_address $1;
	weir_zone one key=\$weir_address capacity=1 rate=1/h;
	server {
		listen $PORT;
		listen [::]:$PORT;
		listen unix:$NGINX_DIR/socket;
		listen 8082 proxy_protocol;
		${2:-}
		location /address { proxy_pass http://$BACKEND/\$weir_address; }
		location /one { weir one; try_files /ok =500; }
	}
	server { listen $BACKEND; location ~ ^/(.*)$ { return 200 \"\$1\"; } }"
}

from_proxy() {
	python_client --port 8082 --before "PROXY TCP4 $1 127.0.0.1 1234 80" talk 'GET /one'
}

xff() {
	printf -- '-H\nX-Forwarded-For: %s\n' "$@"
}

# forwarded EXPECTED LINE...: by X-Forwarded-For.
forwarded() {
	local expected=$1
	local -a options

	shift
	mapfile -t options < <(xff "$@")
	says "$expected" "X-Forwarded-For: $(printf '%s | ' "$@" | sed 's/ | $//')" "${options[@]}"
}

nginx_open
ip address add 2001:db8::5/64 dev lo nodad
ip address add 192.0.2.99/32 dev lo
nginx_start "$(body peer)"
says 127.0.0.1 'the peer'
says 127.0.0.1 'whatever a header says' \
	-H 'X-Forwarded-For: 192.0.2.1' -H 'Forwarded: for=192.0.2.1'
tap_equal 'over IPv6 its /64' 2001:db8::/64 "$(URL="http://[2001:db8::5]:$PORT" http_body /address)"

nginx_reload "$(body 'x-forwarded-for from=127.0.0.0/8 from=10.0.0.0/8 from=unix: ipv6-prefix=56')"
says 127.0.0.1 'a trusted peer that names nobody'
forwarded 192.0.2.1 192.0.2.1
forwarded 192.0.2.1 '203.0.113.9, 192.0.2.1'
forwarded 192.0.2.1 '203.0.113.9, 192.0.2.1, 10.1.2.3'
forwarded 192.0.2.1 '203.0.113.9' '192.0.2.1' '10.0.0.1'
forwarded 192.0.2.1 '192.0.2.1:4711'
forwarded 192.0.2.1 '::ffff:192.0.2.1'
forwarded 192.0.2.1 '64:ff9b::192.0.2.1'
forwarded 2001:db8:0:1200::/56 '[2001:db8:0:12ff::1]:443'
forwarded 2001:db8:0:1200::/56 '2001:db8:0:1234::1'
forwarded 10.0.0.1 '192.0.2.1, junk, 10.0.0.1'
forwarded 127.0.0.1 'fe80::1%eth0'
forwarded 10.0.0.2 '10.0.0.2, 10.0.0.1'
forwarded 127.0.0.1 ''
says 127.0.0.1 'one header only' -H 'Forwarded: for=192.0.2.1'
tap_equal 'an untrusted peer is believed nothing' 192.0.2.99 \
	"$(http_body /address --interface 192.0.2.99 -H 'X-Forwarded-For: 192.0.2.1')"
tap_equal 'a trusted peer on a unix socket is believed' 192.0.2.1 \
	"$(http_body /address --unix-socket "$NGINX_DIR/socket" -H 'X-Forwarded-For: 192.0.2.1')"
tap_equal 'one there that names nobody is one source with all of those' 'unix: 200 429 429' "$(
	http_body /address --unix-socket "$NGINX_DIR/socket" && echo -n ' '
	http_status /one --unix-socket "$NGINX_DIR/socket" && echo -n ' '
	http_status /one --unix-socket "$NGINX_DIR/socket" -H 'X-Forwarded-For: junk' && echo -n ' '
	http_status /one --unix-socket "$NGINX_DIR/socket" -H 'X-Forwarded-For: 1.2.3.4, _x')"
tap_equal 'each client behind the proxy has a bucket of its own' '200 200 429' "$(
	http_status /one -H 'X-Forwarded-For: 198.51.100.1' && echo -n ' '
	http_status /one -H 'X-Forwarded-For: 198.51.100.2' && echo -n ' '
	http_status /one -H 'X-Forwarded-For: 198.51.100.1')"
tap_equal 'and no forged part gives another' '429 429 429' "$(
	http_status /one -H 'X-Forwarded-For: 1.2.3.4, 198.51.100.1' && echo -n ' '
	http_status /one -H 'X-Forwarded-For: 1.2.3.5' \
		-H 'X-Forwarded-For: 198.51.100.1' && echo -n ' '
	http_status /one -H 'X-Forwarded-For: 1.2.3.6, [::ffff:198.51.100.1]:9, 10.9.9.9')"

nginx_reload "$(body 'forwarded from=127.0.0.0/8 from=10.0.0.0/8')"
says 192.0.2.1 'Forwarded' \
	-H 'Forwarded: for=203.0.113.9, for="192.0.2.1:80";proto=https;by=10.0.0.1'
says 192.0.2.1 'in any letter case' -H 'forwarded: FOR=192.0.2.1'
says 2001:db8:0:12::/64 'an IPv6 node' -H 'Forwarded: for="[2001:db8:0:12::1]:4711"'
says 192.0.2.1 'a comma in quotes parts nothing' -H 'Forwarded: for=192.0.2.1;by="a,for=6.6.6.6"'
says 127.0.0.1 'an obfuscated node ends the walk' -H 'Forwarded: for=192.0.2.1, for=_hidden'
says 127.0.0.1 'and so does an open quote' -H 'Forwarded: for=192.0.2.1, for="10.0.0.1'
says 127.0.0.1 'one header only' -H 'X-Forwarded-For: 192.0.2.1'

realip='set_real_ip_from 127.0.0.0/8; real_ip_header X-Real-IP;'
nginx_reload "$(body peer "$realip")"
says 127.0.0.1 'realip does not change who the peer is' -H 'X-Real-IP: 192.0.2.1'
nginx_reload "$(body 'x-forwarded-for from=192.0.2.0/24' "$realip")"
says 127.0.0.1 'nor who is trusted' -H 'X-Real-IP: 192.0.2.1' -H 'X-Forwarded-For: 203.0.113.7'
nginx_reload "$(body peer "${realip/X-Real-IP/proxy_protocol}" | sed 's/rate=1.h/rate=1\/d/')"
tap_equal 'nor does the PROXY protocol' '200:5 429' \
	"$({ from_proxy 203.0.113.1 && from_proxy 203.0.113.2 | sed 's/:.*//'; } | xargs)"

# proxied ADDRESS...: the statuses of a request in the name of each.
proxied() {
	local address

	for address; do
		from_proxy "$address" | sed 's/:.*//'
	done | xargs
}

nginx_reload "$(body 'proxy-protocol from=127.0.0.0/8')"
tap_equal 'whom the PROXY protocol names, where weir_address says so' '200 200 429' \
	"$(proxied 203.0.113.21 203.0.113.22 203.0.113.21)"
says 127.0.0.1 'the peer where there is no such header' -H 'X-Forwarded-For: 192.0.2.1'
nginx_reload "$(body 'proxy-protocol from=10.0.0.0/8')"
tap_equal 'and not from a peer that is not trusted' '429 429' \
	"$(proxied 203.0.113.23 203.0.113.24)"
tap_finish
