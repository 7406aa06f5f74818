#!/bin/sh
# SPDX-License-Identifier: MIT
# libtracefs.sh LIBRARY PROGRAM - a program that uses libtracefs, inside uft shell
. "$(dirname "$0")/inside.sh"
[ "$(id -u)" -eq 0 ] || skip "libtracefs finds the files by a mount that only root can make"

export L="$1" T="$2"
inside '$L "$T 1"; echo status $?'
expect_out "directory /sys/kernel/tracing"
expect_out "tracer function_graph"		# it leaves nop out
expect_equal "filter" "$(sed -n '/^filter/,/^status/p' out | sort | tr '\n' ' ')" "filter leaf status 0 work "
expect_equal "calls" "$(names out)" "work leaf leaf "
expect_out "tracing_mark_write: marked 42"
expect_out "on 0"
expect_equal "in the end" "$(tail -n 1 out)" "status 0"
