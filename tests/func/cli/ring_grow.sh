#!/bin/sh
# SPDX-License-Identifier: MIT
# ring_grow.sh - rings grow while the recorder is late: nothing is lost up to the bound, and each event beyond it is counted
. "$(dirname "$0")/../../lib/common.sh"

cat >burst.c <<'EOF'
#define _GNU_SOURCE
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
__attribute__((noinline)) int leaf(int i) { __asm__ volatile(""); return i; }
static void wait_for(const char *name)
{
	while (access(name, F_OK))
		usleep(1000);
}
int main(int argc, char **argv)
{
	cpu_set_t one;		/* and one ring */

	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	sched_setaffinity(0, sizeof(one), &one);
	leaf(0);
	fclose(fopen("begun", "w"));
	wait_for("go");
	for (int i = 1; i < atoi(argv[1]); i++)
		leaf(i);
	fclose(fopen("written", "w"));
	wait_for("end");
	return 3;
}
EOF
need_libc cc -pg -mfentry -fno-pie -no-pie
must_build cc -O1 -pg -mfentry -fno-pie -no-pie -o burst burst.c

# burst CALLS OPTIONS...: the recorder stands still while the program makes them
burst() {
	calls=$1
	shift
	rm -f begun go written end burst.uft
	"$uft" record "$@" -p function -l leaf -o burst.uft ./burst "$calls" >out 2>err &
	recorder=$!
	eventually test -e begun || fail "the program did not begin: $(cat err)"
	stop $recorder
	: >go
	eventually test -e written || fail "the program waits for its recorder"
	kill -CONT $recorder
	: >end
	wait $recorder
	expect_equal "the program's status" $? 3
	kept=$(stat_value burst.uft calls)
	[ "$*" = --flight ] || expect_equal "calls, recorded or lost" $((kept + $(stat_value burst.uft lost))) "$calls"
}

# Four times the usual size, then more than there is room for: a record has 16 bytes.
burst 4000000
expect_equal "lost of 64 MB" "$(stat_value burst.uft lost)" 0
burst 4000000 -b 4M --buffer-max 32M
check
[ "$kept" -gt 2000000 ] || fail "only $kept calls are in 32 MB"
check
[ "$kept" -le 2097152 ] || fail "$kept calls are in 32 MB"
# A size that was asked for is the size.
burst 1000000 -b 4M
check
[ "$kept" -le 262144 ] || fail "a ring of 4 MB has grown"
# Nor does a flight recorder's grow.
burst 4000000 --flight
check
[ "$kept" -le 1048576 ] || fail "a flight recorder's ring has grown"
check
