#!/bin/sh
# SPDX-License-Identifier: MIT
# deepest.sh PLAIN READY - the stack tracer: files as the kernel's, and the depth that the program reaches
. "$(dirname "$0")/../../lib/common.sh"
. "$(dirname "$0")/../../lib/shell.sh"

[ "$(uname -m)" = x86_64 ] || skip "stacks are walked on x86-64 only"
export T="$2" TMP="$tmp" U="$uft"
inside() {
	in_shell "cd /sys/kernel/tracing; $1"
}

# While function is on beside it, the stack tracer measures the shell as well, whose signal frames are larger than $T's stack where the
# CPU has AVX-512 and AMX: the depth begins again behind that.
inside 'cat stack_tracer_enabled stack_max_size stack_trace_filter; cat stack_trace
	echo x >stack_max_size; echo status $?; echo nosuchfunction >stack_trace_filter; echo status $?
	echo :mod:$(basename $T) >stack_trace_filter; cat stack_trace_filter; echo 1 >stack_tracer_enabled
	echo function >current_tracer; echo status $?; cat current_tracer; echo nop >current_tracer
	echo 0 >stack_max_size; $T plain; cat stack_trace >$TMP/plain; cat stack_max_size >$TMP/size
	$T callback; cat stack_max_size >$TMP/same
	$T recurse 20000 back; cat stack_max_size >$TMP/recursed; cat stack_trace >$TMP/deep
	echo 0 >stack_max_size; $T plain; cat stack_max_size >$TMP/again
	echo 1000000 >stack_max_size; $T recurse 100; cat stack_max_size >$TMP/above
	$U stack --reset; $T recurse 10; $U stack >$TMP/report; $U stack --stop; cat stack_tracer_enabled
	echo function >current_tracer; echo 1 >stack_tracer_enabled; echo status $?; $U reset; $U stack --start; cat stack_tracer_enabled'
expect_equal "files" "$(sed "s/^:mod:.*/FILTER/" out | tr '\n' ';')" "0;0;#### all functions enabled ####;        Depth    Size   Location    (0 entries)\
;        -----    ----   --------;#;#  Stack tracer disabled;#;# To enable the stack tracer;# 'echo 1 > stack_tracer_enabled';#;status 1;status 1;\
FILTER;status 0;function;0;status 0;1;"

# The kernel's table: depth falls by the size of each line, and ends at 0
table() {
	sed -n 's/^ *[0-9]*) *\([0-9]*\) *\([0-9]*\)   \([^ +]*\)+0x.*/\1 \2 \3/p' "$1"
}
table plain >lines
expect_equal "functions" "$(cut -d' ' -f3 lines | sed 's/@.*//; /^main$/q' | tr '\n' ' ')" "leaf large aligned many outer main "
expect_equal "entries" "$(sed -n 's/.*Location    (\([0-9]*\) entries)/\1/p' plain)" "$(grep -c . lines)"
expect_equal "depths and sizes" "$(awk 'NR > 1 && left != $1 { bad++ } { left = $1 - $2 } END { print bad + 0, left }' lines)" "0 0"
expect_equal "the first is the deepest" "$(sed -n '1s/ .*//p' lines)" "$(cat size)"
expect_equal "5000 bytes of a function" "$(awk '$3 ~ /^large/ { print ($2 > 5000 && $2 < 5200) }' lines)" 1

# Less deep changes nothing; 20000 frames of one size are exact, also those that are not listed
expect_equal "less deep" "$(cat same)" "$(cat size)"
table deep >lines
expect_equal "frames of one size" "$(awk 'NR > 2 && NR < 33 { print $2 }' lines | sort -u | wc -l)" 1
each=$(sed -n '3s/^[0-9]* \([0-9]*\) .*/\1/p' lines)
expect_equal "20000 frames" "$(awk -v e="${each:-0}" '{ print ($1 > 20000 * e && $1 < 20000 * e + 2000) }' recursed)" 1
expect_equal "begun anew, but for what aligning costs" "$(awk '{ print ($1 > 5500 && $1 < 5800) }' again)" 1
expect_equal "above what was written" "$(cat above)" 1000000
expect_equal "uft stack" "$(table report | cut -d' ' -f3 | sed 's/@.*//' | uniq -c | awk '/leaf|recurse/ { print $1, $2 }' | tr '\n' ' ')" "1 leaf 11 recurse "

# Where a kernel with a stack tracer has its switch, there is ours
if [ -e /proc/sys/kernel/stack_tracer_enabled ]; then
	inside 'echo 1 >/proc/sys/kernel/stack_tracer_enabled; cat stack_tracer_enabled; echo 0 >stack_tracer_enabled; cat /proc/sys/kernel/stack_tracer_enabled'
	expect_equal "in /proc" "$(tr '\n' ' ' <out)" "1 0 "
else
	echo "SKIPPED: in /proc: this kernel has no stack tracer"
fi
