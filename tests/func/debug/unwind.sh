#!/bin/bash
# SPDX-License-Identifier: MIT
# unwind.sh - unwinders other than libgcc's find the true callers: both libunwinds, Rust's backtraces and panics
. "$(dirname "$0")/../../lib/common.sh"

here=$top/tests/func/debug
done_any=0

# same PROGRAM FUNCTION: traced as untraced, and FUNCTION was traced
same() {
	want=$("./$1")
	want_status=$?
	done_any=1
	for tracer in function function_graph; do
		run timeout 60 "$uft" record -q -p "$tracer" -o x.uft "./$1"
		expect_status "$want_status"
		expect_equal "output of $1 under $tracer" "$(cat out)" "$want"
		check
		! grep -q 'could not be hooked' err || { fail "a walk that is seen at its beginning is called a risk"; show; }
		check
		"$uft" report --profile x.uft | grep -q "$2" || fail "$2 of $1 was not traced"
	done
}

lib=$(ls /usr/lib/x86_64-linux-gnu/libunwind.so.8 2>/dev/null)
llvm=$(ls /usr/lib/llvm-*/lib/libunwind.so.1 2>/dev/null | head -n 1)
for mode in -fpatchable-function-entry=5 ""; do
	# shellcheck disable=SC2086
	if [ -n "$lib" ]; then
		gcc -D_GNU_SOURCE -O2 -rdynamic $mode -DNONGNU -o walk "$here/walk.c" "$lib" || exit 1
		same walk outer
	fi
	# shellcheck disable=SC2086
	if [ -n "$llvm" ]; then
		gcc -D_GNU_SOURCE -O2 -rdynamic $mode -o walk-llvm "$here/walk.c" "$llvm" "-Wl,-rpath,${llvm%/*}" || exit 1
		same walk-llvm outer
	fi
done
if command -v rustc >/dev/null && rustc -C opt-level=2 -o panic "$here/panic.rs" 2>rust.err; then
	same panic outer
fi
# A fault in an instruction that was moved: the handler walks the stack, throws, or ends the thread.
if g++ -O2 -w -fnon-call-exceptions -pthread -o moved "$here/moved.cc"; then
	for case in backtrace throw exit; do
		want=$(./moved "$case" 2>/dev/null)
		for tracer in function function_graph; do
			run timeout 60 "$uft" record -q -p "$tracer" -o x.uft ./moved "$case"
			expect_status 0
			expect_equal "output of moved $case under $tracer" "$(cat out)" "$want"
			[ "$case" != backtrace ] || expect_equal "walks that came through" "$(grep -c 'outer 1$' err)" 3
			check
			"$uft" report --profile x.uft | grep -q look_at || fail "look_at was not traced"
		done
	done
	done_any=1
fi
# Signals at any instruction, ours included, while the program, libc, libgcc and libstdc++ are traced.
if g++ -O2 -rdynamic -pthread -o sampled "$here/sampled.cc" && g++ -O2 -pthread -o cancelled "$here/cancelled.cc"; then
	for tracer in function function_graph; do
		for program in "sampled 2000" cancelled; do
			# shellcheck disable=SC2086
			run timeout 120 "$uft" record -q -p "$tracer" -l '*' -l '*:mod:*' -o x.uft ./$program
			expect_status 0
			check
		done
	done
fi
[ "$done_any" = 1 ] || skip "neither a libunwind nor rustc is installed"
