#!/bin/sh
# SPDX-License-Identifier: MIT
# mark_triggers.sh TARGET - triggers of events/ftrace/print beside a tracer, and what they refuse; their texts: tests/golden/tree/cases/print
. "$(dirname "$0")/inside.sh"

# A mark between calls ends the recording there: none of the calls after it is shown, and the next mark is not taken.
inside 'P=events/ftrace/print/trigger; $T 1; echo :mod:$(basename $T) >set_ftrace_filter; echo function >current_tracer
	run() { echo >trace; echo "traceoff if buf == \"$1\"" >$P; $T 2 /sys/kernel/tracing/trace_marker >/dev/null; echo "$(cat tracing_on) $(grep -c "lonely <-" trace)" $(sed -n "s/^.*tracing_mark_write: //p" trace); echo "!traceoff" >$P; echo 1 >tracing_on; }
	run 1; run 0; run 2
	mkdir instances/a; cd instances/a; echo function >current_tracer; echo traceoff:1 >$P; $T 1; echo x >trace_marker; $T 1; cat tracing_on ../../tracing_on $P; grep -c "outer <-" trace ../../trace'
expect_no_err
expect_equal "between calls" "$(cat out)" "0 0 1
0 1 1 0
1 3 1 0 1 0
0
1
traceoff:count=0
trace:1
../../trace:2"

# There is no tracepoint: no stack, and no thread of a target whose graph could be switched.
inside 'P=events/ftrace/print/trigger; for word in stacktrace graph graph:stop hist:keys=common_stacktrace; do echo >error_log; (echo $word >$P) 2>/dev/null; echo "$?"; sed -n "s/^\[[^]]*\] //p" error_log; done; cat $P'
expect_no_err
expect_equal "refused" "$(cat out)" "1
hist:ftrace:print: error: Only events of tracepoints and of sched have stacks
1
hist:ftrace:print: error: Only events of tracepoints switch the graph
1
hist:ftrace:print: error: Only events of tracepoints switch the graph
1
hist:ftrace:print: error: Only events of tracepoints and of sched have stacks
# Available triggers:
# traceon traceoff snapshot stacktrace enable_event disable_event enable_hist disable_hist hist graph"
