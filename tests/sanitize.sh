#!/bin/sh
# SPDX-License-Identifier: MIT
#
# sanitize.sh - runs unit and functional tests with sanitizers, and prints one summary (make sanitize)
#
#	sanitize.sh [BUILD] [KIND ...]
#
# KIND is address (with undefined behaviour) or thread (data races); both if none is given. Each has a build directory
# of its own, BUILD/sanitize-KIND, in which only what the tests need is compiled. The runtime cannot have a sanitizer:
# tests of it (probe, bare, patch, storm) are not run. A report ends the test that it is about, and is printed here,
# whatever the test makes of the program's end. UFT_SANITIZE names the tests, separated by spaces, instead of all, and
# UFT_TIMES how many times their time they have (default 6; 0: any).
set -u
build=${1:-build}
top=$(cd "$(dirname "$0")/.." && pwd)
[ $# -gt 0 ] && shift
[ $# -gt 0 ] || set -- address thread
failed=0

# Functional tests with address: not those of other machines and kernels, which take hours and are about the runtime;
# those that replace malloc (failing-), limit the address space or measure memory (attach-refuse, reader-memory,
# session-memory) or CPU time (cli-budget), link our library without the sanitizer (install), or count what is patched in a program (mixed-sites).
no_address='emulated|guest|^uml|native|^programs|^matrix|^instructions|^each-awk|^report-real'
no_address="$no_address|failing-|attach-refuse|reader-memory|session-memory|cli-install|start-mixed-sites|cli-budget"
# With thread: of the programs with several threads, which are the session with the tracing files, its clients, the
# viewer and readers. The sanitizer leaves no room for the arena of uft record.
with_threads='tree(-files|-directory|-instances|-user-events|-event-filter|-event-fork|-enable-event|-function-fork)?'
with_threads="$with_threads|serve|serve-slow|control|view-silent|view-files|view-kernel|tracers-stream|hist-(counted|reopened)|cli-(losses|pack)"

# With either: not those that measure what a reader takes, or map memory where a sanitizer has its own.
no_unit='^(stream-hostile|symbol-parse-bound|user-events-exec)'
# Records that are overwritten while they are copied, which is checked behind that (wr_drain_overwrite()): a data race that
# is meant.
no_thread='^stream-overwrite'

# tests_of DIR KIND: names of the tests, on one line
tests_of() {
	[ -z "${UFT_SANITIZE:-}" ] || { echo "$UFT_SANITIZE"; return; }
	meson test -C "$1" --list 2>/dev/null | sed -n -E 's#^uft:(unit|stress)[^/]* / ##p' |
		grep -v -E '^(probe|bare|patch|storm|detach|attach|symbol-fork|relocate-lib)' | grep -v -E "$no_unit" |
		if [ "$2" = thread ]; then grep -E '^(stream-|symbol-|stress-|view-)' | grep -v -E "$no_thread"; else cat; fi | tr '\n' ' '
	meson test -C "$1" --list 2>/dev/null | sed -n -E 's#^uft:func[^/]* / ##p' |
		if [ "$2" = thread ]; then grep -x -E "$with_threads"; else grep -v -E "$no_address"; fi | tr '\n' ' '
}

# run_tests KIND DIR TEST ...: reports go to DIR/reports. Faults are left to the tests that are about them
# (guard_map.c). Tests load libraries into uft (LD_PRELOAD). With random addresses a part of ours may lie where the thread sanitizer's
# memory has to be.
run_tests() {
	kind=$1 dir=$2
	shift 2
	rm -rf "$dir/reports"
	mkdir "$dir/reports" && chmod 1777 "$dir/reports"
	export UBSAN_OPTIONS="print_stacktrace=1:halt_on_error=1:log_path=$dir/reports/report"
	export ASAN_OPTIONS="detect_leaks=0:handle_segv=0:handle_sigbus=0:verify_asan_link_order=0:log_path=$dir/reports/report"
	export TSAN_OPTIONS="halt_on_error=1:handle_segv=0:handle_sigbus=0:log_path=$dir/reports/report"
	# A program that calls without end keeps the session busy, ten times as long as without a sanitizer.
	export UFT_SHELL_S=1500 UFT_ROUNDS=4
	if [ "$kind" = thread ]; then set -- setarch -R meson test -C "$dir" -t "${UFT_TIMES:-6}" "$@"
	else set -- meson test -C "$dir" -t "${UFT_TIMES:-6}" "$@"; fi
	"$@" >"$dir/log" 2>&1 && [ -z "$(ls "$dir/reports")" ]
}

for kind; do
	dir=$build/sanitize-$kind sanitizer=$kind
	[ "$kind" = address ] && sanitizer=address,undefined
	[ -f "$dir/build.ninja" ] || meson setup "-Db_sanitize=$sanitizer" -Db_lundef=false "$dir" "$top" >/dev/null ||
		exit 1
	# Some tests look for other parts of what is installed.
	ninja -C "$dir" product >"$dir/build.log" 2>&1 || { echo "$kind: see $dir/build.log"; exit 1; }
	tests=$(tests_of "$dir" "$kind")
	[ -n "$tests" ] || { echo "$kind: no tests in $dir"; exit 1; }
	# shellcheck disable=SC2086
	if run_tests "$kind" "$(cd "$dir" && pwd)" $tests; then
		echo "$kind: $(grep -c -E ' OK +[0-9.]+s$' "$dir/log") passed, 0 failed"
		continue
	fi
	failed=$((failed + 1))
	grep -E ' (FAIL|TIMEOUT|ERROR) |FAILED:|error:' "$dir/log" | sed "s/^/$kind: /"
	cat "$dir/meson-logs/testlog.txt" "$dir"/reports/* 2>/dev/null | grep -a -h -E 'runtime error:|SUMMARY: [A-Za-z]*Sanitizer' | sort | uniq -c
	echo "$kind: failed; the reports are in $dir/reports, what tests said is in $dir/meson-logs/testlog.txt"
done
exit $((failed > 0))
