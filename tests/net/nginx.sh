# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2034
# The HTTP tests' place: nginx with weir's module, in a network namespace of its own. Sourced.
#
#   nginx_open                 first: a directory, loopback, and that all of it goes away on exit
#   nginx_start BODY           runs nginx with BODY in http {}; fails if it does not start, what it
#                              said is then in $(nginx_log)
#   nginx_configure BODY       writes the configuration only
#   nginx_launch               runs nginx on the configuration that is there
#   nginx_reload [BODY]        returns once new workers serve and the old ones are gone
#   nginx_reload_begin [BODY]  only asks for it; nginx_reloaded then says whether it is done
#   nginx_test [BODY]          nginx -t; prints what it says
#   nginx_stop [SIGNAL]        ends it, TERM unless told
#   nginx_workers              their pids, one a line, without those that are shutting down
#   nginx_log                  the path of the error log; nginx_log_mark and nginx_log_since read it
#                              from a place on
#   backend                    the text of a server on BACKEND that answers 200 to everything
#   http_status PATH [OPTION]  a request; prints the status. OPTIONs are curl's
#   http_field NAME PATH [OPTION]
#   http_fields PATH [OPTION]  status line and header, without carriage returns
#   http_body PATH [OPTION]
#   http_statuses COUNT PATH [OPTION]
#                              one after the other on one connection: "5*200 1*429"
#   http_load OPTION... URL    h2load's: prints "2xx 4xx other": how many were answered so
#   python_client VERB...      see http_client.py
#   wait_until SECONDS COMMAND...
#                              tries until it succeeds, or fails after that time
#
# Set before nginx_start, all optional:
#   NGINX_NAME     which instance is meant, "main" unless set: each has a configuration, logs and
#                  workers of its own, and all share $NGINX_DIR/zones
#   NGINX_WORKERS  2 unless set
#   NGINX_MODULE   the module
#   NGINX_BEFORE   an array: what nginx runs under, such as valgrind
#   NGINX_ZONES    weir_dir
#   NGINX_MAIN     lines outside http {}

# shellcheck source-path=SCRIPTDIR source=tap.sh
. "$(dirname "${BASH_SOURCE[0]}")/tap.sh"

PORT=8080
URL=http://127.0.0.1:$PORT
BACKEND=127.0.0.1:8081
PYTHON=/usr/bin/python3
NGINX_NAME=main
NGINX_WORKERS=2
NGINX_MODULE=${NGINX_MODULE:-$TESTBED_ROOT/build/ngx_http_weir_module.so}
NGINX_BEFORE=()
NGINX_MAIN=
NGINX_USER="nobody nogroup"
NGINX_SECONDS_MAX=10 # for whatever nginx is waited for

nginx_old_workers=

nginx_open() {
	local file

	for file in nginx curl h2load; do
		command -v "$file" >/dev/null ||
			testbed_refuse "$file is missing: scripts/install-deps.sh"
	done
	[ -e "$NGINX_MODULE" ] || testbed_refuse "$NGINX_MODULE is missing: run make module"
	# Not under /tmp: zones are refused below a directory that others may write to.
	NGINX_DIR=$(mktemp -d "${NGINX_PARENT:-/run}/weir-test.XXXXXX")
	trap nginx_close EXIT
	trap 'exit 130' INT
	trap 'exit 143' TERM
	chmod 711 "$NGINX_DIR"
	NGINX_ZONES=$NGINX_DIR/zones
	NGINX_SITE=$NGINX_DIR/site
	mkdir -m 755 "$NGINX_SITE"
	echo fine >"$NGINX_SITE/ok"
	echo index >"$NGINX_SITE/index.html"
	[ "$(id -u)" -ne 0 ] || ip link set lo up
}

nginx_close() {
	local status=$? file

	set +e
	trap '' INT TERM
	trap - ERR
	jobs -pr | xargs -r kill 2>/dev/null
	for file in "$NGINX_DIR"/*/master; do
		NGINX_NAME=$(basename "$(dirname "$file")")
		nginx_stop
	done
	wait
	[ -z "${NGINX_MOUNT:-}" ] || umount "$NGINX_MOUNT"
	[ "$status" -eq 0 ] || [ -z "${NGINX_KEEP:-}" ] || return "$status"
	rm -rf "$NGINX_DIR"
	exit "$status"
}

nginx_directory() {
	echo "$NGINX_DIR/$NGINX_NAME"
}

nginx_log() {
	echo "$NGINX_DIR/$NGINX_NAME/error.log"
}

nginx_log_mark() {
	nginx_log_place=$(stat -c %s "$(nginx_log)")
}

nginx_log_since() {
	tail -c "+$((nginx_log_place + 1))" "$(nginx_log)"
}

# nginx_says PATTERN: since the mark.
nginx_says() {
	nginx_log_since | grep -q -e "$1"
}

nginx_configure() {
	local dir

	dir=$(nginx_directory)
	mkdir -p "$dir/temp"
	chmod 711 "$dir"
	cat >"$dir/nginx.conf" <<-END
		load_module $NGINX_MODULE;
		user $NGINX_USER;
		worker_processes $NGINX_WORKERS;
		pid $dir/pid;
		error_log $dir/error.log ${NGINX_LEVEL:-notice};
		$NGINX_MAIN
		events { worker_connections 2048; }
		http {
		access_log off;
		default_type text/plain;
		root $NGINX_SITE;
		keepalive_requests 10000000;
		client_body_temp_path $dir/temp/body;
		proxy_temp_path $dir/temp/proxy;
		fastcgi_temp_path $dir/temp/fastcgi;
		uwsgi_temp_path $dir/temp/uwsgi;
		scgi_temp_path $dir/temp/scgi;
		weir_dir $NGINX_ZONES;
		$1
		}
	END
}

nginx_start() {
	nginx_configure "$1"
	nginx_launch
}

nginx_launch() {
	local dir pid

	dir=$(nginx_directory)
	: >>"$dir/error.log"
	nginx_log_mark
	"${NGINX_BEFORE[@]}" nginx -p "$dir" -e "$dir/error.log" -c "$dir/nginx.conf" \
		-g 'daemon off;' >>"$dir/output" 2>&1 &
	pid=$!
	# In a file, so that what a check starts in its subshell is known outside.
	echo "$pid" >"$dir/master"
	wait_until "${NGINX_START_SECONDS:-$NGINX_SECONDS_MAX}" nginx_started_or_ended "$pid" ||
		return
	! nginx_is_gone "$pid" && return
	rm "$dir/master"
	nginx_log_since | sed 's/^/# /'
	return 1
}

nginx_started_or_ended() {
	nginx_is_gone "$1" || [ "$(nginx_workers | wc -l)" -eq "$NGINX_WORKERS" ]
}

# Also if nobody has asked for its status yet.
nginx_is_gone() {
	! grep -q '^State:[^Z]*$' "/proc/$1/status" 2>/dev/null
}

nginx_pid() {
	cat "$(nginx_directory)/master"
}

# nginx_workers [all]: all is with those that are shutting down. Under valgrind no title is seen.
nginx_workers() {
	ps --ppid "$(nginx_pid)" -o pid=,args= | awk -v all="${1:-}" \
		'!/cache (manager|loader)/ && (all != "" || !/shutting down/) { print $1 }'
}

nginx_reload_begin() {
	[ $# -eq 0 ] || nginx_configure "$1"
	nginx_old_workers=$(nginx_workers)
	nginx_log_mark
	kill -HUP "$(nginx_pid)"
}

nginx_new_serve() {
	[ "$(grep -cvxF "$nginx_old_workers" <(nginx_workers))" -eq "$NGINX_WORKERS" ]
}

nginx_reloaded() {
	nginx_new_serve && ! nginx_workers all | grep -qxF "$nginx_old_workers"
}

nginx_reload() {
	nginx_reload_begin "$@"
	wait_until "$NGINX_SECONDS_MAX" nginx_reloaded
}

nginx_test() {
	local dir

	[ $# -eq 0 ] || NGINX_NAME=tested nginx_configure "$1"
	dir=$NGINX_DIR/$NGINX_NAME
	[ $# -eq 0 ] || dir=$NGINX_DIR/tested
	"${NGINX_BEFORE[@]}" nginx -t -p "$dir" -e stderr -c "$dir/nginx.conf" 2>&1
}

nginx_stop() {
	local pid

	[ -e "$(nginx_directory)/master" ] || return 0
	pid=$(nginx_pid)
	kill -"${1:-TERM}" "$pid" 2>/dev/null || :
	wait_until "$NGINX_SECONDS_MAX" nginx_is_gone "$pid" || kill -KILL "$pid"
	rm "$(nginx_directory)/master"
}

# A server in the same nginx, so that the tests need no other.
backend() {
	cat <<-END
		server {
			listen $BACKEND;
			$*
			location / { return 200 "\$request_method \$uri \$content_length\n"; }
		}
	END
}

http() {
	curl --silent --show-error --max-time 10 "${@:2}" "$URL$1"
}

http_status() {
	http "$1" --output /dev/null --write-out '%{http_code}' "${@:2}"
}

http_fields() {
	http "$1" --output /dev/null --dump-header - "${@:2}" | tr -d '\r'
}

http_field() {
	http_fields "${@:2}" | sed -n "s/^$1: //Ip"
}

http_body() {
	http "$@"
}

http_statuses() {
	local count=$1 path=$2 mark='?'

	shift 2
	[[ $path != *\?* ]] || mark='&'
	http "$path${mark}[1-$count]" --output /dev/null --write-out '%{http_code}\n' "$@" |
		uniq -c | awk '{ printf "%s%d*%s", sep, $1, $2; sep = " " }'
}

http_load() {
	h2load -t 1 "$@" 2>&1 | awk '
	/^requests:/ { lost = $12 + $14 }
	/^status codes:/ { passed = $3; redirected = $5; refused = $7; failed = $9 }
	END { print passed + 0, refused + 0, redirected + failed + lost }'
}

# python_client COMMAND...: tests/net/http_client.py
python_client() {
	"$PYTHON" "$TESTBED_ROOT/tests/net/http_client.py" "$@"
}

wait_until() {
	testbed_until "$@"
}
