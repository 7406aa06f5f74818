#!/bin/sh
# SPDX-License-Identifier: MIT
# function_fork.sh TARGET - function-fork: children of listed processes join the list
. "$(dirname "$0")/inside.sh"

# line FILE: its lines as one
line() { tr '\n' ' ' <"$1"; }
on='$T 1; echo 1 >options/function-fork; echo inner >set_ftrace_filter; echo function >current_tracer'

# ---- What a shell starts that a shell has started, neither of which makes a traced call; and what that executes in its place
inside "$on"'; echo $$ >set_ftrace_pid; ( ( $T 2; : ); : ); grep -c ": inner" trace; echo >trace; ( (exec sh -c "exec $T 3"); : ); grep -c ": inner" trace'
expect_equal "below silent shells" "$(line out)" "4 6 "

# ---- Who ended before his children start something
inside "$on"'; mkfifo $TMP/go; echo $$ >set_ftrace_pid; ( (read x <$TMP/go; $T 2; : ) & ); echo >$TMP/go
	for i in $(seq 300); do [ $(grep -c ": inner" trace) = 4 ] && break; sleep 0.1; done; grep -c ": inner" trace'
expect_equal "below one that has ended" "$(line out)" "4 "

# ---- The same, and it is gone before the session hears of it: 30 times, as the slices of both may lie in any order
inside "$on"'; mkfifo $TMP/unheard; exec 5<>$TMP/unheard; echo $$ >set_ftrace_pid
	for n in $(seq 30); do
		kill -STOP $PPID; ( (read x <&5; $T 2; : ) & ); kill -CONT $PPID; echo >&5
		for i in $(seq 300); do [ $(grep -c ": inner" trace) = $((4 * n)) ] && break; sleep 0.1; done; [ $i = 300 ] && break
	done; grep -c ": inner" trace'
expect_equal "below some that were never heard of" "$(line out)" "120 "

# ---- Who was there before is not in: it itself, and what it executes
inside "$on"'; mkfifo $TMP/before; (read x <$TMP/before; exec $T 2) & sleep 0.1; echo $$ >set_ftrace_pid; echo >$TMP/before; wait $!; $T 1; grep -c ": inner" trace'
expect_equal "made before" "$(line out)" "2 "
# ... but is if the list goes on, and another number is added or taken for it
inside "$on"'; mkfifo $TMP/added; echo $$ >set_ftrace_pid; (read x <$TMP/added; exec $T 2) & sleep 0.1; echo 1073741823 >>set_ftrace_pid; echo >$TMP/added; wait $!; grep -c ": inner" trace'
expect_equal "made while the list was another" "$(line out)" "4 "

# ---- Many: those that are gone are forgotten, those that are there are not
inside "$on"'; mkfifo $TMP/many; echo $$ >set_ftrace_pid; (read x <$TMP/many; $T 2; :) & for i in $(seq 200); do /bin/true; done; echo >$TMP/many; wait $!; $T 1; grep -c ": inner" trace'
expect_equal "many" "$(line out)" "6 "
