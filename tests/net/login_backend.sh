# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# A backend of logins, see login_backend.py. Sourced after nginx.sh.
#
#   login_backend_start        on BACKEND, until the test ends
#   login_waiting COUNT        as many answers wait to be released
#   login_release NAME

login_asks() {
	curl --silent --show-error --max-time 10 "http://$BACKEND$1"
}

login_backend_start() {
	"$PYTHON" "$TESTBED_ROOT/tests/net/login_backend.py" "${BACKEND#*:}" &
	wait_until 10 login_serves
}

login_serves() {
	login_asks / >/dev/null 2>&1
}

login_waiting() {
	[ "$(login_asks /waiting)" = "$1" ]
}

login_release() {
	login_asks "/release?hold=$1" >/dev/null
}
