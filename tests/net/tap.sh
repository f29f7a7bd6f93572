# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# TAP for the net tests: sourced. Each check is one result; a command that fails outside a check
# ends the script, without its plan, which tests/run.sh counts as a failure.
set -euo pipefail

# In a network namespace of its own, whose only interface is lo: whatever fault a test finds, weir
# never attaches to an interface of the host.
if [ "$(id -u)" -eq 0 ] && [ -z "${TAP_APART:-}" ]; then
	TAP_APART=1 exec unshare --net -- bash "$0" "$@"
fi

# shellcheck source-path=SCRIPTDIR source=../../scripts/testbed.sh
. "$(dirname "${BASH_SOURCE[0]}")/../../scripts/testbed.sh"

tap_count=0
tap_failures=0
trap 'echo "# failed in line $LINENO of ${BASH_SOURCE[0]##*/}: $BASH_COMMAND"' ERR
set -o errtrace

tap_result() {
	tap_count=$((tap_count + 1))
	if [ "$1" -eq 0 ]; then
		echo "ok $tap_count - $2"
	else
		tap_failures=$((tap_failures + 1))
		echo "not ok $tap_count - $2"
	fi
}

# tap_check SENTENCE COMMAND...: it succeeds. What it printed is shown if not.
tap_check() {
	local sentence=$1 printed status=0

	shift
	printed=$("$@" 2>&1) || status=$?
	tap_result "$status" "$sentence"
	[ "$status" -eq 0 ] || printf '# %s\n' "$* (status $status)" "${printed//$'\n'/$'\n'# }"
}

# tap_equal SENTENCE EXPECTED ACTUAL
tap_equal() {
	if [ "$2" = "$3" ]; then
		tap_result 0 "$1"
	else
		tap_result 1 "$1"
		echo "# expected '$2', got '$3'"
	fi
}

# tap_true SENTENCE EXPRESSION: of awk, so that fractions compare; shown if it is false.
tap_true() {
	if awk "BEGIN { exit !($2) }"; then
		tap_result 0 "$1"
	else
		tap_result 1 "$1"
		echo "# false: $2"
	fi
}

tap_skip() {
	tap_count=$((tap_count + 1))
	echo "ok $tap_count - $1 # SKIP $2"
}

tap_finish() {
	echo "1..$tap_count"
	exit $((tap_failures > 0))
}
