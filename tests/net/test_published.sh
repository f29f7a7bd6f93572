#!/bin/bash
# SPDX-License-Identifier: MIT
# What README and manual print is what runs: recipes and examples are those of tests/net/fronts,
# configurations are good.

# shellcheck source-path=SCRIPTDIR source=nginx.sh
. "$(dirname "$0")/nginx.sh"

README=$TESTBED_ROOT/README.md
MANUAL=$TESTBED_ROOT/user/man/ngx_http_weir_module.7

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

nginx_open
for recipe in nginx.conf Caddyfile haproxy.cfg weir.lua; do
	tap_check "the README prints $recipe as it is tested" readme_has $recipe
done
for example in app.mjs app.py traefik.yaml envoy.yaml; do
	tap_check "the manual prints $example as it is" manual_has $example
done
tap_check 'the README begins with a good configuration' readme_begins_well
tap_finish
