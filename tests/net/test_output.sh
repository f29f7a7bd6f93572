#!/bin/bash
# SPDX-License-Identifier: MIT
# What commands print: JSON, tables, help; the manual, the completion and the installation.

# shellcheck source-path=SCRIPTDIR source=pair.sh
. "$(dirname "$0")/pair.sh"

VERDICTS='pass pass_not_ip pass_exempt pass_opaque pass_untracked drop_rate drop_contended
drop_malformed'

# json FILTER COMMAND...: one document, about which FILTER is true.
json() {
	local filter=$1

	shift
	"$@" --json >"$TESTBED_DIR/json" 2>"$TESTBED_DIR/err" &&
		jq -es "length == 1 and (.[0] | $filter)" "$TESTBED_DIR/json" >/dev/null &&
		[ ! -s "$TESTBED_DIR/err" ]
}

# helps COMMAND: with --help, and so does its JSON.
helps() {
	local -a words

	read -ra words <<<"$1"
	weir "${words[@]}" --help | grep -qi usage
}

has_all_verdicts() {
	local verdict

	for verdict in $VERDICTS; do
		jq -e ".verdicts.$verdict | (.packets, .bytes) | numbers" "$1" >/dev/null || return
	done
}

text_has() {
	local pattern=$1

	shift
	"$@" | grep -q -e "$pattern"
}

completes() {
	# shellcheck source=/dev/null
	. <(weir completion)
	COMP_WORDS=(weir "$@")
	COMP_CWORD=$(($# - 0))
	COMP_LINE="${COMP_WORDS[*]}" COMP_POINT=${#COMP_LINE}
	_weir
	printf '%s\n' "${COMPREPLY[@]}"
}

installs() {
	make -s -C "$TESTBED_ROOT" install DESTDIR="$TESTBED_DIR/root" PREFIX=/usr &&
		[ -x "$TESTBED_DIR/root/usr/sbin/weir" ] &&
		[ -s "$TESTBED_DIR/root/usr/share/man/man8/weir.8" ] &&
		bash -n "$TESTBED_DIR/root/usr/share/bash-completion/completions/weir"
}

pair_open
tap_check 'attach in JSON' json '.attached == "new" and .mode == "native"' attach --rate 1/h \
	--capacity 100
flood 198.51.100.7 --packets 1000 >/dev/null
tap_check 'limit list in JSON' json '.limits[0].capacity == 100' weir limit list
tap_check 'limit in JSON' json '.limits[0].capacity == 100' weir limit
tap_check 'status in JSON' json '.interfaces[0].name == "eth0"' weir status
tap_check 'with every verdict' has_all_verdicts "$TESTBED_DIR/json"
tap_check 'sources in JSON' json '.known == 1 and (.sources | length) == 1' weir sources
tap_check 'sources by each order in JSON' json '.sources[0].dropped == 900' weir sources --top 1 \
	--sort seen
tap_check 'show in JSON' json '.known and .passed == 100' weir show 198.51.100.7
tap_check 'forget in JSON' json '.forgotten == 1' weir forget 198.51.100.7
tap_check 'limit set in JSON' json '.capacity == 200' weir limit set default --rate 1/h \
	--capacity 200
tap_check 'status has the figures as text' text_has 'drop_rate.*900' weir status
tap_check 'sources too' text_has '198\.51\.100\.7 .*900' weir sources
tap_check 'show too' text_has 'dropped.*900' weir show 198.51.100.7

timeout --preserve-status -s INT 2 "$WEIR" status --every 200ms >"$TESTBED_DIR/every" &&
	status=0 || status=$?
tap_equal 'status --every ends on SIGINT with 0' 0 "$status"
tap_true 'after a line each period' "$(wc -l <"$TESTBED_DIR/every") >= 8"
timeout --preserve-status -s TERM 1 "$WEIR" status --every 100ms --json >"$TESTBED_DIR/every" &&
	status=0 || status=$?
tap_equal 'on SIGTERM as well' 0 "$status"
tap_check 'with a JSON object a line' jq -es 'length >= 5 and all(type == "object")' \
	"$TESTBED_DIR/every"
tap_check 'and ends when its reader is gone' timeout 5 bash -c \
	"'$WEIR' status --every 50ms | head -n 1 >/dev/null"
tap_check 'detach in JSON' json '.detached == 1' weir detach eth0 --netns "$server"

tap_check 'weir alone shows the commands' text_has 'attach' weir
tap_check 'and its version' text_has '^weir [0-9]' weir --version
for command in attach detach 'limit set' 'limit list' limit status sources show forget completion; do
	tap_check "weir $command --help" helps "$command"
done
tap_check 'the completion is valid bash' bash -n <(weir completion)
tap_check 'it completes commands' text_has '^sources$' completes so
tap_check 'it completes options' text_has '^--capacity$' completes attach eth0 --cap
tap_check 'it completes values' text_has '^native$' completes attach eth0 --mode na
tap_check 'the manual has no findings' mandoc -T lint -W warning "$TESTBED_ROOT/user/man/weir.8"
for verdict in $VERDICTS; do
	tap_check "the manual explains $verdict" grep -q "$verdict" "$TESTBED_ROOT/user/man/weir.8"
done
tap_check 'make install' installs
tap_finish
