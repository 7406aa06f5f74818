#!/bin/sh
# SPDX-License-Identifier: MIT
# probes.sh SOURCE CC... - a program's own probes at its tracepoints (DECLARE_TRACE, register_trace_NAME) and its markers, in C and C++
. "$(dirname "$0")/lib.sh"

source=$1
shift
include="-I$source/include -I$source/tests/func/observe/probes"
program=$source/tests/func/observe/probes/program.c
compile() { out=$1; shift; "$@" -Wall -Wextra $include -o "$out" "$program" -pthread >compiled 2>&1 || { cat compiled; fail "cannot build $out"; }; expect_equal "no warning" "$(cat compiled)" ""; }
wanted="off00 twice-17 B1 A1 C1 A1x on11 B7 A7 C7 gone-2 B2 C2 "

compile prog "$@" -O2
expect_equal "probes" "$(./prog)" "$wanted"
run ./prog stress
expect_status 0
compile unoptimized "$@" -O0
expect_equal "without -O" "$(./unoptimized)" "$wanted"
compile checked "$@" -O1 -fsanitize=address
run ./checked stress
expect_status 0
if command -v g++ >/dev/null; then
	compile plus g++ -x c++ -O2
	expect_equal "in C++" "$(./plus)" "$wanted"
fi

[ "$(uname -m)" = x86_64 ] || exit 0
run "$uft" record -q -e 'uft:*' -e probes:number -o rec.uft ./prog
expect_status 0
expect_equal "probes, recorded" "$(cat out)" "$wanted"
run "$uft" report --no-pager rec.uft
expect_equal "records and markers" "$(sed -n 's/^.*: \([a-z_]*: .*\)$/\1/p' out)" "number: a=0
number: a=1
number: a=7
number: a=2
number: a=3
marker_print: 3 left
marker_print: here
marker_begin: parse
marker_counter: queue=-4
marker_end: E"
