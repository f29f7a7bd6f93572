#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run.sh [LAYER...]: runs every test program of the layers (all, unless some are named) and
# counts what they say in TAP. A program that crashes, hangs, says nothing or less than it planned
# is a failure, and so is a layer without a test. FUZZ_SECONDS: how long each fuzzer runs.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1

PROGRAM_SECONDS_MAX=180
FUZZ_SECONDS=${FUZZ_SECONDS:-5}
layers=("$@")
[ ${#layers[@]} -gt 0 ] || layers=(unit prog fuzz net)

passed=0 failed=0 skipped=0
skips=()
output=$(mktemp)
trap 'rm -f "$output"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# Reads TAP: prints "passed failed skipped planned", then each skip's name and reason. cmocka says
# "not ok N # SKIP name" and leaves the reason to a comment before it.
tap_count() {
	awk '
	function skip_of(name, reason) {
		skipped++
		if (reason == "") {
			unexplained++
			reason = "without a reason, which counts as a failure"
		}
		skips = skips name ": " reason "\n"
	}
	/^1\.\.[0-9]+/ { planned += substr($1, 4); next }
	/^not ok [0-9]+ # SKIP / { sub(/^not ok [0-9]+ # SKIP /, ""); skip_of($0, comment); comment = ""; next }
	/^ok [0-9]+ .*# SKIP/ {
		split($0, parts, / *# SKIP */)
		sub(/^ok [0-9]+ (- )?/, "", parts[1])
		skip_of(parts[1], parts[2])
		next
	}
	/^ok [0-9]+/ { passed++; comment = ""; next }
	/^not ok [0-9]+/ { failed++; next }
	/^# / { comment = substr($0, 3) }
	END {
		print passed + 0, failed + unexplained + 0, skipped - unexplained, planned + 0
		printf "%s", skips
	}' "$1"
}

# program_finished LABEL STATUS TOOK: counts what is in $output, and shows it where it is no success.
program_finished() {
	local label=$1 status=$2 took=$3 good bad skips_here planned reason=
	local -a lines

	mapfile -t lines < <(tap_count "$output")
	read -r good bad skips_here planned <<<"${lines[0]}"
	if [ "$status" -ge 124 ]; then
		reason="ended with status $status (124: out of time, above 128: a signal)"
	elif [ $((good + bad + skips_here)) -eq 0 ]; then
		reason="printed no result (status $status)"
	elif [ "$planned" -ne $((good + bad + skips_here)) ]; then
		reason="planned $planned tests and reported $((good + bad + skips_here))"
	elif [ "$status" -ne 0 ] && [ "$bad" -eq 0 ]; then
		reason="ended with status $status though no test failed"
	fi
	[ -z "$reason" ] || bad=$((bad + 1))
	passed=$((passed + good)) failed=$((failed + bad)) skipped=$((skipped + skips_here))
	skips+=("${lines[@]:1}")
	if [ "$bad" -gt 0 ]; then
		cat "$output"
		printf 'FAILED  %-36s %s\n' "$label" "${reason:-$bad failed}"
	else
		printf 'passed  %-36s %3d tests %8s s\n' "$label" "$good" "$took"
	fi
}

# program_run LABEL COMMAND...
program_run() {
	local label=$1 begin=$EPOCHREALTIME status

	shift
	CMOCKA_MESSAGE_OUTPUT=TAP timeout --foreground -k 10 "$PROGRAM_SECONDS_MAX" "$@" >"$output" 2>&1 </dev/null
	status=$?
	program_finished "$label" "$status" "$(seconds_since "$begin")"
}

seconds_since() {
	awk -v begin="$1" -v now="$EPOCHREALTIME" 'BEGIN { printf "%.1f", now - begin }'
}

layer_unit() {
	local source

	for source in tests/unit/test_*.c; do
		[ ! -e "$source" ] || program_run "${source%.c}" "build/${source%.c}"
	done
}

layer_prog() {
	local source

	for source in tests/prog/test_*.c; do
		[ ! -e "$source" ] || program_run "${source%.c}" "build/${source%.c}"
	done
}

layer_net() {
	local script

	for script in tests/net/test_*.sh; do
		[ ! -e "$script" ] || program_run "${script%.sh}" bash "$script"
	done
}

layer_fuzz() {
	local source name

	for source in tests/fuzz/fuzz_*.c; do
		[ -e "$source" ] || continue
		name=$(basename "$source" .c)
		program_run "${source%.c}" bash tests/fuzz/run.sh "build/tests/fuzz/$name" \
			"tests/fuzz/corpus/${name#fuzz_}" "$FUZZ_SECONDS"
	done
}

for layer in "${layers[@]}"; do
	before=$((passed + failed + skipped))
	echo "== $layer"
	"layer_$layer"
	if [ $((passed + failed + skipped)) -eq "$before" ]; then
		echo "FAILED  the layer '$layer' ran no test"
		failed=$((failed + 1))
	fi
done
for skip in "${skips[@]}"; do
	echo "skipped $skip"
done
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
