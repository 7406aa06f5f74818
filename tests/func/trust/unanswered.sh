#!/bin/sh
# SPDX-License-Identifier: MIT
#
# unanswered.sh UNANSWERED - a target that does not return from a system call that it makes for the recorder: the recorder does not wait for it, and
# the target runs on undisturbed
unanswered=$(realpath "$1")
. "$(dirname "$0")/../../lib/common.sh"
need timeout
[ "$(uname -m)" = x86_64 ] || skip "only on x86-64 the recorder has another process make system calls"
for mode in interruptible killable; do
	run timeout -s KILL 100 "$uft" record -o t.uft -p function -l work "$unanswered" "$mode"
	if [ "$status" -eq 77 ]; then
		echo "SKIPPED: $mode: there is no such filter here"
		continue
	fi
	expect_status 0
	expect_err ': it does not come back from a system call'
	expect_out "the child's status is 0"
	run "$uft" report t.uft
	expect_equal "$mode: calls of work() in others" "$(grep -c "work <-main" out)" 2
done
