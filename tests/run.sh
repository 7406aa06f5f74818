#!/bin/sh
# SPDX-License-Identifier: MIT
#
# run.sh - runs the tests of a build directory
#
#   run.sh [BUILD [SUITE ...]]
#
# Every test is one program: exit 0 passed, 77 skipped (the machine lacks something), anything else failed. The slowest twenty
# are listed with their times, skipped and failed tests by name, and so are tests that skipped a part (a line
# SKIPPED: WHAT: WHY). The last line is `N passed, N failed, N skipped`; the exit status is 0 only if something passed and
# nothing failed.
set -u
build=${1:-build}
[ $# -gt 0 ] && shift
suites=
for suite; do
	suites="$suites --suite $suite"
done
log=$build/meson-logs/testlog.json
rm -f "$log"

# shellcheck disable=SC2086
# The limits end what hangs; a slow machine may take four times as long. Signals are not ignored, whoever started us (nohup, a job
# in the background): tests send them.
env --default-signal meson test -t 4 -C "$build" --no-rebuild --print-errorlogs $suites </dev/null
status=$?
if [ ! -f "$log" ]; then
	echo "run.sh: meson wrote no results (exit status $status)"
	echo "0 passed, 1 failed, 0 skipped"
	exit 1
fi

# One JSON object a line; a quote inside the test's own output is escaped, so these patterns match meson's keys only.
names_of() {
	sed -n -E "/\"result\": \"($1)\"/s/^\{\"name\": \"([^\"]*)\".*/\1/p" "$log"
}
count_of() {
	grep -c -E "\"result\": \"($1)\"" "$log"
}

passed=$(count_of "OK|EXPECTEDFAIL")
skipped=$(count_of "SKIP")
# A test may have skipped several parts: WHICH TEST: WHAT: WHY, a line each.
parts_of() {
	awk '{ name = $0; sub(/^\{"name": "/, "", name); sub(/".*/, "", name)
		while (match($0, /SKIPPED: [^"\\]*/)) { print "  a part of " name ": " substr($0, RSTART + 9, RLENGTH - 9); $0 = substr($0, RSTART + RLENGTH) } }' "$log"
}

parts=$(parts_of | grep -c .)
total=$(grep -c . "$log")
failed=$((total - passed - skipped))
echo
echo "Slowest, in seconds:"
sed -n -E 's/^\{"name": "([^"]*)".*"duration": ([0-9.]+).*/\2 \1/p' "$log" | LC_ALL=C sort -rn | head -n 20 |
	sed -E 's/^([0-9]+\.[0-9])[0-9]* uft:/  \1  /'
[ "$((skipped + parts))" -eq 0 ] || echo "Skipped:"
names_of SKIP | sed 's/^/  /'
parts_of
[ "$failed" -eq 0 ] || { echo "Failed:"; names_of "FAIL|TIMEOUT|ERROR|INTERRUPT|UNEXPECTEDPASS" | sed 's/^/  /'; }
if [ "$status" -ne 0 ] && [ "$failed" -eq 0 ]; then
	echo "run.sh: meson test ended with status $status"
	failed=1
fi
echo "$passed passed, $failed failed, $((skipped + parts)) skipped"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
