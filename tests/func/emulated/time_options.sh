#!/bin/sh
# SPDX-License-Identifier: MIT
#
# time_options.sh MACHINE CC PAD EMULATOR - options about times use the emulated clock: --thresh, --keep-slow, --budget, --max-rate
#
# Nothing here takes a quiet machine: what was long though it does nothing is counted by the program, from outside of the call.
. "$(dirname "$0")/../../lib/common.sh"
cc=$2 pad=$3 emulator=$4
# shellcheck disable=SC2086
need $cc ${emulator%% *}
# shellcheck disable=SC2086
need_libc $cc
# shellcheck disable=SC2086
must_build $cc -Wall -Wextra -O1 "-fpatchable-function-entry=$pad" "$top/tests/func/emulated/time_options.c" -o limits
# shellcheck disable=SC2086
$emulator ./limits times >/dev/null || skip "the emulator does not run a program"

# record OPTIONS... -- ARGUMENT: $out is what the program said.
record() {
	run timeout 300 "$uft" record "--emulator=$emulator" -o rec.uft "$@"
	expect_status 0
	out=$(cat out)
}

# calls_of NAME
calls_of() {
	"$uft" report --profile rec.uft | awk -v name="$1" '$NF == name { n = $1 } END { print n + 0 }'
}

# are_long SLOW MIDDLE QUICK: of each that were slow; of the others none but those that the program found long.
are_long() {
	expect_equal "calls of slow ($ran)" "$(calls_of slow)" "$1"
	check
	[ "$(calls_of middle)" -le "$2" ] || fail "$ran: $(calls_of middle) calls of middle, of which $2 can have been long"
	check
	[ "$(calls_of quick)" -le "$3" ] || fail "$ran: $(calls_of quick) calls of quick, of which $3 can have been long"
}

record -q --thresh 20ms -- ./limits times
expect_no_err
# shellcheck disable=SC2086
are_long $out
expect_equal "main took longer than all" "$(calls_of main)" 1

record -q -l slow -l middle -l quick -l leaf --keep-slow 'slow=20ms' --keep-slow 'middle=20ms' --keep-slow 'quick=20ms' -- ./limits times
expect_no_err
# shellcheck disable=SC2086
are_long $out
check
[ "$(calls_of leaf)" -eq $(($(calls_of slow) + $(calls_of middle) + $(calls_of quick))) ] || fail "$(calls_of leaf) calls of leaf in those"

# dropped TRACER BY: tiny was dropped while it ran, is said to be, and all else is there.
dropped() {
	expect_err "dropped tiny"
	expect_equal "$1: the entry of tiny is as it was" "$out" 1
	"$uft" report rec.uft >report
	expect_equal "$1: dropped in the report" "$(grep -c "^# dropped: tiny .*by $2 of process" report)" 1
}
for tracer in function function_graph; do
	record -p $tracer --max-rate 1000 -- ./limits often
	dropped $tracer --max-rate
done
record -b 8M --budget 1% -- ./limits often
dropped budget --budget
