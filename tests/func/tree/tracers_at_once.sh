#!/bin/sh
# SPDX-License-Identifier: MIT
# tracers_at_once.sh TARGET - combinations of tracers and options that a 6.12 kernel accepts: none is EBUSY, and each shows its own records
. "$(dirname "$0")/inside.sh"

# ---- The matrix: a tracer at the top, one in an instance, the stack tracer, and options of both; the kernel's answer is 0 to each write
cat >matrix.sh <<'END'
cd /sys/kernel/tracing
mkdir instances/a
try() { echo $1 >$2 || echo "$top + $in, stack tracer $stack: echo $1 >$2: $(tail -n 3 error_log instances/a/error_log | tr '\n' ' ')"; }
flip() { for i in . instances/a; do [ ! -e $i/options/$1 ] || { value=$(cat $i/options/$1); try $((1 - value)) $i/options/$1; try $value $i/options/$1; }; done; }
$T 1; echo outer >set_ftrace_filter; echo inner >instances/a/set_ftrace_filter; echo ":mod:$(basename $T)" >stack_trace_filter
for top in nop function function_graph blk mmiotrace preemptoff wakeup hwlat; do for in in nop function function_graph irqsoff osnoise; do for stack in 0 1; do
	try $top current_tracer; try $in instances/a/current_tracer; try $stack stack_tracer_enabled
	[ $stack = 0 ] && flip sleep-time && flip funcgraph-irqs && flip func_stack_trace && flip function-trace
	[ $stack = 1 ] && try 1 tracing_thresh && try 0 tracing_thresh && try inner:traceoff set_ftrace_filter && try !inner:traceoff set_ftrace_filter
	try $$ set_ftrace_pid; try $$ instances/a/set_ftrace_pid; try 1 options/function-fork; try 0 options/function-fork
	echo >set_ftrace_pid; echo >instances/a/set_ftrace_pid; echo 0 >stack_tracer_enabled; echo nop >instances/a/current_tracer
done; done; echo nop >current_tracer; done
END
inside 'bash $TMP/matrix.sh'
expect_equal "refused combinations" "$(cat out)" ""

# ---- A tracer made of events of calls beside others: each has its own
inside 'mkdir instances/a; $T 1; echo blk >current_tracer; echo inner >instances/a/set_ftrace_filter; echo function >instances/a/current_tracer; $T 3; cat /etc/passwd | wc -l >/dev/null
	grep -c "inner <-outer" instances/a/trace; grep -v "^#" trace | grep -c "fd," | sed "s/[1-9][0-9]*/some/"; grep -v "^#" trace | grep -vc "fd,"; grep -v "^#" instances/a/trace | grep -vc "inner <-outer"
	echo function_graph >instances/a/current_tracer; echo >trace; echo >instances/a/trace; $T 3; cat /etc/passwd | wc -l >/dev/null; grep -c "inner();" instances/a/trace; grep -v "^#" instances/a/trace | grep -c "outer\|read\|write"
	grep -v "^#" trace | grep -c "fd," | sed "s/[1-9][0-9]*/some/"; grep -v "^#" trace | grep -vc "fd,"
	echo kmemtrace >instances/a/current_tracer; echo >trace; $T 3; cat /etc/passwd | wc -l >/dev/null; grep -v "^#" instances/a/trace | grep -c "^  [+-]" | sed "s/[1-9][0-9]*/some/"; grep -v "^#" trace | grep -vc "fd,"'
expect_equal "blk beside function, a graph, kmemtrace" "$(tr '\n' ' ' <out)" "6 some 0 0 6 0 some 0 some 0 "

# ---- Commands beside a tracer that has no calls for them
inside 'mkdir instances/a; $T 1; cd instances/a; echo hwlat >current_tracer; echo inner:traceoff >set_ftrace_filter; cat tracing_on; $T 2; for k in $(seq 300); do grep -q 0 tracing_on && break; sleep 0.1; done; cat tracing_on; grep -c "inner <-outer" trace
	echo preemptoff >current_tracer; echo 1 >tracing_on; $T 2; for k in $(seq 300); do grep -q 0 tracing_on && break; sleep 0.1; done; cat tracing_on'
expect_equal "commands beside hwlat and preemptoff" "$(tr '\n' ' ' <out)" "1 0 0 0 "

# ---- function-fork at the top with the list that an instance has without it: there its children are, here they are not
inside 'mkdir instances/a; $T 1; for i in . instances/a; do echo $$ >$i/set_ftrace_pid; echo inner >$i/set_ftrace_filter; done; echo 1 >options/function-fork; echo function | tee instances/a/current_tracer >current_tracer
	$T 3; (exec $T 2); grep -c "inner <-outer" trace; grep -c "inner <-outer" instances/a/trace; echo 0 >options/function-fork; echo 1 >instances/a/options/function-fork; echo | tee trace >instances/a/trace; $T 3; grep -c "inner <-outer" trace; grep -c "inner <-outer" instances/a/trace'
expect_equal "function-fork in one of two" "$(tr '\n' ' ' <out)" "10 0 0 6 "

# ---- sleep-time is one for all graphs, as it was written last: time asleep does not count in either
inside 'mkdir instances/a; echo 0 >options/sleep-time; echo function_graph | tee instances/a/current_tracer >current_tracer; cat options/sleep-time instances/a/options/sleep-time error_log; echo 1 >instances/a/options/sleep-time; cat options/sleep-time'
expect_equal "sleep-time" "$(tr '\n' ' ' <out)" "0 1 0 "

# ---- The deepest stack beside a graph, and beside function: the graph shows its functions alone
if [ "$(uname -m)" = x86_64 ]; then
	inside 'mkdir instances/a; $T 1; echo ":mod:$(basename $T)" >stack_trace_filter; echo outer >set_ftrace_filter; for tracer in function_graph function; do echo $tracer >current_tracer; echo 1 >stack_tracer_enabled; echo 0 >stack_max_size; echo >trace; $T 3
		grep -c "outer" trace; grep -v "^#" trace | grep -vc outer; [ $(cat stack_max_size) -gt 0 ] && grep -c "inner+0x0" stack_trace; echo 0 >stack_tracer_enabled; done'
	expect_equal "the deepest stack beside a tracer" "$(tr '\n' ' ' <out)" "3 0 1 3 0 1 "
fi
