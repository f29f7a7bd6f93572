#!/bin/bash
# SPDX-License-Identifier: MIT
# However many ask at once, and however they ask, what passes is what the limit says.

# shellcheck source-path=SCRIPTDIR source=nginx.sh
. "$(dirname "$0")/nginx.sh"

SECURE=8443

secure_make() {
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 1 \
		-subj /CN=localhost -keyout "$NGINX_DIR/key.pem" -out "$NGINX_DIR/cert.pem" \
		2>/dev/null
}

# The other instance's first port is not main's.
body() {
	echo "
	weir_zone hundred key=\$binary_remote_addr capacity=100 rate=1/h $1;
	weir_zone eighty key=\$binary_remote_addr capacity=80 rate=1/h;
	weir_zone three key=\$binary_remote_addr capacity=300 rate=1/h;
	weir_zone log key=\$binary_remote_addr algorithm=sliding-log limit=90 per=1h;
	weir_zone window key=\$binary_remote_addr algorithm=sliding-window limit=70 per=1h;
	weir_zone fixed key=\$binary_remote_addr algorithm=fixed-window limit=60 per=1d;
	weir_zone arg key=\$arg_key capacity=50 rate=1/h;
	server {
		listen $2;
		listen $3 ssl http2;
		listen $4 http2;
		ssl_certificate $NGINX_DIR/cert.pem;
		ssl_certificate_key $NGINX_DIR/key.pem;
		location / { weir hundred; }
		location /two/ { weir three; weir eighty; alias $NGINX_SITE/; }
		location /log/ { weir log; alias $NGINX_SITE/; }
		location /window/ { weir window; alias $NGINX_SITE/; }
		location /fixed/ { weir fixed; alias $NGINX_SITE/; }
		location /arg/ { weir arg; alias $NGINX_SITE/; }
	}"
}

arg_load() {
	http_load -n 2000 -c 64 "$@"
}

nginx_open
secure_make
nginx_start "$(body shared=together $PORT $SECURE 8082)"
tap_equal 'one zone, 64 clients' '100 3900 0' "$(http_load --h1 -n 4000 -c 64 $URL/ok)"
tap_equal 'two zones of unequal size: the smaller says how many' '80 3920 0' \
	"$(http_load --h1 -n 4000 -c 64 $URL/two/ok)"
tap_equal 'and what it refused the larger was not charged for' 220 \
	"$(http_field ratelimit /two/ok | grep -o '"three";r=[0-9]*' | cut -d= -f2)"
tap_equal 'a sliding log' '90 1910 0' "$(http_load --h1 -n 2000 -c 64 $URL/log/ok)"
tap_equal 'a sliding window' '70 1930 0' "$(http_load --h1 -n 2000 -c 64 $URL/window/ok)"
tap_equal 'a fixed window' '60 1940 0' "$(http_load --h1 -n 2000 -c 64 $URL/fixed/ok)"
tap_equal 'HTTP/2 in the clear' '50 1950 0' "$(arg_load -m 8 'http://127.0.0.1:8082/arg/ok?key=a')"
tap_equal 'HTTP/2 with TLS' '50 1950 0' "$(arg_load -m 8 "https://127.0.0.1:$SECURE/arg/ok?key=b")"
tap_equal 'HTTP/1.1 with TLS' '50 1950 0' \
	"$(arg_load --h1 "https://127.0.0.1:$SECURE/arg/ok?key=c")"
tap_equal 'over HTTP/2 the fields are the same' '2 429 "arg";r=0' "$(curl -sk --http2 \
	--dump-header - --output "$NGINX_DIR/answer" "https://127.0.0.1:$SECURE/arg/ok?key=b" |
	tr -d '\r' | sed -n 's,^HTTP/\(2 [0-9]*\).*,\1,p; s/^ratelimit: \(.*\);t=.*/\1/p' |
	xargs -d'\n')"
tap_equal 'and the body' 429 "$(jq .status "$NGINX_DIR/answer")"

NGINX_NAME=other
nginx_start "$(body shared=together 8090 8444 8083)"
tap_equal 'another instance on the same file finds the bucket empty' '0 64 0' \
	"$(http_load --h1 -n 64 -c 64 http://127.0.0.1:8090/ok)"
tap_equal 'and has a bucket of its own where none is shared' '80 20 0' \
	"$(http_load --h1 -n 100 -c 10 http://127.0.0.1:8090/two/ok)"
nginx_stop
NGINX_NAME=main
nginx_stop
nginx_start "$(body shared=both $PORT $SECURE 8082)"
NGINX_NAME=other
nginx_start "$(body shared=both 8090 8444 8083)"
http_load --h1 -n 2000 -c 32 $URL/ok >"$NGINX_DIR/one" &
http_load --h1 -n 2000 -c 32 http://127.0.0.1:8090/ok >"$NGINX_DIR/two"
wait $!
tap_equal 'two instances under load at once let through what one would' '100 3900 0' \
	"$(cat "$NGINX_DIR/one" "$NGINX_DIR/two" |
		awk '{ a += $1; b += $2; c += $3 } END { print a, b, c }')"
nginx_stop

# Refused, and for that reason.
refused_as_sharer() {
	! nginx_start "$(body shared=both 8090 8444 8083 | sed 's/capacity=100/capacity=101/')" &&
		nginx_says 'emerg.*both'
}
tap_check 'a sharer with another limit is refused, and told which zone' refused_as_sharer
NGINX_NAME=main
tap_equal 'while the first goes on' 429 "$(http_status /ok)"
tap_finish
