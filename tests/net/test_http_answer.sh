#!/bin/bash
# SPDX-License-Identifier: MIT
# What a client is told: the status, when to come again, the fields and the body.

# shellcheck source-path=SCRIPTDIR source=nginx.sh
. "$(dirname "$0")/nginx.sh"

# Of an hour's wait a few seconds may have gone by since.
to_the_hour() {
	sed 's/\b359[0-9]\b/3600/g'
}

# The fields that weir sends, in alphabetical order.
fields_of() {
	http_fields "$@" | sed -n -e '/^ratelimit/Ip' -e '/^x-ratelimit/Ip' -e '/^retry-after/Ip' |
		sort -f | to_the_hour
}

nginx_open
nginx_start "
	weir_zone five key=\$binary_remote_addr capacity=5 rate=1/h;
	weir_zone window key=\$binary_remote_addr algorithm=fixed-window limit=2 per=1h;
	weir_zone log key=\$binary_remote_addr algorithm=sliding-log limit=2 per=1m;
	weir_zone quick key=\$binary_remote_addr capacity=10 rate=100/s;
	weir_zone legacy key=\$binary_remote_addr capacity=3 rate=6/m;
	weir_zone both key=\$binary_remote_addr capacity=3 rate=6/m;
	weir_zone secret key=\$binary_remote_addr capacity=1 rate=1/h;
	weir_zone other key=\$binary_remote_addr capacity=1 rate=1/h;
	weir_zone body key=\$binary_remote_addr capacity=1 rate=1/h;
	weir_zone jittered key=\$binary_remote_addr capacity=1 rate=1/h;
	weir_zone own key=\$binary_remote_addr capacity=2 rate=1/h;
	weir_zone cached key=\$binary_remote_addr capacity=100 rate=1/h;
	weir_zone paged key=\$binary_remote_addr capacity=1 rate=1/h;
	weir_zone a key=\$binary_remote_addr capacity=50 rate=1/h;
	weir_zone b key=\$binary_remote_addr capacity=60 rate=1/h;
	proxy_cache_path $NGINX_DIR/cache keys_zone=cache:1m;
	server {
		listen $PORT;
		location /five/ { weir five; alias $NGINX_SITE/; }
		location /window/ { weir window; alias $NGINX_SITE/; }
		location /log/ { weir log; alias $NGINX_SITE/; }
		location /quick/ { weir quick; alias $NGINX_SITE/; }
		location /legacy/ { weir legacy; weir_headers legacy; alias $NGINX_SITE/; }
		location /both/ { weir both; weir_headers both; alias $NGINX_SITE/; }
		location /off/ { weir both; weir_headers off; alias $NGINX_SITE/; }
		location /secret/ { weir secret; weir_reveal off; alias $NGINX_SITE/; }
		location /other/ { weir other; weir_refusal_status 503; alias $NGINX_SITE/; }
		location /problem/ { weir body; alias $NGINX_SITE/; }
		location /json/ { weir body; weir_body json; alias $NGINX_SITE/; }
		location /plain/ { weir body; weir_body off; alias $NGINX_SITE/; }
		location /jittered/ { weir jittered; weir_retry_jitter 10s; alias $NGINX_SITE/; }
		location /own/ { weir own; proxy_pass http://$BACKEND; }
		location /cached/ {
			weir cached;
			proxy_cache cache;
			proxy_cache_valid 200 1m;
			proxy_pass http://$BACKEND;
		}
		location /paged/ { weir paged; error_page 429 /page; alias $NGINX_SITE/; }
		location = /page { internal; return 429 \"the page\n\"; }
		location /two/ { weir b; weir a; alias $NGINX_SITE/; }
		location /free/ { alias $NGINX_SITE/; }
	}
	$(backend "add_header RateLimit '\"backend\";r=9' always;
		add_header RateLimit-Policy '\"backend\";q=9' always;
		add_header X-RateLimit-Limit 9 always;")"

tap_equal 'five pass, the sixth is refused' '5*200 1*429' "$(http_statuses 6 /five/ok)"
tap_equal 'the fields say so' 'RateLimit-Policy: "five";q=5;w=18000
RateLimit: "five";r=0;t=3600
Retry-After: 3600' "$(fields_of /five/ok)"
tap_equal 'a refusal is not to be stored' no-store "$(http_field cache-control /five/ok)"
tap_equal 'remaining falls' '"a";r=49
"a";r=48' "$(for _ in 1 2; do http_field ratelimit /two/ok | grep -o '"a";r=[0-9]*'; done)"
tap_equal 'two zones are told in the order of their configuration' \
	'"b";q=60;w=216000, "a";q=50;w=180000' "$(http_field ratelimit-policy /two/ok)"
tap_equal 'a page that is not there is limited, and says so' '404 "a";r=45' \
	"$(http_status /two/none) $(http_field ratelimit /two/none | grep -o '"a";r=[0-9]*')"
etag=$(http_field etag /two/ok)
tap_equal 'and so is one that has not changed' '304 "a"' \
	"$(http_status /two/ok -H "If-None-Match: $etag") \
$(http_field ratelimit /two/ok -H "If-None-Match: $etag" | grep -o '"a"')"
tap_equal 'a location without a limit says nothing' '' "$(fields_of /free/ok)"

tap_equal 'a fixed window' '2*200 1*429' "$(http_statuses 3 /window/ok)"
tap_equal 'names its length' '"window";q=2;w=3600' "$(http_field ratelimit-policy /window/ok)"
tap_equal 'a sliding log' '2*200 1*429' "$(http_statuses 3 /log/ok)"
tap_true 'waits until the oldest leaves' \
	"$(http_field retry-after /log/ok) >= 55 && $(http_field retry-after /log/ok) <= 60"
tap_equal 'w is a whole second where filling takes less, and q fits it' '"quick";q=100;w=1' \
	"$(http_field ratelimit-policy /quick/ok)"

tap_equal 'legacy fields alone' 'X-RateLimit-Limit: 3
X-RateLimit-Remaining: 2' "$(fields_of /legacy/ok | grep -v -i reset)"
tap_check 'with the seconds to a full bucket' \
	test "$(http_field x-ratelimit-reset /legacy/ok)" -gt 10
tap_equal 'both' 5 "$(http_statuses 2 /both/ok >/dev/null; fields_of /both/ok | wc -l)"
http_statuses 3 /both/ok >/dev/null
tap_equal 'none but Retry-After' Retry-After "$(fields_of /off/ok | cut -d: -f1)"
http_status /secret/ok >/dev/null
tap_equal 'revealing nothing: the status' 429 "$(http_status /secret/ok)"
tap_equal 'no field of it' '' "$(fields_of /secret/ok)"
tap_equal 'and in the body neither zone nor time' 0 \
	"$(http_body /secret/ok | grep -ci -e secret -e polic -e retry || :)"
http_status /jittered/ok >/dev/null
for _ in {1..20}; do
	http_field retry-after /jittered/ok
done >"$NGINX_DIR/waits"
least=$(sort -n "$NGINX_DIR/waits" | head -1)
most=$(sort -n "$NGINX_DIR/waits" | tail -1)
tap_true 'jitter is on top of it, at most what it may be' \
	"$least >= 3590 && $most <= 3610 && $least < $most"
tap_equal 'another status' '1*200 1*503' "$(http_statuses 2 /other/ok)"

http_status /problem/ok >/dev/null
tap_equal 'a problem names its type' application/problem+json \
	"$(http_field content-type /problem/ok)"
tap_equal 'and the zone that refused' '429 body' "$(http_body /problem/ok |
	jq -r '"\(.status) \(.["violated-policies"] | join(","))"')"
tap_equal 'plain JSON' 'application/json true' \
	"$(http_field content-type /json/ok | cut -d';' -f1) \
$(http_body /json/ok | to_the_hour | jq '. == {error: "Too many requests", retryAfter: 3600}')"
tap_equal "nginx's own page" text/html "$(http_field content-type /plain/ok)"
http_status /paged/ok >/dev/null
tap_equal "the location's own error_page comes first" 'the page' "$(http_body /paged/ok)"
tap_equal 'and has the fields' '"paged";r=0' "$(http_field ratelimit /paged/ok | cut -d';' -f1,2)"
tap_equal 'and says when' 3600 "$(http_field retry-after /paged/ok | to_the_hour)"
tap_equal 'a refused HEAD has no body' '429:0' \
	"$(python_client talk 'HEAD /problem/ok' | cut -d' ' -f1)"
tap_equal 'but its length' "$(http_body /problem/ok | wc -c)" \
	"$(http_field content-length /problem/ok --head)"

tap_equal "a backend's own fields are replaced" '"own"' \
	"$(http_field ratelimit /own/x | cut -d';' -f1)"
tap_equal 'both of them, and one of each' 2 "$(fields_of /own/x | grep -ci '^ratelimit.*"own"')"
http_status /cached/x >/dev/null
tap_equal 'a cached answer says what is left now' '98' \
	"$(http_field ratelimit /cached/x | grep -o 'r=[0-9]*' | cut -d= -f2)"
tap_finish
