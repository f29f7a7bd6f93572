# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Refusals, run in the server's namespace: one sentence on stderr alone, and nothing changes.
# Sourced.

# shellcheck source-path=SCRIPTDIR source=pair.sh
. "$(dirname "${BASH_SOURCE[0]}")/pair.sh"

# What a refused command must not change.
refusal_state() {
	find "$TESTBED_PINS" 2>/dev/null | sort || :
	weir limit list --json 2>/dev/null || :
	testbed_in server ip -json -details link show | jq -c '.[] | [.ifname, .xdp]'
}

# refuse STATUS PATTERN COMMAND...
refuse() {
	local status=0 want=$1 pattern=$2 before

	shift 2
	before=$(refusal_state)
	testbed_in server "$@" >"$TESTBED_DIR/out" 2>"$TESTBED_DIR/err" || status=$?
	cat "$TESTBED_DIR/err"
	echo "(status $status, expected '$pattern')"
	[ "$status" -eq "$want" ] && [ ! -s "$TESTBED_DIR/out" ] || return
	grep -q "^weir: cannot .*$pattern" "$TESTBED_DIR/err" || return
	[ "$(grep -c '^weir: ' "$TESTBED_DIR/err")" -eq 1 ] || return
	! grep -qv -e '^weir: ' -e '^hint: ' "$TESTBED_DIR/err" || return
	[ "$(refusal_state)" = "$before" ]
}

# refuses SENTENCE STATUS PATTERN COMMAND...: it exits with STATUS and a sentence with PATTERN.
refuses() {
	local sentence=$1

	shift
	tap_check "refuses $sentence" refuse "$@"
}

# The last refusal's cure.
hints() {
	grep -q -e "^hint: .*$1" "$TESTBED_DIR/err"
}
