#!/bin/sh
# SPDX-License-Identifier: MIT
# program_events.sh SOURCE CC... - events of programs in the tracing directory: by set_event with :mod:, by enable, in instances, of tasks, 300 of
# them
. "$(dirname "$0")/../../lib/common.sh"
. "$(dirname "$0")/../../lib/shell.sh"
[ "$(uname -m)" = x86_64 ] || skip "the tracing directory knows programs of x86_64 only"
source=$1
shift
export TMP="$tmp"
include="-I$source/include -I$source/include/uft/kernel -I$source/tests/func/observe/tracepoints -I$tmp"
"$@" -O2 $include -o prog "$source/tests/func/observe/tracepoints/program.c" 2>compiled || { cat compiled; fail "cannot build prog"; }

cat >lib <<'end'
cd /sys/kernel/tracing
bodies() { sed -n 's/^.*: \([a-z_0-9]*: .*\)$/\1/p' ${1:-.}/trace | tr '\n' ' '; echo; }
end

# ---- Before the program was ever started: only with :mod: is an event remembered, and shown as a kernel (6.14) shows it
in_shell '. $TMP/lib; echo uft_sample:sample_one >set_event; echo $?
	for w in :mod:a "*:mod:a" "*:*:mod:a" one:mod:a sys:mod:b sys:ev:mod:a :ev:mod:a "sys::mod:a"; do echo "$w" >>set_event || echo refused; done; cat set_event
	echo "!one:mod:a" >>set_event; echo "!nosuch:mod:a" >>set_event; echo $?; grep -c one set_event; >set_event; cat set_event' 2>/dev/null
expect_equal "kept words" "$(tr '\n' ' ' <out)" "1 *:*:mod:a one:mod:a sys:mod:b sys:ev:mod:a *:ev:mod:a sys:*:mod:a 1 0 "

in_shell '. $TMP/lib; echo uft_sample:sample_one:mod:prog >set_event; echo "*:sample_two:mod:pr?g" >>set_event; $TMP/prog 2 >/dev/null; cat set_event; bodies
	echo sample_two:mod:other >>set_event; echo nosuch:mod:prog >>set_event; echo $?; echo "!uft_sample:*" >>set_event; cat set_event
	>set_event; echo :mod:prog >set_event; cat events/uft_sample/enable' 2>/dev/null
expect_equal "on when the object comes" "$(cat out)" "uft_sample:sample_two
uft_sample:sample_one
*:sample_two:mod:pr?g
sample_one: a=0 sample_two: two=0x00 sample_one: a=1 sample_two: two=0x01 
1
*:sample_two:mod:pr?g
sample_two:mod:other
1"

# ---- Known from its first start: each level, instances, filters, tasks; numbers and formats stay when it starts again
in_shell '. $TMP/lib; S=events/uft_sample; $TMP/prog 1 >/dev/null; cat events/*/*/id | sort | uniq -d; cat $S/sample_one/id $S/*/format >$TMP/before
	look() { cat events/enable $S/enable $S/sample_one/enable | tr "\n" " "; }
	look; echo 1 >$S/sample_one/enable; look; echo 1 >$S/enable; look; echo 1 >events/enable; look; echo 0 >events/enable; look; echo
	echo >trace; mkdir instances/a; echo 1 >$S/sample_one/enable; echo "a > 0" >$S/sample_one/filter; echo uft_sample:sample_two >instances/a/set_event
	$TMP/prog 3 >/dev/null; bodies; bodies instances/a; cat instances/a/set_event
	echo 0 >$S/sample_one/filter; echo >trace; sh -c "echo \$\$ >set_event_pid; exec $TMP/prog 1" >/dev/null; $TMP/prog 1 >/dev/null; bodies
	cat $S/sample_one/id $S/*/format | cmp - $TMP/before; rmdir instances/a'
expect_no_err
expect_equal "levels, instances, tasks" "$(cat out)" "0 0 0 X X 1 X 1 1 1 1 1 0 0 0 
sample_one: a=1 sample_one: a=2 
sample_two: two=0x00 sample_two: two=0x01 sample_two: two=0x02 
uft_sample:sample_two
sample_one: a=0 "

# ---- set_ftrace_pid and set_ftrace_notrace_pid are about functions, as a kernel's: events, their stacks, triggers and histograms, and markers are of all tasks
"$@" -O1 -g -fno-inline -fno-omit-frame-pointer -fpatchable-function-entry=5 $include -o calls "$source/tests/func/observe/tracepoints/program.c" 2>compiled || { cat compiled; fail "cannot build calls"; }
in_shell '. $TMP/lib; S=events/uft_sample; $TMP/calls 1 >/dev/null; echo 1 >$S/sample_one/enable; echo 1 >$S/sample_text/enable; echo "text != \"\" && text ~ \"s*\"" >$S/sample_text/filter; echo "run count" >set_ftrace_filter
	lists="set_ftrace_pid set_ftrace_notrace_pid"
	look() { echo $(grep -c ": sample_one: a=" trace) $(grep -c ": sample_text: " trace) $(grep -c ": run <-\|  run() {" trace) $(grep -c ": count <-\|  count();" trace) $(grep -c "tracing_mark_write: here\|/[*] here" trace); echo >trace; for list in $lists; do echo >$list; done; }
	in_list() { sh -c "echo \$\$ >$1; exec $TMP/calls 40" >/dev/null; echo here >trace_marker; }
	echo function >current_tracer; echo >trace; for list in $lists; do in_list $list; look; done; echo 1073741823 >set_ftrace_pid; in_list set_event_pid; echo >set_event_pid; look; echo 1073741823 >set_ftrace_pid; in_list set_event_notrace_pid; echo >set_event_notrace_pid; look
	echo 1073741823 >set_ftrace_pid; in_list /dev/null; look; in_list set_ftrace_notrace_pid; in_list set_ftrace_notrace_pid; look
	echo 1 >options/function-fork; echo 1073741823 >set_ftrace_pid; in_list /dev/null; look; echo 0 >options/function-fork
	echo nop >current_tracer; echo 1073741823 >set_ftrace_pid; in_list /dev/null; look; in_list set_ftrace_notrace_pid; look
	echo 1 >options/stacktrace; echo 1073741823 >set_ftrace_pid; in_list /dev/null; grep -c "^ => run" trace; look; echo 0 >options/stacktrace
	mkdir instances/a; echo function | tee instances/a/current_tracer >current_tracer; echo 1073741823 >instances/a/set_ftrace_pid; in_list set_ftrace_notrace_pid; grep -c ": run <-" instances/a/trace; look; rmdir instances/a'
expect_no_err
expect_equal "functions of some tasks, events of all" "$(cat out)" "40 39 1 40 1
40 39 0 0 1
40 39 0 0 1
0 0 0 0 1
40 39 0 0 1
80 78 0 0 2
40 39 0 0 1
40 39 0 0 1
40 39 0 0 1
79
40 39 0 0 1
0
40 39 0 0 1"
in_shell '. $TMP/lib; S=events/uft_sample; $TMP/calls 1 >/dev/null; echo 1073741823 >set_ftrace_pid; echo "run count" >set_ftrace_filter; echo function_graph >current_tracer
	for keys in a common_pid stacktrace; do echo "hist:keys=$keys" >$S/sample_one/trigger; $TMP/calls 40 >/dev/null; sed -n "s/ *Hits: /hits /p" $S/sample_one/hist; echo "!hist:keys=$keys" >$S/sample_one/trigger; done
	echo "traceoff if a == 7" >$S/sample_one/trigger; echo >trace; $TMP/calls 40 >/dev/null; for k in $(seq 300); do grep -q 0 tracing_on && break; sleep 0.1; done; cat tracing_on; grep -vc "^#" trace'
expect_no_err
expect_equal "triggers and histograms of all tasks" "$(tr '\n' ' ' <out)" "hits 40 hits 40 hits 40 0 0 "

# ---- uft attach -P records the named tasks alone, their events as well as their functions
cat >threads.c <<'end'
#include <poll.h>
#include <pthread.h>
#include <unistd.h>
#define CREATE_TRACE_POINTS
#include "sample.h"

static void *fire(void *arg)
{
	for (;;) {
		trace_sample_one(1);
		usleep(1000);
	}
	return arg;
}

int main(void)
{
	struct pollfd in = { .events = POLLIN };
	pthread_t thread;

	if (pthread_create(&thread, NULL, fire, NULL))
		return 1;
	do
		trace_sample_one(0);
	while (!poll(&in, 1, 1));
	return 0;
}
end
"$@" -O2 -pthread $include -o threads threads.c 2>compiled || { cat compiled; fail "cannot build threads"; }
mkfifo gate
./threads <gate &
pid=$!
exec 8>gate
ends_with_test $pid
has_two() { [ "$(ls "/proc/$pid/task" | wc -l)" = 2 ]; }
eventually has_two
"$uft" attach -q -p nop -e uft_sample:sample_one -P "$(ls "/proc/$pid/task" | grep -v "^$pid$")" -o some.uft $pid 2>err 8>&- &
recorder=$!
fires() { "$uft" report --no-pager some.uft 2>/dev/null | grep -q "sample_one: a=1"; }
eventually fires || fail "attach -P records nothing: $(cat err)"
echo >&8
exec 8>&-
wait $pid $recorder
expect_equal "attach -P" "$("$uft" report --no-pager some.uft | grep -o "sample_one: a=[01]" | sort -u)" "sample_one: a=1"

# ---- Many types
awk 'BEGIN { print "#undef TRACE_SYSTEM\n#define TRACE_SYSTEM many\n#if !defined(MANY_H) || defined(TRACE_HEADER_MULTI_READ)\n#define MANY_H\n#include <linux/tracepoint.h>"
	print "DECLARE_EVENT_CLASS(number, TP_PROTO(int a), TP_ARGS(a), TP_STRUCT__entry(__field(int, a)), TP_fast_assign(__entry->a = a;), TP_printk(\"a=%d\", __entry->a));"
	for (i = 0; i < 300; i++) printf "DEFINE_EVENT(number, n%d, TP_PROTO(int a), TP_ARGS(a));\n", i
	print "#endif\n#undef TRACE_INCLUDE_PATH\n#undef TRACE_INCLUDE_FILE\n#define TRACE_INCLUDE_PATH .\n#define TRACE_INCLUDE_FILE many\n#include <trace/define_trace.h>" }' >many.h
awk 'BEGIN { print "#define CREATE_TRACE_POINTS\n#include \"many.h\"\nint main(void) {"; for (i = 0; i < 300; i++) printf "trace_n%d(%d);\n", i, i; print "return 0; }" }' >many.c
"$@" -O1 $include -o many many.c 2>compiled || { cat compiled; fail "cannot build many"; }
in_shell '. $TMP/lib; echo :mod:many >set_event; $TMP/many; grep -c ": n[0-9]*: a=" trace; ls events/many | wc -l; ls events/many | sort -u | wc -l; cat events/many/n299/enable
	cat events/many/n*/format | grep -c "^name: n"; cat events/many/n*/id | sort -u | wc -l
	echo "a >= 290" >events/many/filter; echo >trace; $TMP/many; grep -c ": n[0-9]*: a=" trace; echo "!many:n299" >>set_event; cat events/many/enable; grep -c . set_event'
expect_no_err
expect_equal "300 types" "$(tr '\n' ' ' <out)" "300 302 302 1 300 300 10 X 299 "

# ---- The stock trace-cmd
if command -v trace-cmd >/dev/null 2>&1; then
	in_shell 'cd $TMP; ./prog 1 >/dev/null; trace-cmd list -e uft_sample | grep -c uft_sample:; trace-cmd list -e uft_sample:sample_text -F | grep -c "field:__data_loc char\[\] text;"
		trace-cmd record -q -o tc.dat -e uft_sample:sample_one -f "a > 1" -e uft_sample:sample_two sh recorded ./prog 3 >/dev/null 2>&1; trace-cmd report -q tc.dat 2>/dev/null | sed -n "s/.*: \(sample_.*\)/\1/p" | tr -s " \n" " "; echo
		trace-cmd start -e uft_sample:sample_one >/dev/null 2>&1; ./prog 2 >/dev/null; trace-cmd stop; trace-cmd show | grep -o "sample_one: a=1"
		trace-cmd record -q -o tr.dat -e uft_sample:sample_one -R "hist:keys=a if a > 0" -e uft_sample:sample_two -R traceoff:1 \
			sh recorded sh -c "./prog 4; cat /sys/kernel/tracing/events/uft_sample/sample_one/hist" 2>/dev/null | grep "^{\|Hits" | tr -s " " | sort
		trace-cmd report -q tr.dat 2>/dev/null | sed -n "s/.*: \(sample_.*\)/\1/p" | tr -s " \n" " "; echo
		trace-cmd record -q -o th.dat -p function -l run:mod:prog -l main:mod:prog --func-stack sh recorded ./prog 2 >/dev/null 2>&1; trace-cmd hist th.dat 2>/dev/null | tr -s " " | sed -n "s/ *\(%[0-9.]*\) *([0-9]*) */\1 /p"'
	expect_equal "trace-cmd" "$(cat out)" "5
1
sample_two: two=0x00 sample_two: two=0x01 sample_one: a=2 sample_two: two=0x02 
sample_one: a=1
 Hits: 3
{ a: 1 } hitcount: 1
{ a: 2 } hitcount: 1
{ a: 3 } hitcount: 1
sample_one: a=0 sample_two: two=0x00 
%66.67 prog run #2
%33.33 prog main #1"
fi
