#!/bin/sh
# SPDX-License-Identifier: MIT
# preload_filter.sh FILTER - with --preload, a program behind a filter that would kill it for the start of the runtime runs as without uft;
# others are traced, and none has uft's variables in its environment
filter=$(realpath "$1")
. "$(dirname "$0")/../../lib/common.sh"

cat >inner.c <<'EOF'
#include <stdio.h>
#include <stdlib.h>
int __attribute__((noinline)) work(int n) { __asm__ volatile("" : "+r"(n)); return n + 1; }
int main(void)
{
	printf("%d %s %s\n", work(1), getenv("UFT_ARENA") ? "arena" : "-", getenv("LD_PRELOAD") ? "preload" : "-");
	return 7;
}
EOF
build_traced inner
# calls_of NUMBER WANTED: calls of work() that are recorded behind a filter that kills for this system call
calls_of() {
	run "$uft" record --preload -q -p function -o x.uft "$filter" "$1" ./inner
	expect_status 7
	expect_equal "output behind a filter of call $1" "$(cat out)" "2 - -"
	expect_equal "calls behind a filter of call $1" "$("$uft" report x.uft | grep -c ' work <-')" "$2"
}
calls_of -1 1
calls_of 1000 1		# a call that there is not
calls_of 110 0		# getppid: made at the start of the runtime
calls_of 425 1		# io_uring_setup
calls_of 56 0		# clone: makes the agent
calls_of 8 0		# lseek
# Children are not followed by request, and then nothing is in their environment either.
run "$uft" record --preload --no-children -q -p function -o x.uft "$filter" -1 ./inner
expect_status 7
expect_out "2 - -"
