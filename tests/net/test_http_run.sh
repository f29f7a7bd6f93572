#!/bin/bash
# SPDX-License-Identifier: MIT
# weir http run: what it serves, how it ends, and what it refuses.

# shellcheck source-path=SCRIPTDIR source=tap.sh
. "$(dirname "$0")/tap.sh"

MODULE=${NGINX_MODULE:-$TESTBED_ROOT/build/ngx_http_weir_module.so}
BACKEND_SCRIPT=$TESTBED_ROOT/scripts/backend.py
PORT=8080
SECONDS_MAX=10
URL=http://127.0.0.1:$PORT
NOBODY=65534
CURL=(curl --silent --show-error --max-time 10)

[ "$(id -u)" -eq 0 ] || testbed_refuse "root is needed to be another user too: sudo, or su"
[ -x "$WEIR" ] || testbed_refuse "$WEIR is missing: run make"
[ -e "$MODULE" ] || testbed_refuse "$MODULE is missing: run make module"
ip link set lo up
dir=$(mktemp -d)
install -d -m 700 -o $NOBODY -g $NOBODY "$dir/runtime"
trap close_all EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

close_all() {
	local status=$?

	set +e
	trap '' INT TERM
	trap - ERR
	jobs -pr | xargs -r kill 2>/dev/null
	wait
	# Only where a test failed.
	if [ -n "${nginx:-}" ] && grep -qsaF "$private" "/proc/$nginx/cmdline"; then
		kill "$nginx"
	fi
	rm -rf "$dir" "${private:-}"
	exit "$status"
}

private_directories() {
	find /run "$dir/runtime" -maxdepth 1 -name 'weir-http-*' | sort
}

# A line each.
children() {
	xargs -rn 1 <"/proc/$1/task/$1/children" || :
}

is_gone() {
	local pid

	for pid; do
		! kill -0 "$pid" 2>/dev/null || return 1
	done
}

answers() {
	"${CURL[@]}" --output /dev/null "$URL${1:-/}" 2>/dev/null
}

# front_start COMMAND...: sets front, nginx and private, once it serves. Output goes to $dir/out.
front_start() {
	"$@" >"$dir/out" 2>&1 &
	front=$!
	testbed_until $SECONDS_MAX answers || testbed_refuse "nginx says: $(cat "$dir/out")"
	nginx=$(children "$front")
	private=$(sed -n "s|.*--dir '\(.*\)/zones'\$|\1|p" "$dir/out")
}

# front_run OPTION...: as front_start, on the usual port and backend.
front_run() {
	front_start "$WEIR" http run --module "$MODULE" --listen "127.0.0.1:$PORT" \
		--upstream "$backend" "$@"
}

# front_wait: sets status. Whatever ran below it is gone, and so is its directory.
front_wait() {
	status=0
	wait "$front" 2>/dev/null || status=$?
}

# ends_by SIGNAL: all of it, with status 0.
ends_by() {
	local -a workers

	mapfile -t workers < <(children "$nginx")
	kill "-$1" "$front"
	front_wait
	tap_equal "SIG$1 ends it well" 0 "$status"
	tap_check 'and its nginx' is_gone "$nginx" "${workers[@]}"
	tap_check 'and its directory' is_absent "$private"
}

new_workers() {
	local now

	now=$(children "$nginx")
	[ -n "$now" ] && ! grep -qxF "$old" <<<"$now"
}

is_absent() {
	[ -n "$1" ] && [ ! -e "$1" ]
}

statuses() {
	"${CURL[@]}" --output /dev/null --write-out '%{http_code}\n' "$URL$2?[1-$1]" |
		uniq -c | awk '{ printf "%s%d*%s", sep, $1, $2; sep = " " }'
}

body() {
	"${CURL[@]}" "$@"
}

# refuses SENTENCE STATUS PATTERN COMMAND...: one sentence on stderr alone, and nothing stays.
refuses() {
	tap_check "refuses $1" refuse "${@:2}"
}

refuse() {
	local want=$1 pattern=$2 got=0 before

	shift 2
	before=$(private_directories)
	timeout "$SECONDS_MAX" "$@" >"$dir/refused.out" 2>"$dir/refused.err" || got=$?
	cat "$dir/refused.err"
	echo "(status $got, expected '$pattern')"
	[ "$got" -eq "$want" ] && [ ! -s "$dir/refused.out" ] || return
	grep -q "^weir: cannot .*$pattern" "$dir/refused.err" || return
	[ "$(grep -c '^weir: ' "$dir/refused.err")" -eq 1 ] || return
	[ "$(private_directories)" = "$before" ]
}

hints() {
	grep -q "^hint: .*$1" "$dir/refused.err"
}

# refuses_option OPTION VALUE PATTERN: beside what is needed.
refuses_option() {
	local -A words=([listen]=127.0.0.1:$PORT [upstream]=127.0.0.1:3000 [limit]='/ 5 1/s')

	words[$1]=$2
	refuses "--$1 '${2//$'\n'/\\n}'" 2 "for --$1: .*$3" "$WEIR" http run --listen "${words[listen]}" \
		--upstream "${words[upstream]}" --limit "${words[limit]}" --print
}

# As nginx would read what is printed; only its pid stays with us.
printed_is_accepted() {
	"$WEIR" http run --print --module "$MODULE" "$@" >"$dir/printed.conf" || return
	nginx -t -q -c "$dir/printed.conf" -g "pid $dir/printed.pid;" -e stderr
}

backend_start() {
	"$BACKEND_SCRIPT" >"$dir/backend" &
	testbed_until $SECONDS_MAX grep -qs listening "$dir/backend"
	backend=$(cut -d ' ' -f 2 "$dir/backend")
}

backend_start

# What it refuses.
refuses_option listen localhost 'address with its port'
refuses_option listen $PORT 'address with its port, such as 127.0.0.1:8080'
refuses_option upstream 3000 'such as 127.0.0.1:3000, .*name:3000'
refuses_option listen '127.0.0.1:80;' 'address with its port'
refuses_option upstream http://127.0.0.1:3000 'address with its port and nothing else'
refuses_option limit '/login' "such as '/login 5 1/s'"
refuses_option limit '/a{ 5 1/s' 'can only have'
refuses_option limit $'/a\n{return\t200;}# 5 1/s' 'such as'
refuses_option limit $'/a\n{ 5 1/s' 'can only have'
refuses_option limit '/a; 5 1/s' 'can only have'
refuses_option limit 'login 5 1/s' 'does not start with /'
refuses_option limit '/ 0 1/s' 'not a whole number'
refuses_option limit '/ 5 fast' 'not a rate'
refuses 'a path that has a limit' 2 'has a limit already' "$WEIR" http run \
	--listen 127.0.0.1:$PORT --upstream "$backend" --limit '/ 5 1/s' --limit '/ 6 1/s'
refuses 'to run without a limit' 2 "'http run': --limit is missing" "$WEIR" http run \
	--listen 127.0.0.1:$PORT --upstream "$backend"
refuses '--json without --print' 2 "'--json': only --print" "$WEIR" http run \
	--listen 127.0.0.1:$PORT --upstream "$backend" --limit '/ 5 1/s' --json
refuses 'a module that is not there' 1 'No such file' "$WEIR" http run --listen 127.0.0.1:$PORT \
	--upstream "$backend" --limit '/ 5 1/s' --module /nonexistent.so
tap_check 'and hints at how to have it' hints 'make install-module.*--module'
install -D -m 755 "$WEIR" "$dir/alone/weir"
# shellcheck disable=SC2016
refuses 'to run without a module' 1 'neither beside weir nor in /usr/lib/nginx/modules' \
	unshare --mount sh -c '
	modules=/usr/lib/nginx/modules
	[ ! -d $modules ] || mount --bind "$1" $modules && shift && exec "$@"' sh "$dir/runtime" \
	"$dir/alone/weir" http run --listen 127.0.0.1:$PORT --upstream "$backend" --limit '/ 5 1/s'
tap_check 'and hints at how to have it' hints 'make install-module.*--module'
# shellcheck disable=SC2016
refuses 'to run where there is no nginx' 1 'run nginx: it is not installed' unshare --mount sh -c '
	nginx=$(command -v nginx) && mount --bind /dev/null "$nginx" && exec "$@"' sh \
	"$WEIR" http run --module "$MODULE" --listen 127.0.0.1:$PORT --upstream "$backend" \
	--limit '/ 5 1/s'
tap_check 'and hints at its package' hints 'apt install nginx'
refuses 'a group that has no list' 2 "'http list'" "$WEIR" http list
tap_check 'weir http alone shows its commands' grep -q '^usage: weir http run ' <("$WEIR" http)

# What it prints.
tap_check 'nginx accepts what --print prints' printed_is_accepted --listen "127.0.0.1:$PORT" \
	--upstream 127.0.0.1:3000 --limit '/login 5 1/s' --limit '/ 100 20/s'
tap_check 'of sockets and every letter a path may have too' printed_is_accepted \
	--listen "unix:$dir/front.sock" --upstream unix:/run/app.sock --limit '/-._~+,:=@!&*aZ9 1k 5/min'
tap_check 'and of IPv6' printed_is_accepted --listen "[::1]:$PORT" --upstream '[::1]:3000' \
	--limit '/ 5 1/s'
tap_equal 'it prints the same in JSON' "$(cat "$dir/printed.conf")" "$("$WEIR" http run --print \
	--json --module "$MODULE" --listen "[::1]:$PORT" --upstream '[::1]:3000' \
	--limit '/ 5 1/s' | jq -r .configuration)"

# What it serves.
front_run --limit '/login 3 1/hour' --limit '/ 20 1/hour'
tap_equal 'the directory is for us alone' 700 "$(stat -c %a "$private")"
tap_equal 'the first three pass, the fourth is refused' '3*200 1*429' "$(statuses 4 /login)"
tap_equal 'below the path too' 429 "$(statuses 1 /login/x | cut -d '*' -f 2)"
tap_equal 'other paths have their own limit, of which one was used' '19*200 1*429' "$(statuses 20 /other)"
old=$(children "$nginx")
kill -HUP "$front"
tap_check 'SIGHUP brings new workers' testbed_until $SECONDS_MAX new_workers
tap_equal 'that forgive nothing' '1*429' "$(statuses 1 /login)"
ends_by TERM

front_run --limit '/login 3 1/hour'
tap_equal 'without a limit for / everything else passes' '50*200' "$(statuses 50 /)"
body "$URL/a?b=c" --header 'X-Forwarded-For: 192.0.2.7' --header 'Host: example.test:81' >"$dir/seen"
tap_equal 'the application sees the path' '/a?b=c' "$(jq -r .target "$dir/seen")"
tap_equal 'and the host' example.test:81 "$(jq -r .headers.host[0] "$dir/seen")"
tap_equal 'and whom nginx saw, after whom others saw' '192.0.2.7, 127.0.0.1' \
	"$(jq -r '.headers["x-forwarded-for"][0]' "$dir/seen")"
tap_equal 'and a connection that stays' null "$(jq -r .headers.connection "$dir/seen")"
head -c 3000000 /dev/zero >"$dir/large"
tap_equal 'and bodies of any size' 3000000 \
	"$(body "$URL/" --data-binary "@$dir/large" --header 'Expect:' | jq .body)"
tap_equal 'large answers come whole' 5000000 "$(body "$URL/?bytes=5000000" | wc -c)"
tap_equal 'nothing of it was written to files' 0 \
	"$(find "$private"/{proxy,client_body} -type f | wc -l)"
refuse_port() {
	local got=0

	timeout "$SECONDS_MAX" "$WEIR" http run --module "$MODULE" --listen "127.0.0.1:$PORT" \
		--upstream "$backend" --limit '/ 5 1/s' >"$dir/port" 2>&1 || got=$?
	cat "$dir/port"
	[ "$got" -eq 1 ] && grep -q 'bind() to 127.0.0.1:8080 failed' "$dir/port"
}
tap_check "nginx's own refusal is shown, and its status returned" refuse_port
ends_by INT

front_run --limit '/ 5 1/s'
ends_by QUIT

# behind CLIENT: the status of a request that a proxy passes on for it.
behind() {
	"${CURL[@]}" --output /dev/null --write-out '%{http_code}' --unix-socket "$dir/front.sock" \
		--header "X-Forwarded-For: $1" http://front/
}

"$WEIR" http run --module "$MODULE" --listen "unix:$dir/front.sock" --upstream "$backend" \
	--limit '/ 1 1/hour' >"$dir/out" 2>&1 &
front=$!
testbed_until $SECONDS_MAX test -S "$dir/front.sock"
tap_equal 'at a unix socket a client that the proxy names is limited' '200 429' \
	"$(behind 192.0.2.1) $(behind '203.0.113.9, 192.0.2.1')"
tap_equal 'and another is not' 200 "$(behind 192.0.2.2)"
kill -TERM "$front"
front_wait
tap_check 'the socket is gone at the end' is_absent "$dir/front.sock"

# How it ends when it cannot choose.
front_run --limit '/ 5 1/s'
mapfile -t all < <(echo "$nginx" && children "$nginx")
kill -KILL "$front"
front_wait
tap_check 'nginx dies with weir' testbed_until $SECONDS_MAX is_gone "${all[@]}"
rm -rf "$private"

front_run --limit '/ 5 1/s'
mapfile -t workers < <(children "$nginx")
kill -KILL "$nginx"
front_wait
tap_equal 'the status says that nginx was killed' 137 "$status"
tap_check 'and the directory is gone' is_absent "$private"
kill -TERM "${workers[@]}" 2>/dev/null || :
testbed_until $SECONDS_MAX is_gone "${workers[@]}"

before=$(private_directories)
for ((i = 0; i < 20; i++)); do
	"$WEIR" http run --module "$MODULE" --listen "127.0.0.1:$PORT" \
		--upstream "$backend" --limit '/ 5 1/s' >/dev/null 2>&1 &
	front=$!
	# Before it is weir, the signal could still be this shell's own.
	testbed_until $SECONDS_MAX grep -qx weir "/proc/$front/comm"
	testbed_pause "0.0$((i % 10))"
	kill -TERM "$front"
	front_wait
done
tap_equal 'however early the end comes, nothing is left behind' "$before" "$(private_directories)"

# As nginx does when it is told between its first signal handler and its first wait.
mkdir "$dir/deaf"
cat >"$dir/deaf/nginx" <<'END'
#!/bin/bash
told=0
trap 'told=$((told + 1)); [ $told -lt 2 ] || exit 0' TERM
exec {silence}<> <(:)
echo ready >&2
while :; do read -r -t 1 -u "$silence"; done
END
chmod 755 "$dir/deaf/nginx"
PATH=$dir/deaf:$PATH "$WEIR" http run --module "$MODULE" --listen "127.0.0.1:$PORT" \
	--upstream "$backend" --limit '/ 5 1/s' 2>"$dir/out" &
front=$!
testbed_until $SECONDS_MAX grep -qs ready "$dir/out"
kill -TERM "$front"
tap_check 'an nginx that missed the end is told again' testbed_until $SECONDS_MAX is_gone "$front"
kill -KILL "$front" 2>/dev/null || :
front_wait

# A terminal of its own, which goes away.
script --quiet --command "exec '$WEIR' http run --module '$MODULE' --listen 127.0.0.1:$PORT \
	--upstream '$backend' --limit '/ 5 1/s' 2>'$dir/out'" /dev/null </dev/null >/dev/null 2>&1 &
terminal=$!
testbed_until $SECONDS_MAX answers
front=$(children "$terminal")
nginx=$(children "$front")
disown "$terminal"
kill -KILL "$terminal"
tap_check 'it ends with its terminal' testbed_until $SECONDS_MAX is_gone "$front" "$nginx"

# As a plain user, whose directories are its own.
install -m 755 "$WEIR" "$dir/weir"
install -m 644 "$MODULE" "$dir/ngx_http_weir_module.so"
chmod 711 "$dir"
front_start setpriv --reuid=$NOBODY --regid=$NOBODY --clear-groups env PATH=/usr/bin:/bin \
	XDG_RUNTIME_DIR="$dir/runtime" "$dir/weir" http run --listen "127.0.0.1:$PORT" \
	--upstream "$backend" --limit '/login 3 1/hour'
tap_equal 'a plain user finds nginx and the module beside weir' '3*200 1*429' "$(statuses 4 /login)"
tap_true 'its directory is in its own' "\"${private%/*}\" == \"$dir/runtime\""
tap_equal 'nginx is not root' $NOBODY "$(stat -c %u "/proc/$nginx")"
ends_by TERM
tap_finish
