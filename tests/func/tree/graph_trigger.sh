#!/bin/sh
# SPDX-License-Identifier: MIT
# graph_trigger.sh PROGRAM - triggers graph and graph:stop: the recorded threads and calls, counts, filters, threads, children, handlers, refusals; in
# uft shell, with uft record -R and UFT_TRACE
. "$(dirname "$0")/../../lib/common.sh"
. "$(dirname "$0")/../../lib/shell.sh"
[ "$(uname -m)" = x86_64 ] || skip "tracepoints are recorded on x86_64 only"
export T="$1" TMP="$tmp"

# seen: events and calls in their order, a word each
cat >lib <<'end'
$T; cd /sys/kernel/tracing/events/web; echo "in_*" >../../set_ftrace_notrace	# what waits
words() { sed -n "s/.* \(begin\|end\): id=\(.*\)/\1\2/p; s/.*| *\([a-z_0-9]*\)() {.*/\1(/p; s/.*| *\([a-z_0-9]*\)();.*/\1()/p; s/.*| *}.*/)/p" | tr "\n" " "; echo; }
seen() { words <../../${1:-}trace; echo >../../${1:-}trace; }
stop() { echo graph:stop >end/trigger; }
off() { for w in graph graph:stop; do for e in begin end; do echo "!$w" >$e/trigger; done; done; }
end

# ---- One thread
in_shell '. $TMP/lib; echo 1 >enable; echo graph >begin/trigger; stop; cat begin/trigger end/trigger; $T work b1 work e1 work inside1; seen
	$T b1 inside1 work; seen; off; $T work b1 work e1; seen; grep -h -v "^#" begin/trigger end/trigger
	echo 0 >enable; echo "graph if id == 2" >begin/trigger; echo "graph:stop if id > 2" >end/trigger; cat begin/trigger end/trigger; $T b1 work b2 work e1 work e3 work; seen
	off; echo graph:2 >begin/trigger; stop; $T b1 b1 work e1 b1 work e1 b1 work e1; seen; cat begin/trigger; off; echo "graph:stop:1" >end/trigger; echo graph >begin/trigger; $T b1 e1 b1 e1 work; seen
	off; echo "graph if id == 1" >begin/trigger; echo "graph:stop if id == 2" >begin/trigger; $T b1 work b2 work b1 work; seen; grep -c graph begin/trigger' 2>err.known
expect_equal "one thread" "$(cat out)" "graph:unlimited
graph:stop:unlimited
begin1 work( leaf() ) end1 end1 
begin1 inside( end1 ) 
begin1 end1 
graph:unlimited if id == 2
graph:stop:unlimited if id > 2
work( leaf() ) work( leaf() ) 
work( leaf() ) work( leaf() ) 
graph:count=0
work( leaf() ) 
work( leaf() ) work( leaf() ) 
2"

# ---- Threads, children and handlers: each thread has its own, others begin without
in_shell '. $TMP/lib; echo graph >begin/trigger; stop; $T b1 thread child vchild work e1; seen; $T b1 handler work ender work e1; seen; $T spawn1 work spawn2 work; seen
	set -- $(for i in 1 2 3 4 5 6 7 8; do echo spawn$i b$i child e$i; done); $T $*; seen
	off; echo graph:1 >begin/trigger; $T spawn1 spawn2; cat begin/trigger; $T spawn3; seen'
expect_no_err
expect_equal "threads" "$(cat out)" "work( leaf() ) 
on_usr1( other() ) work( leaf() ) on_usr2() 
work( leaf() ) work( leaf() ) 
work( leaf() ) work( leaf() ) work( leaf() ) work( leaf() ) work( leaf() ) work( leaf() ) work( leaf() ) work( leaf() ) 
graph:count=0
work( leaf() ) "

# ---- Beside the graph's files, other tracers and other instances
in_shell '. $TMP/lib; echo graph >begin/trigger; stop; echo work >../../set_graph_function; $T inside2 b1 inside2 b1 work e1; seen; echo >../../set_graph_function
	echo leaf >../../set_ftrace_filter; $T work b1 work e1 work; seen; echo >../../set_ftrace_filter; echo 1 >../../max_graph_depth; $T b1 work e1; seen; echo 0 >../../max_graph_depth
	echo work >../../set_ftrace_filter; echo function >../../current_tracer; $T work b1 work e1 work; grep -c "work <-" ../../trace; seen; echo nop >../../current_tracer; echo >../../set_ftrace_filter
	echo leaf:traceoff:1 >../../set_ftrace_filter; $T leaf b1 work e1; cat ../../tracing_on; echo "!leaf:traceoff:0" >../../set_ftrace_filter; echo 1 >../../tracing_on; echo >../../trace
	mkdir ../../instances/a; echo 1 >../../instances/a/events/web/enable; $T work b1 work e1; seen; seen instances/a/
	echo graph >../../instances/a/events/web/begin/trigger || echo busy; echo function_graph >../../instances/a/current_tracer || echo busy; cat ../../instances/a/current_tracer ../../instances/a/error_log | grep -c "beside no other"; cat ../../instances/a/current_tracer
	echo function >../../instances/a/current_tracer; $T work b1 work e1; seen; grep -c "work <-" ../../instances/a/trace; rmdir ../../instances/a
	echo "*:mod:graph-trigger" >../../set_ftrace_filter; echo function_graph >../../current_tracer; echo >../../trace; $T work b1 e1; seen; echo nop >../../current_tracer; $T b1 work e1 work; seen' 2>err.known
expect_equal "beside" "$(cat out)" "work( leaf() ) 
leaf() 
work() 
3
work() 
0
work( leaf() ) 
begin1 end1 
busy
busy
2
nop
work( leaf() ) 
2
main( work( leaf() ) ) 
work( leaf() ) "

# ---- Refused: the text, and nothing changed
in_shell '. $TMP/lib; for w in "graph:x" "graph if" "graph if nothing == 1" "graph:stop:x" "graphs" "graph if comm == \"x\""; do echo "$w" >begin/trigger && echo taken "$w"; done
	echo graph >../sched/sched_process_exit/trigger && echo taken; echo graph >begin/trigger; echo graph:3 >begin/trigger && echo taken twice; echo "!graph:stop" >begin/trigger; cat begin/trigger
	grep error: ../../error_log | sed "s/^\[[0-9. ]*\] //; s/Takes traceon.*/Takes ../"' 2>err.known
expect_equal "refused" "$(cat out)" "graph:unlimited
events/: error: Takes ..
events/: error: Takes ..
event filter parse error: error: Field not found
events/: error: Takes ..
events/: error: Takes ..
hist:web:begin: error: The graph is switched where names of threads and functions are not known
hist:sched:sched_process_exit: error: Only events of tracepoints switch the graph"

# ---- uft record -R, and UFT_TRACE
run "$uft" record -q -e 'web:*' -R 'graph:stop if id == 9' -e web:begin -R 'graph if id == 2' -o r.uft "$T" b1 work e1 b2 work e2 e9 work
expect_status 0
"$uft" report --no-pager r.uft >report
expect_equal "record -R" "$(grep -c ' work() {' report) $(grep -c 'leaf();' report) $(grep -c '/\* [be][a-z]*: id=' report)" "1 1 5"
run env UFT_TRACE='trace_event=web:begin trace_trigger="web:begin.graph if id == 2,web:end.graph:stop"' "$uft" shell --no-mount "$T" b1 work e1 b2 work e2 work "$uft"
expect_equal "UFT_TRACE" "$(grep -c ' work() {' out) $(grep -c 'leaf();' out) $(grep -c ': begin: id=' out)" "1 1 2"
