#!/bin/sh
# SPDX-License-Identifier: MIT
# partial_refusal.sh TARGET - one of several targets, whose agent is stopped, refuses a write: all keep their state; readers meanwhile
. "$(dirname "$0")/inside.sh"

# Inside: agent PROGRAM: the task that serves it. shows PROGRAM WORDS: waits until the trace has such a line of it.
export BASH_ENV="$tmp/functions"
cat >functions <<'END'
agent() {
	for dir in /proc/[0-9]*; do
		[ "$(readlink "$dir/exe")" = "$TMP/$1" ] && [ "$(cat "$dir/comm")" = uft-agent ] && echo "${dir#/proc/}"
	done
}
shows() {
	for _ in $(seq 600); do
		grep -q "^ *$1-.*$2" trace && return
		sleep 0.1
	done
	echo "$1 does not show $2"
}
END

# refused NAME BEFORE WRITE: the newest target is switched over before it is known that the other is not. It calls all the time, and
# what it recorded meanwhile for the WRITE is not shown. (No process is made in that time: it would wait.)
refused() {
	mkdir "$1" && cd "$1" && cp "$T" "one-$1" && cp "$T" "two-$1" || exit 1
	inside 'cd $TMP/'"$1"'; mkfifo 5 6 7; exec 5<>5 6<>6 7<>7; cd - >/dev/null; one=one-'"$1"' two=two-'"$1"'; $T 1; '"$2"'; echo function >current_tracer
		$TMP/'"$1"'/$one 1 each <&5 >/dev/null & pids=$!; echo >&5; shows $one ": inner"; $TMP/'"$1"'/$two 1 each <&6 >/dev/null & pids="$pids $!"
		echo >&6; shows $two ": inner"; stopped=$(agent '"$1"'/$one); kill -STOP $stopped
		while echo >&6; do read -t 0.05 <&7; done & feeder=$!
		'"$3"' 2>/dev/null; echo "$?"; kill $feeder; wait $feeder; grep -c ": outer\|main\|()" trace; sort -u set_ftrace_filter; echo >trace
		echo >&6; shows $two ": inner"; grep -c ": outer\|main\|()" trace; kill -CONT $stopped; kill $pids'
}
(refused alone 'echo inner >set_ftrace_filter' 'echo outer >>set_ftrace_filter') &
(refused tracer 'echo inner >set_ftrace_filter' 'echo function_graph >current_tracer') &
(refused beside 'mkdir instances/foo; echo lonely >instances/foo/set_ftrace_filter; echo function >instances/foo/current_tracer; echo inner >set_ftrace_filter' 'echo outer >>set_ftrace_filter') &
wait
for name in alone tracer beside; do
	expect_equal "$name, after a write that was refused" "$(grep -v Terminated $name/out | tr -s '\n' ' ')" "1 0 inner 0 "
done

# ---- Meanwhile a fork child comes to be, writes and ends, and the session has not heard of it: a read that is due behind the write shows it.
# Also where it has children that do the same; whether there are spares for all of those is not asked here.
# (Files are open before, and nothing is executed: the read is the one thing that is asked of the session.)
inside 'cd $TMP; cp $T waits; mkfifo 8 9 late; exec 5<>8 7<>9 8<>late; cd - >/dev/null; $T 1; echo inner >set_ftrace_filter; echo function >current_tracer
	$TMP/waits 1 each <&5 >/dev/null & pid=$!; echo >&5; shows waits ": inner"; stopped=$(agent waits)
	for args in "2 late" "3 deep"; do
		exec 9< <(exec $T $args <&8); wait $!; exec 6<trace; echo >trace
		kill -STOP $stopped; (echo outer >>set_ftrace_filter) 2>/dev/null & write=$!; read -t 0.3 <&7; echo >&8; read <&9
		(mapfile line <&6; echo "${line[*]}" >$TMP/seen) & reads=$!; read -t 0.3 <&7; kill -CONT $stopped; wait $write $reads; sleep 0.5; grep ": inner <-outer" trace >$TMP/later
		grep -c ": inner <-outer" $TMP/seen | if [ "$args" = "2 late" ]; then cat; else grep -qx $(grep -c . $TMP/later) && grep -q . $TMP/later && echo all; fi
		echo inner >set_ftrace_filter
	done; kill $pid'
expect_equal "children that were not heard of" "$(grep -v Terminated out | tr '\n' ' ')" "4 all "
