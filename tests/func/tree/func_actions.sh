#!/bin/sh
# SPDX-License-Identifier: MIT
# func_actions.sh TARGET - set_ftrace_filter's func:stacktrace, snapshot, dump, cpudump: lists, refusals, and their exact results
. "$(dirname "$0")/inside.sh"
need python3

# calls FILE: the functions of its lines, in both forms of text
calls() { sed -n 's/^[^#]*: \([a-z]*\) <-.*/\1/p' "$1" | tr '\n' ' '; }

# ---- The list and what is refused, as on a 6.12 kernel with vfs_open, vfs_read for outer, inner
inside '$T 1; F=set_ftrace_filter; try() { echo "$1" >>$F; echo "$?"; } 2>$TMP/refused
	try outer:snapshot; head -n 4 snapshot; try inner:snapshot:3; cat $F; try "!inner:snapshot:0"; try "!outer:snapshot"; try "!outer:snapshot"; cat $F
	try outer:dump; try outer:dump:2; try outer:cpudump; try outer:cpudump:5; cat $F; try "!outer:dump"; try "!outer:cpudump"; try "!outer:dump:0"; try "!outer:cpudump:0"; cat $F
	try outer:dump:x; try nosuch:dump; try :dump; try outer:snapshot:x; sed -n \$p $F; try "!*:dump"
	echo outer:snapshot >>set_ftrace_notrace; echo $?; echo outer:dump >>set_graph_function; echo $?' 2>err
tr '\n' ' ' <out >listed
cat >expected <<'KERNEL'
0 # tracer: nop # # # * Snapshot is allocated *
0 #### all functions enabled #### inner:snapshot:count=3 outer:snapshot:unlimited
0 0 1 #### all functions enabled ####
0 1 0 1 #### all functions enabled #### outer:cpudump:unlimited outer:dump:count=1
0 0 1 1 #### all functions enabled ####
0 1 1 1 outer:dump:count=1 0 1 1
KERNEL
expect_equal "lists" "$(sed 's/ $//' listed)" "$(tr '\n' ' ' <expected | sed 's/ $//')"

# ---- Stacks: the list, as on a 6.12 kernel; with nop nothing else is in the trace; as often as said, and what was taken out later stays
stacks() { sed -n 's/^[^#]*: \([a-z]*\) <-.*/\1/p; s/^[^#]*: <stack trace>$/stack:/p; s/^ => //p; s/^.*|  *\([a-z]*()\).*/\1/p' "$1" | sed '/^__libc/d; /^_start/d; /libc.so/d' | tr '\n' ' '; }
if [ "$(uname -m)" = x86_64 ]; then
inside '$T 1; F=set_ftrace_filter; try() { echo "$1" >>$F; echo "$?"; } 2>$TMP/refused
	try outer:stacktrace; try outer:stacktrace; try outer:stacktrace:3; try lonely:stacktrace:abc; try nosuch:stacktrace; cat $F; try "!outer:stacktrace"; try "!outer:stacktrace"; try "!outer:stacktrace:0"; cat $F
	echo inner:stacktrace:3 >>$F; $T 3; cat trace >$TMP/nop; grep -c inner:stacktrace:count=0 $F; sed -n "s/^# entries-in-buffer.*: \([0-9]*\)\/.*/\1/p" trace; try "!inner:stacktrace:0"; $T 1; cat trace >$TMP/same
	echo 0 >tracing_on; echo inner:stacktrace:2 >>$F; $T 1; tail -n 1 $F; echo 1 >tracing_on; N=$(grep -vc "^#" $TMP/nop); timeout 60 head -n $N trace_pipe >$TMP/rest; $T 1; timeout 60 head -n $((N * 2 / 3)) trace_pipe >$TMP/pipe; tail -n 1 $F'
expect_equal "stacktrace" "$(tr '\n' ' ' <out)" "0 1 0 1 1 #### all functions enabled #### outer:stacktrace:count=3 outer:stacktrace:unlimited 0 1 0 #### all functions enabled #### \
1 3 0 inner:stacktrace:count=2 inner:stacktrace:count=0 "
expect_equal "stacks and nothing else" "$(stacks nop)" "stack: inner outer main stack: inner outer main stack: inner outer main "
expect_equal "what is there stays" "$(stacks same)" "$(stacks nop)"
expect_equal "consumed" "$(stacks rest)$(stacks pipe)" "$(stacks nop)stack: inner outer main stack: inner outer main "
# Beside a tracer: behind the call, and of no other function; what was recorded before, and is after it was taken out, has none
inside '$T 1; F=set_ftrace_filter; echo :mod:$(basename $T) >$F; echo function >current_tracer; $T 1; echo outer:stacktrace >>$F; $T 1; echo "!outer:stacktrace" >>$F; $T 1; cat trace >$TMP/function
	echo function_graph >current_tracer; echo inner:stacktrace:1 >>$F; $T 1; cat trace >$TMP/graph; echo 1 >options/funcgraph-args; echo >trace; $T 1; grep -c stack trace
	echo "!inner:stacktrace:0" >>$F; echo "*:stacktrace" >>$F; echo function >current_tracer; $T 1; sed s/@tree-target// trace | awk "/tree-target.*: main <-/ { is_ours = 1 } /^ *[^ ]*-[0-9]+ / && !/tree-target/ { is_ours = 0 } is_ours" >$TMP/all; mkdir instances/foo; echo "!*:stacktrace" >>$F; echo nop >current_tracer
	cd instances/foo; echo inner:stacktrace >>$F; $T 1; cat trace >$TMP/foo; grep -vc "^#" ../../trace'
expect_equal "beside function" "$(stacks function)" "main lonely outer inner inner main lonely outer stack: outer main inner inner main lonely outer inner inner "
expect_equal "beside function_graph" "$(stacks graph)" "main() lonely() outer() inner() stack: inner outer main inner() "
expect_equal "of all" "$(stacks all)" "main stack: main lonely stack: lonely main outer stack: outer main inner stack: inner outer main inner stack: inner outer main "
expect_equal "no more than that; an instance" "$(tr '\n' ' ' <out)$(stacks foo)" "0 0 stack: inner outer main stack: inner outer main "
expect_equal "a stack's line in a graph is the kernel's" "$(grep -c '^ *tree-target-[0-9]* *\[[0-9]*\] ..... *[0-9.]*: <stack trace>$' graph)" 1
else
	echo "SKIPPED: stacktrace: it is of x86_64"
fi

# ---- Events that are none, and those of the tracers: error_log says where
inside '$T 1; for w in outer:enable_event:sched:sched_switch outer:disable_event:ftrace:function:3 outer:enable_event:sched outer:enable_event "!outer:enable_event:a:b" "inner outer:traceoff:x"; do
	echo "$w" >>set_ftrace_filter; echo $?; done 2>$TMP/refused; cat error_log'
sed 's/^\[[ 0-9.]*\] //' out >log
cat >expected <<'LOG'
1
1
1
1
1
1
set_ftrace_filter: error: Event not found
  Command: outer:enable_event:sched:sched_switch
                              ^
set_ftrace_filter: error: Event not found
  Command: outer:disable_event:ftrace:function:3
                               ^
set_ftrace_filter: error: SYSTEM:EVENT must follow
  Command: outer:enable_event:sched
                                   ^
set_ftrace_filter: error: SYSTEM:EVENT must follow
  Command: outer:enable_event
                             ^
set_ftrace_filter: error: Event not found
  Command: !outer:enable_event:a:b
                               ^
set_ftrace_filter: error: Invalid count
  Command: outer:traceoff:x
                          ^
LOG
expect_equal "events" "$(cat log)" "$(cat expected)"

# ---- A snapshot is what came up to the call, which is its last; what comes behind is in trace. The second has what lies between.
inside '$T 1; echo :mod:$(basename $T) >set_ftrace_filter; echo lonely:snapshot >>set_ftrace_filter; echo function >current_tracer; $T 2; cat snapshot >$TMP/first; cat trace >$TMP/behind
	$T 1; cat snapshot >$TMP/second; cat trace >$TMP/last; echo "!lonely:snapshot" >>set_ftrace_filter; $T 1; cat snapshot >$TMP/same
	echo inner:snapshot:1 >>set_ftrace_filter; echo >trace; $T 3; cat snapshot >$TMP/counted; cat tracing_on; sed -n \$p set_ftrace_filter'
expect_equal "up to the call" "$(calls first)" "main lonely "
expect_equal "behind it" "$(calls behind)" "outer inner inner outer inner inner "
expect_equal "between two" "$(calls second)" "outer inner inner outer inner inner main lonely "
expect_equal "behind the second" "$(calls last)" "outer inner inner "
expect_equal "taken out" "$(calls same)" "$(calls second)"
expect_equal "as often as said" "$(calls counted)" "main lonely outer inner "
expect_equal "and no more" "$(tr '\n' ' ' <out)" "1 inner:snapshot:count=0 "

# ---- One that is there is kept by who asks for another, and by who is refused; who is refused leaves none
inside '$T 1; echo :mod:$(basename $T) >set_ftrace_filter; echo function >current_tracer; $T 1; echo 1 >snapshot; cat snapshot >$TMP/there; echo outer:snapshot >>set_ftrace_filter; cat snapshot >$TMP/kept
	echo "!outer:snapshot" >>set_ftrace_filter; echo nop >current_tracer; mkdir instances/foo; echo $$ >instances/foo/set_ftrace_pid; echo 1 >instances/foo/options/function-fork; echo function >instances/foo/current_tracer
	echo inner:snapshot >>set_ftrace_filter; echo $?; cat snapshot >$TMP/refused; echo 0 >snapshot; echo inner:snapshot >>set_ftrace_filter; echo $?; sed -n 4p snapshot' 2>err
expect_equal "there" "$(calls there)" "main lonely outer inner inner "
expect_equal "kept" "$(calls kept)" "$(calls there)"
expect_equal "kept by who is refused" "$(calls refused)" "$(calls there)"
expect_equal "made by who is refused" "$(tr '\n' ' ' <out)" "1 1 # * Snapshot is freed * "

# ---- A snapshot of many in one round; one before a traceoff of the same round
inside '$T 1; echo :mod:$(basename $T) >set_ftrace_filter; echo inner:snapshot >>set_ftrace_filter; echo function >current_tracer; $T 1000; cat snapshot >$TMP/many; cat trace >$TMP/rest
	echo "!inner:snapshot" >>set_ftrace_filter; echo >trace; echo outer:snapshot >>set_ftrace_filter; echo inner:traceoff >>set_ftrace_filter; $T 1; cat snapshot >$TMP/both; cat trace >$TMP/off; cat tracing_on'
expect_equal "the last of many" "$(calls many)" "inner "
expect_equal "nothing behind it" "$(calls rest)" ""
expect_equal "beside a traceoff" "$(calls both)" "main lonely outer "
expect_equal "up to the traceoff" "$(calls off)" "inner "
expect_equal "off" "$(cat out)" 0

# ---- A dump goes to our standard error, ends the recording and takes out what it printed; once
inside '$T 1; echo :mod:$(basename $T) >set_ftrace_filter; echo function >current_tracer; echo inner:dump >>set_ftrace_filter; $T 2; cat tracing_on; grep -c "<-" trace; sed -n \$p set_ftrace_filter
	echo 1 >tracing_on; $T 1; cat tracing_on; cat trace >$TMP/after'
expect_equal "after a dump" "$(tr '\n' ' ' <out)" "0 0 inner:dump:count=0 1 "
expect_equal "recorded again" "$(calls after)" "main lonely outer inner inner "
expect_equal "what was dumped" "$(calls err)" "main lonely outer inner "
expect_equal "its frame" "$(sed 's/^ *//; s/^tree-tar.*/LINE/' err | uniq | tr '\n' ' ')" "Dumping ftrace buffer: --------------------------------- LINE --------------------------------- "
expect_equal "its form" "$(grep -c '^tree-tar-[0-9]* *[0-9]*\.\.\.\.\. *[0-9]*us.: [a-z]* <-' err)" 4

# ---- An empty one; one of a CPU; in an instance
inside '$T 1; echo :mod:$(basename $T) >set_ftrace_filter; echo outer:dump >>set_ftrace_filter; $T 1; cat tracing_on; echo "!outer:dump" >>set_ftrace_filter; echo 1 >tracing_on
	echo function >current_tracer; for c in $CPU $CPU2; do taskset -c $c $T 1; done; echo outer:cpudump >>set_ftrace_filter; taskset -c ${CPU2:-$CPU} $T 1; cat tracing_on; for c in $CPU $CPU2; do grep -vc "^#" per_cpu/cpu$c/trace; done'
[ -z "$CPU2" ] || {
	expect_equal "of a CPU" "$(tr '\n' ' ' <out)" "0 0 5 0 "
	expect_equal "dumped" "$(sed -n 's/^tree-tar-[0-9]* *\([0-9]*\)\.\.\..*: \([a-z]*\) <-.*/\1 \2/p; /empty/p' err | tr '\n' ' ')" \
		"   (ftrace buffer empty) $CPU2 main $CPU2 lonely $CPU2 outer $CPU2 inner $CPU2 inner $CPU2 main $CPU2 lonely $CPU2 outer "
}
inside 'mkdir instances/foo; cd instances/foo; $T 1; echo :mod:$(basename $T) >set_ftrace_filter; echo outer:dump >>set_ftrace_filter; echo function_graph >current_tracer; $T 1; cat tracing_on ../../tracing_on'
expect_equal "in an instance" "$(tr '\n' ' ' <out)" "0 1 "
expect_equal "its graph" "$(sed -n 's/.*|  //p' err | tr '\n' ' ')" "main() {   lonely();   outer() { "

# ---- With a list of tasks they act for all tasks, as in a kernel, which shows then the functions of the listed ones alone; so they do in an instance, and with
# ---- set_ftrace_notrace_pid, and no call of another task is shown when the command has gone
inside 'inside_list() { sh -c "echo \$\$ >>$1; exec $T $2"; }; $T 1; echo :mod:$(basename $T) >set_ftrace_filter; echo 1073741823 >set_ftrace_pid
	for tracer in function function_graph nop; do echo $tracer >current_tracer
		for c in traceoff snapshot stacktrace dump; do echo outer:$c:1 >>set_ftrace_filter; $T 1; echo "$tracer $(sed -n \$p set_ftrace_filter) $(cat tracing_on) $(grep -c "stack trace" trace) $(grep -c "inner\|lonely" trace)"; echo "!outer:$c:0" >>set_ftrace_filter; echo 1 >tracing_on; echo >trace; done
		echo 0 >tracing_on; echo outer:traceon:1 >>set_ftrace_filter; $T 1; echo "$(sed -n \$p set_ftrace_filter) $(cat tracing_on)"; echo "!outer:traceon:0" >>set_ftrace_filter
		echo outer:enable_event:sched:sched_process_fork:1 >>set_ftrace_filter; $T 1; echo "$(sed -n \$p set_ftrace_filter)"; echo "!outer:enable_event:sched:sched_process_fork:0" >>set_ftrace_filter; echo 0 >events/sched/sched_process_fork/enable
	done' 2>err
expect_equal "for all tasks" "$(grep -v ^none out)" "$(for tracer in function function_graph nop; do
	printf '%s\n' "$tracer outer:traceoff:count=0 0 0 0" "$tracer outer:snapshot:count=0 1 0 0" "$tracer outer:stacktrace:count=0 1 1 0" "$tracer outer:dump:count=0 0 0 0" "outer:traceon:count=0 1" "outer:enable_event:sched:sched_process_fork:count=0"
done)"
inside 'inside_list() { sh -c "echo \$\$ >$1; exec $T $2"; }; shown() { sed -n "s/^[^#]*: \([a-z]*\) <-.*/\1/p" trace | tr "\n" " "; echo; echo >trace; }
	$T 1; echo :mod:$(basename $T) >set_ftrace_filter; echo function >current_tracer; echo lonely:traceon >>set_ftrace_filter; echo 1073741823 >set_ftrace_pid; $T 1; shown; inside_list set_ftrace_pid 2; shown; $T 1; shown
	echo >set_ftrace_pid; inside_list set_ftrace_notrace_pid 2; shown; echo >set_ftrace_pid; echo 1073741823 >set_ftrace_pid; echo "!lonely:traceon" >>set_ftrace_filter; $T 1; shown; inside_list set_ftrace_pid 1; shown
	mkdir instances/foo; cd instances/foo; echo 1073741823 >set_ftrace_pid; echo lonely:traceoff >set_ftrace_filter; echo function >current_tracer; $T 1; cat tracing_on ../../tracing_on; shown'
expect_equal "shown of the listed" "$(cat out)" "
main lonely outer inner inner outer inner inner 



main lonely outer inner inner 
0
1"

# ---- One command for all functions
inside '$T 1; echo "*:mod:$(basename $T)" >set_ftrace_filter; echo function >current_tracer; echo "*:traceoff:2" >>set_ftrace_filter; grep -c ":traceoff:count=2" set_ftrace_filter >$TMP/set; grep -c . available_filter_functions >$TMP/all
	$T 1; cat tracing_on; cat trace >$TMP/one; echo 1 >tracing_on; $T 1; cat tracing_on; echo "!*:traceoff:0" >>set_ftrace_filter; echo $?; grep -c traceoff set_ftrace_filter'
expect_equal "all functions, each its count" "$(tr '\n' ' ' <out)" "0 0 0 0 "
expect_equal "the first ends it, whosever it is" "$(grep -vc '^#' one)" 1
[ "$(cat set)" -gt 4 ] || fail "commands for all: $(cat set) of $(cat all)"

# ---- More in a round than it has room for: what is left out does not count, and a warning says so
inside '$T 1; echo :mod:$(basename $T) >set_ftrace_filter; echo function >current_tracer; for c in outer:traceon outer:snapshot:100 inner:cpudump; do echo $c >>set_ftrace_filter; done; $T 40
	sed -n "s/outer:snapshot:count=//p" set_ftrace_filter'
dumps=$(grep -c Dumping err) taken=$((100 - $(cat out)))	# in turn; each round may begin in the middle and end there
[ $((taken - dumps)) -le 5 ] && [ $((dumps - taken)) -le 5 ] || fail "$dumps dumps and $taken snapshots counted"
[ "$dumps" -eq 40 ] || expect_equal "a warning" "$(grep -c 'came too fast' err)" 1

# ---- A dump that nobody reads
for kind in tty socket; do
	python3 "$(dirname "$0")/dump_unread.py" "$uft" "$target" $kind >unread 2>&1 || fail "a $kind: $(cat unread)"
done
