# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# One configuration that uses all of the module, and a mix of requests that reaches all of it: for
# tests that ask whether a worker survives. Sourced after nginx.sh.

everything() {
	cat <<-END
	weir_address x-forwarded-for from=127.0.0.0/8 from=10.0.0.0/8 from=unix:;
	weir_held_max 4;
	weir_form_field \$login_name username lowercase;
	weir_zone address key=\$weir_address capacity=5 rate=50/s entries=64;
	weir_zone arg key=\$arg_key key=\$http_x_odd key=\$cookie_account capacity=3 rate=2/s
		entries=64 count-refused;
	weir_zone plan key=\$http_x_api_key capacity=\$arg_capacity rate=\$arg_rate default=3,10/s;
	weir_zone shaped key=\$arg_key algorithm=leaky-bucket capacity=4 rate=100/s;
	weir_zone fixed key=\$arg_key algorithm=fixed-window limit=3 per=100ms;
	weir_zone sliding key=\$arg_key algorithm=sliding-window limit=3 per=100ms;
	weir_zone log key=\$arg_key algorithm=sliding-log limit=3 per=100ms entries=512;
	weir_zone seen key=\$weir_address algorithm=sliding-log limit=3 per=100ms observe;
	weir_zone guesses key=\$weir_address algorithm=sliding-window limit=3 per=1s entries=64;
	weir_zone account key=\$login_name key=\$weir_address algorithm=fixed-window
		limit=8 per=100ms;
	weir_penalty guesses refusals=2 within=1s ban=1s max=2s offenders=8;
	log_format all '\$weir_status \$weir_zone \$weir_limit \$weir_remaining \$weir_retry_after '
		'\$weir_key_hash \$weir_address';
	server {
		listen $PORT;
		access_log $NGINX_DIR/access all;
		listen 8082 http2;
		weir address;
		weir_cors https://app.example credentials;
		location / { weir address; weir arg; weir seen; try_files \$uri /ok; }
		location /plan { weir plan cost=\$arg_cost; weir_headers both; weir_cors *; try_files /ok =500; }
		location /shaped { weir shaped delay=1; weir_body json; try_files /ok =500; }
		location /windows {
			weir fixed;
			weir sliding;
			weir log cost=\$arg_cost;
			weir_headers legacy;
			weir_retry_jitter 2s;
			proxy_pass http://$BACKEND;
		}
		location /seen { weir seen; weir_exempt_preflight on; proxy_pass http://$BACKEND; }
		location /paged { weir arg; weir_reveal off; error_page 429 = @page; }
		location @page { proxy_pass http://$BACKEND; }
		location /login {
			weir arg refund-on=2xx;
			weir account refund-on=200,4xx;
			proxy_pass http://$BACKEND;
		}
		location /guess {
			weir guesses refund-on=303,4xx;
			proxy_pass http://$BACKEND;
		}
		location /asked { auth_request /check; try_files /ok =500; }
		location = /check { weir_check nginx; weir_route /asked address account; }
		location = /caddy {
			weir_check caddy from=127.0.0.0/8;
			weir_route / address;
			weir_route /login guesses account methods=POST cost=2;
		}
		location = /app { weir_check app from=127.0.0.0/8; }
	}
	$(backend "add_header RateLimit 'old' always;")
	END
}

# logins ROUNDS: charges given back, bans, fields of bodies, checks.
logins() {
	local round path question='{"zones":["account","guesses"],"key":"192.0.2.8"}'

	for ((round = 0; round < $1; round++)); do
		for path in "/login?key=$round" /guess /guess /guess /asked /caddy /app; do
			printf 'url = "%s%s"\noutput = /dev/null\n' "$URL" "$path"
		done
	done >"$NGINX_DIR/logins"
	set -- curl -s --max-time 60 --config "$NGINX_DIR/logins" -H 'X-Forwarded-Method: POST' \
		-H 'X-Forwarded-Uri: //%6cogin/./x?a' -H 'Origin: https://app.example'
	"$@" -H 'X-Forwarded-For: 192.0.2.8' -d 'username=+Ann%41&password=x'
	"$@" -H 'X-Forwarded-For: 192.0.2.9' --json '{"username": "bob", "password": "x"}' \
		-H 'Transfer-Encoding: chunked'
	"$@" --json "$question"
	"$@" -F username=ann
	h2load -t 1 -n 60 -c 4 -m 4 -d "$NGINX_DIR/logins" -H 'content-type: application/grpc' \
		'http://127.0.0.1:8082/login?key=grpc' >/dev/null
}

# mix ROUNDS: of all kinds of requests.
mix() {
	local round path

	for ((round = 0; round < $1; round++)); do
		for path in "/ok?key=$round" /plan "/plan?capacity=$round&rate=1/s&cost=$round" \
			"/shaped?key=$((round % 3))" "/windows?key=a&cost=$((round % 5))" /seen \
			"/paged?key=b" "/none?key=c"; do
			printf 'url = "%s%s"\noutput = /dev/null\n' "$URL" "$path"
		done
	done >"$NGINX_DIR/mix"
	sed -n "s|^url = \"$URL\(.*\)\"|http://127.0.0.1:8082\1|p" "$NGINX_DIR/mix" >"$NGINX_DIR/mix2"
	curl -s --max-time 60 --config "$NGINX_DIR/mix" -H "X-Api-Key: k" \
		-H 'X-Forwarded-For: 192.0.2.7'
	curl -s --max-time 60 --config "$NGINX_DIR/mix" -H 'Cookie: account=a' \
		-X POST -d "$(seq 2000)"
	# Not curl, which on its second request by HTTP/2 fails.
	h2load -t 1 -n $((8 * $1)) -c 1 -i "$NGINX_DIR/mix2" -H ':method: OPTIONS' \
		-H 'x-forwarded-for: 2001:db8::1, 10.0.0.1' -H 'origin: https://app.example' \
		-H 'access-control-request-method: PUT' >/dev/null
	h2load -t 1 -n 400 -c 8 -m 4 "http://127.0.0.1:8082/ok?key=h2" >/dev/null
	h2load -t 1 -n 200 -c 8 -m 8 "http://127.0.0.1:8082/shaped?key=h2" >/dev/null
	logins "$1"
	python_client --patience 0.01 together 6 '/shaped?key=left' >/dev/null
	python_client talk 'POST /windows?key=a length 50000' 'HEAD /ok?key=0' 'GET /seen' \
		>/dev/null
}
