#!/bin/sh
# SPDX-License-Identifier: MIT
# losses.sh - recorded and lost calls sum exactly to all calls; overwritten events are counted; every view reports losses
. "$(dirname "$0")/../../lib/common.sh"

cat >prog.c <<'END'
#include <pthread.h>
__attribute__((noinline)) int leaf(int n) { __asm__ volatile("" ::: "memory"); return n; }
__attribute__((noinline)) void mid(int n) { while (n--) leaf(n); }
static void *work(void *arg) { for (int i = 0; i < 400; i++) mid(300); return arg; }
int main(void)
{
	pthread_t t[3];
	for (int i = 0; i < 3; i++)
		pthread_create(&t[i], 0, work, 0);
	for (int i = 0; i < 3; i++)
		pthread_join(t[i], 0);
	return 0;
}
END
build_traced prog -pthread
all=$((3 * 400 * 301))

for how in "-p function" "-p function_graph" "-p function_graph -O funcgraph-args -O funcgraph-retval"; do
	# shellcheck disable=SC2086
	run "$uft" record $how -l leaf -l mid -b 16 ./prog
	expect_status 0
	expect_equal "calls and lost ones, $how" $(($(stat_value trace.uft calls) + $(stat_value trace.uft lost))) $all
	[ "$(stat_value trace.uft lost)" -gt 0 ] || skip "nothing was lost with buffers of 16 KB"
	expect_err "warning: $(stat_value trace.uft lost) of $all calls and other events were lost: the buffer was full"
done
sentence="$(stat_value trace.uft lost) of $all calls and other events were lost: the buffer was full (record fewer functions with -l, or let rings grow further: --buffer-max 512M)"
run "$uft" stat
expect_out "missing: $sentence"
for view in "" --profile; do
	# shellcheck disable=SC2086
	run "$uft" report $view
	expect_out "# missing: $sentence"
done
run "$uft" report --profile --json
expect_err "# missing: $sentence"
check
grep -q missing: out && fail "a comment in JSON"
run "$uft" export -o x.dat
expect_status 0
expect_err "# missing: $sentence"

# A file that was cut off.
head -c $(($(wc -c <trace.uft) / 2)) trace.uft >cut.uft
run "$uft" report --profile cut.uft
expect_out "# missing: the file has no end"

run "$uft" record --flight -p function -l leaf -l mid -b 16 ./prog
expect_status 0
expect_err "0 lost, about "
over=$(stat_value trace.uft overwritten) calls=$(stat_value trace.uft calls)
check
[ $((over + calls)) -gt $((all * 7 / 10)) ] && [ $((over + calls)) -lt $((all * 13 / 10)) ] || fail "$over overwritten and $calls kept, of $all"
expect_err "events were overwritten by newer ones, as --flight asks (rings had 16K: to keep more, a larger -b)"

# Nothing is missing, nothing is said.
run "$uft" record -p function -l mid -b 4M ./prog
run "$uft" report
check
grep -q missing: out && fail "something is missing of nothing lost"
expect_equal "lost" "$(stat_value trace.uft lost) $(stat_value trace.uft overwritten)" "0 0"
