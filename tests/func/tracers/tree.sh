#!/bin/sh
# SPDX-License-Identifier: MIT
# tree.sh TARGET - the same tracers by the files of the tracing directory
. "$(dirname "$0")/../../lib/common.sh"
. "$(dirname "$0")/../../lib/shell.sh"

[ "$(uname -m)" = x86_64 ] || skip "arguments of functions are known on x86-64 only yet"
T=$1
export T TMP="$tmp"

# In a shell, `locks`: as the target's, again when the machine stood in what is to be the second longest (75).
cat >locks.sh <<'end'
locks() {
	for try in 1 2 3 4 5; do
		echo 0 >tracing_max_latency
		echo >trace
		"$T" locks
		[ $? -eq 75 ] || return 0
	done
	touch "$TMP/stood"
}
end

# Two need what the kernel may refuse, one what it is to watch; tests/func/observe has them.
in_shell 'cd /sys/kernel/tracing; for t in $(cat available_tracers); do case $t in sysprof|sched_switch|mmiotrace) echo -n "$t "; continue; esac; echo $t >current_tracer; cat current_tracer; done | tr "\n" " "; echo
	cat available_tracers; echo nosuch >current_tracer; echo status $?'
expect_status 0
expect_equal "each name is taken" "$(sed -n 1p out)" "$(sed -n 2p out) "
expect_equal "another is not" "$(sed -n 3p out)" "status 1"

# The longest; the search begins anew when 0 is written, and above what is written; with a threshold the last counts.
in_shell '. $TMP/locks.sh; cd /sys/kernel/tracing; echo ":mod:$(basename $T)" >set_ftrace_filter; cat tracing_max_latency; echo preemptoff >current_tracer
	locks; cat tracing_max_latency; cat trace >$TMP/first; cat trace >$TMP/again
	echo 1 >snapshot; echo status $?
	echo 10000000 >tracing_max_latency; cat tracing_max_latency; cat trace >$TMP/above
	echo 0 >tracing_max_latency; cat tracing_max_latency; cat trace >$TMP/none
	locks; echo 150000 >tracing_thresh; cat trace >$TMP/last; echo 0 >tracing_thresh
	echo x >tracing_max_latency; echo status $?
	locks; cat trace_pipe >$TMP/pipe & for i in $(seq 300); do [ $(grep -c ": inside <-\(longest\|second\)$" $TMP/pipe) -ge 2 ] && break; sleep 0.1; done; kill $!; wait $!; echo nop >current_tracer; cat tracing_max_latency'
expect_equal "values" "$(sed '2s/^[4-9][0-9]\{5,\}$/long/; 5s/^[0-9]\{1,5\}$/short/' out | tr '\n' ' ')" "0 long status 1 10000000 short status 1 0 "
check
cmp -s first again || fail "reading trace twice gives two texts"
names() { sed -n 's/.*us.\{0,1\}: \([a-z_0-9]*\) <-\([a-z_0-9]*\)$/\1 \2/p' "$1" | sed -n '1p;$p' | tr '\n' ';'; }
expect_equal "the longest" "$(names first)" "pthread_mutex_lock longest;pthread_mutex_unlock longest;"
expect_equal "above the start" "$(names above)" ""
expect_equal "nothing above" "$(grep -c '^# tracer: ' above) $(grep -c '^# latency: ' above)" "1 0"
expect_equal "the longest does not count any more" "$(grep -c longest none)" 0
expect_equal "the last above the threshold" "$(names last)" "pthread_spin_trylock second;pthread_spin_unlock second;"
# Without function-trace only where it begins and ends
names_only() { sed -n 's/.*us.\{0,1\}: \([a-z_0-9]*\).*/\1/p' "$1" | sort -u | tr '\n' ' '; }
cp out values; cp pipe piped
in_shell '. $TMP/locks.sh; cd /sys/kernel/tracing; echo ":mod:$(basename $T)" >set_ftrace_filter; echo preemptoff >current_tracer; locks; cat trace >$TMP/with; echo 0 >options/function-trace; locks; cat trace >$TMP/without; grep -c nofunction-trace trace_options'
expect_equal "functions between" "$(names_only with | grep -c 'inside .*pthread_mutex_lock ') $(names_only without | grep -c inside) $(names_only without | grep -c 'pthread_mutex_lock ')" "1 0 1"
mv piped pipe; mv values out
expect_equal "trace_pipe shows every call" "$(grep -c ': inside <-\(longest\|second\)$' pipe) $(grep -c ': pthread_mutex_lock <-longest$' pipe)" "2 1"

# display-graph: the same as a graph. That of a 6.12 kernel: its columns, and what begins and ends it as calls without time. A call whose
# thread changes its CPU is no leaf, as in the kernel.
in_shell '. $TMP/locks.sh; cd /sys/kernel/tracing; echo ":mod:$(basename $T)" >set_ftrace_filter; echo preemptoff >current_tracer; locks; cat trace >$TMP/flat; echo 1 >options/display-graph; cat trace >$TMP/graph; echo 0 >options/display-graph; cat trace >$TMP/again
	echo 1 >options/display-graph; echo irqsoff >current_tracer; $T signals; grep -v "^#" trace >$TMP/masks'
cmp -s flat again || fail "display-graph is not put back"
expect_equal "the same case" "$(grep '^# latency' graph | sed 's/#[0-9/]*,//')" "$(grep '^# latency' flat | sed 's/#[0-9/]*,//')"
expect_equal "its columns" "$(sed -n '/REL TIME/,$p' graph | sed 's/^ *[0-9]* us |/N us |/; s/[0-9]) *[a-z]*-[0-9]* */C) TASK /; s/| [@!#$*+ ] *[0-9.]* us *|/| N us |/; s/|  *\([a-z}]\)/| \1/' | sed '/ inside() {$/{N;s/|  *| inside() {\n.*| N us | } \/\* inside \*\/$/| N us | inside();/;}')" "#   REL TIME      CPU  TASK/PID       ||||     DURATION                  FUNCTION CALLS
#      |          |     |    |        ||||      |   |                     |   |   |   |
N us |   C) TASK |  ...1. | N us | pthread_mutex_lock();
N us |   C) TASK |  ...1. | N us | pthread_rwlock_wrlock();
N us |   C) TASK |  ...2. | N us | inside();
N us |   C) TASK |  ...2. | N us | pthread_rwlock_unlock();
N us |   C) TASK |  ..... | N us | pthread_mutex_unlock();"
expect_equal "no time at its ends" "$(grep -v '^#' graph | sed -n '1p;$p' | grep -c '|   0.000 us    |')" 2
expect_equal "signals blocked" "$(sed -n '1s/.*| *\([^ ]*\) |.*| *\([a-z_]*\)();$/\1 \2/p' masks | sed 's/^_*//')" "d.... pthread_sigmask"

# With stacktrace on, where it ended: behind the last line, as in the kernel
in_shell '. $TMP/locks.sh; cd /sys/kernel/tracing; echo 1 >options/stacktrace; for t in preemptoff wakeup; do echo $t >current_tracer
	case $t in preemptoff) locks;; *) $T wakes;; esac; cat trace >$TMP/$t; done'
"$uft" record -q -T -p irqsoff -o masks.uft "$T" signals >/dev/null && "$uft" report --no-pager masks.uft >irqsoff
ended() { sed -n 's/.*us.\{0,1\}: <stack trace>$/<stack trace>/p; s/^ => //p' "$1" | sed 's/@.*//; s/^__*//' | tr '\n' ' '; }
expect_equal "where the lock was released" "$(ended preemptoff | grep -c '^<stack trace> pthread_mutex_unlock longest ')" 1
expect_equal "entries in the header" "$(sed -n 's/^# latency: .* us, #\([0-9]*\)\/.*/\1/p' preemptoff)" "$(grep -v '^#' preemptoff | grep -vc '^ =>')"
expect_equal "the last line" "$(grep -v '^ =>' preemptoff | tail -n 1 | sed 's/.*: //')" "<stack trace>"
expect_equal "where signals were let through" "$(ended irqsoff | grep -c '^<stack trace> \(pthread_sigmask\|sigprocmask\) masked main ')" 1
expect_equal "where the woken thread waited" "$(ended wakeup | grep -c '^<stack trace> [a-z_]*wait [a-z]')" 1
expect_no_file stood		# or nothing above says anything

# What one CPU has seen of a thread is no stretch: the worst case is that of all, of which its lines are shown.
if taskset -c 0 true 2>/dev/null && taskset -c 1 true 2>/dev/null; then
	in_shell 'cd /sys/kernel/tracing; echo preemptoff >current_tracer; $T moves; cat trace >$TMP/all; for c in 0 1; do cat per_cpu/cpu$c/trace >$TMP/cpu$c; done'
	check
	lines_of() { sed '/^#/d' "$@"; }
	for c in 0 1; do
		expect_equal "the latency as CPU $c has it" "$(grep '^# latency' "cpu$c")" "$(grep '^# latency' all)"
		expect_equal "lines of another CPU than $c" "$(lines_of "cpu$c" | awk -v c="$c" 'substr($2, 1, length(c)) != c' | wc -l)" 0
	done
	expect_equal "lines of both" "$(lines_of cpu0 cpu1 | wc -l)" "$(lines_of all | wc -l)"
	[ "$(lines_of cpu0 | wc -l)" -gt 0 ] && [ "$(lines_of cpu1 | wc -l)" -gt 0 ] || fail "one line at least of each: $(cat all)"
	run "$uft" record -q -p preemptoff -o moves.uft "$T" moves
	run "$uft" report --no-pager moves.uft
	mv out all
	run "$uft" report --no-pager --cpu 0 moves.uft
	check
	expect_equal "the same of a recording" "$(grep '^# latency' out)" "$(grep '^# latency' all)"
	expect_equal "its first line" "$(lines_of out | head -n 1)" "$(lines_of all | awk '$2 ~ /^0/' | head -n 1)"
fi
