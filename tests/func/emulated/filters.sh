#!/bin/sh
# SPDX-License-Identifier: MIT
#
# filters.sh MACHINE CC PAD EMULATOR - filters select records of another machine's program as on this machine
. "$(dirname "$0")/../../lib/common.sh"
cc=$2 pad=$3 emulator=$4
# shellcheck disable=SC2086
need $cc ${emulator%% *}
# shellcheck disable=SC2086
need_libc $cc
cat >main.c <<'END'
#define STEP __attribute__((noinline))
STEP int leaf(int x) { __asm__ volatile("" : "+r"(x)); return x; }
STEP int middle(int x) { return leaf(x) + leaf(x) + 1; }
STEP int outer(int x) { return middle(x) + middle(x) + 1; }
int main(void) { return outer(1) + middle(0) + leaf(0) != 8; }
END
# shellcheck disable=SC2086
must_build $cc -O1 "-fpatchable-function-entry=$pad" main.c -o main
# shellcheck disable=SC2086
$emulator ./main || skip "the emulator does not run a program"

# recorded WANT OPTIONS...: calls by name.
recorded() {
	want=$1
	shift
	run timeout 60 "$uft" record -q "--emulator=$emulator" -o rec.uft "$@" ./main
	expect_status 0
	"$uft" report --profile rec.uft | grep -v '^#' | awk '{ print $NF $1 }' | sort | tr '\n' ' ' >seen
	expect_equal "$*" "$(cat seen)" "$want "
}

for tracer in function function_graph; do
	recorded 'leaf7 main1 middle3 outer1' -p $tracer
	recorded 'leaf7' -p $tracer -l leaf
	recorded 'leaf7 middle3' -p $tracer -l 'l*' -l 'm*e'
	recorded 'main1 middle3 outer1' -p $tracer -n leaf
done
recorded 'leaf6 middle3' -g middle
recorded 'leaf4 middle2 outer1' -g outer
recorded 'leaf1 main1 middle1 outer1' --max-graph-depth 2
# Options of the graph.
recorded 'leaf7 main1 middle3 outer1' -O funcgraph-retaddr -O nosleep-time -O nofuncgraph-irqs
"$uft" report rec.uft >report
check
[ "$(grep -cE 'leaf\(\);? /\* <-(middle|main)\+0x[0-9a-f]+/0x[0-9a-f]+ \*/' report)" -eq 7 ] || fail "funcgraph-retaddr: $(cat report)"
