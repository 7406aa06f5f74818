#!/bin/sh
# SPDX-License-Identifier: MIT
# partial_refusal.sh TARGET - a write that one of several targets does not take, since its agent is stopped: all go on as they were
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
