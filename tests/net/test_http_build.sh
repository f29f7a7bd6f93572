#!/bin/bash
# SPDX-License-Identifier: MIT
# The module by nginx's own build, as for an nginx that is not Debian's: --add-dynamic-module.
# shellcheck source-path=SCRIPTDIR source=tap.sh
. "$(dirname "$0")/tap.sh"

source_dir=/usr/share/nginx/src
module_dir=$(cd "$(dirname "$0")/../../user/http" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

configure() {
	cd "$source_dir"
	# shellcheck disable=SC1091 # of nginx-dev
	. ./conf_flags
	./configure "${NGX_CONF_FLAGS[@]}" --add-dynamic-module="$module_dir" --builddir="$work/build"
}

build() {
	make -s -C "$source_dir" -f "$work/build/Makefile" modules
}

nginx_accepts() {
	cat >"$work/nginx.conf" <<-CONF
		load_module $work/build/ngx_http_weir_module.so;
		pid $work/pid;
		events {}
		http {
			weir_zone address key=\$weir_address capacity=5 rate=1/s;
			server { location / { weir address; } }
		}
	CONF
	nginx -t -c "$work/nginx.conf"
}

tap_check "nginx's configure takes the module's directory" configure
tap_check "its make builds the module with nginx's own flags, which take warnings for errors" build
tap_check "nginx loads what it built" nginx_accepts
tap_finish
