#!/bin/sh
# SPDX-License-Identifier: MIT
# counter.sh - hazards of each kind recorded with the clock counter, by the function and the graph tracer
#
#	counter.sh RUN UFT HAZARDS HAZARDS_CC HAZARDS_TASK HAZARDS_MCOUNT
#
# RUN: run.sh, which says what it compares.
set -u
run=$1 uft=$2 hazards=$3 cc=$4 task=$5 mcount=$6 failed=0 passed=0

# each PROGRAM CASE...
each() {
	program=$1
	shift
	for case; do
		for tracer in counter counter_graph; do
			sh "$run" "$uft" "$tracer" "$program" "$case"
			case $? in
			0) passed=$((passed + 1)) ;;
			77) ;;		# it said what this machine lacks
			*) failed=$((failed + 1)) ;;
			esac
		done
	done
}

# Not deepjump and signal, which take long as text.
each "$hazards" longjmp tail sigjump coroutine migrate threads cancel fork vfork vforkthreads clone exec
each "$cc" exception except_threads except_coroutine dlopen
each "$task" nested_signals storm
each "$mcount" longjmp tail abi vector coroutine migrate threads fork vfork
echo "$passed passed, $failed failed"
[ $failed -eq 0 ] && [ $passed -ne 0 ]
