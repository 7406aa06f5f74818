#!/bin/sh
# SPDX-License-Identifier: MIT
# session_memory.sh - programs that start and end leave nearly no memory in the session
. "$(dirname "$0")/inside.sh"

# kb: anonymous memory of the session, which is our nearest ancestor called uft
inside 'pid=$PPID; until grep -q ^uft /proc/$pid/comm; do pid=$(sed -n "s/^PPid:[[:space:]]*//p" /proc/$pid/status); done
	kb() { sed -n "s/^RssAnon:[[:space:]]*\([0-9]*\) kB/\1/p" /proc/$pid/status; }
	programs() { for i in $(seq $1); do /bin/true; done; cat trace >/dev/null; }
	programs 300; before=$(kb); programs 300; echo $(($(kb) - before))'
grown=$(tail -n 1 out)
check
[ "$grown" -lt 1500 ] || { fail "300 programs behind 300 others left $grown KB, 5 a program at most are expected"; show; }
# A fork child that has said nothing when its parent ended is followed behind others, and so is its image known.
inside 'echo :mod:$(basename $T) >set_ftrace_filter; echo function >current_tracer; $T 1; mkfifo $TMP/line; exec 4<>$TMP/line
	$T 3 late <$TMP/line; for i in $(seq 150); do /bin/true; done; echo >trace; echo >$TMP/line
	soon "[ \$(grep -c inner trace) -ge 6 ]"; grep -c "inner <-" trace'
expect_equal "calls of a child that was silent" "$(tail -n 1 out)" 6
# With names: what was recorded of the first program is read behind 100 others.
inside 'echo :mod:$(basename $T) >set_ftrace_filter; echo function >current_tracer; $T 3; n=$(grep -c "inner <-" trace); for i in $(seq 100); do /bin/true; done; $T 3; [ $n -gt 0 ] && echo $(($(grep -c "inner <-" trace) - 2 * n))'
expect_equal "calls of a program behind others" "$(tail -n 1 out)" 0
