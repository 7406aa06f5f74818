#!/bin/sh
# SPDX-License-Identifier: MIT
# record_triggers.sh SOURCE CC... - uft record -R: the effect of each trigger on the recording, beside -f and -v; refused texts
. "$(dirname "$0")/../../lib/common.sh"
. "$top/tests/lib/sample.sh"
build_sample "$@"
S=uft_sample
# Of the recording: `one=A` and `two=A`
bodies() { "$uft" report --no-pager "$@" >text 2>&1; sed -n 's/^.*: sample_one: a=\([0-9]*\)$/one=\1/p; s/^.*: sample_two: two=0x0*\([0-9a-f]\)$/two=\1/p' text | tr '\n' ' '; }

run "$uft" record -e $S:sample_one -e $S:sample_two -R 'traceoff if a == 2' ./prog 5
expect_status 0
expect_out "evaluated"
expect_err "uft: 6 events in trace.uft"
expect_equal "traceoff ends it with its event" "$(bodies)" "one=0 two=0 one=1 two=1 one=2 two=2 "

run "$uft" record -q -e $S:sample_one -R 'traceoff if a == 1' -R 'traceon if a == 3' ./prog 5
expect_status 1
expect_err "sample_one"
run "$uft" record -q -e $S:sample_one -R 'traceoff if a == 1' -e $S:sample_two -R 'traceon if a == 3' ./prog 5
expect_status 0
expect_equal "traceon goes on with its event" "$(bodies)" "one=0 two=0 one=1 two=3 one=4 two=4 "

run "$uft" record -q -e $S:sample_two -v -e $S:sample_one -R "enable_event:$S:sample_one if a == 2" ./prog 5
expect_status 0
expect_equal "a trigger behind -v, of an event that is not on" "$(bodies)" "two=0 two=1 two=2 one=3 two=3 one=4 two=4 "
run "$uft" record -q -v -e $S:sample_one -R "enable_event:$S:sample_two:1 if a > 0" -o alone.uft ./prog 3
expect_equal "nothing else is on" "$(bodies alone.uft)" "two=1 two=2 "

run "$uft" record -q -e "$S:sample_*" -v -e $S:sample_two ./prog 2
expect_equal "-v alone" "$(bodies)" "one=0 one=1 "
run "$uft" record -q -e $S:sample_one -f 'a > 1' -R 'traceoff if a == 3' ./prog 5
expect_equal "a filter beside it" "$(bodies)" "one=2 one=3 "
run "$uft" record -q -v -e $S:sample_one -f 'a > 1' ./prog 5
expect_status 0

run "$uft" record -q -e "$S:sample_[ot][nw]*" -R traceoff:1 -o both.uft ./prog 5
expect_equal "each event of a glob has it" "$(bodies both.uft)" "one=0 "

# ---- With -T each event has its stack, with the trigger those that it chooses
stacks() { sed -n 's/^.*: sample_one: a=\([0-9]*\)$/one=\1/p; s/^ => \(main\)$/\1/p' text | tr '\n' ' '; }
run "$uft" record -q -T -e $S:sample_one -R 'traceoff if a == 1' ./prog 5
expect_status 0
bodies >/dev/null
expect_equal "stacks of all" "$(stacks)" "one=0 main one=1 "
run "$uft" record -q -T -p function -l main -e $S:sample_one -R 'traceoff if a == 1' ./prog 5
expect_status 0
run "$uft" record -q -e $S:sample_one -R 'stacktrace if a == 1' ./prog 3
bodies >/dev/null
expect_equal "stacks of some" "$(stacks)" "one=0 one=1 main one=2 "
run "$uft" record -q -T -o two.dat -e $S:sample_one -R 'traceoff if a == 2' ./prog 5
if has "stacks of a trace.dat" trace-cmd; then
	expect_equal "stacks of trace-cmd" "$(trace-cmd report two.dat 2>/dev/null | grep -c '=> main ')" 2
fi

# ---- With the runtime brought by the loader
run "$uft" record -q --preload -e $S:sample_one -e $S:sample_two -R 'traceoff if a == 1' ./prog 5
expect_status 0
expect_equal "preloaded" "$(bodies)" "one=0 two=0 one=1 two=1 "

# ---- A histogram is printed, a snapshot kept
run "$uft" record -q -e $S:sample_one -R 'hist:keys=a.buckets=2 if a < 4' ./prog 5
expect_status 0
expect_equal "histogram" "$(grep -c 'hitcount:          2$' err)" 2
expect_err "# trigger info: hist:keys=a.buckets=2:vals=hitcount:sort=hitcount:size=2048 if a < 4 [active]"
expect_no_file trace.uft.snapshot
run "$uft" record -e $S:sample_one -R 'snapshot:1 if a == 1' ./prog 5
expect_status 0
expect_err "a trigger took a snapshot: it is in trace.uft.snapshot"
expect_equal "snapshot" "$(grep -o 'sample_one: .*' trace.uft.snapshot | tr '\n' ' ')" "sample_one: a=0 sample_one: a=1 "

# ---- With functions, and as another file
run "$uft" record -q -p function -l main -e $S:sample_one -R 'traceoff if a == 0' ./prog 5
expect_status 0
bodies >/dev/null
expect_equal "functions and events" "$(grep -c ': main <-' text) $(grep -c sample_one: text)" "1 1"
run "$uft" record -o rec.dat -e $S:sample_one -R 'traceoff if a == 1' ./prog 5
expect_err "in rec.dat"
expect_no_file rec.dat.uft
command -v trace-cmd >/dev/null && expect_equal "of trace-cmd" "$(trace-cmd report rec.dat 2>/dev/null | grep -c sample_one)" 2
run "$uft" record -q -e $S:sample_one -R 'traceoff if a == 1' sh -c './prog 5; exit 7'
expect_status 1		# sh declares no such event: it is not known before prog starts
expect_err "no event '$S:sample_one' is known"
run "$uft" record -q -e sched:sched_process_exit -R 'traceoff if pid == 0' sh -c 'exit 7'
expect_status 7

# ---- Refused, with the recording that was there untouched
cp trace.uft before
refused() { status_of=$1; text=$2; shift 2; run "$uft" record -q "$@" ./prog 5; expect_status "$status_of"; expect_err "$text"; }
refused 2 "it belongs behind the -e EVENT that it is a trigger of" -R traceoff -e $S:sample_one
refused 1 "$S:sample_one: Couldn't find field" -e $S:sample_one -R hist:keys=b
expect_equal "the place" "$(sed -n '2,3p' err)" "$(printf '    hist:keys=b\n              ^')"
refused 1 "Field not found" -e $S:sample_one -R 'traceoff if b == 1'
refused 1 "Takes traceon" -e $S:sample_one -R nosuch
refused 1 "no event '$S:nosuch' is known" -e $S:nosuch -R traceoff
refused 2 "not with --max-size" -e $S:sample_one -R traceoff --max-size 4M
refused 2 "TRIGGER is empty" -e $S:sample_one -R ''
refused 2 "not with a program and running processes at once" -e sched -R traceoff -P $$
run cmp trace.uft before
expect_status 0
