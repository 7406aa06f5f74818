#!/bin/sh
# SPDX-License-Identifier: MIT
# counter.sh - records without a clock: the order in each task is exact, numbers rise, and no view prints a time
. "$(dirname "$0")/../../lib/common.sh"

need python3
cat >prog.c <<'end'
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

static cpu_set_t all;

__attribute__((noinline, noipa)) void first(void) { }
__attribute__((noinline, noipa)) void second(void) { }
__attribute__((noinline, noipa)) void both(void) { first(); second(); __asm__ volatile(""); }

/* From CPU to CPU, also back to one where its numbers were lower. */
static void move(int i)
{
	cpu_set_t one;
	int n = i % CPU_COUNT(&all), cpu = 0;

	while (!CPU_ISSET(cpu, &all) || n--)
		cpu++;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	sched_setaffinity(0, sizeof(one), &one);
}

static void *work(void *unused)
{
	(void)unused;
	for (int i = 0; i < 3000; i++) {
		if (i % 50 == 0)
			move(i / 50);
		both();
	}
	return NULL;
}

int main(void)
{
	pthread_t t[3];

	sched_getaffinity(0, sizeof(all), &all);
	for (int i = 0; i < 3; i++)
		pthread_create(&t[i], NULL, work, NULL);
	for (int i = 0; i < 3; i++)
		pthread_join(t[i], NULL);
	return 0;
}
end
build_traced prog -pthread

# What each thread did, whatever the others did between. With @2 most numbers follow the one before.
cat >order.py <<'end'
import collections, re, sys

tasks = collections.defaultdict(list)
for line in open(sys.argv[1]):
    m = re.match(r' *\S.*-(\d+) +\[\d+\] (?:\S+ )? *(\d+): (first|second|both) <-', line)
    if m:
        tasks[m.group(1)].append((int(m.group(2)), m.group(3)))
assert len(tasks) == 3, sorted(tasks)
for task, events in tasks.items():
    assert [name for _, name in events] == ['both', 'first', 'second'] * 3000, task
    numbers = [number for number, _ in events]
    assert all(a < b for a, b in zip(numbers, numbers[1:])), task
    # a clock that was read would be further
    if len(sys.argv) > 2:
        assert 2 * sum(a + 1 == b for a, b in zip(numbers, numbers[1:])) > len(numbers), task
end
run "$uft" record -q -C counter -p function -b 16M -l first -l second -l both -o func.uft ./prog
expect_status 0
[ "$(stat_value func.uft lost)" = 0 ] || skip "this machine loses calls of so short a program"
run "$uft" report func.uft
expect_status 0
cp out func.text
run python3 order.py func.text
expect_status 0
expect_no_err

run "$uft" record -q -C counter -b 16M -l first -l second -l both -o graph.uft ./prog
expect_status 0
run "$uft" report graph.uft
expect_status 0
expect_out "both() {"
check
! grep -q " us \|DURATION" out || fail "a graph without times has durations: $(grep " us \|DURATION" out | head -n 1)"
expect_equal "calls" "$(stat_value graph.uft calls)" 27000

# So does code of -pg, without a clock where other code has none (not without rseq).
python3 order.py func.text dense 2>/dev/null && dense=dense || dense=
if [ "$(uname -m)" = x86_64 ] && cc -O1 -pg -o counted prog.c -pthread 2>err; then
	run "$uft" record -q -C counter -p function -b 16M -l first -l second -l both -o pg.uft ./counted
	expect_status 0
	run "$uft" report pg.uft
	expect_status 0
	cp out pg.text
	# shellcheck disable=SC2086
	run python3 order.py pg.text $dense
	expect_status 0
	expect_no_err
	run "$uft" record -q -C counter -b 16M -l first -l second -l both -o pg.uft ./counted
	expect_status 0
	expect_equal "calls of -pg" "$(stat_value pg.uft calls)" 27000
fi

for what in "report --profile" "report --tree" "report --timeline" "report --range 0.1~" "export -f folded -o x" "diff func.uft"; do
	run "$uft" $what graph.uft
	expect_status 1
	expect_err "has the order of its events and no times: it was recorded with the clock counter"
done

# As trace.dat it keeps the clock.
run "$uft" export -f trace.dat -o graph.dat graph.uft
expect_status 0
run "$uft" report graph.dat
expect_status 0
check
! grep -q " us " out || fail "a graph of a trace.dat without times has durations"

run "$uft" record -C counter --thresh 1 ./prog
expect_status 2
expect_err "--clock counter is for"
run "$uft" record -C jiffies ./prog
expect_status 2
