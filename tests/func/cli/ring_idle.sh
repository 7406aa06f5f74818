#!/bin/sh
# SPDX-License-Identifier: MIT
# ring_idle.sh - idle rings give their memory back, and get it again when they are written: nothing is lost
. "$(dirname "$0")/../../lib/common.sh"

cat >burst.c <<'EOF'
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
__attribute__((noinline)) int leaf(int i) { __asm__ volatile(""); return i; }
static void wait_for(const char *name)
{
	while (access(name, F_OK))
		usleep(10000);
}
int main(int argc, char **argv)
{
	char name[32];

	for (int round = 1; round <= 3; round++) {
		for (int i = 0; i < atoi(argv[1]); i++)
			leaf(i);
		sprintf(name, "written.%d", round);
		fclose(fopen(name, "w"));
		sprintf(name, "go.%d", round);
		wait_for(name);
	}
	return 3;
}
EOF
cc -O1 -pg -mfentry -fno-pie -no-pie -o burst burst.c 2>>err || skip "no compiler for -mfentry"

# KB of the file that the program shares with its recorder, and of no other one
shared_kb() {
	file=$(sed -n 's|.* \(/.*/session\.[0-9.]*\.f[0-9]*\)$|\1|p' "/proc/$1/maps" | sort -u | head -1)
	[ -f "$file" ] && echo $(($(stat -c %b "$file") / 2))
}
is_small() { kb=$(shared_kb "$1") && [ "$kb" -lt 1024 ]; }

# burst OPTIONS...: three bursts of 16 MB; after each all but a sub-buffer of a ring goes
burst() {
	rm -f written.* go.* burst.uft
	"$uft" record "$@" -p function -l leaf -o burst.uft ./burst 1000000 >out 2>err &
	recorder=$!
	for round in 1 2 3; do
		eventually test -e written.$round || fail "burst $round $*: not written: $(cat err)"
		program=$(pgrep -P $recorder -x burst)
		check
		eventually is_small "$program" || fail "burst $round $*: the idle program's memory stays: $(shared_kb "$program") KB"
		: >go.$round
	done
	wait $recorder
	expect_equal "the program's status, $*" $? 3
	expect_equal "calls and lost, $*" "$(stat_value burst.uft calls) $(stat_value burst.uft lost)" "3000000 0"
}

# stopped: what the recorder has not read stays, however long it takes
stopped() {
	rm -f written.* go.* burst.uft
	: >go.2
	"$uft" record -p function -l leaf -o burst.uft ./burst 1000000 >out 2>err &
	recorder=$!
	eventually test -e written.1 || fail "not written: $(cat err)"
	stop $recorder
	: >go.1
	eventually test -e written.3 || fail "the program waits for its recorder"
	sleep 3			# in which the agent could give back
	kill -CONT $recorder
	: >go.3
	wait $recorder
	expect_equal "the program's status, stopped" $? 3
	expect_equal "calls and lost, stopped" "$(stat_value burst.uft calls) $(stat_value burst.uft lost)" "3000000 0"
}

burst
burst -b 64M
stopped
check
