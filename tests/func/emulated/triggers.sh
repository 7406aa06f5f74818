#!/bin/sh
# SPDX-License-Identifier: MIT
#
# triggers.sh MACHINE CC PADS EMULATOR - triggers of the events of another machine's program: begin, end, switch, snapshot, graph, histograms, onmatch; live text; uft hist
. "$(dirname "$0")/../../lib/common.sh"
cc=$2 pads=$3 emulator=$4
from=$top/tests/func/observe/tracepoints S=uft_sample
# shellcheck disable=SC2086
need $cc ${emulator%% *}
# shellcheck disable=SC2086
need_libc $cc
cat >prog.c <<'end'
#define CREATE_TRACE_POINTS
#include "sample.h"
volatile int sink;
__attribute__((noinline)) void inner(int i) { sink += i; }
__attribute__((noinline)) void work(int i) { inner(i); inner(i + 1); sink++; }
int main(void) { for (int i = 0; i < 5; i++) { trace_sample_one(i); work(i); trace_sample_two(i); } return 0; }
end
# shellcheck disable=SC2086
$emulator ./need_libc || skip "the emulator does not run a program"
$cc -O2 -fpatchable-function-entry="$pads" -I"$top/include" -I"$top/include/uft/kernel" -I"$from" -o prog prog.c 2>compiled || { cat compiled; fail "cannot build prog"; exit 1; }

recorded() { run timeout 120 "$uft" record "--emulator=$emulator" -q "$@" ./prog; expect_status 0; }
bodies() { "$uft" report --no-pager trace.uft | sed -n 's/^.*: sample_one: a=\([0-9]*\)$/one=\1/p; s/^.*: sample_two: two=0x0*\([0-9a-f]\)$/two=\1/p' | tr '\n' ' '; }

recorded -e $S:sample_one -e $S:sample_two -R 'traceoff if a == 2'
expect_no_err
expect_equal "traceoff" "$(bodies)" "one=0 two=0 one=1 two=1 one=2 two=2 "
recorded -e $S:sample_one -R 'traceoff if a == 1' -e $S:sample_two -R 'traceon if a == 3'
expect_equal "traceon" "$(bodies)" "one=0 two=0 one=1 two=3 one=4 two=4 "
recorded -e $S:sample_two -v -e $S:sample_one -R "enable_event:$S:sample_one:1 if a == 2"
expect_equal "enable_event" "$(bodies)" "two=0 two=1 two=2 one=3 two=3 one=4 two=4 "
recorded -e $S:sample_one -R 'snapshot:1 if a == 1'
expect_equal "snapshot" "$(grep -o 'sample_one: .*' trace.uft.snapshot | tr '\n' ' ')" "sample_one: a=0 sample_one: a=1 "

recorded -e $S:sample_one -R 'graph if a == 3' -e $S:sample_two -R graph:stop
"$uft" report --no-pager trace.uft >text
expect_equal "graph" "$(sed -n 's/^[^|]*|  //p' text | sed -n '/a=3/,/two=0x03/p' | tr -s ' \n' ' ')" "/* sample_one: a=3 */ work() { inner(); inner(); } /* sample_two: two=0x03 */ "
expect_equal "graph: one call of work" "$(grep -c 'work()' text)" 1

recorded -e $S:sample_one -R 'hist:keys=a.buckets=2:sort=a if a > 0'
expect_equal "histogram" "$(grep -A99 '^{' err | tr -s ' \n' ' ')" "{ a: ~ 0-1 } hitcount: 1 { a: ~ 2-3 } hitcount: 2 { a: ~ 4-5 } hitcount: 1 Totals: Hits: 4 Entries: 3 Dropped: 0 "
recorded -e $S:sample_one -R 'hist:keys=common_pid:x=a:onmax($x).snapshot()'
expect_equal "onmax" "$(grep -c 'onmax($x) }:          4' err)" 1

run timeout 120 "$uft" sqlhist -e "--emulator=$emulator" -n lat -k us.buckets=100000000 \
	'SELECT (end.TIMESTAMP_USECS - start.TIMESTAMP_USECS) AS us FROM sample_one AS start JOIN sample_two AS end ON start.common_pid = end.common_pid' -- ./prog
expect_status 0
expect_equal "onmatch" "$(grep '^{' out | sed 's/  */ /g')" "{ us: ~ 0-99999999 } hitcount: 5"

run timeout 120 "$uft" hist "--emulator=$emulator" -e $S:sample_one -k a.buckets=2 -s a -f 'a > 0' -e $S:sample_two -k common_pid.execname -- ./prog
expect_status 0
expect_equal "uft hist" "$(sed -n 's/common_pid: .*}/common_pid: PID }/; s/  */ /g; /^{/p' out | tr '\n' ' ')" \
	"{ a: ~ 0-1 } hitcount: 1 { a: ~ 2-3 } hitcount: 2 { a: ~ 4-5 } hitcount: 1 { common_pid: PID } hitcount: 5 "
run "$uft" hist "--emulator=$emulator" -e $S:sample_one -k common_stacktrace -- ./prog
expect_status 2
expect_err "uft records stacks on x86-64 only, not with --emulator"
run "$uft" hist "--emulator=$emulator" -e $S:sample_one trace.uft
expect_status 2
expect_err "--emulator runs a command: add -- COMMAND"

run timeout 120 "$uft" stream "--emulator=$emulator" -e $S:sample_one -f 'a > 2' ./prog
expect_status 0
expect_equal "live" "$(grep -o 'sample_one: .*' out | tr '\n' ' ')" "sample_one: a=3 sample_one: a=4 "

for trigger in stacktrace 'hist:keys=common_stacktrace'; do
	run "$uft" record "--emulator=$emulator" -e $S:sample_one -R "$trigger" ./prog
	expect_status 2
	expect_err "--trigger: uft records stacks on x86-64 only, not with --emulator"
done
