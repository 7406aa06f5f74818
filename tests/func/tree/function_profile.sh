#!/bin/sh
# SPDX-License-Identifier: MIT
# function_profile.sh TARGET - function_profile_enabled beside current_tracer: each has exactly its own functions, whatever the other does
. "$(dirname "$0")/inside.sh"

# In the shell: sum: calls of main, lonely, outer and inner that the profile has counted; graphed [FILE]: of outer and inner that a trace shows
counts='sum() { cat trace_stat/function* | awk "{ n[\$1] += \$2 } END { print n[\"main\"] + 0, n[\"lonely\"] + 0, n[\"outer\"] + 0, n[\"inner\"] + 0 }"; }
	graphed() { echo $(grep -c " outer()" ${1:-trace}) $(grep -c " inner()" ${1:-trace}); }
	own() { echo :mod:$(basename $T) >set_ftrace_filter; }'

# line FILE: its lines as one
line() { tr '\n' ' ' <"$1"; }

# ---- Either is switched on and off in a running program while the other goes on: both are exact, nothing is lost
inside "$counts; "'coproc $T 500 each; step() { echo >&${COPROC[1]}; read -u ${COPROC[0]} answer; }
	step; own; echo function_graph >current_tracer; step; echo 1 >function_profile_enabled; step; step; sum
	echo 0 >function_profile_enabled; step; sum; graphed; echo 1 >function_profile_enabled; step; echo nop >current_tracer; step; sum; graphed
	echo function_graph >current_tracer; step; echo nop >current_tracer; echo 0 >function_profile_enabled; echo function_graph >current_tracer; step; graphed; sum
	echo 1 >function_profile_enabled; echo function >current_tracer; step; echo function_graph >current_tracer; step; graphed; sum; cat per_cpu/*/stats | grep -c "overrun: [1-9]"' 2>err
expect_equal "switched on and off" "$(cat out)" "0 0 1000 2000
0 0 1000 2000
2000 4000
0 0 1000 2000
0 0
500 1000
0 0 1500 3000
500 1000
0 0 1000 2000
0"

# ---- What limits the graph does not limit the profile, and neither depth nor lines are others than without it
inside "$counts; "'own; shown() { grep -v "^#" trace | cut -d"|" -f2- | tr "\n" ,; echo; echo >trace; }; echo function_graph >current_tracer
	for p in 0 1; do echo $p >function_profile_enabled
		echo 2 >max_graph_depth; $T 1; echo 0 >max_graph_depth; shown; [ $p = 0 ] || sum
		echo outer >set_graph_function; $T 1; echo >set_graph_function; shown; [ $p = 0 ] || sum
		echo outer >set_graph_notrace; $T 1; echo >set_graph_notrace; shown; [ $p = 0 ] || sum
		echo 100000000 >tracing_thresh; echo function_graph >current_tracer; $T 1; echo 0 >tracing_thresh; shown; [ $p = 0 ] || sum; done
	echo inner >set_ftrace_filter; $T 1; shown; sum' 2>err
expect_equal "limits" "$(cat out)" "  main() {,    lonely();,    outer();,  },
  outer() {,    inner();,    inner();,  },
  main() {,    lonely();,  },

  main() {,    lonely();,    outer();,  },
1 1 1 2
  outer() {,    inner();,    inner();,  },
2 2 2 4
  main() {,    lonely();,  },
3 3 3 6

4 4 4 8
  inner();,  inner();,
4 4 4 10"

# ---- The profile is of the top's functions, the graph of its instance's, function of another's
inside "$counts; "'mkdir instances/foo instances/bar; $T 1; echo inner >set_ftrace_filter; echo "main outer" >instances/foo/set_ftrace_filter; echo function_graph >instances/foo/current_tracer
	echo 1 >function_profile_enabled; $T 3; sum; grep -v "^#" instances/foo/trace | cut -d"|" -f2- | tr "\n" ,; echo; echo "inner lonely" >instances/bar/set_ftrace_filter; echo function >instances/bar/current_tracer
	echo >instances/foo/trace; echo "inner outer" >set_ftrace_filter; $T 3; sum; graphed instances/foo/trace; grep -c "inner <-outer" instances/bar/trace; grep -c "lonely <-main" instances/bar/trace; grep -vc "^#" trace
	echo 0 >instances/foo/tracing_on; $T 1; sum; graphed instances/foo/trace; echo 0 >function_profile_enabled; echo 1 >instances/foo/tracing_on; $T 1; sum; graphed instances/foo/trace
	echo inner >set_ftrace_filter; echo function_graph >current_tracer; echo 1 >function_profile_enabled; echo >trace; $T 2; sum; graphed; graphed instances/foo/trace' 2>err
expect_equal "a graph in an instance" "$(cat out)" "0 0 0 6
  main() {,    outer();,    outer();,    outer();,  },
0 0 3 12
3 0
6
1
0
0 0 4 14
3 0
0 0 4 14
4 0
0 0 0 4
0 4
6 0"

# ---- Refused, with the reason: what the one record of a call cannot tell apart
inside "$counts; "'mkdir instances/foo; own; echo 1 >function_profile_enabled; echo function_graph >instances/foo/current_tracer; echo "$?"; echo 0 >instances/foo/options/sleep-time; echo "$? $(cat instances/foo/options/sleep-time)"
	sed "s/^.*\] //" instances/foo/error_log; echo $$ >instances/foo/set_ftrace_pid; echo $?; echo nop >instances/foo/current_tracer; echo wakeup >current_tracer; echo "$? $(cat current_tracer)"; $T 2; sum' 2>err
expect_equal "refused" "$(cat out)" "0
0 0
1
0 wakeup
1 1 2 4"

# ---- It goes on while tracing_on is 0, and while a reader of trace stops recording
inside "$counts; "'own; echo 1 >function_profile_enabled; for tracer in nop function function_graph; do
	echo 1 >tracing_on; echo $tracer >current_tracer; $T 3; echo 0 >tracing_on; $T 5; sum; grep -c " outer\b" trace; echo 0 >function_profile_enabled; $T 3; sum; grep -c " outer\b" trace
	echo 1 >function_profile_enabled; $T 3; sum; grep -c " outer\b" trace; echo 1 >tracing_on; $T 3; sum; grep -c " outer\b" trace
	echo 1 >options/pause-on-trace; { $T 7; sum; } <trace; grep -c " outer\b" trace; echo 0 >options/pause-on-trace; done' 2>err
expect_equal "tracing_on 0, and a reader" "$(line out)" "2 2 8 16 0 2 2 8 16 0 1 1 3 6 0 2 2 6 12 0 3 3 13 26 0 \
5 5 21 42 3 5 5 21 42 3 1 1 3 6 3 2 2 6 12 6 3 3 13 26 6 5 5 21 42 3 5 5 21 42 3 1 1 3 6 3 2 2 6 12 6 3 3 13 26 6 "

# ---- A traceoff that is due when something else is written stays
inside '$T 1; echo 1 >function_profile_enabled; echo function >current_tracer; echo outer:traceoff:1 >>set_ftrace_filter; $T 3; echo 0 >function_profile_enabled; cat tracing_on
	echo 1 >tracing_on; echo "!outer:traceoff:0" >>set_ftrace_filter; echo outer:traceoff:1 >>set_ftrace_filter; echo 1 >options/event-fork; echo 1 >events/sched/sched_process_exit/enable
	$T 3; echo $$ >set_event_pid; cat tracing_on' 2>err
expect_equal "a traceoff that is due" "$(line out)" "0 0 "

# ---- trace-cmd beside it: its recordings are as without, its reset leaves the profile
inside "$counts; "'own; echo 1 >function_profile_enabled; trace-cmd start -p function_graph >/dev/null; own; $T 3; trace-cmd show | grep -c " outer()"; trace-cmd stat | grep -c "^Tracer: function_graph"; sum
	trace-cmd reset >/dev/null; cat function_profile_enabled current_tracer' 2>err
expect_equal "trace-cmd" "$(line out)" "3 1 1 1 3 6 1 nop "
