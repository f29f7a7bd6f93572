#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/fuzz/run.sh PROGRAM CORPUS SECONDS: replays the corpus, then searches on from it; TAP.
set -uo pipefail

program=$1 corpus=$2 seconds=$3
found=$(mktemp -d)
trap 'rm -rf "$found"' EXIT

# The input that broke it, or nobody could try it again.
show_artifacts() {
	local artifact

	for artifact in "$found"/crash-* "$found"/timeout-* "$found"/leak-* "$found"/oom-*; do
		[ ! -e "$artifact" ] || { echo "# $artifact, base64:" && base64 "$artifact"; }
	done
}

echo 1..2
if "$program" -artifact_prefix="$found/" "$corpus"/*; then
	echo "ok 1 - replays $corpus"
else
	show_artifacts
	echo "not ok 1 - replays $corpus"
fi
if "$program" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=1024 \
	-artifact_prefix="$found/" "$found" "$corpus"; then
	echo "ok 2 - finds nothing in $seconds s"
else
	show_artifacts
	echo "not ok 2 - finds nothing in $seconds s"
fi
