#!/bin/sh
# SPDX-License-Identifier: MIT
# refused.sh TARGET - a write that one of several targets does not take, since its agent is stopped: all go on as they were
. "$(dirname "$0")/inside.sh"

cp "$T" one
cp "$T" two
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

# The newest target is switched over before it is known that the other is not.
inside 'mkfifo $TMP/5 $TMP/6; $T 1; echo inner >set_ftrace_filter; echo function >current_tracer
	$TMP/one 1 each <$TMP/5 >$TMP/told & pids=$!; $TMP/two 1 each <$TMP/6 >$TMP/told & pids="$pids $!"; exec 5>$TMP/5 6>$TMP/6
	echo >&5; echo >&6; shows one ": inner"; shows two ": inner"; stopped=$(agent one); kill -STOP $stopped
	echo outer 2>$TMP/said >set_ftrace_filter; echo "$?"; sort -u set_ftrace_filter; echo >trace
	echo >&6; shows two ": inner"; grep -c ": outer" trace
	kill -CONT $stopped; kill $pids'
expect_equal "after a write that was refused" "$(grep -v Terminated out | tr -s '\n' ' ')" "1 inner 0 "
