#!/bin/bash
# SPDX-License-Identifier: MIT
# weir http limits of a configuration that nginx runs: what is listed is what nginx answers with, and
# what nginx cannot read is not listed.

# shellcheck source-path=SCRIPTDIR source=nginx.sh
. "$(dirname "$0")/nginx.sh"

WEIR=${WEIR:-$TESTBED_ROOT/build/weir}

conf() {
	echo "$(nginx_directory)/nginx.conf"
}

limits() {
	"$WEIR" http limits --conf "$(conf)" "$@"
}

json() {
	limits --json | jq -r "$1"
}

# Of $NGINX_DIR/main, where the configuration's includes are looked for.
files_write() {
	mkdir -p "$(nginx_directory)/sites" "$(nginx_directory)/part"
	cat >"$(nginx_directory)/zones.conf" <<-'END'
		weir_zone address key=$weir_address capacity=1k rate=100/s;
		weir_zone login key=$uri capacity=5 rate=1/h count-refused;
		weir_zone plan key=$weir_address capacity=$arg_c rate=50/s default=1,1/s;
		weir_zone shaped key=$weir_address algorithm=leaky-bucket capacity=50 rate=10/s;
		weir_zone window key=$http_x_api_key key=$weir_address
			algorithm=sliding-window limit=100 per=60s; # "not a {word
		weir_zone look key=$weir_address capacity=1 rate=1/day observe;
		weir_form_field $name username max=8k;
		weir_zone account key=$name capacity=3 rate=1/h;
		weir_zone strict key=$weir_address capacity=1 rate=1/min;
		weir_penalty strict refusals=2 within=60s ban=15m max=24h;
		map $uri $cost { default 1; "~^/x{2};" 10; }
	END
	cat >"$(nginx_directory)/sites/a.conf" <<-END
		server {
			listen $PORT;
			server_name "a.example" b.example;
			weir address;
			location / { alias $NGINX_SITE/ok; }
			location = /login { weir login; weir look; alias $NGINX_SITE/ok; }
			location /both/ { weir address; weir window cost=2; weir_headers both;
				alias $NGINX_SITE/ok; location /both/in/ { include part/in; } }
			location ^~ /slow { weir shaped delay=20; alias $NGINX_SITE/ok; }
			location /plan { weir plan cost=\$cost; alias $NGINX_SITE/ok; }
			location /off { weir off; alias $NGINX_SITE/ok; }
			location /hidden { weir address; weir_reveal off; alias $NGINX_SITE/ok; }
			location /answered { return 200 "}"; }
			location @named { root $NGINX_SITE; }
		}
	END
	cat >"$(nginx_directory)/sites/b.conf" <<-END
		server {
			listen $PORT;
			server_name c.example;
			weir window;
			weir_refusal_status 503;
			location /deep { if (\$arg_x = "}") { set \$y '{'; } alias $NGINX_SITE/ok; }
		}
	END
	cat >"$(nginx_directory)/sites/check.conf" <<-END
		server {
			listen $PORT;
			server_name check.example;
			weir window;
			location = /form { weir account refund-on=2xx; proxy_pass http://$BACKEND; }
			location = /strict { weir strict; alias $NGINX_SITE/ok; }
			location = /check {
				weir_check haproxy from=127.0.0.0/8;
				weir_route /api address window methods=GET,HEAD cost=2;
				weir_route =/api/one strict;
			}
		}
		$(backend)
	END
	echo 'weir_headers draft; weir shaped;' >"$(nginx_directory)/part/in"
	echo 'server { this is not read' >"$(nginx_directory)/sites/c.disabled"
}

# "a.example /login" of every route that a client can ask for; JSON has them all.
routes() {
	json '.limits[] | select(.internal | not) |
		[(.server | split(",")[0]), (.route | split(" ")[-1])] | @tsv' | uniq
}

# policy_listed SERVER PATH: of all the rows of a route, in their order.
policy_listed() {
	limits --json | jq -r --arg server "$1" --arg path "$2" '[.limits[] |
		select((.server | split(",")[0]) == $server) |
		select((.route | split(" ")[-1]) == $path) | .policy // empty] | join(", ")'
}

# asked FIELD METHOD ROUTE [ADDRESS]: what the check service answers to its front.
asked() {
	http_field "$1" /check -H 'Host: check.example' -H "X-HAProxy-Method: $2" \
		-H "X-HAProxy-URI: ${3#=}" -H "X-HAProxy-Address: ${4:-192.0.2.1}"
}

# policy_told SERVER ROUTE: by nginx.
policy_told() {
	case "$1 $2" in
	*' else') http_field RateLimit-Policy /elsewhere -H "Host: $1" ;;
	*' /form') http_field RateLimit-Policy "$2" -H "Host: $1" --data 'username=a' ;;
	'check.example /api' | *' ='*) asked RateLimit-Policy GET "$2" ;;
	*) http_field RateLimit-Policy "$2" -H "Host: $1" ;;
	esac
}

policies_agree() {
	local server route listed told count=0

	while IFS=$'\t' read -r server route; do
		listed=$(policy_listed "$server" "$route")
		told=$(policy_told "$server" "$route")
		echo "$server $route: listed '$listed', told '$told'"
		[ "$listed" = "$told" ] || return
		count=$((count + 1))
	done < <(routes)
	[ "$count" -eq 14 ]
}

# Of the route /api what is listed, and what the first request leaves of zone address.
route_shown() {
	json '.limits[] | select(.route == "/api" and .zone == "address") | "\(.cost) \(.methods)"' |
		tr '\n' ' '
	asked RateLimit GET /api/other 192.0.2.2 | sed -n 's/^"address";r=\([0-9]*\).*/\1/p'
}

# What the second refusal, which makes a ban, has clients wait; the token is gone already.
refused_twice() {
	http /strict -H 'Host: check.example' >/dev/null
	http_field Retry-After /strict -H 'Host: check.example'
}

# document_has LINE: the Markdown has it.
document_has() {
	limits --markdown >"$NGINX_DIR/document" 2>"$NGINX_DIR/notices" || return
	grep -qxF -- "$1" "$NGINX_DIR/document" || { cat "$NGINX_DIR/document" && return 1; }
}

text_has() {
	limits >"$NGINX_DIR/text" || return
	grep -Eq -- "$1" "$NGINX_DIR/text" || { cat "$NGINX_DIR/text" && return 1; }
}

# agree yes|no BODY: nginx takes the configuration, or does not, and so does weir.
agree() {
	local expected=$1 by_nginx=yes by_weir=yes said

	nginx_test "$2" >"$NGINX_DIR/said" || by_nginx=no
	said=$("$WEIR" http limits --conf "$NGINX_DIR/tested/nginx.conf" 2>&1 >/dev/null) ||
		by_weir=no
	echo "nginx: $by_nginx, weir: $by_weir, expected: $expected"
	echo "$said" | cat - "$NGINX_DIR/said"
	[ "$by_nginx $by_weir" = "$expected $expected" ] || return
	[ "$expected" = yes ] || [ "$(wc -l <<<"$said")" -eq 1 ]
}

fails_with() {
	local words=$1 printed got=0

	shift
	printed=$("$@" 2>&1 >"$NGINX_DIR/printed") || got=$?
	echo "$printed (status $got)"
	[ "$got" -eq 1 ] && [ ! -s "$NGINX_DIR/printed" ] && grep -q -e "$words" <<<"$printed"
}

nginx_open
mkdir -p "$(nginx_directory)"
files_write
nginx_start 'include zones.conf; include sites/*.conf;'

tap_equal 'as many pass as are listed' "$(json '.limits[] | select(.route == "= /login" and
	.zone == "login") | .limit | split(",")[0]')*200 2*429" "$(http_statuses 7 /login)"
tap_check 'every listed route is told its policies' policies_agree
tap_equal 'the routes are those with limits' \
	'/ = /login /both/ /both/in/ ^~ /slow /plan /hidden @named /deep everything else = /form = /strict /api =/api/one everything else' \
	"$(json '.limits[].route' | uniq | paste -sd ' ')"
tap_equal 'one that is off, or answers by return, is told nothing' '' \
	"$(http_field RateLimit-Policy /off && http_field RateLimit-Policy /answered)"
tap_equal 'one that hides its limits too, and it is listed' '429 -' \
	"$(http_field RateLimit-Policy /hidden)$(json \
		'.limits[] | select(.route == "/hidden") | "\(.status) \(.fields // "-")"')"
tap_equal 'an observed zone is shown as such' '[true,null]' \
	"$(limits --json | jq -c '.limits[] | select(.zone == "look") | [.observed, .status]')"
tap_equal 'the status is that of the level' '503 503' \
	"$(json '.limits[] | select(.server == "c.example") | .status' | paste -sd ' ')"
tap_equal 'a route costs what is listed, for the methods listed' '2 GET, HEAD 998' "$(route_shown)"
tap_equal 'of a method that is not listed nothing is told' '' \
	"$(asked RateLimit-Policy POST /api)"
tap_equal 'without the form field no account is told' '' \
	"$(http_field RateLimit-Policy /form -H 'Host: check.example')"
tap_equal 'what is listed as given back is' '3, then 1 per hour; 1, given back on 2xx: 5*200' \
	"$(json '.limits[] | select(.zone == "account") | "\(.limit); \(.cost)"'): $(http_statuses \
		5 /form -H 'Host: check.example' --data username=b)"
tap_equal 'a ban is as long as listed' '2 refusals within 1m: banned for 15m, at most 1d: 900' \
	"$(json '[.limits[] | select(.zone == "strict") | .ban][0]'): $(refused_twice)"
tap_equal 'nothing is to be said about it' '' "$(limits 2>&1 >/dev/null)"
tap_check 'as text there is a row for each' text_has \
	'^a\.example, b\.example  = /login +all +no +login +5, then 1 per hour, refused requests count +path '
tap_check 'as Markdown too' document_has '| a.example, b.example | /both/ | all | 100 per minute | header X-Api-Key, else client address | 2 | window | 429 | Retry-After, RateLimit, X-RateLimit | - |'
tap_check 'where an exact route is a path' document_has '| a.example, b.example | /login | all | 5, then 1 per hour, refused requests count | path | 1 | login | 429 | Retry-After, RateLimit | - |'
tap_check 'where variables are shown' document_has '| a.example, b.example | /plan | all | by $arg\_c; unless set 1, then 50 per second | client address | $cost | plan | 429 | Retry-After, RateLimit | - |'
tap_check 'what a front asks about, without the server it asks' document_has '| - | /api | GET, HEAD | 1000, then 100 per second | client address | 2 | address | 429 | Retry-After, RateLimit | - |'
tap_check 'and bans' document_has '| check.example | /strict | all | 1, then 1 per minute | client address | 1 | strict | 429 | Retry-After, RateLimit | 2 refusals within 1m: banned for 15m, at most 1d |'
tap_check 'and what is given back' document_has '| check.example | /form | all | 3, then 1 per hour | form field username | 1, given back on 2xx | account | 429 | Retry-After, RateLimit | - |'
tap_check 'and what replies hide' document_has 'Replies do not tell the limits of: /hidden.'
tap_check 'and what a policy name is for' document_has \
	'RateLimit and RateLimit-Policy tell limits apart by policy name.'
tap_check 'which has a sentence' document_has \
	'A request over a limit is answered with the status in its row.'
tap_check 'and one on addresses' document_has 'IPv6 addresses count by their /64.'
tap_equal 'but not what no client meets' '' \
	"$(grep 'named\|1 per day' "$NGINX_DIR/document" || :)"
tap_equal 'which is said' 'weir: left out: 1 of locations that are internal or named' \
	"$(cat "$NGINX_DIR/notices")"

tap_check 'quotes, escapes and comments are nginx'\''s' agree yes \
	'add_header X "a\"b;{}#"; # }
	add_header "Y" '\''c"d'\'' always;add_header Z e#f;
	map $uri $m{default "";"~^/a\d{2}$" b;~^/c\;$ d;"${q}" e}f;}'
tap_check 'a dollar keeps a brace' agree yes 'map $uri $m { default ${uri}x; }'
tap_check 'a condition closes after a quote' agree yes \
	"server { listen $PORT; if (\$uri = \"x\") { return 404; } }"
tap_check 'a pattern that matches nothing is fine' agree yes 'include none/*.conf;'
tap_check 'a file that is not there is not' agree no 'include none.conf;'
tap_check 'nor one that includes itself' agree no 'include nginx.conf;'
tap_check 'nor a quote that goes on' agree no 'add_header X "a"b;'
tap_check 'nor a comment behind one' agree no 'add_header X "a"# b
	;'
tap_check 'nor a brace within a word' agree no 'map $uri $m { ~^/a{2}$ b; }'
tap_check 'nor a block too many' agree no '} }'
tap_check 'nor one too few' agree no 'server {'
tap_check 'nor an empty directive' agree no ';'
tap_check 'nor a brace before the semicolon' agree no "server { listen $PORT }"
tap_check 'a file that is not there is one sentence' fails_with \
	"^weir: cannot read '/nonexistent': No such file or directory\$" \
	"$WEIR" http limits --conf /nonexistent
tap_check 'a directory too' fails_with 'it is no file' "$WEIR" http limits --conf "$NGINX_DIR"
mkfifo "$NGINX_DIR/pipe"
echo 'http { include pipe; }' >"$NGINX_DIR/waits"
tap_check 'nor is a pipe waited for' fails_with 'it is no file' \
	timeout 5 "$WEIR" http limits --conf "$NGINX_DIR/waits"
echo 'http {' >"$NGINX_DIR/short"
tap_check 'one that ends early is told with its line' fails_with \
	"$NGINX_DIR/short:2: unexpected end of file" \
	"$WEIR" http limits --conf "$NGINX_DIR/short" --json
: >"$NGINX_DIR/none"
tap_equal 'without limits the list is empty' '{"limits":[]}' \
	"$("$WEIR" http limits --json --conf "$NGINX_DIR/none")"
tap_equal 'and the document says so' 'There are no limits.' \
	"$("$WEIR" http limits --markdown --conf "$NGINX_DIR/none")"
tap_equal 'JSON is not Markdown' 2 \
	"$(limits --json --markdown >/dev/null 2>&1 || echo $?)"
tap_check 'what weir http run writes is listed' test "$("$WEIR" http run --listen 127.0.0.1:1 \
	--upstream 127.0.0.1:2 --limit '/login 5 1/s' --limit '/ 100 20/s' --print \
	>"$NGINX_DIR/run" && "$WEIR" http limits --json --conf "$NGINX_DIR/run" |
	jq -c '[.limits[] | [.route, .policy]]')" = \
	'[["/login","\"login\";q=5;w=5"],["/","\"root\";q=100;w=5"]]'
tap_finish
