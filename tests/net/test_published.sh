#!/bin/bash
# SPDX-License-Identifier: MIT
# What README and manuals print is what runs: recipes and examples are those of tests/net/fronts,
# configurations are good, and each option of the limiters that weir_migration maps is there.

# shellcheck source-path=SCRIPTDIR source=nginx.sh
. "$(dirname "$0")/nginx.sh"

README=$TESTBED_ROOT/README.md
MANUAL=$TESTBED_ROOT/user/man/ngx_http_weir_module.7
MIGRATION=$TESTBED_ROOT/user/man/weir_migration.7
EXPRESS=$TESTBED_ROOT/build/npm/node_modules/express-rate-limit/dist/index.d.ts

# printed FILE: the block of the README that names it.
printed() {
	awk -v file="tests/net/fronts/$1" '/^```/ { inside = $2 == file; next } inside' "$README"
}

# published FILE: without its first line, the licence.
published() {
	tail -n +2 "$TESTBED_ROOT/tests/net/fronts/$1"
}

readme_has() {
	[ -n "$(printed "$1")" ] && diff <(printed "$1") <(published "$1")
}

# A backslash is \e in the manual.
manual_has() {
	"$PYTHON" - "$MANUAL" <(published "$1") <<-'END'
		import sys
		manual, file = (open(path).read() for path in sys.argv[1:])
		sys.exit(file.replace("\\", "\\e") not in manual)
	END
}

# The first configuration of the README, with this build's module and a port that is free.
readme_begins_well() {
	mkdir -p "$NGINX_DIR/readme/logs"
	awk '/^```nginx$/ { inside = 1; next } /^```/ { if (inside) exit } inside' "$README" |
		sed -e "s|modules/ngx_http_weir_module.so|$NGINX_MODULE|" \
			-e "s|^http {|http { weir_dir $NGINX_ZONES;|" \
			>"$NGINX_DIR/readme/nginx.conf"
	nginx -t -p "$NGINX_DIR/readme" -e stderr -c "$NGINX_DIR/readme/nginx.conf" 2>&1
}

# example FILE TEXT: the literal block of a manual that has it.
example() {
	awk -v text="$2" '
		/^\.Bd -literal/ { inside = 1; block = ""; next }
		/^\.Ed/ { if (inside && index(block, text)) { printf "%s", block; exit } inside = 0 }
		inside { gsub(/\\e/, "\\"); block = block $0 "\n" }' "$1"
}

# The lines of it that are one configuration: CHECKS has no zones, which LOGINS defines.
logins_and_checks() {
	echo 'upstream app { server 127.0.0.1:8081; }'
	echo "weir_zone address key=\$weir_address capacity=100 rate=20/s;"
	example "$MANUAL" 'weir_form_field $login_account'
	example "$MANUAL" 'weir_check caddy from='
}

# begins FILE TEXT: nginx takes the example.
begins() {
	nginx_test "$(example "$1" "$2")"
}

haproxy_begins() {
	example "$MIGRATION" 'frontend site' >"$NGINX_DIR/haproxy.cfg"
	haproxy -c -f "$NGINX_DIR/haproxy.cfg" 2>&1
}

# What depends on the moment left out.
timeless() {
	jq -cS '.retry_after = (.retry_after > 0) |
		.fields["Retry-After"] = ((.fields["Retry-After"] | tonumber) > 0) |
		.fields.RateLimit |= gsub("t=[0-9]+"; "t=")'
}

# What the manual asks, until it is refused.
application_is_answered() {
	local question

	question=$(example "$MANUAL" '"zones":' | sed '/^$/,$d')
	for _ in 1 2 3 4 5 6; do
		curl --silent --max-time 5 http://127.0.0.1:8090/app -d "$question" | tail -n 1
		echo
	done | tail -n 1 | timeless
}

# Each of the words read is an item of the manual, and there are some.
names_all() {
	local word count=0

	while read -r word; do
		count=$((count + 1))
		grep -qE "^\.(It|Ss) .*\<$word\>" "$MIGRATION" || { echo "not there: $word" && return 1; }
	done
	[ "$count" -ge 5 ]
}

limit_req_words() {
	grep -aoE '\blimit_req[a-z_]*' "$(command -v nginx)" | sort -u
}

express_words() {
	sed -n '/^export type Options = {/,/^};/p' "$EXPRESS" | sed -nE 's/^\t([a-zA-Z0-9]+)\??:.*/\1/p'
}

nginx_open
for recipe in check.conf nginx.conf Caddyfile haproxy.cfg weir.lua; do
	tap_check "the README prints $recipe as it is tested" readme_has $recipe
done
for example in app.mjs app.py traefik.yaml envoy.yaml; do
	tap_check "the manual prints $example as it is" manual_has $example
done
tap_check 'the README begins with a good configuration' readme_begins_well
tap_check 'nginx takes the manual on logins and checks' nginx_test "$(logins_and_checks)"
for text in limit_req_zone entries=80k count-refused ipv6-prefix=56; do
	tap_check "and that on other limiters: $text" begins "$MIGRATION" "$text"
done
tap_check 'as HAProxy does' haproxy_begins
nginx_start "$(logins_and_checks)"
tap_equal 'an application is answered as the manual says' \
	"$(example "$MANUAL" '"zones":' | sed '1,/^$/d' | timeless)" "$(application_is_answered)"
tap_check 'each directive of limit_req is in the manual' names_all < <(limit_req_words)
tap_check 'and each option of express-rate-limit' names_all < <(express_words)
tap_finish
