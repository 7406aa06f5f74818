#!/bin/sh
# SPDX-License-Identifier: MIT
# dump_on_oops.sh TARGET - ftrace_dump_on_oops: the buffer is printed to our standard error only if the program that we started crashes
. "$(dirname "$0")/inside.sh"

calls() { sed -n 's/^tree-tar-[0-9]* *[0-9].*: \([a-z]*\) <-.*/\1/p' "$1" | tr '\n' ' '; }

# oops UFT_TRACE COMMAND...
oops() {
	trace=$1; shift
	UFT_TRACE="ftrace=function ftrace_filter=:mod:$(basename "$target") $trace" run timeout 60 "$uft" shell "$@"
}

# ---- Ended by the signal, or a shell says so
oops ftrace_dump_on_oops "$target" 1 crash
expect_status 139
expect_equal "dumped" "$(calls err)" "main lonely outer inner inner "
expect_equal "once, in its frame" "$(grep -c 'Dumping ftrace buffer:\|^-*$' err)" 3
oops ftrace_dump_on_oops=1 -c "$target 1 crash; exit \$?"
expect_equal "by the shell's word" "$(calls err)" "main lonely outer inner inner "
oops ftrace_dump_on_oops=orig_cpu taskset -c "$CPU" "$target" 2 crash
expect_equal "of its CPU" "$(calls err)" "main lonely outer inner inner outer inner inner "

# ---- Not asked for; an end that is none
oops "" "$target" 1 crash
expect_status 139
expect_equal "not asked for" "$(grep -c Dumping err)" 0
oops ftrace_dump_on_oops "$target" 1
expect_equal "no crash" "$(grep -c Dumping err)" 0
oops ftrace_dump_on_oops -c 'kill -TERM $$'
expect_equal "ended by others" "$(grep -c Dumping err)" 0

# ---- The file, and what it refuses
inside 'cat ftrace_dump_on_oops; for v in 1 2 orig_cpu 0 3 x -1; do echo $v >ftrace_dump_on_oops; echo "$? $(cat ftrace_dump_on_oops)"; done; echo outer:dump:1 >>set_ftrace_filter; echo 1 >ftrace_dump_on_oops; kill -SEGV $$' 2>err
expect_equal "values" "$(tr '\n' ' ' <out)" "0 0 1 0 2 0 2 0 0 1 0 1 0 1 0 "
run timeout 60 "$uft" shell -c "exec bash -c 'echo 1 >/sys/kernel/tracing/ftrace_dump_on_oops; kill -SEGV \$\$'"
expect_equal "an empty buffer" "$(grep -v rror err | tr '\n' ' ')" "Dumping ftrace buffer:    (ftrace buffer empty) "
