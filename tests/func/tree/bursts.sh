#!/bin/sh
# SPDX-License-Identifier: MIT
# bursts.sh TARGET - records of a burst that fit in the buffers while the session has no CPU time are complete afterwards
. "$(dirname "$0")/inside.sh"

# total NAME INSTANCE: that line of its stats, summed over the CPUs. burst: the program makes its calls while the session stands.
counts='total() { cat instances/$2/per_cpu/cpu*/stats | sed -n "s/^$1: //p" | { sum=0; while read n; do sum=$((sum + n)); done; echo $sum; }; }
	mkfifo $TMP/to $TMP/from; exec 5<>$TMP/to 6<>$TMP/from; burst() { kill -STOP $PPID; echo >&5; read x <&6; kill -CONT $PPID; }
	mkdir instances/a instances/b; $T 1; for i in a b; do echo ":mod:$(basename $T)" >instances/$i/set_ftrace_filter; done'

# ---- A graph and function, 9.6 MB for one CPU: more than a ring has while the session keeps up
inside "$counts"'; for i in a b; do echo 65536 >instances/$i/buffer_size_kb; done; $T 100000 each <&5 >&6 & echo >&5; read x <&6
	echo function_graph >instances/a/current_tracer; echo function >instances/b/current_tracer; burst
	soon "[ \$(total entries b) = 300000 ]"; for i in a b; do total entries $i; total "dropped events" $i; total overrun $i; done; kill $!'
expect_equal "a burst for two instances: entries, dropped, overrun of each" "$(tr '\n' ' ' <out)" "600000 0 0 300000 0 0 "
