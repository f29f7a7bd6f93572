#!/bin/bash
# SPDX-License-Identifier: MIT
# RateLimit-Policy and RateLimit, read by a parser of Structured Fields that is not ours.

# shellcheck source-path=SCRIPTDIR source=nginx.sh
. "$(dirname "$0")/nginx.sh"

PRINTED=5000
LONGEST=a23456789012345678901234567890_
PATHS=(/bucket /quick /slow /leaky /fixed /sliding /log /long /huge /three /both /dear)

reader() {
	node "$TESTBED_ROOT/tests/npm/fields.mjs"
}

# fields_are FILTER PATH...: all are read, and FILTER is true of what they say.
fields_are() {
	local filter=$1 path

	shift
	for path; do
		http_fields "$path"
	done | reader >"$NGINX_DIR/read" || return
	jq -e "$filter" "$NGINX_DIR/read" >/dev/null || { cat "$NGINX_DIR/read" && return 1; }
}

reader_refuses() {
	! printf 'RateLimit-Policy: %s\nRateLimit: %s\n%b' "$@" | reader
}

all_printed_are_read() {
	"$TESTBED_ROOT/build/tests/net/fields" "$PRINTED" | reader |
		jq -e "(.responses | length) == $PRINTED and all(.responses[]; .policies != [])"
}

command -v node >/dev/null || testbed_refuse "node is missing: scripts/install-deps.sh"
[ -d "$TESTBED_ROOT/build/npm/node_modules/structured-headers" ] ||
	testbed_refuse "build/npm is missing: run make tests"

tap_check 'the reader takes a quota that w and q describe' \
	test "$(printf 'RateLimit-Policy: "a";q=5;w=5\nRateLimit: "a";r=0;t=1\n\n' | reader)" = \
	'{"responses":[{"status":null,"policies":[{"name":"a","q":5,"w":5}],"limits":[{"name":"a","r":0,"t":1}],"retry_after":null}]}'
tap_check 'the reader refuses a window of nothing' reader_refuses '"a";q=5;w=0' '"a";r=1'
tap_check 'the reader refuses a decimal' reader_refuses '"a";q=5;w=1.0' '"a";r=1'
tap_check 'the reader refuses a token as name' reader_refuses 'a;q=5;w=1' 'a;r=1'
tap_check 'the reader refuses a number of 16 digits' \
	reader_refuses '"a";q=1000000000000000;w=1' '"a";r=1'
tap_check 'the reader refuses a comma at the end' reader_refuses '"a";q=5;w=1,' '"a";r=1'
tap_check 'the reader refuses a limit without its policy' reader_refuses '"a";q=5;w=1' '"b";r=1'
tap_check 'the reader refuses more left than there is' reader_refuses '"a";q=5;w=1' '"a";r=6'
tap_check 'the reader refuses a Retry-After that is too early' \
	reader_refuses '"a";q=5;w=1' '"a";r=0;t=2' 'Retry-After: 1\n'
tap_check 'fields of limits of every size are read' all_printed_are_read

nginx_open
nginx_start "
	weir_zone bucket key=\$uri capacity=5 rate=1/s;
	weir_zone quick key=\$uri capacity=5 rate=1k/s;
	weir_zone slow key=\$uri capacity=1 rate=1/day;
	weir_zone leaky key=\$uri algorithm=leaky-bucket capacity=50 rate=10/s;
	weir_zone fixed key=\$uri algorithm=fixed-window limit=2 per=1h;
	weir_zone sliding key=\$uri algorithm=sliding-window limit=100 per=500ms;
	weir_zone log key=\$uri algorithm=sliding-log limit=2 per=90s;
	weir_zone $LONGEST key=\$uri capacity=1 rate=1/h;
	weir_zone huge key=\$uri capacity=100M rate=1M/s;
	weir_zone dear key=\$uri capacity=10 rate=1/min;
	server {
		listen $PORT;
		location = /bucket { weir bucket; alias $NGINX_SITE/ok; }
		location = /quick { weir quick; alias $NGINX_SITE/ok; }
		location = /slow { weir slow; alias $NGINX_SITE/ok; }
		location = /leaky { weir leaky; alias $NGINX_SITE/ok; }
		location = /fixed { weir fixed; alias $NGINX_SITE/ok; }
		location = /sliding { weir sliding; alias $NGINX_SITE/ok; }
		location = /log { weir log; alias $NGINX_SITE/ok; }
		location = /long { weir $LONGEST; alias $NGINX_SITE/ok; }
		location = /huge { weir huge; alias $NGINX_SITE/ok; }
		location = /three { weir slow; weir bucket; weir fixed; alias $NGINX_SITE/ok; }
		location = /both { weir slow; weir_headers both; alias $NGINX_SITE/ok; }
		location = /dear { weir dear cost=\$arg_cost; alias $NGINX_SITE/ok; }
		location = /missing { weir bucket; alias $NGINX_SITE/no-such-file; }
		location = /backend { weir slow; proxy_pass http://$BACKEND; }
		location = /off { weir bucket; weir_headers off; alias $NGINX_SITE/ok; }
		location = /legacy { weir bucket; weir_headers legacy; alias $NGINX_SITE/ok; }
		location = /secret { weir slow; weir_reveal off; alias $NGINX_SITE/ok; }
	}
	$(backend "add_header RateLimit '\"backend\";r=9, not a field' always;
		add_header RateLimit-Policy '\"backend\"' always;")"

tap_check 'every algorithm and size sends what is read' \
	fields_are "all(.responses[]; .status == 200 and .policies != [])
		and (.responses | length) == ${#PATHS[@]}" "${PATHS[@]}"
tap_check 'and so do those asked again, refused or not' \
	fields_are "([.responses[] | select(.status == 429)] | length) >= 4 and
		all(.responses[]; .policies != [] and (.status == 200 or .retry_after >= 1))" \
	"${PATHS[@]}" "${PATHS[@]}"
tap_check 'a quota is told by its capacity and the time to fill' \
	fields_are '.responses[0].policies == [{name: "bucket", q: 5, w: 5}]' /bucket
tap_check 'a quota that fills within a second is told by the second' \
	fields_are '.responses[0].policies == [{name: "quick", q: 1000, w: 1}]' /quick
tap_check 'a window of half a second likewise' \
	fields_are '.responses[0].policies == [{name: "sliding", q: 200, w: 1}]' /sliding
tap_check 'several limits are in the order of the configuration' \
	fields_are '.responses[0].policies == [{name: "slow", q: 1, w: 86400},
		{name: "bucket", q: 5, w: 5}, {name: "fixed", q: 2, w: 3600}]' /three
tap_check 'errors carry the fields too' \
	fields_are '.responses[0] | .status == 404 and .limits[0].name == "bucket"' /missing
tap_check "a backend's fields are replaced" \
	fields_are '[.responses[] | [.status, .policies[].name]] == [[200, "slow"], [429, "slow"]]' \
	/backend /backend
tap_check 'no wait is promised where the cost is beyond the capacity' \
	fields_are '.responses[0] | .status == 429 and .retry_after == null and
		(.limits[0] | has("t") | not)' '/dear?cost=11'
tap_check 'off, legacy and secret send neither field' \
	fields_are 'all(.responses[]; .policies == [] and .limits == []) and
		([.responses[].status] == [200, 200, 200, 429])' /off /legacy /secret /secret
tap_finish
