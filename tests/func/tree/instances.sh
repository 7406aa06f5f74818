#!/bin/sh
# SPDX-License-Identifier: MIT
# instances.sh TARGET - instances/: making and removing, and the separate state of each
. "$(dirname "$0")/inside.sh"

# line FILE: its lines as one
line() { tr '\n' ' ' <"$1"; }

# ---- Names and errors, as a 6.12 kernel had them
inside 'ls -ld instances | cut -c1-10; mkdir instances/foo; echo $?; ls instances; ls instances/foo >$TMP/files; ls instances/foo/options >$TMP/options
	for d in instances/foo instances/foo/bar bar; do mkdir $d 2>&1 | sed "s/.*: //"; done
	mkdir instances/.hid instances/a.b instances/a:b; rmdir instances/.hid instances/a.b instances/a:b; echo $?
	for d in instances/nosuch instances/foo/options instances; do rmdir $d 2>&1 | sed "s/.*: //"; done
	touch instances/xx 2>$TMP/touch; ls instances; cat instances/foo/available_tracers instances/foo/set_ftrace_pid instances/foo/buffer_size_kb
	for f in trace_pipe trace tracing_on options/raw set_ftrace_filter; do exec 5<instances/foo/$f; rmdir instances/foo 2>&1 | sed "s/.*: //"; exec 5<&-; done
	echo function >instances/foo/current_tracer; rmdir instances/foo; echo "$? $(ls instances)"
	n=$(printf %0255d 1); mkdir instances/$n && rmdir instances/$n; echo $?; mkdir instances/0$n 2>&1 | sed "s/.*: //"; rmdir instances/0$n 2>&1 | sed "s/.*: //"'
tracers=$(sed -n '/function_graph/p' out)
case " $tracers " in *" function_graph "*" function nop "*) ;; *) fail "tracers: $tracers" ;; esac
case " $tracers " in *" blk "*) fail "blk is for the top only" ;; esac
expect_equal "made and removed" "$(sed 's/.*function_graph.*/KERNEL/' out)" "drwxr-x---
0
foo
File exists
Operation not permitted
Operation not permitted
0
No such file or directory
Operation not permitted
Operation not permitted
foo
KERNEL
no pid
1408
Device or resource busy
Device or resource busy
Device or resource busy
Device or resource busy
Device or resource busy
0 
0
File name too long
File name too long"
# Of the kernel's files of an instance, those that there are at the top; tracing_enabled is our alias.
cat >kernel <<'KERNEL'
available_tracers
buffer_percent
buffer_size_kb
buffer_subbuf_size_kb
buffer_total_size_kb
current_tracer
error_log
events
free_buffer
options
per_cpu
set_event
set_event_notrace_pid
set_event_pid
set_ftrace_filter
set_ftrace_notrace
set_ftrace_notrace_pid
set_ftrace_pid
snapshot
timestamp_mode
trace
trace_clock
trace_marker
trace_marker_raw
trace_options
trace_pipe
tracing_cpumask
tracing_max_latency
tracing_on
KERNEL
expect_equal "files that the kernel has not" "$(grep -vxFf kernel files | tr '\n' ' ')" "tracing_enabled "
[ "$(grep -xcFf kernel files)" -ge 23 ] || fail "files are missing: $(line files)"
expect_equal "options of the top only" "$(grep -x 'record-cmd\|printk-msg-only' options)" ""

# ---- Each has its own values, buffer, snapshot and mistakes
inside 'mkdir instances/foo; cd instances/foo; echo 100 >buffer_size_kb; echo 0 >tracing_on; echo mono >trace_clock; echo noprint-parent >trace_options
	$T 1; echo inner >set_ftrace_notrace; echo bogus >current_tracer; cat buffer_size_kb tracing_on set_ftrace_notrace; grep -o "\[.*\]" trace_clock; grep print-parent trace_options; grep -c Command error_log
	cd ../..; cat buffer_size_kb tracing_on set_ftrace_notrace; grep -o "\[.*\]" trace_clock; grep print-parent trace_options; grep -c Command error_log
	echo 1 >instances/foo/tracing_on; echo hello >instances/foo/trace_marker; echo top >trace_marker; grep -o "write: .*" trace instances/foo/trace
	echo 1 >instances/foo/snapshot; grep -o "write: .*" instances/foo/snapshot; grep -c "Snapshot is freed" snapshot; grep -c write: instances/foo/trace'
expect_equal "values" "$(cat out)" "100
0
inner
[mono]
noprint-parent
1
1408
1
#### no functions disabled ####
[local]
print-parent
0
trace:write: top
instances/foo/trace:write: hello
write: hello
1
0"

# ---- A tracer in an instance: its buffer, its filter; the top has nothing, and has others beside it.
inside 'mkdir instances/foo instances/bar; $T 1; echo "inner outer" >instances/foo/set_ftrace_filter; echo lonely >set_ftrace_filter
	echo function >instances/foo/current_tracer; $T 1; cat instances/foo/trace >$TMP/foo; grep -vc "^#" trace instances/bar/trace
	echo preemptoff >current_tracer; echo $?; cat current_tracer; timeout 60 head -n 3 instances/foo/trace_pipe | grep -c "inner\|outer"
	echo 0 >instances/foo/tracing_on; echo initcall >current_tracer; echo $?; echo function_graph >current_tracer; $T 1; grep -o "[a-z]*();" trace; grep -vc "^#" instances/foo/trace
	echo wakeup >current_tracer; echo 1 >instances/foo/tracing_on; echo "$? $(cat instances/foo/tracing_on)"; echo function_graph >current_tracer; echo 1 >function_profile_enabled; echo $?'
sed -n 's/.*: \(.*\) <-.*/\1/p' foo >calls
expect_equal "calls in the instance" "$(line calls)" "outer inner inner "
expect_equal "header of the instance" "$(sed -n 's/^# entries-in-buffer.*: \([0-9]*\)\/\([0-9]*\) .*/\1 \2/p' foo)" "3 3"
expect_equal "the top and a second one" "$(cat out)" "trace:0
instances/bar/trace:0
0
preemptoff
3
0
lonely();
0
0 1
0"

# ---- One target, buffers in turn: each has exactly what came while it was its turn, also in the middle of a sub-buffer
inside 'coproc $T 7 each; step() { echo >&${COPROC[1]}; read -u ${COPROC[0]} answer; }
	step; echo inner >set_ftrace_filter; echo function >current_tracer; step; echo 0 >tracing_on
	mkdir instances/foo; echo inner >instances/foo/set_ftrace_filter; echo function >instances/foo/current_tracer; step; step
	echo 0 >instances/foo/tracing_on; step; echo 1 >tracing_on; step; echo 0 >tracing_on; echo 1 >instances/foo/tracing_on; step; echo 0 >instances/foo/tracing_on
	for f in trace instances/foo/trace; do grep -c "inner <-outer" $f; sed -n "s/^# entries-in-buffer.*: \([0-9]*\).*/\1/p" $f; done
	mkdir instances/late; echo inner >instances/late/set_ftrace_filter; echo function >instances/late/current_tracer; step; grep -c inner instances/late/trace; grep -c LOST */trace instances/*/trace
	rmdir instances/late; echo 1 >instances/foo/tracing_on; step; grep -c inner trace instances/foo/trace; awk "{ print \$4 }" instances/foo/trace | grep "^[0-9]" | sort -c; echo $?'
expect_equal "in turn" "$(line out)" "28 28 42 42 14 instances/foo/trace:0 instances/late/trace:0 trace:28 instances/foo/trace:56 0 "

# ---- Function and graph at once, each of its own functions: callers also of what nobody else traces, pairs and depths as alone
inside 'mkdir instances/foo instances/bar; $T 1; echo "inner outer" >instances/foo/set_ftrace_filter; echo "inner lonely" >instances/bar/set_ftrace_filter
	echo function_graph >instances/foo/current_tracer; echo function >instances/bar/current_tracer; $T 2
	grep -v "^#" instances/foo/trace | cut -d"|" -f2- | tr -d " ;{\n"; echo; sed -n "s/^[^#].*: \(.*\)/\1/p" instances/bar/trace | tr "\n" ,; echo
	sed -n "s/^# entries-in-buffer.*: \([0-9]*\).*/\1/p" instances/bar/trace; grep -vc "^#" trace
	echo 1 >max_graph_depth; echo lonely >set_graph_function; echo >instances/bar/trace; $T 1; grep -c "inner <-outer" instances/bar/trace; echo 0 >max_graph_depth; echo >set_graph_function
	echo >instances/foo/trace; echo inner:traceoff >>instances/bar/set_ftrace_filter; $T 2; sleep 0.2; grep -c "}" instances/foo/trace; cat instances/foo/tracing_on instances/bar/tracing_on'
expect_equal "function beside the graph" "$(cat out)" "outer()inner()inner()}outer()inner()inner()}
lonely <-main,inner <-outer,inner <-outer,inner <-outer,inner <-outer,
5
0
2
2
1
0"

# ---- One goes on without a gap while others begin and end beside it; functions of each and tasks of each
inside 'coproc $T 7 each; pid=$!; step() { echo >&${COPROC[1]}; read -u ${COPROC[0]} answer; }
	mkdir instances/foo instances/bar; step; echo inner >set_ftrace_filter; echo function >current_tracer; step
	echo outer >instances/foo/set_ftrace_filter; echo function >instances/foo/current_tracer; step
	echo function_graph >instances/bar/current_tracer; echo 1 >function_profile_enabled; echo $?; step
	echo 0 >function_profile_enabled; echo 0 >instances/foo/tracing_on; echo $pid >set_ftrace_notrace_pid; step; echo >set_ftrace_notrace_pid; echo nop >instances/bar/current_tracer; step
	echo $pid >instances/bar/set_ftrace_pid; echo function >instances/bar/current_tracer; $T 5; step
	for f in trace instances/*/trace; do echo "$f $(grep -c "inner <-outer" $f) $(grep -c "outer <-main" $f) $(grep -c "lonely" $f) $(grep -v "^#" $f | wc -l)"; done'
expect_equal "beside each other" "$(cat out)" "0
trace 80 0 0 80
instances/bar/trace 14 7 0 21
instances/foo/trace 0 14 0 14"
inside 'mkdir instances/foo; $T 1; echo inner >set_ftrace_filter; echo outer >instances/foo/set_ftrace_filter; echo function >instances/foo/current_tracer; echo 1 >function_profile_enabled; echo function >current_tracer; $T 3
	cat trace_stat/* | grep -o "^ *inner *[0-9]*"; grep -c "inner <-outer" trace; grep -c "outer <-main" instances/foo/trace; grep -c inner instances/foo/trace; echo irqsoff >current_tracer; echo $?; cat current_tracer'
expect_equal "function beside the profile" "$(line out | tr -s ' ')" " inner 6 6 3 0 0 irqsoff "

# ---- Of a library nobody prepared, who did not name it sees nothing
inside 'coproc $T 3 each; step() { echo >&${COPROC[1]}; read -u ${COPROC[0]} answer; }; mkdir instances/foo; step
	echo "*puts:mod:libc.so*" >instances/foo/set_ftrace_filter; echo function | tee instances/foo/current_tracer >current_tracer; step; step
	grep -c puts instances/foo/trace; grep -c puts trace; grep -c "<-outer" trace; grep -c outer instances/foo/trace'
expect_equal "a library of one" "$(line out)" "2 0 12 0 "

# ---- Many of them, made and removed while a target runs and others read
inside 'echo :mod:$(basename $T) >set_ftrace_filter; $T 2000000000 & sleep 0.2; for r in 1 2 3 4 5; do for i in 1 2 3 4; do mkdir instances/i$i; done
	echo outer >instances/i1/set_ftrace_filter; echo function >instances/i1/current_tracer; soon "[ \$(cat instances/i*/trace | grep -c outer) -ge 100 ]"; cat instances/i*/trace >$TMP/all; grep -c outer $TMP/all >>$TMP/counts
	for i in 1 2 3 4; do rmdir instances/i$i || echo stays; done; done; kill $!; ls instances; awk "\$1 < 100" $TMP/counts | wc -l'
expect_equal "made and removed again and again" "$(grep -v Terminated out)" "0"

# ---- Its clock is its own from the begin: not the top's, which is years away
inside 'uptime=$(cut -d. -f1 /proc/uptime); date=$(date +%s); [ $date -gt $((uptime + 1000)) ] || echo same; trace_clock=$(cat trace_clock); echo tai >trace_clock; mkdir instances/foo; grep -o "\[.*\]" instances/foo/trace_clock
	echo x >instances/foo/trace_marker; grep write: instances/foo/trace >$TMP/mark; grep -o "[0-9]*\.[0-9]*:" $TMP/mark | awk "{ print (\$1 + 0 < $uptime + 1000000) }"'
[ "$(head -n 1 out)" = same ] || expect_equal "clock of a new one" "$(line out)" "[local] 1 "

# ---- Who was attached by an instance is left with it; also when there are more of them than one list takes
sleepers=
for i in $(seq 63); do sleep 1000 & sleepers="$sleepers $!"; done
first=${sleepers# } first=${first%% *} many=${sleepers% *}
many=${many% *}; last=${sleepers##* }
inside "mkdir instances/foo; $T 1; echo :mod:none.so >instances/foo/set_ftrace_filter; echo $first >instances/foo/set_ftrace_pid; grep -c /session[.] /proc/$first/maps | sed s/[1-9].*/mapped/; rmdir instances/foo; grep -c /session[.] /proc/$first/maps
	mkdir instances/foo; echo :mod:none.so | tee set_ftrace_filter >instances/foo/set_ftrace_filter; echo $many >set_ftrace_pid; echo \$?; echo $last >instances/foo/set_ftrace_pid
	grep -c /session[.] /proc/$last/maps | sed s/[1-9].*/mapped/; echo >instances/foo/set_ftrace_pid; grep -c /session[.] /proc/$last/maps"
kill $sleepers
expect_equal "attached by an instance, left with it" "$(line out)" "mapped 0 0 mapped 0 "

# ---- A refused list attaches to nobody: not to who was left by hand meanwhile and is named again
if has "a refused list of pids" python3; then
	sleep 1000 & one=$!
	python3 -c 'import ctypes, subprocess, time
p = subprocess.Popen(["sleep", "1000"])
if not ctypes.CDLL(None).ptrace(0x4206, p.pid, None, None): print(p.pid, flush=True)
time.sleep(1000)' >taken & taker=$!
	eventually [ -s taken ]
	taken=$(cat taken)
	inside "$T 1; echo :mod:none.so >set_ftrace_filter; echo $one >set_ftrace_pid; $uft detach $one; grep -c /session[.] /proc/$one/maps; echo $one $taken >>set_ftrace_pid; echo \$?; grep -c /session[.] /proc/$one/maps; cat set_ftrace_pid | sed s/$one/one/" 2>err
	expect_equal "a refused list" "$(line out)" "0 1 0 one "
	kill $one $taker $taken
fi

# ---- A profile that is refused keeps what the last one has
inside 'mkdir instances/foo; echo :mod:$(basename $T) >set_ftrace_filter; echo 1 >function_profile_enabled; $T 9; echo 0 >function_profile_enabled; echo function >instances/foo/current_tracer
	echo $$ >instances/foo/set_ftrace_pid
	cat trace_stat/* | grep -c inner; echo 1 >function_profile_enabled; echo $?; cat trace_stat/* | grep -c inner'
expect_equal "a refused profile" "$(line out | sed 's/^[1-9] \(.*\) [1-9] $/some \1 some/')" "some 1 some"

# ---- trace-cmd: start, show, record of an instance
if has "trace-cmd -B" trace-cmd; then
	inside 'M=$(basename $T); trace-cmd start -B foo -p function -l outer:mod:$M >$TMP/start 2>&1; $T 3; trace-cmd show -B foo | grep -c "outer <-main"; grep -vc "^#" trace
		trace-cmd reset -B foo >/dev/null 2>&1; rmdir instances/foo; cd $TMP; trace-cmd record -B bar -p function -l inner:mod:$M -F sh recorded $T 2 >$TMP/record 2>&1; trace-cmd report -i trace.dat | grep -c "function: *inner"'
	expect_equal "trace-cmd -B" "$(line out)" "3 0 4 "
fi
