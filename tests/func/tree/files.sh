#!/bin/sh
# SPDX-License-Identifier: MIT
# files.sh TARGET - files of the tracing directory against what a 6.12 kernel showed for the same commands
#
# `kernel` blocks are the kernel's own output; digits, process ids and names of tasks are masked on both sides, and the number of
# lines that were left as they are is asserted.
. "$(dirname "$0")/inside.sh"

mask() { sed "s/[0-9]\{1,\}/N/g; s/^ *[^ ]*-N/TASK-N/; s/^\[ *N/[N/; s/ \{2,\}/ /g"; }

# same WHAT LINES: out is what the kernel showed (standard input), where LINES lines have nothing masked
same() {
	cat >kernel
	expect_equal "$1" "$(mask <out)" "$(mask <kernel)"
	expect_equal "$1: lines unmasked" "$(mask <kernel | grep -vc N)" "$2"
}

inside 'cat saved_tgids set_ftrace_notrace_pid touched_functions error_log; echo bogus >trace_clock; echo $?; echo 1 >trace_options; echo $?'
expect_status 0
expect_equal "empty files and refused words" "$(tr '\n' ' ' <out)" "no pid 1 1 "

# ---- error_log: the kernel's form, its eight entries, its caret
inside 'for i in 1 2 3 4 5 6 7 8 9 10; do echo "main bogus$i" >set_ftrace_filter; done 2>/dev/null; cat error_log; echo >error_log; cat error_log'
expect_equal "eight are kept" "$(grep -c 'Command: ' out)" 8
grep -q 'bogus10$' out && ! grep -q 'bogus2$' out || fail "not the last eight: $(grep Command out | tr '\n' ' ')"
sed -n '$p' out | grep -qx ' \{11\} \{0,5\}^' || fail "no caret"
# Every file that refuses a write says what it takes: what anything may be written to is listed here
inside 'find . -maxdepth 4 -type f -perm -200 ! -path "./options/*" | sort >$TMP/files; ls options | sed "s,^,./options/,; 3q" >>$TMP/files
	while read -r f; do (echo "bad,value" >$f) 2>/dev/null && echo "$f"; done <$TMP/files | grep -v "^./per_cpu" | tr "\n" " "; echo
	: >error_log; while read -r f; do (echo "bad,value" >$f) 2>/dev/null; grep "error: Invalid argument$" error_log; done <$TMP/files; wc -l <$TMP/files'
expect_equal "what takes anything" "$(sed -n 1p out)" "./error_log ./events/sched/filter ./free_buffer ./trace ./trace_marker ./trace_marker_raw "
expect_equal "refused without a reason" "$(sed '1d; $d' out)" ""
inside ': >error_log; echo "nosuch == 1" >events/sched/filter; echo $?; cat error_log'
same "a filter that no event of the system takes: once for each" 3 <<'KERNEL'
0
[   16.875884] event filter parse error: error: Couldn't find or set field in one of a subsystem's events
  Command: nosuch == 1
           ^
[   16.875920] event filter parse error: error: Couldn't find or set field in one of a subsystem's events
  Command: nosuch == 1
           ^
[   16.875953] event filter parse error: error: Couldn't find or set field in one of a subsystem's events
  Command: nosuch == 1
           ^
KERNEL
inside 'cd events/sched; for f in " pid == 1 " " nosuch == 1 " " 0 "; do echo "$f" >sched_process_exit/filter; cat sched_process_exit/filter; done' 2>/dev/null
expect_equal "blanks in front stay" "$(cat out)" " pid == 1
 nosuch == 1
        ^
parse_error: Field not found

none"
check
[ "$(wc -l <files)" -gt 50 ] || { fail "few files"; show; }
inside 'echo "[x y" >set_ftrace_pid; echo " 12 abc" >set_ftrace_pid; cat error_log; echo 2 >options/irq-info; tail -n 3 error_log'
sed 's/set_ftrace_pid/event filter parse error/; s/Invalid process id/Field not found/; s/options.irq-info: error: Takes 0 or 1/event filter parse error: error: Field not found/' out >masked
mv masked out
same "error_log" 4 <<'KERNEL'
[    9.425740] event filter parse error: error: Field not found
  Command: [x y
           ^
[    9.425740] event filter parse error: error: Field not found
  Command:  12 abc
               ^
[    9.445410] event filter parse error: error: Field not found
  Command: 2
           ^
KERNEL
expect_equal "columns of the carets" "$(grep '\^' out | awk '{ print length }' | tr '\n' ' ')" "12 16 12 "

# ---- A cpu's buffer: its size alone, what it keeps; the top's file is for all again
inside 'T() { cat per_cpu/cpu*/buffer_size_kb buffer_size_kb buffer_total_size_kb | tr "\n" " "; }
	echo 100 >per_cpu/cpu0/buffer_size_kb; T; for v in 0 abc; do echo $v >per_cpu/cpu0/buffer_size_kb; echo $?; done; echo 8 >per_cpu/cpu1/buffer_size_kb; echo overwrite >trace_options
	echo :mod:$(basename $T) >set_ftrace_filter; echo function >current_tracer; for c in 0 1; do taskset -c $c $T 1000; done; for c in 0 1; do sed -n "s/^entries: //p" per_cpu/cpu$c/stats; done >$TMP/entries
	mkdir instances/foo; cat instances/foo/buffer_size_kb; echo 1408 >buffer_size_kb; T' 2>err
if [ "$CPU,$CPU2,$(possible_cpus)" = 0,1,2 ]; then
	expect_equal "a cpu's buffer" "$(tr '\n' ' ' <out)" "100 1408 X 1508 1 1 1408 1408 1408 1408 2816 "
	expect_equal "what they keep" "$(awk '{ print ($1 >= 3002), ($1 < 700) }' entries | tr '\n' ' ')" "1 0 0 1 "
else
	echo "SKIPPED: sizes of a cpu's buffer: they are told for the CPUs 0 and 1"
fi

# ---- trace_clock: times are of the clock that is chosen: what the system says it is before and after, to 20 ms
tsc=
[ "$(uname -m)" = x86_64 ] && tsc=" x86-tsc"
cat >clocks <<'end'
import re, time
ID = {'mono_raw': time.CLOCK_MONOTONIC_RAW, 'boot': time.CLOCK_BOOTTIME, 'tai': time.CLOCK_TAI}

def told(path, form):
    return float(re.findall(form, open(path).read())[-1])

def put(path, text):
    with open(path, 'w') as f:
        f.write(text)

for name in 'local global uptime perf mono mono_raw boot tai'.split():
    rate, slack = (100, 1) if name == 'uptime' else (1, 0.02)
    now = lambda: time.clock_gettime(ID.get(name, time.CLOCK_MONOTONIC)) * rate
    put('trace_clock', name)
    at = [now()]
    put('trace_marker', 'm')
    at += [now(), told('trace', r'([0-9.]+): tracing_mark_write: m'), now(), told('per_cpu/cpu0/stats', r'now ts: *([0-9.]+)'), now()]
    if not at[0] - slack <= at[2] <= at[1] + slack or not at[3] - slack <= at[4] <= at[5] + slack:
        print(name, 'is wrong:', at)
end
inside 'cat trace_clock; python3 $TMP/clocks; cat trace_clock; echo boot >trace_clock; cat trace_clock; grep -c m: trace'
expect_equal "clocks" "$(cat out)" "[local] global counter uptime perf mono mono_raw boot tai$tsc
local global counter uptime perf mono mono_raw boot [tai]$tsc
local global counter uptime perf mono mono_raw [boot] tai$tsc
0"

# The processor's own counter rises and is no time; how long a call took is one.
if [ -n "$tsc" ]; then
	date +%s.%N >begin
	inside 'echo x86-tsc >trace_clock; for i in 1 2 3; do echo m >trace_marker; done; sed -n "s/.* \([0-9]*\): tracing_mark_write.*/\1/p" trace
		grep -o "now ts: [0-9]*$" per_cpu/cpu0/stats; echo :mod:$(basename $T) >set_ftrace_filter; echo function_graph >current_tracer
		sleep 0.3 | $T 1 wait; sed -n "s/.* \([0-9.]*\) us *| *}.*main.*/took \1/p; s/.* \([0-9.]*\) us *| *} *$/took \1/p" trace | tail -n 1; date +%s.%N >$TMP/end'
	awk -v elapsed="$(awk 'NR == FNR { b = $1; next } { print ($1 - b) * 1000000 }' begin end)" '/^[0-9]+$/ { bad = bad || $1 <= last; last = $1; n++ }
		/^now/ { bad = bad || $3 <= last; n++ } /^took/ { bad = bad || $2 <= 0 || $2 > elapsed + 1000; n++ }
		END { exit bad || n != 5 }' out || fail "x86-tsc: $(cat out)"
fi

# ---- Tasks: their names, their processes, and who is left out
inside 'echo :mod:$(basename $T) >set_ftrace_filter; echo function >current_tracer; $T 1; cat saved_cmdlines | sed -n "s/^[0-9]* \(tree-target\)$/name \1/p"
	echo 1 >options/record-tgid; n=$(sed -n "s/^\([0-9]*\) tree-target$/\1/p" saved_cmdlines); grep -cx "$n $n" saved_tgids; echo 0 >options/record-tgid; cat saved_tgids
	cat saved_cmdlines_size; echo 1 >saved_cmdlines_size; grep -c . saved_cmdlines; echo 0 >saved_cmdlines_size; echo "$? $(cat saved_cmdlines_size)"
	echo 0 >options/record-cmd; echo >trace; $T 1; grep -c "<\.\.\.>-.*inner" trace; grep -c "tree-target-.*inner" trace; echo 1 >options/record-cmd'
expect_equal "tasks" "$(tr '\n' ' ' <out)" "name tree-target 1 128 1 1 1 2 0 "

inside 'echo :mod:$(basename $T) >set_ftrace_filter; echo function >current_tracer
	sh -c "echo \$\$ >set_ftrace_notrace_pid; exec $T 1"; grep -c inner trace; grep -c "^[0-9]" set_ftrace_notrace_pid; $T 1; grep -c inner trace
	sh -c "echo \$\$ >set_ftrace_pid; exec $T 2"; grep -c inner trace; echo >trace; sh -c "echo \$\$ >set_ftrace_pid; echo \$\$ >set_ftrace_notrace_pid; exec $T 2"; grep -c inner trace
	echo >set_ftrace_pid; echo >set_ftrace_notrace_pid; cat set_ftrace_pid set_ftrace_notrace_pid
	grep -c "^inner (1)" enabled_functions; echo nop >current_tracer; cat enabled_functions; sed -n "s/^\([0-9]*\) pages:[0-9]* groups: [0-9]*$/\1/p" dyn_ftrace_total_info >$TMP/total
	[ $(cat $TMP/total) = $(grep -c . available_filter_functions) ]; echo $?'
expect_equal "left out" "$(tr '\n' ' ' <out)" "0 1 2 6 0 no pid no pid 0 0 "

# ---- The profile: the kernel's table, exact counts over processes and cpus; also beside a tracer that is made of events of calls
inside 'echo :mod:$(basename $T) >set_ftrace_filter; echo 1 >function_profile_enabled; $T 1000; taskset -c $CPU $T 500; ls trace_stat | head -n 1; head -n 2 trace_stat/function0
	echo 0 >function_profile_enabled; cat trace_stat/function* >$TMP/stat; $T 100; cat trace_stat/function* >$TMP/still; cmp -s $TMP/still $TMP/stat; echo $?
	echo 1 >function_profile_enabled; $T 2000000000 & soon "cat trace_stat/function* | grep -q outer"; echo 0 >function_profile_enabled; kill $!; wait $! 2>/dev/null; cat trace_stat/function* | grep -c " outer " >$TMP/ended
	echo blk >current_tracer; echo 1 >function_profile_enabled; echo "$? $(cat function_profile_enabled)"; echo nop >current_tracer
	echo 1 >function_profile_enabled; echo blk >current_tracer; echo "$? $(cat current_tracer)"; cat trace_stat/function* | grep -c inner'
expect_equal "counts" "$(awk '{ n[$1] += $2 } END { print n["main"], n["lonely"], n["outer"], n["inner"] }' stat)" "2 2 1500 3000"
check
[ "$(cat ended)" -ge 1 ] || fail "what was profiled of a process is gone with it"
check
awk '$1 == "outer" { outer += $3 } $1 == "inner" { inner += $3 } $1 == "main" { top += $3 } END { exit !(top > outer && outer > inner && inner > 0) }' stat ||
	fail "a caller takes less than what it calls: $(cat stat)"
expect_equal "columns" "$(grep -vE '^  (.{30})  [ 0-9]{10}    ([0-9.]{5,} us +){3}$' stat | sort -u | grep -cvE 'Function|---')" 0
expect_equal "beside blk" "$(sed -n '4,$p' out | tr '\n' ' ')" "0 0 1 0 blk 0 "
sed -i '1d;4,$d' out
same "trace_stat" 1 <<'KERNEL'
  Function                               Hit    Time            Avg             s^2
  --------                               ---    ----            ---             ---
KERNEL

# ---- Tasks whose cpu is not known are in some cpu's directory; the old name of tracing_on
inside 'echo :mod:$(basename $T) >set_ftrace_filter; echo function >current_tracer; GLIBC_TUNABLES=glibc.pthread.rseq=0 $T 10; grep -c inner trace; cat per_cpu/cpu*/trace | grep -c inner
	ls per_cpu | sed "s/cpu//" >$TMP/cpus; sed -n "s/.*\[0*\([0-9]\{1,\}\)\].*/\1/p" trace | sort -u | grep -vxF -f $TMP/cpus
	for i in $(ls per_cpu); do dd if=per_cpu/$i/trace_pipe_raw iflag=nonblock bs=4096 2>$TMP/dd; done | wc -c >$TMP/raw; [ $(cat $TMP/raw) -ge 4096 ]; echo $?
	echo 0 >tracing_enabled; cat tracing_on; echo 1 >tracing_on; cat tracing_enabled'
expect_equal "cpus" "$(tr '\n' ' ' <out)" "20 20 0 0 1 "

# ---- tracing_cpumask: what a 6.12 kernel with two cpus took and refused; records and markers of a cpu that is off
inside 'n=$(ls per_cpu | wc -l); cat tracing_cpumask; try() { echo "$1" >tracing_cpumask; echo "$? $(cat tracing_cpumask)"; } 2>$TMP/refused
	for v in 1 2 0 3 fffffffffffffffff 0x1 zz "" " 2 " 00000001 00000000,00000000,00000000,00000002 -1 1, 100000000; do try "$v"; done | sed "s/ 0*\([^ ]\)/ \1/"; exec 5>tracing_cpumask; printf 1 >&5; cat tracing_cpumask'
ncpus=$(possible_cpus)
if [ "$ncpus" -le 32 ] && [ "$ncpus" -ge 2 ]; then
	expect_equal "tracing_cpumask" "$(sed 's/^0*\([0-9a-f]\)/\1/' out | tail -n +2 | tr '\n' ';')" \
		"0 1;0 2;0 0;0 3;1 3;1 3;1 3;0 0;0 2;0 1;1 1;1 1;0 1;1 1;1;"
fi
if [ "$CPU,$CPU2" = 0,1 ]; then
	run taskset -c 0 "$uft" shell -c 'cd /sys/kernel/tracing; (echo 1 >osnoise/cpus) 2>/dev/null || echo refused; grep -c "may run on none" error_log; echo 0-1 >osnoise/cpus && cat osnoise/cpus'
	expect_equal "osnoise on a cpu that is not ours" "$(tr '\n' ' ' <out)" "refused 1 0-1 "
fi
if [ "$ncpus" -le 32 ] && [ "$CPU,$CPU2" = 0,1 ]; then
	inside 'echo :mod:$(basename $T) >set_ftrace_filter; echo 1 >tracing_cpumask; echo function >current_tracer; for c in 0 1 0; do taskset -c $c $T 5; taskset -c $c sh -c "echo m >trace_marker"; echo $?; done
		cut -d"[" -f2 trace | grep -c "^000.*inner"; cut -d"[" -f2 trace | grep -c "^001"; grep -c write: trace; mkdir instances/foo; cat instances/foo/tracing_cpumask; rmdir instances/foo
		echo 3 >tracing_cpumask; taskset -c 1 $T 5; cut -d"[" -f2 trace | grep -c "^001.*inner"; awk "/^(overrun|dropped)/ { n += \$NF } END { print (NR > 9), n }" per_cpu/cpu*/stats'
	expect_equal "cpus that are off" "$(sed 's/^0*\([0-9a-f]\)/\1/' out | tr '\n' ' ')" "0 1 0 20 0 2 $(printf %x $(((1 << ncpus) - 1))) 10 1 0 "
fi
