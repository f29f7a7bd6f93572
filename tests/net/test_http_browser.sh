#!/bin/bash
# SPDX-License-Identifier: MIT
# What scripts in a real browser see of refusals by another origin, with weir_cors and without.

# shellcheck source-path=SCRIPTDIR source=nginx.sh
. "$(dirname "$0")/nginx.sh"

HOUR_ROUNDED='s/\b359[0-9]\b/3600/g' # of the wait a few seconds may have gone by
BROWSER_SECONDS_MAX=90
PAGE_MS_MAX=30000 # of the page's own time, which stands still while it waits for an answer
PASSED='200 - "api";r=1;t=3600 -|200 - "api";r=0;t=3600 -'
SEEN='429 3600 "api";r=0;t=3600 - 429'

# Prints what the page has seen, once its script is done.
browse() {
	timeout -k 5 $BROWSER_SECONDS_MAX chromium --headless --no-sandbox --disable-gpu \
		--user-data-dir="$NGINX_DIR/profile" --virtual-time-budget=$PAGE_MS_MAX --dump-dom \
		"$URL/cors.html" 2>"$NGINX_DIR/chromium" |
		sed -e '1,/<pre id="seen">/s/.*<pre id="seen">//' -e '/^end/q' -e "$HOUR_ROUNDED"
}

# seen PATH: of the requests for it, in one line.
seen() {
	sed -n "s|^${1#/} ||p" "$NGINX_DIR/seen" | paste -sd'|'
}

# asked PATH: methods and statuses of the requests that nginx had for it, and the cookie.
asked() {
	sed -n "s|^$1 ||p" "$NGINX_DIR/access" | paste -sd'|'
}

sees() {
	tap_equal "$1" "$3" "$(seen "$2")"
}

command -v chromium >/dev/null || testbed_refuse 'chromium is missing: scripts/install-deps.sh'

nginx_open
cp "$TESTBED_ROOT/tests/net/cors.html" "$NGINX_SITE"
nginx_start "
	weir_zone api key=\$uri capacity=2 rate=1/h;
	log_format asked '\$uri \$request_method \$status \$cookie_session';
	server {
		listen $PORT;
		location = /cors.html { default_type text/html; }
	}
	server {
		listen 8082;
		access_log $NGINX_DIR/access asked;
		weir api;
		weir_cors $URL;
		location /listed { proxy_pass http://$BACKEND; }
		location /none { weir_cors off; proxy_pass http://$BACKEND; }
		location /foreign { weir_cors http://localhost:$PORT; proxy_pass http://$BACKEND; }
		location /any { weir_cors *; proxy_pass http://$BACKEND; }
		location /legacy { weir_headers legacy; proxy_pass http://$BACKEND; }
		location /credentials { weir_cors $URL credentials; proxy_pass http://$BACKEND; }
		location /uncredited { proxy_pass http://$BACKEND; }
		location /exempt { weir_exempt_preflight on; proxy_pass http://$BACKEND; }
		location /strict { proxy_pass http://$BACKEND; }
	}
	$(backend "add_header Vary Accept;
		add_header Access-Control-Allow-Origin \$http_origin;
		add_header Access-Control-Allow-Credentials true;
		add_header Access-Control-Allow-Headers X-Api-Key;
		add_header Access-Control-Max-Age -1;
		add_header Access-Control-Expose-Headers RateLimit;")"

browse >"$NGINX_DIR/seen" || :
tap_equal 'a browser shows the page to its end' end "$(tail -1 "$NGINX_DIR/seen")"
sees 'a script sees the refusal: status, when to come again, limit and body' /listed "$PASSED|$SEEN"
sees 'without weir_cors it sees an error of the network' /none "$PASSED|TypeError"
tap_equal 'though it was refused just so' 'GET 200 -|GET 200 -|GET 429 -' "$(asked /none)"
sees 'so it does where another origin is named' /foreign "$PASSED|TypeError"
sees 'any origin is this one too' /any "$PASSED|$SEEN"
sees 'legacy fields are seen where those are sent' /legacy '200 - - -|200 - - -|429 3600 - 2 429'
sees 'a request with credentials sees it where they are allowed' /credentials "$PASSED|$SEEN"
tap_equal 'and had them' 'GET 200 alice|GET 200 alice|GET 429 alice' "$(asked /credentials)"
sees 'not where they are not' /uncredited "$PASSED|TypeError"
sees 'a preflighted request sees it, where its preflight is exempt' /exempt "$PASSED|$SEEN"
tap_equal 'of which none counted' \
	'OPTIONS 200 -|GET 200 -|OPTIONS 200 -|GET 200 -|OPTIONS 200 -|GET 429 -' "$(asked /exempt)"
sees 'a refused preflight is an error of the network' /strict "$PASSED|$SEEN|TypeError"
tap_equal 'of which the request was not even made' \
	'GET 200 -|GET 200 -|GET 429 -|OPTIONS 429 -' "$(asked /strict)"
tap_finish
