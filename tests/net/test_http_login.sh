#!/bin/bash
# SPDX-License-Identifier: MIT
# Logins: limited by address and by account, which is a field of the body, and the backend gets the
# body as it was sent.

# shellcheck source-path=SCRIPTDIR source=nginx.sh
. "$(dirname "$0")/nginx.sh"
# shellcheck source-path=SCRIPTDIR source=login_backend.sh
. "$(dirname "$0")/login_backend.sh"

FORM='Content-Type: application/x-www-form-urlencoded'
JSON='Content-Type: application/json'
TYPE=$FORM

# body [SERVER [HTTP]]
body() {
	echo "
	${2:-}
	weir_address x-forwarded-for from=127.0.0.0/8;
	weir_form_field \$login_name username;
	weir_form_field \$login_folded username lowercase;
	weir_form_field \$login_long username max=64k;
	map \$login_folded \$account { default \$login_folded; admin ''; ~^test- test; }
	weir_zone address key=\$weir_address capacity=3 rate=1/d entries=1k;
	weir_zone account key=\$login_name capacity=2 rate=1/d entries=1k;
	weir_zone folded key=\$login_folded capacity=2 rate=1/d entries=1k;
	weir_zone mapped key=\$account capacity=2 rate=1/d entries=1k;
	weir_zone either key=\$login_name key=\$weir_address capacity=2 rate=1/d entries=1k;
	weir_zone long key=\$login_long capacity=50 rate=1/d entries=1k;
	weir_zone shaped key=\$login_name algorithm=leaky-bucket capacity=5 rate=1/s entries=1k;
	weir_zone wide key=\$weir_address capacity=1000 rate=1/d entries=1k;
	weir_zone banning key=\$weir_address capacity=1 rate=1/d entries=1k;
	weir_penalty banning refusals=1 within=60s ban=1h max=1h;
	weir_zone outage key=\$weir_address algorithm=sliding-window limit=2 per=1d entries=1k;
	weir_penalty outage refusals=1 within=60s ban=1h max=1h;
	weir_zone barred key=\$login_name key=\$weir_address capacity=1 rate=1/d entries=1k;
	weir_penalty barred refusals=1 within=60s ban=1h max=1h penalty-any-key;
	log_format names '\$uri [\$login_name] \$status \$weir_status';
	proxy_http_version 1.1;
	proxy_pass_header Server;
	client_max_body_size 1m;
	server {
		listen $PORT reuseport;
		listen 8082 http2;
		access_log $NGINX_DIR/access names;
		${1:-}
		location /login { weir address; weir account; weir_reveal off;
			proxy_pass http://$BACKEND; }
		location /told { weir address; weir account; proxy_pass http://$BACKEND; }
		location /account { weir account; proxy_pass http://$BACKEND; }
		location /folded { weir folded; proxy_pass http://$BACKEND; }
		location /mapped { weir mapped; proxy_pass http://$BACKEND; }
		location /either { weir either; proxy_pass http://$BACKEND; }
		location /long { weir long; proxy_pass http://$BACKEND; }
		location /small-buffer { weir long; client_body_buffer_size 1k;
			proxy_pass http://$BACKEND; }
		location /in-file { weir long; client_body_in_file_only clean;
			proxy_pass http://$BACKEND; }
		location /one-buffer { weir long; client_body_in_single_buffer on;
			proxy_pass http://$BACKEND; }
		location /unbuffered { weir long; proxy_request_buffering off;
			proxy_pass http://$BACKEND; }
		location /slow { weir long; weir wide; client_body_timeout 1s;
			proxy_pass http://$BACKEND; }
		location /banning { weir banning; weir long; proxy_pass http://$BACKEND; }
		location /outage { weir outage refund-on=2xx,3xx,5xx;
			proxy_pass http://$BACKEND; }
		location /barred { weir barred; proxy_pass http://$BACKEND; }
		location /paged { weir account; error_page 429 = @page; proxy_pass http://$BACKEND; }
		location @page { proxy_pass http://$BACKEND; }
		location /caught { proxy_intercept_errors on; error_page 500 = @caught;
			proxy_pass http://$BACKEND; }
		location @caught { weir account; proxy_pass http://$BACKEND; }
		location /tried { weir account; try_files /none @tried; }
		location @tried { proxy_pass http://$BACKEND; }
		location /rewritten { rewrite ^ /account?rewritten last; }
		location /asked { weir account; auth_request /auth; proxy_pass http://$BACKEND; }
		location = /auth { internal; weir account; proxy_pass http://$BACKEND;
			proxy_pass_request_body off; proxy_set_header Content-Length ''; }
		location /mirrored { weir account; mirror /mirror; proxy_pass http://$BACKEND; }
		location = /mirror { internal; proxy_pass http://$BACKEND; }
		location /except { limit_except GET { deny all; } weir account;
			proxy_pass http://$BACKEND; }
		location /free { proxy_pass http://$BACKEND; }
		location /shaped { weir shaped; add_header Seen \$weir_status always;
			proxy_pass http://$BACKEND; }
		location /look/long { weir long cost=0; proxy_pass http://$BACKEND; }
		location /look/wide { weir wide cost=0; try_files /ok =500; }
		location /look/address { weir address cost=0; try_files /ok =500; }
		location /header { weir account; add_header Name \$login_name always;
			proxy_pass http://$BACKEND; }
	}"
}

# login ADDRESS NAME [PATH [OPTION]...]: the status of a login in that address's name.
login() {
	http_status "${3:-/login}" --header "X-Forwarded-For: $1" --data-urlencode "username=$2" \
		--data password=secret "${@:4}"
	echo
}

# sends PATH BODY [OPTION]...: as $TYPE; the status.
sends() {
	http_status "$1" --header "$TYPE" --data-binary "$2" "${@:3}"
	echo
}

# three PATH BODY [OPTION]...: the statuses of as many requests.
three() {
	for _ in 1 2 3; do
		sends "$@"
	done | xargs
}

# left ZONE ADDRESS
left() {
	http_field ratelimit "/look/$1" --header "X-Forwarded-For: $2" | grep -o 'r=[0-9]*' |
		cut -d= -f2
}

# sum FILE: as the backend tells it.
sum() {
	echo "$(stat -c %s "$1") $(sha256sum <"$1" | cut -d' ' -f1)"
}

# unharmed SENTENCE FILE PATH [OPTION]...: the backend gets FILE.
unharmed() {
	tap_equal "$1" "$(sum "$2")" "$(http_body "$3" --header "$FORM" --max-time 20 "${@:4}")"
}

# form SIZE: a file with a form of that many bytes.
form() {
	local file=$NGINX_DIR/form-$1

	head -c "$1" /dev/urandom | base64 --wrap 0 | tr '+/=' 'xyz' >"$file"
	printf 'username=%s&filler=' "$1" | dd of="$file" conv=notrunc status=none
	truncate -s "$1" "$file"
	echo "$file"
}

# answer ADDRESS NAME: all of it.
answer() {
	http /login --include --header "X-Forwarded-For: $1" --data "username=$2" | sed '/^Date: /d'
}

# login_client VERB PATH [BODY] [OPTION]...: tests/net/login_clients.py
login_client() {
	"$PYTHON" "$TESTBED_ROOT/tests/net/login_clients.py" "$1" $PORT "${@:2}"
}

nobody_is_connected() {
	[ "$(ss -Htn state established "sport = :$PORT" | wc -l)" -eq 0 ]
}

logged() {
	grep -q "$1" "$NGINX_DIR/access"
}

nginx_open
login_backend_start
nginx_start "$(body)"

tap_equal 'an account has its limit, from wherever it is tried' '200 200 429 429' \
	"$({ login 10.0.0.1 alice; login 10.0.0.2 alice; login 10.0.0.3 alice
		login 10.0.0.4 alice; } | xargs)"
tap_equal 'and an address, whatever it tries' '200 200 200 429' \
	"$(for name in a1 a2 a3 a4; do login 10.0.0.5 "$name"; done | xargs)"
tap_equal 'what the account refuses the address is not charged for' '3 3' \
	"$(left address 10.0.0.3) $(left address 10.0.0.4)"
tap_equal 'nor the account for what the address refuses' '200 200 429' \
	"$(for at in 6 7 8; do login "10.0.0.$at" a4; done | xargs)"
tap_equal 'the reply does not tell which of them it was' \
	"$(answer 10.0.0.9 alice)" "$(answer 10.0.0.5 fresh)"
tap_equal 'and is a refusal' 'HTTP/1.1 429 Too Many Requests' \
	"$(answer 10.0.0.9 alice | head -1 | tr -d '\r')"
tap_equal 'nor if it was both' "$(answer 10.0.0.9 alice)" "$(answer 10.0.0.5 alice)"
tap_equal 'where it may be told, it is' '"account";r=0 "address";r=0' \
	"$({ http_field ratelimit /told --header 'X-Forwarded-For: 10.0.0.9' --data username=alice
		http_field ratelimit /told --header 'X-Forwarded-For: 10.0.0.5' --data username=fresh
	} | grep -o '"[a-z]*";r=0' | xargs -d'\n')"

tap_equal 'a JSON body' '200 200 429' "$(for _ in 1 2 3; do
	http_status /account --json '{"username":"json","password":"x"}'
	echo
done | xargs)"
tap_equal 'the same account as in a form' 429 "$(sends /account username=json)"
tap_equal 'an account is its bytes' '200 200' \
	"$(sends /account username=Json | xargs) $(sends /account username=json%20 | xargs)"
tap_equal 'unless lowercase' '200 200 429 429' "$({ sends /folded username=Bob
	sends /folded 'username=+bOb+'
	sends /folded username=bob
	http_status /folded --json '{"username":" BOB"}'; } | xargs)"
tap_equal 'through a map' '200 200 429' "$({ sends /mapped username=test-1
	sends /mapped username=Test-2
	sends /mapped username=test-3; } | xargs)"
tap_equal 'which may exempt some' '200 200 200' "$(three /mapped username=admin)"
tap_equal 'in a log' 1 "$(wait_until 5 logged '^/account \[json\] 200 PASSED$' && echo 1)"
tap_equal 'and a header field of the response' heady \
	"$(http_field name /header --data username=heady)"

# What names no account: never refused by its zone, and by the address where that is its second key.
exempt() {
	exempt_count=$((exempt_count + 1))
	tap_equal "$1 names no account" '200 200 200' "$(three /account "${@:2}")"
	tap_equal "$1 counts for the address" '200 200 429' "$(three /either "${@:2}" --header \
		"X-Forwarded-For: 10.1.$exempt_count.1")"
}

exempt_count=0
exempt 'a form without the field' 'user=x&password=y'
exempt 'an empty field' 'username=&password=y'
exempt 'an empty body' ''
exempt 'a field that is there twice' 'username=x&username=y'
exempt 'a field with a zero byte' 'username=x%00y'
exempt 'a field that is too long' "username=$(printf '%01025d' 0)"
exempt 'a body that is too large' "username=x&filler=$(printf '%09000d' 0)"
exempt 'a large body in chunks' "username=x&filler=$(printf '%09000d' 0)" \
	--header 'Transfer-Encoding: chunked'
TYPE='Content-Type: text/plain' exempt 'text' 'username=x'
TYPE='Content-Type:' exempt 'a body without a type' 'username=x'
TYPE=$JSON exempt 'JSON that does not parse' '{"username":"x"'
TYPE=$JSON exempt 'JSON with the member twice' '{"username":"x","username":"y"}'
TYPE=$JSON exempt 'a member that is no string' '{"username":["x"]}'
tap_equal 'multipart names no account' '200 200 429' "$(for _ in 1 2 3; do
	http_status /either --form username=x --header 'X-Forwarded-For: 10.1.99.1'
	echo
done | xargs)"
tap_equal 'nor does a GET' '200 200 429' "$(for _ in 1 2 3; do
	http_status /either --header 'X-Forwarded-For: 10.1.99.2'
	echo
done | xargs)"

big=$(form 60000)
huge=$(form 900000)
for file in "$(form 100)" "$(form 8192)" "$(form 20000)" "$big" "$huge"; do
	size=${file##*-}
	for path in long small-buffer in-file one-buffer unbuffered; do
		unharmed "/$path gets $size bytes" "$file" "/$path" --data-binary "@$file"
		unharmed "/$path gets $size bytes in chunks" "$file" "/$path" \
			--data-binary "@$file" --header 'Transfer-Encoding: chunked'
		URL=http://127.0.0.1:8082 unharmed "/$path gets $size bytes over HTTP/2" "$file" \
			"/$path" --data-binary "@$file" --http2-prior-knowledge
		URL=http://127.0.0.1:8082 unharmed "/$path gets $size bytes of a length not told" \
			"$file" "/$path" --http2-prior-knowledge --request POST \
			--upload-file - < <(cat "$file")
	done
	unharmed "$size bytes after 100 Continue" "$file" /long --data-binary "@$file" \
		--header 'Expect: 100-continue' --expect100-timeout 60
done

tap_equal 'and of each that is not too large the field was found' '29 29 29 29 none' \
	"$(for size in 100 8192 20000 60000 900000; do
		http_field ratelimit /look/long --data "@$NGINX_DIR/form-$size" |
			grep -o 'r=[0-9]*' | cut -d= -f2 | grep . || echo none
	done | xargs)"

form=username=pieces\&filler=$(printf '%04000d' 0)
echo -n "$form" >"$NGINX_DIR/form"
echo -n >"$NGINX_DIR/nothing"
for path in /long /unbuffered /small-buffer /shaped; do
	tap_equal "$path: a body in two pieces, and a request right behind it" \
		"200 $(sum "$NGINX_DIR/form") 200 $(sum "$NGINX_DIR/nothing")" \
		"$(login_client pieces $path "$form" | xargs)"
done
login_client pieces /account "$form" >/dev/null
login_client pieces /account "$form" >/dev/null
tap_equal 'a refused one too' "429 200 $(sum "$NGINX_DIR/nothing")" \
	"$(login_client pieces /account "$form" | xargs)"

tap_equal 'who stops in mid-body is timed out' 408 \
	"$(login_client stop /slow "$form" --address 10.2.0.1 | grep . ||
		wait_until 5 logged '^/slow .* 408 ' && echo 408)"
tap_equal 'and not charged' 1000 "$(left wide 10.2.0.1)"
login_client leave /slow "$form" --address 10.2.0.2 --count 50
tap_check 'nor is who leaves' wait_until 5 nobody_is_connected
tap_equal 'however often' 1000 "$(left wide 10.2.0.2)"
tap_equal 'who stays is' 999 "$(login_client pieces /slow "$form" --address 10.2.0.2 >/dev/null
	left wide 10.2.0.2)"

tap_equal 'a body is waited for' nothing "$(login_client bodiless /banning --address 10.2.0.3)"
login 10.2.0.3 one /banning >/dev/null
login 10.2.0.3 one /banning >/dev/null
tap_equal "but not a banned client's" 429 "$(login_client bodiless /banning --address 10.2.0.3)"
tap_equal 'who waits for 100 Continue gets none' 429 "$(http_fields /banning \
	--header 'X-Forwarded-For: 10.2.0.3' --header 'Expect: 100-continue' \
	--expect100-timeout 60 --data-binary "@$big" | sed -n 's,^HTTP/1.1 \([0-9]*\).*,\1,p' | xargs)"
tap_equal 'who names no account is banned by his address' '200 429 429' \
	"$(for body in no none nobody; do
		sends /barred "$body" --header 'X-Forwarded-For: 10.2.0.4'
	done | xargs)"
tap_equal 'but not the accounts behind it' 200 "$(login 10.2.0.4 behind /barred)"

# outage STATUS...: what a client gets for as many logins that are answered so.
outage() {
	local status

	for status; do
		sends "/outage?status=$status" username=any --header 'X-Forwarded-For: 10.2.0.5'
	done | xargs
}

tap_equal 'an outage of the application is no wrong password' '503 502 504 500 401 401 429' \
	"$(outage 503 502 504 500 401 401 401)"

# limits PATH [SUFFIX]: by account, and the backend gets the body of those that pass.
limits() {
	local name=username=limits${1//\//-}

	echo -n "$name" >"$NGINX_DIR/form"
	unharmed "$1: the body arrives" "$NGINX_DIR/form" "$1" --data-binary "$name"
	tap_equal "$1: and the account has its limit" '200 429 429' "$(three "$1" "$name")"
}

limits /rewritten
limits /tried
limits /asked
limits /mirrored
echo -n username=paged >"$NGINX_DIR/form"
sends /paged username=paged >/dev/null
sends /paged username=paged >/dev/null
unharmed 'the page of a refusal gets the body' "$NGINX_DIR/form" /paged \
	--data-binary username=paged
tap_check 'as the log says' wait_until 5 logged '^/paged \[paged\] 200 REFUSED$'
tap_equal 'an error page that limits reads what was read before it' '500 500 429' \
	"$(three '/caught?status=500' username=caught)"
echo -n username=caught2 >"$NGINX_DIR/form"
unharmed 'and passes it on' "$NGINX_DIR/form" '/caught?status=500' --data-binary username=caught2
tap_equal 'where a method is denied, logins count before' '403 403 429' \
	"$(three /except username=except)"
tap_equal 'and what is allowed passes' '200 200 200' "$(for _ in 1 2 3; do
	http_status /except && echo
done | xargs)"
sends /free username=free >/dev/null
tap_check 'where nothing is limited no body is read for its field' wait_until 5 \
	logged '^/free \[-\] 200 -$'
tap_equal 'a login may be held' 'PASSED DELAYED DELAYED' "$(for _ in 1 2 3; do
	http_field seen /shaped --data username=held
done | xargs)"
tap_equal 'also over HTTP/2' 'DELAYED DELAYED' "$(for _ in 1 2; do
	URL=http://127.0.0.1:8082 http_field seen /shaped --data username=held \
		--http2-prior-knowledge
done | xargs)"

echo -n 'username=crowd&password=x' >"$NGINX_DIR/login"
tap_equal 'of 200 logins at once as many as the limit has pass' '50 150 0' \
	"$(http_load --h1 -n 200 -c 50 -d "$NGINX_DIR/login" -H "$FORM" "$URL/long")"
echo -n 'username=crowd2&password=x' >"$NGINX_DIR/login"
tap_equal 'also over HTTP/2' '50 150 0' "$(http_load -n 200 -c 10 -m 8 -d "$NGINX_DIR/login" \
	-H "$FORM" http://127.0.0.1:8082/long)"

# refuses DIRECTIVE PATTERN
refuses() {
	tap_check "weir_form_field $1: $2" refused_test "$@"
}

refused_test() {
	local said status=0

	said=$(nginx_test "$(body '' "weir_form_field $1;")") || status=$?
	echo "$said"
	[ "$status" -ne 0 ] && grep -q "\[emerg\].*$2" <<<"$said"
}

refuses "\$a" 'number of arguments'
refuses 'a name' 'needs a variable'
refuses "\$a ''" "needs a field's name"
refuses "\$a name max=0" 'max=0'
refuses "\$a name max=65k" 'max=65k'
refuses "\$a name max=" 'max='
refuses "\$a name uppercase" 'uppercase'
refuses "\$login_name other" 'duplicate'

nginx_stop QUIT
tap_equal 'nothing is left behind' '' \
	"$(grep -e '\[alert\]' -e '\[crit\]' -e 'exited on signal' "$(nginx_log)" || :)"
tap_finish
