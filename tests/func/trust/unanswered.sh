#!/bin/sh
# SPDX-License-Identifier: MIT
#
# unanswered.sh UNANSWERED SHIM - a target that does not return from a system call that it makes for the recorder: the recorder does not
# wait for it, and the target runs on undisturbed, also without memory for a note of it (attach/failing_calls.c)
unanswered=$(realpath "$1") shim=$(realpath "$2")
. "$(dirname "$0")/../../lib/common.sh"
need timeout
[ "$(uname -m)" = x86_64 ] || skip "only on x86-64 the recorder has another process make system calls"
# The places of late_call.c.
range=$(nm -n "$uft" 2>nm.err | awk '/ [tT] late_call_/ { low = low ? low : $1; is_in = 1; next } is_in { print low "-" $1; exit }')
# no_memory COMMAND [ARG...]: uft gets none there
no_memory() {
	env LD_PRELOAD="$shim" FAIL_KIND=memory FAIL_SITE="$range" FAIL_TO="$PWD/count" FAIL_EXE="$(realpath "$uft")" "$@"
}
for mode in interruptible killable no_memory; do
	case $mode in
	no_memory) run no_memory timeout -s KILL 100 "$uft" record -o t.uft -p function -l work "$unanswered" killable ;;
	*) run timeout -s KILL 100 "$uft" record -o t.uft -p function -l work "$unanswered" "$mode" ;;
	esac
	if [ "$status" -eq 77 ]; then
		echo "SKIPPED: $mode: there is no such filter here"
		continue
	fi
	expect_status 0
	expect_err ': it does not come back from a system call'
	expect_out "the child's status is 0"
	run "$uft" report t.uft
	[ "$mode" = no_memory ] || expect_equal "$mode: calls of work() in others" "$(grep -c "work <-main" out)" 2
done
