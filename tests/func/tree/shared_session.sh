#!/bin/sh
# SPDX-License-Identifier: MIT
# shared_session.sh TARGET - each instance shows its own records while several share the session
. "$(dirname "$0")/inside.sh"

# How often tracing is turned on and off beside a program that calls without end; an even number.
rounds=${UFT_ROUNDS:-20}

# line FILE: its lines as one
line() { tr '\n' ' ' <"$1"; }

# ---- A root is shown whatever the filter says, also beside another; what is not to be traced is not
inside 'mkdir instances/foo; $T 1; echo outer >set_graph_function; echo lonely >set_ftrace_filter; echo function_graph >current_tracer
	echo inner >instances/foo/set_ftrace_filter; echo function >instances/foo/current_tracer; $T 2; grep -c "outer();" trace; grep -c "lonely\|inner" trace; grep -c "inner <-outer" instances/foo/trace
	echo >trace; echo outer >set_ftrace_notrace; $T 1; grep -c outer trace'
expect_equal "a root beside function" "$(line out)" "2 0 4 0 "

# ---- function-fork: children are in each buffer, too; the one list of both is not changed while both are on
inside 'mkdir instances/foo; $T 1; for i in . instances/foo; do echo $$ >$i/set_ftrace_pid; echo 1 >$i/options/function-fork; done
	echo inner >set_ftrace_filter; echo outer >instances/foo/set_ftrace_filter; echo function | tee instances/foo/current_tracer >current_tracer; $T 2 fork
	grep -c "inner <-outer" trace; grep -c "outer <-main" instances/foo/trace; grep -c ": outer" trace; grep -c ": inner" instances/foo/trace; echo 1 >instances/foo/set_ftrace_pid; echo $?'
expect_equal "function-fork beside function-fork" "$(line out)" "4 2 0 0 1 "

# ---- A traceoff that is due when another begins, which then has its own functions only
inside 'mkdir instances/foo instances/bar; $T 1; $T 2000000000 & pid=$!; cd instances; echo 0 | tee foo/tracing_on >bar/tracing_on
	echo inner >bar/set_ftrace_filter; echo inner:traceoff >>bar/set_ftrace_filter; echo function >bar/current_tracer; echo outer >foo/set_ftrace_filter; echo function >foo/current_tracer
	for i in $(seq '$rounds'); do echo 1 >bar/tracing_on & echo 1 >foo/tracing_on; wait $!; for k in $(seq 300); do grep -q 0 bar/tracing_on && grep -q outer foo/trace && break; sleep 0.1; done
		grep -c ": inner" foo/trace; echo 0 >foo/tracing_on; echo >foo/trace; done | sort | uniq -c; cat bar/tracing_on; kill $pid'
expect_equal "a traceoff that is due" "$(grep -v Terminated out | tr -s ' \n' ' ')" " $rounds 0 0 "

# ---- Who is turned on and off beside another has nothing of what that one records
inside 'mkdir instances/foo; $T 1; $T 2000000000 & pid=$!; echo 0 >instances/foo/tracing_on; echo 0 >instances/foo/options/overwrite; echo outer >set_ftrace_filter
	echo function >current_tracer; echo lonely >instances/foo/set_ftrace_filter; echo function >instances/foo/current_tracer; cd instances/foo
	for i in $(seq '$((rounds / 2))'); do echo 1 >tracing_on; grep -c ": outer" trace; echo 0 >tracing_on; grep -c ": outer" trace; echo >trace; done | sort | uniq -c; kill $pid'
expect_equal "turned on and off" "$(grep -v Terminated out | tr -s ' \n' ' ')" " $rounds 0 "

# ---- Commands and their stacks are of all tasks, whichever their instance lists, as in a kernel
inside 'mkdir instances/foo; $T 1; echo outer >set_ftrace_filter; echo function >current_tracer; cd instances/foo; echo $$ >set_ftrace_pid
	echo inner:stacktrace >>set_ftrace_filter; $T 2; grep -c "=> outer" trace; (echo $BASHPID >set_ftrace_pid; exec $T 2); grep -c "=> outer" trace
	echo inner:traceoff >>set_ftrace_filter; $T 2; cat tracing_on; (echo $BASHPID >set_ftrace_pid; exec $T 2); cat tracing_on'
expect_equal "commands beside another" "$(line out)" "4 8 0 0 "

# ---- Another instance's list has nothing of who is kin in this one
inside 'mkdir instances/foo; for i in . instances/foo; do echo 1 >$i/options/function-fork; done; echo $$ >set_ftrace_pid; echo function >current_tracer
	sleep 2000 & for i in $(seq 300); do grep -q "^$!$" set_ftrace_pid && break; sleep 0.1; done; grep -c "^$!$" set_ftrace_pid
	cd instances/foo; echo 0 >tracing_on; echo 1073741823 >set_ftrace_pid; cat set_ftrace_pid; echo $$ >set_ftrace_pid; grep -c "^$!$" set_ftrace_pid; kill $!'
expect_equal "kin of another list" "$(grep -v Terminated out | tr '\n' ' ')" "1 1073741823 1 "

# ---- What is seldom is not driven out by what is another's: calls, graphs, calls of other tasks
# (Each program's last chunk stays as it is: a dozen of 4 KiB in each CPU's 256.)
busy='$T 30000; $T 1; $T 30000; grep -c ": lonely" trace; cat per_cpu/*/stats | grep overrun | sort -u | tr -d "\n"; echo'
inside 'echo 256 >buffer_size_kb; mkdir instances/foo; $T 1; echo lonely >set_ftrace_filter; echo function >current_tracer
	echo inner >instances/foo/set_ftrace_filter; echo function >instances/foo/current_tracer; $T 1; '"$busy"'
	echo outer inner >instances/foo/set_ftrace_filter; echo function_graph >instances/foo/current_tracer; '"$busy"'
	echo function_graph >current_tracer; busy() { $T 30000; $T 1; $T 30000; grep -c "  lonely" trace; cat per_cpu/*/stats | grep overrun | sort -u | tr -d "\n"; echo; }; busy
	echo function >current_tracer
	echo 0 >instances/foo/tracing_on; echo >trace; echo function >instances/foo/current_tracer; echo 1 >instances/foo/tracing_on
	echo >set_ftrace_filter; echo $$ >instances/foo/set_ftrace_notrace_pid; (echo $BASHPID >set_ftrace_pid; exec $T 2); $T 30000; grep -c "inner <-outer" trace'
expect_equal "seldom beside busy" "$(tr '\n' ' ' <out)" "4 commit overrun: 0overrun: 0 7 commit overrun: 0overrun: 0 3 commit overrun: 0overrun: 0 4 "

# ---- Two graphs, each of its own functions, at depths that count the calls of both, as in a kernel; arguments where they are asked for; a command of one
inside 'mkdir instances/foo; $T 1; echo "main outer" >set_ftrace_filter; echo inner >instances/foo/set_ftrace_filter; echo function_graph | tee instances/foo/current_tracer >current_tracer; $T 1
	for i in . instances/foo; do grep -v "^#" $i/trace | cut -d"|" -f2- | tr "\n" ,; echo; done
	echo 1 >instances/foo/options/funcgraph-args; echo | tee trace >instances/foo/trace; $T 1; grep -c "(0x" trace instances/foo/trace; echo 0 >options/sleep-time; echo $?; sed "s/^.*\] //" error_log
	echo inner:traceoff >>instances/foo/set_ftrace_filter; echo | tee trace >instances/foo/trace; $T 2; for k in $(seq 300); do grep -q 0 instances/foo/tracing_on && break; sleep 0.1; done; grep -c "inner" instances/foo/trace; grep -c "outer();" trace'
expect_equal "two graphs" "$(cat out)" "  main() {,    outer();,  },
      inner();,      inner();,
trace:0
instances/foo/trace:$([ "$(uname -m)" = x86_64 ] && echo 2 || echo 0)
0
1
2"

# ---- The profile goes on while tracing_on is 0, and is all that is on: the tracer has nothing, and is in nobody's way
inside 'mkdir instances/foo; $T 1; echo outer >set_ftrace_filter; echo function >current_tracer; echo 1 >function_profile_enabled
	echo inner >instances/foo/set_ftrace_filter; echo function >instances/foo/current_tracer; echo 0 >tracing_on; $T 2; grep -c ": outer" trace; grep -c ": inner" instances/foo/trace
	cat trace_stat/function* | awk "\$1 == \"outer\" { n += \$2 } END { print n }"; echo 1 >tracing_on; $T 3; grep -c ": outer" trace
	echo hwlat >current_tracer; echo 0 >tracing_on; echo osnoise >instances/foo/current_tracer; echo "$? $(cat instances/foo/current_tracer)"; echo 1 >tracing_on; echo "$? $(cat tracing_on)"'
expect_equal "tracing_on 0 beside the profile" "$(line out)" "0 4 2 3 0 osnoise 0 1 "

# ---- What the session sees by itself beside calls: each has its own kind, its own tasks and its own stacks, and the profile goes on
inside 'mkdir instances/foo; $T 1; echo inner >instances/foo/set_ftrace_filter; echo 1 >instances/foo/options/func_stack_trace; echo outer >set_ftrace_filter; echo hwlat >current_tracer
	echo 1 >function_profile_enabled; echo function >instances/foo/current_tracer; $T 3; cat current_tracer; cat trace_stat/function* | awk "\$1 == \"outer\" { n += \$2 } END { print n }"; grep -c "inner <-outer" instances/foo/trace; grep -c "<-\|()" trace
	echo osnoise >instances/foo/current_tracer; echo "$? $(cat instances/foo/current_tracer)"; for k in $(seq 300); do grep -q "^ .* [0-9]* *100\|^ .*\[0" instances/foo/trace && break; sleep 0.1; done
	grep -vc "^#" instances/foo/trace | sed "s/[1-9][0-9]*/some/"; grep -c "inner/outer\|<-" instances/foo/trace; grep -c "^ .*\] .....  *[0-9.]*: [0-9]" trace; echo function >instances/foo/current_tracer
	echo 0 >function_profile_enabled; if echo sched_switch >current_tracer; then echo $$ >set_ftrace_pid; echo >trace; echo >instances/foo/trace; $T 3; $T 3; grep -v "^#\|LOST" trace | cut -c1-28 | grep -c -- "-$$ "; grep -v "^#\|LOST" trace | cut -c1-28 | grep -vc -- "-$$ "
		grep -c "inner <-outer" instances/foo/trace; grep -c "==>" instances/foo/trace; grep -c "stack trace" trace instances/foo/trace; echo nop >current_tracer; $T 3; grep -c "==>" instances/foo/trace; else echo no switches; fi' 2>err
expect_equal "hwlat beside function and the profile" "$(sed -n 1,8p out)" "hwlat
3
6
0
0 osnoise
some
0
0"
if grep -q "no switches" out; then
	echo "SKIPPED: sched_switch beside function: no perf events for us here"
else
	expect_equal "sched_switch beside function" "$(sed 9d out | sed -n '9,$p' | tr '\n' ' ')" "0 12 0 trace:0 instances/foo/trace:$([ "$(uname -m)" = x86_64 ] && echo 12 || echo 0) 0 "
	[ "$(sed -n 9p out)" -gt 0 ] || fail "no switches of the task"
fi
