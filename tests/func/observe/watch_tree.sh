#!/bin/sh
# SPDX-License-Identifier: MIT
# watch_tree.sh PROGRAM - mmiotrace in the tracing directory: the watched memory, each access, refusals, beside calls, before and after sched_switch
. "$(dirname "$0")/watch_lib.sh"
. "$(dirname "$0")/../../lib/shell.sh"
export T TMP="$tmp"

in_shell 'cd /sys/kernel/tracing; echo mmiotrace >current_tracer; echo "$? $(cat current_tracer)"; for w in a,0 a,b ,8 "a b c d e" 0x1000,64 $(printf %0520d 0); do echo "$w" >mmiotrace_watch; echo $?; done; cat mmiotrace_watch
	sed "s/^.*\] //" error_log | grep -v "^ "; echo "watched  other,4:w" >mmiotrace_watch; cat mmiotrace_watch; echo watched >mmiotrace_watch; echo mmiotrace >current_tracer; echo $?; echo >mmiotrace_watch; echo "$? $(cat mmiotrace_watch)"
	mkdir instances/foo; ls instances/foo | grep -c watch; grep -c mmiotrace instances/foo/available_tracers' 2>err
expect_equal "which memory" "$(cat out)" "0 mmiotrace
1
1
1
1
1
1
mmiotrace_watch: error: Takes NAME or ADDRESS, with ,BYTES or :w behind it
mmiotrace_watch: error: Takes NAME or ADDRESS, with ,BYTES or :w behind it
mmiotrace_watch: error: Takes NAME or ADDRESS, with ,BYTES or :w behind it
mmiotrace_watch: error: More than the CPU's 4 registers, of 8 bytes each
mmiotrace_watch: error: More than the CPU's 4 registers, of 8 bytes each
mmiotrace_watch: error: More than 510 bytes of words
watched
other,4:w
0
0 
0
0"
in_shell 'cd /sys/kernel/tracing; echo mmiotrace >current_tracer; $T count; grep -c "^[RW] " trace; echo watched >mmiotrace_watch; $T count >$TMP/late; grep -c "^[RW] " trace; echo >mmiotrace_watch; echo >trace; $T count; grep -c "^[RW] " trace; cat current_tracer' 2>err
expect_equal "watched only while there is a watch" "$(grep -v " " out | tr '\n' ' ')" "0 $(($(sed "s/ / + /" late))) 0 mmiotrace "

# ---- All of them, also beside another's calls that come and go, which have none; then switches
in_shell 'cd /sys/kernel/tracing; mkdir instances/foo; echo watched >mmiotrace_watch; echo sched_switch >current_tracer; echo mmiotrace >current_tracer; (echo main >instances/foo/set_ftrace_filter; echo function >instances/foo/current_tracer)
	$T count >$TMP/said; cat trace >$TMP/first; grep -c "^[RW] " instances/foo/trace; echo nop >instances/foo/current_tracer; echo >trace; $T count; cat trace >$TMP/second
	echo watched:w >mmiotrace_watch; echo >trace; $T count; cat trace >$TMP/writes; echo sched_switch >current_tracer; $T count; grep -c "==>" trace; grep -c "^[RW] " trace; echo mmiotrace >current_tracer; $T count; cat trace >$TMP/again' 2>err
read -r reads writes <said
for part in "first $reads $writes" "second $reads $writes" "writes 0 $writes" "again 0 $writes"; do
	set -- $part
	expect_equal "$1: reads and writes" "$(grep -c '^R ' "$1") $(grep -c '^W ' "$1")" "$2 $3"
done
expect_equal "head" "$(head -n 3 first | tr '\n' ' ')" "# tracer: mmiotrace # VERSION 20070824 "
expect_equal "calls beside it" "$(sed -n 1p out)" 0
switches=$(grep -vx "$reads $writes" out | sed -n 2p)
check
[ "$switches" -gt 0 ] || { fail "no switches behind mmiotrace: $switches"; cat out err; }
expect_equal "accesses among switches" "$(grep -vx "$reads $writes" out | sed -n 3p)" 0
