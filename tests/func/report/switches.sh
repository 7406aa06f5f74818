#!/bin/sh
# SPDX-License-Identifier: MIT
# switches.sh - self time is split into blocked, ready and the rest if switches were recorded
. "$(dirname "$0")/../../lib/common.sh"
first_cpus

cat >prog.c <<'END2'
#include <pthread.h>
#include <time.h>
#define FN __attribute__((noinline, noclone))
static volatile unsigned long n;
FN void rests(void) { nanosleep(&(struct timespec){ 0, 20000000 }, 0); }
FN void spins(void)
{
	struct timespec a, b;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &a);
	do {
		n++;
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &b);
	} while ((b.tv_sec - a.tv_sec) * 1000000000L + b.tv_nsec - a.tv_nsec < 60000000);
}
static void *thread(void *arg) { spins(); return arg; }
int main(void)
{
	pthread_t t[2];

	for (int i = 0; i < 5; i++)
		rests();
	for (int i = 0; i < 2; i++)	/* on one CPU: they take it from each other */
		pthread_create(&t[i], 0, thread, 0);
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], 0);
	return 0;
}
END2
build_traced prog -pthread
"$uft" record -q --sched-switch -o sw.uft taskset -c "$CPU" ./prog 2>err
[ -s sw.uft ] && ! grep -qi "switch" err || skip "switches cannot be recorded here: $(head -n 1 err)"
run "$uft" report --flat --by program --csv sw.uft
expect_status 0
expect_equal "the columns" "$(head -n 1 out | cut -d, -f1-8)" \
	"total_ns,total_share,blocked_ns,runnable_ns,self_ns,self_blocked_ns,self_runnable_ns,calls"
# of FUNCTION COLUMN
of() { awk -F, -v f="$1" -v c="$2" '$NF == f { print $c }' out; }
rests=$(of rests 5) rests_blocked=$(of rests 6)
spins=$(of spins 5) spins_blocked=$(of spins 6) spins_ready=$(of spins 7)
check
[ "$rests_blocked" -ge 90000000 ] && [ "$rests_blocked" -le "$rests" ] || fail "rests was blocked for $rests_blocked of $rests ns"
check
[ "$spins_ready" -ge 30000000 ] && [ $((spins_ready + spins_blocked)) -le "$spins" ] || fail "spins was ready for $spins_ready of $spins ns"
# The time without those is at least the CPU time by its own clock.
check
[ $((spins - spins_ready - spins_blocked)) -ge 110000000 ] || fail "spins ran for $((spins - spins_ready - spins_blocked)) ns"
# A caller, and a program, has the times of what it called.
for whole in main "program prog"; do
	check
	[ "$(of "$whole" 3)" -ge "$rests_blocked" ] && [ "$(of "$whole" 3)" -le "$(of "$whole" 1)" ] ||
		fail "$whole was blocked for $(of "$whole" 3) of $(of "$whole" 1) ns"
done
expect_equal "what it called itself has no more" "$(of rests 3)" "$rests_blocked"
run "$uft" report --tree --csv sw.uft
check
[ "$(of main 3)" -ge "$rests_blocked" ] && [ "$(of main 3)" -le "$(of main 1)" ] || fail "main was blocked for $(of main 3) of $(of main 1) ns"
run "$uft" record -q -o plain.uft ./prog
run "$uft" report --tree --csv plain.uft
expect_equal "without switches there are no such columns" "$(head -n 1 out | grep -c blocked)" 0
