#!/bin/sh
# SPDX-License-Identifier: MIT
# diff.sh - the difference of two recordings, by time, calls and blocked time: the answer, and the page
. "$(dirname "$0")/common.sh"
need python3
cat >prog.c <<'END'
#include <stdlib.h>
#include <time.h>
__attribute__((noinline)) void rest(int ms) { nanosleep(&(struct timespec){ .tv_nsec = ms * 1000000L }, 0); __asm__ volatile(""); }
__attribute__((noinline)) void order(int ms) { rest(ms); __asm__ volatile(""); }
__attribute__((noinline)) int spin(int n) { volatile int x = 0; for (int i = 0; i < n; i++) x += i; return x; }
int main(int argc, char **argv)
{
	for (int i = 0; i < 5; i++)
		order(atoi(argv[argc - 1]));
	for (int i = 0; i < atoi(argv[argc - 1]); i++)
		spin(10);
	return 0;
}
END
build_traced prog
for ms in 4 40; do
	run "$uft" record -q -o $ms.uft -p function_graph --sched-switch ./prog $ms
	expect_status 0
done
serve 4.uft 40.uft
file=1
ask diff with=0
# pair NAME: of a function, the last path of it: calls, blocked ms in A and B
pair() { python3 -c 'import json, sys
for n in json.load(open("answer"))["nodes"]:
    if n[1] == sys.argv[1]:
        last = n
print(last[2], last[3], last[8] // 4000000, last[9] // 40000000)' "$1"; }
rest=$(pair rest)
check
# Sleeps are never shorter; on a loaded machine they may be longer.
printf '%s\n' "$rest" | awk '{ exit !($1 == 5 && $2 == 5 && $3 >= 4 && $4 >= 4 && $4 < $3 * 100) }' || fail "blocked time of rest: calls, and in units of 4 and 40 ms: $rest"
expect_equal "who waits is the one that has the time" "$(pair order | cut -d' ' -f 3-)" "0 0"

in_page diff.mjs
end_server
