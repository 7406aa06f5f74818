#!/bin/sh
# SPDX-License-Identifier: MIT
# budget.sh - --budget, --max-rate and --min-size drop expensive functions and report them; the rest is complete
. "$(dirname "$0")/../../lib/common.sh"

cat >prog.c <<'END'
#include <stdio.h>
#include <time.h>
__attribute__((noinline)) unsigned tiny(unsigned x) { __asm__ volatile(""); return x * 2654435761u + 1; }
__attribute__((noinline)) unsigned work(unsigned x)
{
	for (int i = 0; i < 50000; i++) {
		x ^= x << 13;
		x ^= x >> 17;
		x ^= x << 5;
	}
	return x;
}
__attribute__((noinline)) unsigned big(unsigned x)
{
	for (int i = 0; i < 2000; i++)
		x = tiny(x);
	return work(x);
}
int main(void)
{
	unsigned x = 1, n = 0;

	for (; clock() < 1.2 * CLOCKS_PER_SEC; n++)
		x = big(x);
	printf("%u\n", n);
	return x == 7;
}
END
build_traced prog

# calls_of NAME: by the profile of the recording.
calls_of() {
	"$uft" report --profile | awk -v name="$1" '$NF == name { print $1 }'
}

# dropped_is_right N: tiny is said to be dropped, what is said of it is true, and the others are complete.
dropped_is_right() {
	n=$1
	"$uft" report --profile >report
	check
	grep -q '^# dropped: tiny after' report || { fail "no word of tiny"; cat report; }
	expect_equal "only tiny was dropped" "$(grep -c '^# dropped' report)" 1
	expect_equal "calls of big" "$(calls_of big)" "$n"
	expect_equal "calls of work" "$(calls_of work)" "$n"
	recorded=$(sed -n 's/.*; \([0-9]*\) calls recorded.*/\1/p' report)
	expect_equal "calls of tiny as said" "$(calls_of tiny)" "$recorded"
	check
	[ "$recorded" -gt 0 ] && [ "$recorded" -lt $((n * 2000)) ] || fail "$recorded of $((n * 2000)) calls of tiny recorded"
	check
	sed -n 's/.*about \([0-9]*\) missing.*/\1/p' report | grep -q '^[1-9]' || fail "nothing is said to be missing"
}

for tracer in function_graph function; do
	run "$uft" record -p $tracer -b 8M --budget 1% ./prog
	expect_status 0
	expect_err "dropped tiny"
	[ $tracer = function_graph ] && dropped_is_right "$(cat out)"
	[ $tracer = function ] && expect_equal "big in function events" "$("$uft" report | grep -c ' big <-main')" "$(cat out)"
done
# Without preparation.
${CC:-cc} -O1 -g -o plain prog.c
run "$uft" record -q -b 8M --budget 1% ./plain
expect_status 0
dropped_is_right "$(cat out)"

# For trace-cmd it is a line in its place.
if command -v trace-cmd >/dev/null; then
	run "$uft" record -q -b 64M --budget 1% ./prog
	n=$(cat out)
	run "$uft" export -o trace.dat
	trace-cmd report -i trace.dat 2>/dev/null >dat.txt
	expect_equal "the drop in trace.dat" "$(grep -c 'print: *tiny: dropped by --budget' dat.txt)" 1
	expect_equal "calls of big in trace.dat" "$(grep -c 'funcgraph_entry.* big()' dat.txt)" "$n"
fi
run "$uft" record -q -b 8M --max-rate 100000 ./prog
expect_status 0
expect_no_err
n=$(cat out)
dropped_is_right "$n"
expect_equal "why" "$(grep -c 'by --max-rate of process' report)" 1

# A limit that is not reached changes nothing. tiny is smaller than the other two.
run "$uft" record -q --budget 1000% -l big ./prog
expect_status 0
expect_equal "calls of big" "$(calls_of big)" "$(cat out)"
run "$uft" report
expect_equal "nothing dropped" "$(grep -c dropped out)" 0
run "$uft" record -q --min-size 24 -n main ./prog
expect_status 0
expect_equal "calls of big" "$(calls_of big)" "$(cat out)"
expect_equal "calls of tiny" "$(calls_of tiny)" ""
# The status is the program's, whether or not anything could be recorded.
run "$uft" record -q --min-size 100000 ./prog
expect_status 0
expect_err "nothing was recorded"
run "$uft" record -q --min-size 100000 sh -c 'exit 3'
expect_status 3

for bad in "--budget 0" "--budget x" "--budget 5%x" "--budget -1" "--budget nan" "--max-rate x" "--budget 5 --thresh 5" \
	   "--max-rate 5 -p profile"; do
	# shellcheck disable=SC2086
	run "$uft" record $bad ./prog
	expect_status 2
done

# More than a handful is not said one by one, but the report has them all.
cat >many.c <<'END'
#include <time.h>
#define F(n) __attribute__((noinline)) void f##n(void) { __asm__ volatile("# " #n ::: "memory"); }
#define ALL(do) do(0) do(1) do(2) do(3) do(4) do(5) do(6) do(7)
#define CALL(n) f##n();
ALL(F)
int main(void)
{
	while (clock() < 0.8 * CLOCKS_PER_SEC) {
		ALL(CALL)
	}
	return 0;
}
END
build_traced many
run "$uft" record -p function -b 8M --max-rate 1 -l 'f[0-7]' ./many
expect_status 0
expect_equal "said at once" "$(grep -c 'dropped f[0-7]:' err)" 5
expect_err "dropped 3 more functions; uft report lists all at its end"
expect_equal "in the report" "$("$uft" report | grep -c '^# dropped: f[0-7] ')" 8
