#!/bin/sh
# SPDX-License-Identifier: MIT
# growing_stacks.sh - code on growing stacks is left alone, code beside it is traced: `growing_stacks.sh go|split`
. "$(dirname "$0")/../../lib/common.sh"

here=$top/tests/func/unprepared
reason='left alone: [0-9]*: runs on a stack that grows'

# same WHAT OPTIONS...: the program's output is as untraced under both tracers, with libc's functions too.
same() {
	what=$1
	shift
	./prog >want || exit 1
	for tracer in function function_graph; do
		run "$uft" record -q -p $tracer -o $tracer.uft "$@" -l '*:mod:libc.so*' ./prog
		expect_status 0
		expect_equal "$what, $tracer: output" "$(cat out)" "$(cat want)"
	done
}

left_alone() {
	run "$uft" sites -s ./prog
	sed -n "s/.*$reason.*/&/p" out | awk '{ sub(":", "", $4); print $4 }' | tr -d :
}

calls() {
	run "$uft" report --profile function_graph.uft
	awk -v f="$1" '$NF == f { print $1 }' out
}

case $1 in
go)
	need go "${CC:-cc}"
	cp "$here"/go/* . && printf 'module prog\n\ngo 1.18\n' >go.mod
	GOCACHE=$tmp/cache GOPATH=$tmp/path GOFLAGS=-mod=mod GOPROXY=off GOTOOLCHAIN=local CGO_ENABLED=1 go build -o prog . ||
		skip "go cannot build here"
	chmod -R u+w cache path 2>/dev/null
	same "goroutines" -l '*'
	n=$(left_alone)
	expect_equal "Go functions left alone" "$([ "${n:-0}" -gt 1000 ] && echo many || echo "$n")" many
	for want in c_sum=1000 c_leaf=19500 c_back=4000 goBack=3000 qsort=1000; do
		expect_equal "calls of ${want%=*}" "$(calls "${want%=*}")" "${want#*=}"
	done
	;;
split)
	${CC:-cc} -O1 -fsplit-stack -pthread "$here/split_stack.c" -o prog || skip "no -fsplit-stack"
	same "split stacks"
	n=$(left_alone)
	expect_equal "functions left alone" "$([ "${n:-0}" -ge 4 ] && echo all || echo "$n")" all
	expect_equal "calls of deep" "$(calls deep)" ""
	expect_equal "calls of pthread_create" "$(calls pthread_create)" 4
	${CC:-cc} -O1 -pthread "$here/split_stack.c" -o prog
	expect_equal "without the option: functions left alone" "$(left_alone)" ""
	;;
esac
