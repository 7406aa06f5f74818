#!/bin/sh
# SPDX-License-Identifier: MIT
# dat.sh - trace.dat files: read as recordings, and shown beside a recording on the same clock
. "$(dirname "$0")/common.sh"

cat >prog.c <<'END'
__attribute__((noinline)) int leaf(int x) { __asm__ volatile(""); return x * 3; }
__attribute__((noinline)) int work(int x) { __asm__ volatile(""); return leaf(x) + leaf(x + 1); }
int main(void) { int s = 0; for (int i = 0; i < 20; i++) s += work(i); return s == 1; }
END
build_traced prog
run "$uft" record -q -o graph.uft -p function_graph ./prog
run "$uft" record -q -o func.uft -p function ./prog

# An exported file reads as the recording did: each version, packed and not, of both tracers.
for tracer in graph func; do
	"$uft" report "$tracer.uft" | grep -v '^#' >want
	check
	[ "$(wc -l <want)" -ge 61 ] || fail "the recording has $(wc -l <want) lines"
	for form in trace.dat trace.dat-v7 trace.dat-v6; do
		run "$uft" export -f "$form" -o own.dat "$tracer.uft"
		"$uft" report own.dat | grep -v '^#' >seen
		check
		cmp -s want seen || fail "$tracer as $form: $(diff want seen | head -n 3)"
	done
done

# One that says nothing, or was cut, is refused in a sentence.
head -c 300 own.dat >cut.dat
run "$uft" report cut.dat
expect_status 1
expect_err "cut.dat is damaged, or was cut"

# Beside the recording that it was made of: the same moments.
run "$uft" export -o graph.dat graph.uft
touch -d '+1 day' graph.dat
serve graph.uft graph.dat
file=1
ask info
events=$(field events)
duration=$(field duration)
check
grep -q "\"complete\":1" answer || fail "a whole trace.dat is not complete: $(head -c 400 answer)"
file=all
ask info
expect_equal "both on one clock" "$(field aligned)" 1
expect_equal "events of both" "$(field events)" $((2 * events))
expect_equal "both take as long as one" "$(field duration)" "$duration"
ask search text=leaf from=0
first=$(field t)
ask list first="$(field row)" count=2
expect_equal "the same call in both" "$(grep -o '"t":[0-9]*' answer | tr '\n' ' ')" "\"t\":$first \"t\":$first "
[ -e graph.dat.levels ] && fail "levels of a small file were kept"
end_server
# Its index, which was kept beside it, fits the next time, too.
check
[ -s graph.dat.index ] || fail "no index is beside the trace.dat"
cp graph.dat.index first.index
serve graph.dat
file=0
ask list first=0 count=2000
expect_equal "rows of it" "$(grep -o '"n":' answer | wc -l)" "$events"
end_server
check
cmp -s first.index graph.dat.index || fail "the index was made again"

# One that has not CLOCK_MONOTONIC, or that ended before the machine started, is not taken for aligned.
touch -d '2001-01-01' graph.dat
serve graph.uft graph.dat
file=all
ask info
expect_equal "of a boot before" "$(field aligned)" 0
end_server
