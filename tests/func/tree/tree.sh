#!/bin/sh
# SPDX-License-Identifier: MIT
# tree.sh TARGET - the files of the tracing directory, used as the kernel's: echo and cat inside uft shell
. "$(dirname "$0")/inside.sh"

inside 'cat available_tracers current_tracer tracing_on tracing_thresh max_graph_depth buffer_size_kb timestamp_mode'
expect_status 0
expect_equal "first values" "$(cat out)" "osnoise hwlat blk mmiotrace sysprof sched_switch initcall kmemtrace function_graph wakeup_rt wakeup preemptirqsoff preemptoff irqsoff function nop
nop
1
0
0
1408
[delta] absolute"

# ---- The function tracer: exact lines, the caller, the order
inside 'echo :mod:$(basename $T) >set_ftrace_filter; cat set_ftrace_filter; echo function >current_tracer
	$T 2; cat trace; cat set_ftrace_filter | sort'
expect_status 0
expect_out ":mod:$(basename "$target")"
sed -n 's/.*: \(.*\) <-\(.*\)/\1 \2/p' out | grep -E '^(main|inner|outer|lonely) ' >lines
expect_equal "calls" "$(cut -d' ' -f1 lines | grep -v main | tr '\n' ' ')" "lonely outer inner inner outer inner inner "
expect_equal "callers of inner" "$(grep '^inner' lines | sort -u)" "inner outer"
expect_out "# tracer: function"
expect_equal "entries in the header" "$(sed -n 's/^# entries-in-buffer.*: \([0-9]*\)\/\([0-9]*\) .*/\1 \2/p' out)" \
	"$(grep -c ' <-' out) $(grep -c ' <-' out)"
check
grep -qx "inner" out || fail "set_ftrace_filter does not list what the program has"

# ---- The graph, its options, clearing, and reading again
inside 'echo :mod:$(basename $T) >set_ftrace_filter; echo function_graph >current_tracer; $T 1; cat trace >$TMP/one; cat trace >$TMP/two
	echo 1 >options/funcgraph-tail; cat trace >$TMP/tail; echo 0 >options/funcgraph-tail
	echo nofuncgraph-duration >trace_options; cat trace >$TMP/nodur; echo funcgraph-duration >trace_options
	echo 1 >options/funcgraph-proc; cat trace >$TMP/proc; echo 0 >options/funcgraph-proc
	echo 0 >options/funcgraph-cpu; cat trace >$TMP/nocpu; echo 1 >options/funcgraph-cpu
	echo 1 >options/funcgraph-abstime; cat trace >$TMP/abs; echo 0 >options/funcgraph-abstime
	echo 0 >options/context-info; cat trace >$TMP/nocontext; echo 1 >options/context-info
	echo >trace; cat trace >$TMP/empty'
expect_status 0
check
cmp -s one two || fail "reading trace twice gives two texts"
expect_equal "tree" "$(sed -n 's/.*|  //p' one | sed -n '/main/,$p' | tr '\n' ' ')" \
	"main() {   lonely();   outer() {     inner();     inner();   } } "
expect_equal "tail" "$(grep -c '} /\* outer \*/' tail) $(grep -c '} /\* main \*/' tail)" "1 1"
expect_equal "no duration" "$(grep -c ' us ' nodur)" 0
expect_equal "header without duration" "$(sed -n 3p nodur)" "# CPU               FUNCTION CALLS"
expect_equal "header with task" "$(sed -n 3p proc)" "# CPU  TASK/PID         DURATION                  FUNCTION CALLS"
expect_equal "header without cpu" "$(sed -n 3p nocpu)" "#  DURATION                  FUNCTION CALLS"
expect_equal "header with time" "$(sed -n 3p abs)" "#     TIME        CPU  DURATION                  FUNCTION CALLS"
expect_equal "a line with time" "$(grep -c '^ *[0-9]*\.[0-9]\{6\} |   [0-9]*) ' abs)" 7
expect_equal "no context: two lines of header" "$(grep -c '^#' nocontext)" 2
expect_equal "cleared" "$(grep -c '|' empty)" "$(grep -c '^#.*|' empty)"

# ---- set_graph_function, max_graph_depth, tracing_on, notrace
inside 'echo :mod:$(basename $T) >set_ftrace_filter; echo outer:mod:$(basename $T) >set_graph_function; echo function_graph >current_tracer
	$T 1; grep -c "lonely\|main" trace; grep -c outer trace; echo >set_graph_function; cat set_graph_function
	echo 1 >max_graph_depth; echo >trace; $T 1; grep -c inner trace; echo 0 >max_graph_depth
	echo 0 >tracing_on; echo >trace; $T 1; grep -c inner trace; echo 1 >tracing_on
	echo inner >set_ftrace_notrace; cat set_ftrace_notrace; echo >trace; $T 1; grep -c inner trace; echo >set_ftrace_notrace; cat set_ftrace_notrace'
expect_equal "roots, depth, off, notrace" "$(tr '\n' ' ' <out)" \
	"0 1 #### all functions enabled #### 0 0 inner 0 #### no functions disabled #### "

# ---- set_graph_notrace: neither the function nor what it calls, also below a root; a function that is both
inside '$T 1; echo :mod:$(basename $T) >set_ftrace_filter; echo function_graph >current_tracer; show() { echo >trace; $T 1; grep -o "main\|lonely\|outer\|inner" trace | tr "\n" " "; echo; }
	cat set_graph_notrace; echo outer >set_graph_notrace; cat set_graph_notrace; show; echo main >set_graph_function; show; echo outer >set_graph_function; show; echo >set_graph_function
	echo inner >set_graph_notrace; show; echo lonely >>set_graph_notrace; sort set_graph_notrace | tr "\n" " "; show; echo nosuch >set_graph_notrace; echo $?; echo main >set_graph_notrace; show
	echo function >current_tracer; show; echo >set_graph_notrace; cat set_graph_notrace; echo function_graph >current_tracer; show; echo 1 >set_graph_notrace; ls -l set_graph_notrace | cut -c 1-10'
expect_equal "left out of the graph" "$(sed 's/ $//' out)" "#### no functions disabled ####
outer
main lonely
main lonely

main lonely outer
inner lonely main outer
1

main main lonely main outer main inner outer inner outer
#### no functions disabled ####
main lonely outer inner inner
-rw-r-----"

# ---- The grammar of lists; what is refused changes nothing
inside '$T 1; echo outer inner >set_ftrace_filter; sort set_ftrace_filter | tr "\n" " "; echo
	echo "!inner" >>set_ftrace_filter; cat set_ftrace_filter
	echo nosuchfunction >>set_ftrace_filter; echo status $?; cat set_ftrace_filter
	echo "lonely nosuchfunction inner" >>set_ftrace_filter; echo status $?; sort set_ftrace_filter | tr "\n" " "; echo
	exec 5>>set_ftrace_filter; printf inn >&5; printf "er\n" >&5; exec 5>&-; sort set_ftrace_filter | tr "\n" " "; echo
	echo "[io]n??r" >set_ftrace_filter; cat set_ftrace_filter
	n=$(grep -nx lonely available_filter_functions | cut -d: -f1); echo $n >set_ftrace_filter; cat set_ftrace_filter
	echo 0 >set_ftrace_filter; echo status $?; echo outer:bogus >set_ftrace_filter; echo status $?
	: >set_ftrace_filter; sleep 0.3; cat set_ftrace_filter
	echo ":mod:none.so" >set_ftrace_filter; cat set_ftrace_filter; echo "!:mod:none.so" >>set_ftrace_filter; cat set_ftrace_filter'
expect_equal "lists" "$(cat out)" "inner outer 
outer
status 1
outer
status 1
lonely outer 
inner lonely outer 
inner
lonely
status 1
status 1
#### all functions enabled ####
:mod:none.so
#### all functions enabled ####"

# ---- Long lists: in blocks, by number, repeated; one bad word at the end and all of the last part is refused
inside '$T 1; for i in $(seq 2000); do echo outer; echo inner; done >$TMP/long
	dd if=$TMP/long of=set_ftrace_filter bs=4096 2>$TMP/dd; sort set_ftrace_filter | tr "\n" " "; echo
	n=$(grep -nx "lonely\|inner" available_filter_functions | cut -d: -f1); for i in $(seq 1000); do echo $n; done | dd of=set_ftrace_filter bs=4096 iflag=fullblock 2>$TMP/dd
	sort set_ftrace_filter | tr "\n" " "; echo
	mapfile -t L <available_filter_functions; for i in ${!L[@]}; do [ "${L[i]}" = lonely ] && n=$((i + 1)); done; echo "$n malloc:mod:libc.so.6 in*:mod:$(basename $T)" >set_ftrace_filter; echo $?; sort set_ftrace_filter | tr "\n" " "; echo
	echo lonely >set_ftrace_filter; { cat $TMP/long; echo nosuchfunction; } >$TMP/bad; dd if=$TMP/bad of=set_ftrace_filter bs=1M conv=notrunc oflag=append 2>$TMP/dd
	dd if=$TMP/bad bs=1M 2>$TMP/dd >>set_ftrace_filter; echo $?'
expect_status 0
expect_equal "long lists" "$(tr '\n' ' ' <out)" "inner outer  inner lonely  0 inner lonely malloc [libc.so.6]  1 "

# ---- Values: what is taken, what is refused
inside 'for v in 2 " 0 " 1 abc "" -1 "1 2"; do echo "$v" >tracing_on; echo "$? $(cat tracing_on)"; done
	echo bogus >current_tracer; echo "$? $(cat current_tracer)"; printf function >current_tracer; echo "$? $(cat current_tracer)"
	echo 0 >buffer_size_kb; echo "$? $(cat buffer_size_kb)"; echo 101 >buffer_size_kb; echo "$? $(cat buffer_size_kb)"
	echo 2 >options/irq-info; echo "$? $(cat options/irq-info)"; echo bogus >trace_options; echo $?
	echo nooverwrite >trace_options; cat options/overwrite; echo x >available_tracers; echo $?'
expect_equal "values" "$(tr '\n' ' ' <out)" \
	"0 1 1 1 0 1 1 1 1 1 1 1 1 1 1 nop 0 function 1 1408 0 104 1 1 1 0 1 "

# ---- trace_pipe consumes, waits, ends on Ctrl-C; trace_marker
inside 'echo one >trace_marker; echo two >trace_marker; tail -n 2 trace | sed "s/.*: //"
	timeout 60 head -n 2 trace_pipe | sed "s/.*: //"; grep -c mark trace; (sleep 0.5; echo late >trace_marker) & timeout -s INT 60 head -n 1 trace_pipe | sed "s/.*: //"; wait
	cat trace_pipe & reader=$!; soon "ls -l /proc/$reader/fd 2>/dev/null | grep -q trace_pipe"; echo function >current_tracer; echo "busy $?"; kill $reader; wait $reader; echo nop >current_tracer; echo $?
	echo nomarkers >trace_options; echo x >trace_marker; echo $?; cat trace_marker'
expect_equal "markers" "$(tr '\n' ' ' <out)" "one two one two 0 late busy 1 0 1 "
if [ "$(id -u)" -eq 0 ]; then		# whom modes do not stop is told as by the kernel
	expect_err "trace_marker: Invalid argument"
	inside 'for f in timestamp_mode available_tracers trace_pipe per_cpu/cpu0/stats; do echo x >$f; done; cat free_buffer'
	expect_equal "what files have not" "$(sed 's/.*: //' err | sort | uniq -c | sed 's/^ *//')" "5 Invalid argument"
else
	expect_err "trace_marker: Permission denied"
fi

# ---- The oldest goes, counted
inside 'echo 8 >buffer_size_kb; echo :mod:$(basename $T) >set_ftrace_filter; echo function >current_tracer; $T 5000; sleep 0.3
	sed -n "s/.*written: \([0-9]*\)\/\([0-9]*\) .*/\1 \2/p" trace; grep -c " <-" trace'
check
awk 'NR == 1 { held = $1; all = $2 } NR == 2 { lines = $1 }
	END { exit !(held == lines && held > 100 && held < 4000 && all >= 15000 && all < 15100) }' out || {
	fail "entries after an overrun: want lines = held < all = 15002 or so"
	show
}

# ---- What a ring had no room for is counted, and what a reader of trace_pipe has taken. How much that is depends on the machine's load.
inside 'echo 65536 >buffer_size_kb; echo :mod:$(basename $T) >set_ftrace_filter; echo function >current_tracer; $T 700000; sleep 0.3
	cat trace >$TMP/all; cat per_cpu/cpu*/stats; echo nop >current_tracer; echo >trace; for i in 1 2 3; do echo $i >trace_marker; done
	timeout 60 head -n 3 trace_pipe | wc -l; sed -n "s/^read events: //p" per_cpu/cpu*/stats | awk "{ n += \$1 } END { print n }"'
check
awk '/^entries:/ { held += $2 } /^(overrun|dropped)/ { gone += $NF } END { exit !(held > 100000 && held + gone >= 2100002 && held + gone < 2100100) }' out || {
	fail "entries, overrun and dropped: want 2,100,002 calls of the program and a few more"
	show
}
expect_equal "written in the header" "$(sed -n 's/.*written: [0-9]*\/\([0-9]*\) .*/\1/p' all)" \
	"$(awk '/^entries:|^overrun|^dropped/ { n += $NF } END { print n }' out)"
expect_equal "marks read" "$(tail -n 2 out | tr '\n' ' ')" "3 3 "

# ---- A process from outside
inside 'mkfifo $TMP/fifo; exit 0'
"$target" 3 wait <fifo >/dev/null 2>&1 &
outside=$!
exec 8>fifo
inside "echo :mod:\$(basename \$T) >set_ftrace_filter; echo function >current_tracer; echo $outside >set_ftrace_pid; cat set_ftrace_pid
	echo >\$TMP/fifo; soon \"[ \\\$(grep -c target-$outside.*inner trace) -ge 6 ]\"; grep -c target-$outside.*inner trace; echo >set_ftrace_pid; cat set_ftrace_pid; echo abc >set_ftrace_pid; echo \$?"
exec 8>&-
wait "$outside"
expect_equal "status of the process" "$?" 0
expect_equal "attached by its number" "$(tr '\n' ' ' <out)" "$outside 6 no pid 1 "

# ---- One that was detached by hand is attached to again when its number is written again
run mkfifo again
"$target" 3 each <again >answers 2>&1 &
outside=$!
exec 8>again
inside "echo :mod:\$(basename \$T) >set_ftrace_filter; echo function >current_tracer; F=set_ftrace_pid; call() { echo >&8; soon \"[ \\\$(wc -l <\$TMP/answers) -ge \$1 ]\"; grep -c inner trace; }
	mapped() { grep -c /session[.] /proc/$outside/maps | sed s/[1-9].*/mapped/; }; echo $outside >\$F; call 1; $uft detach $outside >\$TMP/detach 2>&1; mapped; call 2; echo 4194305 >>\$F; mapped
	echo $outside >>\$F; mapped; call 3; cat \$F | wc -l; $uft detach $outside >\$TMP/detach 2>&1; echo $outside >\$F; call 4; echo >\$F; mapped"
exec 8>&-
wait "$outside"
expect_equal "attached to again" "$(tr '\n' ' ' <out)" "6 0 6 0 mapped 12 2 18 0 "
