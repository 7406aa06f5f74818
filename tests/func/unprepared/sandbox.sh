#!/bin/sh
# SPDX-License-Identifier: MIT
# sandbox.sh - a program forbids itself system calls, or to read the clock, while it is traced: it behaves as without uft; later records are made as
# far as possible, and one line tells what cannot be recorded
. "$(dirname "$0")/../../lib/common.sh"

${CC:-cc} -O1 -w -pthread "$top/tests/func/unprepared/sandbox.c" -o sandbox || exit 1
./sandbox deny >/dev/null || skip "no seccomp filters here"

# kept MODE [REASON]: under each tracer it does what it does without; with REASON the calls after it are not recorded
kept() {
	for how in "function_graph" "function" "function_graph --watchdog" "profile"; do
		run "$uft" record -p $how -o x.uft ./sandbox "$1"
		expect_status 0
		expect_out done
		[ $# -eq 1 ] || expect_equal "$how $1: said" "$(grep -c "not traced any more: $2" err)" 1
	done
}

kept jump
kept handler
kept deny "it sets a seccomp filter that ends it for futex, rt_sigprocmask"
kept raw "it sets a seccomp filter that ends it for futex, rt_sigprocmask"
kept threads "it sets a seccomp filter that ends it for futex, rt_sigprocmask"
kept strict "it enters seccomp's strict mode"
kept clock "it forbids itself to read the clock"
kept fork "it forbids itself to read the clock"

# A thread is in the middle of its first event, before the first call of ours, when another thread sets the filter for all.
./sandbox event >/dev/null
if [ $? -eq 0 ]; then
	for how in function_graph function profile; do
		run "$uft" record -p $how -l sum -o x.uft ./sandbox event
		expect_status 0
		expect_out done
	done
fi

# Behind a filter that permits the least the graph goes on: 50 jumps of 11 calls each, every one left.
run "$uft" record -q -p function_graph -l deep -l jump -o x.uft ./sandbox jump
expect_equal "calls under the filter" "$("$uft" report --profile x.uft | awk '$NF == "deep" { print $1 }')" 550

# attach refuses a process that may not read the clock any more.
mkfifo input
./sandbox wait <input >ready &
exec 3>input
eventually grep -q ready ready
read -r child <"/proc/$!/task/$!/children"
run "$uft" attach -p function_graph -o x.uft "$child"
expect_status 1
expect_err "must not read the clock"
exec 3>&-
wait $!
expect_equal "status" $? 0
expect_equal "end" "$(tail -n 1 ready)" done
