#!/bin/bash
# SPDX-License-Identifier: MIT
# What commands print: JSON, tables, help; the manual, the completion and the installation.

# shellcheck source-path=SCRIPTDIR source=pair.sh
. "$(dirname "$0")/pair.sh"

VERDICTS='pass pass_not_ip pass_exempt pass_opaque pass_untracked drop_rate drop_contended
drop_malformed drop_budget'
MANUAL=$TESTBED_ROOT/user/man/weir.8
MODULE_MANUAL=$TESTBED_ROOT/user/man/ngx_http_weir_module.7
GLUE=$TESTBED_ROOT/user/http

# json FILTER COMMAND...: one document, about which FILTER is true.
json() {
	local filter=$1

	shift
	"$@" --json >"$TESTBED_DIR/json" 2>"$TESTBED_DIR/err" &&
		jq -es "length == 1 and (.[0] | $filter)" "$TESTBED_DIR/json" >/dev/null &&
		[ ! -s "$TESTBED_DIR/err" ]
}

# helps COMMAND: as text.
helps() {
	local -a words

	read -ra words <<<"$1"
	weir "${words[@]}" --help | grep -q "^usage: weir $1" &&
		weir "${words[@]}" --help | grep -q -e '^  --json '
}

# helps_in_json COMMAND [NAME]: its own entry alone, under that name.
helps_in_json() {
	local -a words

	read -ra words <<<"$1"
	json ".commands | length == 1 and (.[0] | .name == \"${2:-$1}\" and (.usage |
		startswith(\"${2:-$1}\")) and (.summary | length > 0))" \
		weir "${words[@]}" --help
}

# has_all_verdicts FILE: these and no others, in this order, each with two numbers.
has_all_verdicts() {
	jq -e --arg names "${VERDICTS//$'\n'/ }" '(.verdicts | keys_unsorted | join(" ")) == $names and
		all(.verdicts[], .interfaces[].verdicts[]; keys_unsorted == ["packets", "bytes"]) and
		all(.verdicts[], .interfaces[].verdicts[] | .[]; type == "number")' "$1"
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

# Such a name can come from a container. ip netns exec, for a /sys of its own.
completes_hostile_name() {
	testbed_in server ip link add "x\$(id>&2)" type veth peer name y
	# shellcheck disable=SC2016
	ip netns exec "$(testbed_name server)" bash -c '
		. <("$1" completion)
		COMP_WORDS=(weir attach x) COMP_CWORD=2
		_weir
		printf "%s\n" "${COMPREPLY[@]}"' bash "$WEIR" 2>&1
}

installs() {
	make -s -C "$TESTBED_ROOT" install DESTDIR="$TESTBED_DIR/root" PREFIX=/usr &&
		[ -x "$TESTBED_DIR/root/usr/sbin/weir" ] &&
		[ -s "$TESTBED_DIR/root/usr/share/man/man8/weir.8" ] &&
		bash -n "$TESTBED_DIR/root/usr/share/bash-completion/completions/weir"
}

# follow SIGNAL SECONDS OPTION...: status with the options until the signal; sets status.
follow() {
	local signal=$1 seconds=$2

	shift 2
	status=0
	timeout --preserve-status -s "$signal" "$seconds" "$WEIR" status "$@" \
		>"$TESTBED_DIR/every" || status=$?
}

# follow_flood OPTION...: sets pace, the packets a second that the counters say were dropped
# meanwhile: a busy host may not let the flood keep its own.
follow_flood() {
	local before begin=$EPOCHREALTIME

	before=$(dropped)
	follow INT 4 --every 200ms "$@"
	pace="($(dropped) - $before) / ($EPOCHREALTIME - $begin)"
}

# is_pace SENTENCE RATE
is_pace() {
	tap_true "$1" "$2 > 0.9 * $pace && $2 < 1.1 * $pace && $2 < 1.1 * 10000"
}

# rate_of PATH: over all lines.
rate_of() {
	jq -s "(map($1.packets_per_s * .elapsed_ns) | add) / (map(.elapsed_ns) | add)" \
		"$TESTBED_DIR/every"
}

# Of every command's usage line.
all_options() {
	weir help --json | jq -r '.commands[].usage' | grep -o -e '--[a-z0-9-]*' | sort -u
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

follow INT 2 --every 200ms
tap_equal 'status --every ends on SIGINT with 0' 0 "$status"
tap_true 'after a line each period' "$(wc -l <"$TESTBED_DIR/every") >= 8"
follow TERM 1 --every 100ms --json
tap_equal 'on SIGTERM as well' 0 "$status"
tap_check 'with a JSON object a line' jq -es 'length >= 5 and all(type == "object")' \
	"$TESTBED_DIR/every"
flood_start 198.51.100.7 --rate 10000 --seconds 10
follow_flood --json
is_pace 'its rates are those of a flood of 10000 a second' "$(rate_of .drop)"
is_pace 'by verdict too' "$(rate_of .verdicts.drop_rate)"
is_pace 'and by interface' "$(rate_of '.interfaces[0].verdicts.drop_rate')"
tap_check 'bytes are those of the frames, and nothing passed' jq -es --argjson size $FRAME_BYTES '
	length >= 8 and all(.pass.packets_per_s == 0 and
	(.drop.bytes_per_s / .drop.packets_per_s / $size - 1 | fabs) < 0.001)' "$TESTBED_DIR/every"
follow_flood
tap_equal 'the text has the same, under its heading' 'pass/s drop/s' \
	"$(awk 'NR == 1 { print $2, $3 }' "$TESTBED_DIR/every")"
is_pace 'in its columns' "$(awk -v size=$FRAME_BYTES '
	NR > 1 && $2 == 0 && $6 == "drop_rate" && $5 / $3 > 0.999 * size && $5 / $3 < 1.001 * size {
		sum += $3
		lines++
	}
	END { print(lines >= 8 && lines == NR - 1 ? sum / lines : 0) }' "$TESTBED_DIR/every")"
flood_wait
tap_check 'and ends when its reader is gone' timeout 5 bash -c \
	"'$WEIR' status --every 50ms | head -n 1 >/dev/null"
tap_check 'detach in JSON' json '.detached == 1' weir detach eth0 --netns "$server"

tap_check 'weir alone shows the commands' text_has 'attach' weir
tap_check 'and its version' text_has '^weir [0-9]' weir --version
commands=$(weir help --json | jq -r '.commands[].name')
tap_equal 'help in JSON has every command' "$(printf '%s\n' attach detach 'limit set' 'limit list' \
	status sources show forget 'http run' 'http zones' 'http top' 'http show' 'http reset' \
	'http log' 'http limits' completion help)" "$commands"
tap_check 'and is one document' json '.commands | length == 17' weir help
tap_check 'of a command too' json '.commands | length == 1 and .[0].name == "limit set"' weir help \
	limit set
while read -r command; do
	tap_check "weir $command --help" helps "$command"
	tap_check "weir $command --help --json" helps_in_json "$command"
	tap_check "weir alone names $command" text_has "^  $command\\( \\|\$\\)" weir
	tap_check "the manual has $command" grep -q "^\.It Cm $command\b" "$MANUAL"
done <<<"$commands"
tap_check 'weir limit --help has both of its commands' json \
	'[.commands[].name] == ["limit set", "limit list"]' weir limit --help
tap_check 'completion in JSON' json '.script | contains("complete -F _weir weir")' weir completion
tap_equal 'which is the same script' "$(weir completion)" "$(weir completion --json | jq -r .script)"
tap_check 'the completion is valid bash' bash -n <(weir completion)
tap_equal 'and runs no name of an interface' 'x\$\(id\>\&2\)' "$(completes_hostile_name)"
tap_check 'it completes commands' text_has '^sources$' completes so
tap_check 'it completes options' text_has '^--capacity$' completes attach eth0 --cap
tap_check 'it completes values' text_has '^native$' completes attach eth0 --mode na
tap_check 'the manual has no findings' mandoc -T lint -W warning "$MANUAL"
tap_check "nor has the module's" mandoc -T lint -W warning "$MODULE_MANUAL"
directives=$(sed -n 's/^\t*{\?\(.*(\)\?ngx_string("\(weir[a-z_]*\)").*/\2/p; s/.*_VALUE("\(weir_[a-z_]*\)".*/\1/p' \
	"$GLUE/ngx_http_weir_directives.c" | sort -u)
tap_equal 'the module has its directives' 17 "$(wc -w <<<"$directives")"
for directive in $directives; do
	tap_check "the module's manual has $directive" grep -q "^\.Ss $directive\b" "$MODULE_MANUAL"
done
variables=$(sed -n 's/.*ngx_string("\(weir_[a-z_]*\)").*/\1/p' "$GLUE/ngx_http_weir_variables.c")
tap_equal 'and its variables' 9 "$(wc -w <<<"$variables")"
for variable in $variables; do
	tap_check "the module's manual has \$$variable" grep -q "\$$variable\b" "$MODULE_MANUAL"
done
for verdict in $VERDICTS; do
	tap_check "the manual explains $verdict" grep -q "^\.It Cm $verdict\b" "$MANUAL"
done
tap_true 'there are options' "$(all_options | wc -l) >= 12"
for option in $(all_options); do
	tap_check "the manual has $option" grep -q "\bFl ${option#-}\b" "$MANUAL"
done
tap_check 'make install' installs
tap_finish
