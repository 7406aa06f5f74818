#!/bin/sh
# SPDX-License-Identifier: MIT
#
# sanitize.sh - runs unit tests with sanitizers, and prints one summary (make sanitize)
#
#	sanitize.sh [BUILD] [KIND ...]
#
# KIND is address (with undefined behaviour) or thread (data races); both if none is given. Each has a build directory
# of its own, BUILD/sanitize-KIND, in which only what the tests need is compiled. The runtime cannot have a sanitizer:
# tests of it (probe, bare, patch, storm) are not run. A report ends the test that it is about. UFT_SANITIZE names the
# tests, separated by spaces, instead of all, and UFT_TIMES how many times their time they have (default 6; 0: any).
set -u
build=${1:-build}
top=$(cd "$(dirname "$0")/.." && pwd)
[ $# -gt 0 ] && shift
[ $# -gt 0 ] || set -- address thread
# A report ends the program. Faults are left to the tests that are about them (guard_map.c).
export UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1
export ASAN_OPTIONS=detect_leaks=0:handle_segv=0:handle_sigbus=0
export TSAN_OPTIONS=halt_on_error=1:handle_segv=0:handle_sigbus=0
failed=0

# tests_of DIR KIND: names of the tests, on one line. Of data races only programs with threads can have any.
tests_of() {
	[ -z "${UFT_SANITIZE:-}" ] || { echo "$UFT_SANITIZE"; return; }
	meson test -C "$1" --list 2>/dev/null | sed -n -E 's#^uft:(unit|stress)[^/]* / ##p' |
		grep -v -E '^(probe|bare|patch|storm|detach|attach|symbol-fork|relocate-lib)' |
		if [ "$2" = thread ]; then grep -E '^(stream-|symbol-|stress-|view-)'; else cat; fi | tr '\n' ' '
}

for kind; do
	dir=$build/sanitize-$kind sanitizer=$kind
	[ "$kind" = address ] && sanitizer=address,undefined
	[ -f "$dir/build.ninja" ] || meson setup "-Db_sanitize=$sanitizer" -Db_lundef=false "$dir" "$top" >/dev/null ||
		exit 1
	tests=$(tests_of "$dir" "$kind")
	[ -n "$tests" ] || { echo "$kind: no tests in $dir"; exit 1; }
	# shellcheck disable=SC2086
	if meson test -C "$dir" -t "${UFT_TIMES:-6}" $tests >"$dir/log" 2>&1; then
		echo "$kind: $(grep -c -E ' OK +[0-9.]+s$' "$dir/log") passed, 0 failed"
		continue
	fi
	failed=$((failed + 1))
	grep -E ' (FAIL|TIMEOUT|ERROR) |FAILED:|error:' "$dir/log" | sed "s/^/$kind: /"
	grep -a -h -E 'runtime error:|SUMMARY: [A-Za-z]*Sanitizer' "$dir/meson-logs/testlog.txt" | sort | uniq -c
	echo "$kind: failed; the reports are in $dir/meson-logs/testlog.txt"
done
exit $((failed > 0))
