#!/bin/sh
# SPDX-License-Identifier: MIT
# traceon_traceoff.sh TARGET - set_ftrace_filter's func:traceon and func:traceoff: the list, refusals, and the trace
. "$(dirname "$0")/inside.sh"

names() { sed -n 's/^[^#]*: \([a-z]*\) <-.*/\1/p' "$1" | tr '\n' ' '; }

# ---- The list, its order and what is refused, as on a 6.12 kernel with vfs_read, vfs_write, vfs_open for outer, inner, lonely
inside '$T 1; F=set_ftrace_filter; try() { echo "$1" >>$F; echo "$?"; } 2>$TMP/refused
	echo outer:traceoff >$F; cat $F; echo; echo inner:traceoff:3 >>$F; echo lonely:traceon >$F; cat $F; echo; echo inner >$F; cat $F; echo; echo >$F; cat $F; echo
	try "!outer:traceoff:0"; try "!inner:traceoff"; try "!lonely:traceon"; try "!lonely:traceon"; try "!nosuch:traceon"; try nosuch:traceon; try outer:bogus; try outer:traceoff:abc
	try outer:traceoff:-1; try outer:traceoff:; try outer:traceoff:0; try inner:traceoff:7; try outer:traceoff; cat $F; echo
	try "!out*:traceoff"; cat $F; try "!*:traceoff:0"; cat $F; echo outer:traceoff >set_ftrace_notrace; cat set_ftrace_notrace; echo "outer:traceoff inner" >$F; cat $F'
tr '\n' ' ' <out | sed 's/  /\n/g' >listed
cat >expected <<'KERNEL'
#### all functions enabled #### outer:traceoff:unlimited
#### all functions enabled #### lonely:traceon:unlimited inner:traceoff:count=3 outer:traceoff:unlimited
inner lonely:traceon:unlimited inner:traceoff:count=3 outer:traceoff:unlimited
#### all functions enabled #### lonely:traceon:unlimited inner:traceoff:count=3 outer:traceoff:unlimited
1 1 0 1 1 1 1 1 1 0 1 1 1 #### all functions enabled #### inner:traceoff:count=3 outer:traceoff:count=-1 outer:traceoff:unlimited
0 #### all functions enabled #### inner:traceoff:count=3 outer:traceoff:count=-1 0 #### all functions enabled #### #### no functions disabled #### inner outer:traceoff:unlimited
KERNEL
expect_equal "lists" "$(sed 's/ $//' listed)" "$(cat expected)"

# ---- An end is the function's own call, the last that is shown; a begin the first
inside '$T 1; echo :mod:$(basename $T) >set_ftrace_filter; echo inner:traceoff >>set_ftrace_filter; echo function >current_tracer
	$T 3; cat tracing_on; cat trace >$TMP/off; echo 1 >tracing_on; $T 500000; cat tracing_on; cat trace >$TMP/again; echo m >trace_marker; echo $?
	echo "!inner:traceoff" >>set_ftrace_filter; echo lonely:traceon >>set_ftrace_filter; echo >trace; $T 1; cat tracing_on; cat trace >$TMP/on'
expect_equal "tracing_on" "$(tr '\n' ' ' <out)" "0 0 1 1 "
expect_equal "up to the end" "$(names off)" "main lonely outer inner "
expect_equal "and again" "$(names again)" "main lonely outer inner main lonely outer inner "
expect_equal "from the begin" "$(names on)" "lonely outer inner inner "

# ---- Spans, in trace and in trace_pipe; the header counts what is shown. A count counts changes.
inside '$T 1; echo :mod:$(basename $T) >set_ftrace_filter; echo outer:traceon >>set_ftrace_filter; echo inner:traceoff >>set_ftrace_filter; echo 0 >tracing_on
	echo function >current_tracer; $T 20000; cat tracing_on trace >$TMP/spans; grep -c "outer <-" $TMP/spans; grep -c "inner <-" $TMP/spans; grep -c "main <-\|lonely <-" $TMP/spans
	sed -n "s/^# entries-in-buffer.*: \([0-9]*\)\/\([0-9]*\) .*/\1 \2/p" $TMP/spans; echo >trace; $T 29000 & take() { dd if=trace_pipe iflag=nonblock bs=64k 2>$TMP/dd >>$TMP/piped; [ $(grep -c "<-" $TMP/piped) -ge 58000 ]; }; soon take; wait; awk "/(inner|outer) <-/ { print \$5 }" $TMP/piped | sort | uniq -c
	echo "!outer:traceon" >>set_ftrace_filter; echo outer:traceon:3 >>set_ftrace_filter; echo >trace; $T 10; grep -c "outer <-" trace; grep count set_ftrace_filter'
sed 's/^ *//' out | tr '\n' ' ' >line
expect_equal "spans" "$(cat line)" "20000 20000 0 40000 40000 29000 inner 29000 outer 3 outer:traceon:count=0 "

# ---- function_graph; nop, where nothing is shown and tracing_on still ends; beside a filter that has others; a word in two writes
inside '$T 1; echo :mod:$(basename $T) >set_ftrace_filter; echo inner:traceoff >>set_ftrace_filter; echo function_graph >current_tracer; $T 2; grep -c "inner();" trace; grep -o "inner() {\|outer() {\|lonely();" trace
	echo nop >current_tracer; echo 1 >tracing_on; $T 1; cat tracing_on; grep -vc "^#" trace; echo m >trace_marker; echo $?; echo "!*:traceoff" >>set_ftrace_filter; echo lonely >set_ftrace_filter
	exec 5>>set_ftrace_filter; printf outer:trace >&5; printf "off\ninner" >&5; exec 5>&-; cat set_ftrace_filter; printf "!outer:traceoff" >>set_ftrace_filter; cat set_ftrace_filter
	echo outer:traceoff >>set_ftrace_filter; echo 1 >function_profile_enabled; echo "$? $(cat function_profile_enabled)"; echo wakeup >current_tracer; echo "$? $(cat current_tracer)"' 2>>err
expect_equal "graph, nop, parts" "$(tr '\n' ' ' <out)" "0 lonely(); outer() { inner() { 0 0 1 inner lonely outer:traceoff:unlimited inner lonely 0 1 0 wakeup "

# ---- In an instance they act on the instance
inside 'mkdir instances/foo; cd instances/foo; $T 1; echo :mod:$(basename $T) >set_ftrace_filter; echo outer:traceoff:1 >>set_ftrace_filter; echo function >current_tracer; $T 2; cat tracing_on ../../tracing_on; cat trace >$TMP/foo
	echo 1 >tracing_on; $T 1; cat tracing_on; sed -n \$p set_ftrace_filter; sed -n \$p ../../set_ftrace_filter; cd ../..; rmdir instances/foo; echo $?; echo function >current_tracer; $T 1; grep -c "outer <-" trace'
expect_equal "in an instance" "$(tr '\n' ' ' <out)" "0 1 1 outer:traceoff:count=0 #### all functions enabled #### 0 1 "
expect_equal "its trace" "$(names foo)" "main lonely outer "

# ---- One that is made while the top hides what comes shows its own
inside '$T 1; echo :mod:$(basename $T) >set_ftrace_filter; echo outer:traceoff >>set_ftrace_filter; echo function >current_tracer; $T 1; cat tracing_on
	mkdir instances/foo; echo :mod:$(basename $T) >instances/foo/set_ftrace_filter; echo function >instances/foo/current_tracer; $T 1; cat instances/foo/trace >$TMP/foo'
expect_equal "off at the top" "$(cat out)" 0
expect_equal "made meanwhile" "$(names foo)" "main lonely outer inner inner "

# ---- Begun while tracing is off: nothing is shown before the on
inside '$T 1; echo 0 >tracing_on; echo :mod:$(basename $T) >set_ftrace_filter; echo function >current_tracer; echo inner:traceon:1 >>set_ftrace_filter; $T 1; cat tracing_on; cat trace >$TMP/begun'
expect_equal "on by its command" "$(cat out)" 1
expect_equal "begun while off" "$(names begun)" "inner inner "

# ---- A user's write is not undone by what was recorded before it
inside '$T 1; echo inner outer >set_ftrace_filter; echo function >current_tracer; $T 2000000000 & sleep 0.2; echo lonely:traceon >>set_ftrace_filter; $T 30 $PWD/tracing_on; soon "grep -q 1 tracing_on"; cat tracing_on; kill $!'
expect_equal "the user's write is the last word" "$(tr '\n' ' ' <out)" "000000000000000000000000000000 1 "	# main's call

# ---- A command acts also on a function that is not traced else
inside '$T 1; echo "outer inner" >set_ftrace_notrace; for t in function nop; do echo $t >current_tracer; echo outer:traceoff >>set_ftrace_filter; $T 1; cat tracing_on; grep -c "inner <-" trace; echo 1 >tracing_on
	echo "!outer:traceoff" >>set_ftrace_filter; done; sort set_ftrace_notrace; echo function >current_tracer; $T 1; grep -c "outer <-" trace'
expect_equal "beside set_ftrace_notrace" "$(tr '\n' ' ' <out)" "0 0 0 0 inner outer 0 "

# ---- What is hidden is let go, but not the depth: a call that began before an off, one that ended behind it
cat >deep.c <<'C'
#include <unistd.h>
volatile int sink;
__attribute__((noinline)) void inner(int i) { sink += i; if (i % 20000 == 0) usleep(20000); }
__attribute__((noinline)) void lonely(void) { sink++; }
__attribute__((noinline)) void again(void) { sink++; }
__attribute__((noinline)) void second(void) { again(); sink++; }
__attribute__((noinline)) void first(void) { lonely(); for (int i = 1; i < 300000; i++) inner(i); sink++; }
int main(void) { first(); for (int i = 1; i < 300000; i++) inner(i); usleep(300000); again(); second(); return 0; }
C
if has "depth behind what is hidden" cc taskset; then
	build_traced deep
	inside '$TMP/deep >$TMP/none; echo :mod:deep >set_ftrace_filter; echo 64 >buffer_size_kb; echo lonely:traceoff >>set_ftrace_filter; echo again:traceon >>set_ftrace_filter; echo function_graph >current_tracer
		taskset -c $CPU $TMP/deep; grep -v "^#" trace >$TMP/graph; sed -n "s/^entries: //p" per_cpu/cpu$CPU/stats'
	expect_equal "depth" "$(sed 's/.*|  //; s/^ *$//' graph | grep . | tr '\n' '/')" "main() {/  first() {/    lonely() {/  again();/  second() {/    again();/  }/}/"
fi
