#!/bin/sh
# SPDX-License-Identifier: MIT
# seccomp_threads.sh - threads begin under a filter that kills for gettid and others, a child under one for kcmp; one for more is told of.
# Calls that a depth or roots make slow are asked whether a signal handler makes them: without what such a filter kills for.
. "$(dirname "$0")/../../lib/common.sh"

${CC:-cc} -O2 -w -pthread "$top/tests/func/unprepared/seccomp_threads.c" -o filter || exit 1
./filter >/dev/null || skip "no seccomp filters here"
for tracer in function function_graph; do
	run "$uft" record -q -p $tracer -o x.uft ./filter
	expect_status 0
	expect_out done
	expect_equal "$tracer: calls" "$("$uft" report --profile x.uft | awk '$NF == "work" { print $1 }')" 2000
	run "$uft" record -q -p $tracer -o x.uft ./filter child
	expect_status 0
	expect_out done
	expect_equal "$tracer: a child's calls" "$("$uft" report --profile x.uft | awk '$NF == "work" { print $1 }')" 100
done
for slow in "-D 50" "-g work" "-O funcgraph-retval"; do
	run "$uft" record -q -p function_graph $slow -o x.uft ./filter
	expect_status 0
	expect_out done
	expect_equal "$slow: calls" "$("$uft" report --profile x.uft | awk '$NF == "work" { print $1 }')" 2000
done
run "$uft" record -q -p nop -o x.uft sh -c 'kill -SYS $$'
expect_status 159
expect_err "killed by SIGSYS: a seccomp filter"
