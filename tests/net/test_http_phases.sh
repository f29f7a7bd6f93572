#!/bin/bash
# SPDX-License-Identifier: MIT
# One decision a client request, whatever nginx does inside with it: what came of it is charged once
# and told to the end.

# shellcheck source-path=SCRIPTDIR source=nginx.sh
. "$(dirname "$0")/nginx.sh"

# left PATH [OPTION]: how many the answer says are left, and its status.
left() {
	http_fields "$@" | awk '
	/^HTTP/ { status = $2 }
	tolower($1) == "ratelimit:" {
		match($0, /r=[0-9]+/)
		left = substr($0, RSTART + 2, RLENGTH - 2)
	}
	END { print status, left }'
}

# charges_once SENTENCE PATH STATUS [OPTION]: two requests, each with a key of its own zone.
charges_once() {
	local sentence=$1 path=$2 status=$3

	shift 3
	tap_equal "$sentence" "$status 9, $status 8" "$(left "$path" "$@"), $(left "$path" "$@")"
}

nginx_open
mkdir -p "$NGINX_SITE/tried" "$NGINX_SITE/indexed" "$NGINX_SITE/parts" "$NGINX_SITE/denied"
echo one >"$NGINX_SITE/tried/real"
echo index >"$NGINX_SITE/indexed/index.html"
echo '<!--# include virtual="/part?a" --><!--# include virtual="/part?b" -->' \
	>"$NGINX_SITE/parts/page.html"
echo "me:$(openssl passwd -5 password)" >"$NGINX_DIR/passwords"
chmod 644 "$NGINX_DIR/passwords"
nginx_start "
	weir_zone uri key=\$request_uri capacity=10 rate=1/h;
	weir_zone inner key=\$request_uri capacity=10 rate=1/h;
	weir_zone part key=\$binary_remote_addr capacity=10 rate=1/h;
	weir_zone one key=\$request_uri capacity=1 rate=1/h;
	log_format phases '\$request_uri \$status \$weir_status \$weir_zone \$weir_remaining';
	server {
		listen $PORT;
		access_log $NGINX_DIR/access phases;
		index index.html;
		recursive_error_pages on;
		location /missing/ { weir uri; error_page 404 /instead; alias $NGINX_SITE/; }
		location = /instead { weir inner; weir uri; return 404 \"instead\n\"; }
		location /missing-file/ { weir uri; error_page 404 =200 /ok; alias $NGINX_SITE/; }
		location /named/ { weir uri; error_page 404 = @named; alias $NGINX_SITE/; }
		location @named { weir inner; weir uri; proxy_pass http://$BACKEND; }
		location /accel/ { weir uri; proxy_pass http://$BACKEND; }
		location /inside/ { internal; weir inner; weir uri; alias $NGINX_SITE/; }
		location /indexed/ { weir uri; }
		location /tried/ { weir uri; try_files \$uri /tried/none @named; }
		location /rewritten/ { weir uri; rewrite ^ /rewritten-to/ok last; }
		location /rewritten-to/ { weir uri; alias $NGINX_SITE/; }
		location /mirrored/ { weir uri; mirror /mirror; proxy_pass http://$BACKEND; }
		location = /mirror { internal; weir uri; weir inner; proxy_pass http://$BACKEND; }
		location /parts/ { ssi on; weir uri; }
		location = /part { weir part; weir uri; proxy_pass http://$BACKEND; }
		location /added/ {
			weir uri;
			add_after_body /part;
			addition_types *;
			alias $NGINX_SITE/;
		}
		location /asked/ { weir uri; auth_request /auth; alias $NGINX_SITE/; }
		location /refused-by-auth/ { weir uri; auth_request /no-auth; alias $NGINX_SITE/; }
		location = /auth { internal; weir part; weir uri; proxy_pass http://$BACKEND/; }
		location = /no-auth { internal; weir part; return 403; }
		location /denied/ { weir uri; deny all; alias $NGINX_SITE/; }
		location /password/ {
			weir uri;
			auth_basic x;
			auth_basic_user_file $NGINX_DIR/passwords;
			alias $NGINX_SITE/;
		}
		location /any/ {
			weir uri;
			satisfy any;
			deny all;
			auth_basic x;
			auth_basic_user_file $NGINX_DIR/passwords;
			alias $NGINX_SITE/;
		}
		location /down/ {
			weir uri;
			proxy_pass http://127.0.0.1:1;
			error_page 502 = @named;
		}
		location /one/ { weir one; error_page 429 = @named; alias $NGINX_SITE/; }
		location /refused/ { weir one; deny all; alias $NGINX_SITE/; }
		location /twice/ {
			weir one;
			weir uri;
			error_page 429 /limited/ok;
			alias $NGINX_SITE/;
		}
		location /limited/ { weir one; weir uri; alias $NGINX_SITE/; }
		location /inherited/ {
			weir uri;
			location /inherited/off { weir off; alias $NGINX_SITE/ok; }
		}
		location / { weir uri; }
	}
	$(backend "location /accel/ { add_header X-Accel-Redirect /inside/ok; return 200; }")"

charges_once 'a plain one' /ok 200
charges_once 'error_page with a page of its own' /missing/none 404
charges_once 'error_page with another file' /missing-file/none 200
charges_once 'error_page with a named location' /named/none 200
charges_once 'X-Accel-Redirect' /accel/x 200
charges_once 'index' /indexed/ 200
charges_once 'try_files that finds it' /tried/real 200
charges_once 'try_files that ends in a named location' /tried/nothing 200
charges_once 'rewrite ... last' /rewritten/x 200
charges_once 'a mirror' /mirrored/x 200
charges_once 'SSI' /parts/page.html 200
charges_once 'addition' /added/ok 200
charges_once 'auth_request that allows' /asked/ok 200
charges_once 'auth_request that denies' /refused-by-auth/ok 403
charges_once 'deny' /denied/ok 403
charges_once 'auth_basic without a password' /password/ok 401
charges_once 'satisfy any without a password' /any/ok 401
charges_once 'auth_basic with one' /password/ok?in 200 --user me:password
charges_once 'satisfy any with one' /any/ok?in 200 --user me:password
charges_once 'a backend that is down' /down/x 200
tap_equal 'a subrequest is charged to nobody' 'uri' "$(http_fields /parts/page.html?c |
	grep -i '^ratelimit:' | grep -o '"[a-z]*"' | tr -d '"')"
tap_equal 'parts that a page includes are there' 'GET /part' \
	"$(http_body /parts/page.html | head -1 | cut -d' ' -f1,2)"
tap_equal 'a refusal that ends in a named location keeps its fields' '200 0' \
	"$(http_status /one/x >/dev/null; left /one/x)"
tap_equal 'where access is denied a refusal comes first' '403 429' \
	"$(http_status /refused/ok) $(http_status /refused/ok)"
tap_equal 'an error_page that leads to a limited location is not charged again' '200 429 429' \
	"$(for _ in 1 2 3; do http_status /twice/ok && echo; done | xargs)"
tap_equal 'and the other zone was charged once' '"uri";r=9' \
	"$(http_field ratelimit /twice/ok | grep -o '"uri";r=[0-9]*')"
tap_equal 'a limit is inherited' '404 9' "$(left /inherited/none)"
tap_equal 'unless it is off' '200 ' "$(left /inherited/off)"
tap_equal 'variables are there to the end' '/named/none 200 PASSED uri 9' \
	"$(grep -m1 '^/named/none' "$NGINX_DIR/access")"
tap_equal 'of a refusal too' '/one/x 200 REFUSED one 0' \
	"$(grep '^/one/x' "$NGINX_DIR/access" | tail -1)"
tap_finish
