#!/bin/sh
# SPDX-License-Identifier: MIT
# uftrace.sh - a program that uftrace records under uft: uftrace has all functions, and uft reports whose they are
. "$(dirname "$0")/../../lib/common.sh"

need uftrace
cat >prog.c <<'END'
__attribute__((noinline)) int inner(int x) { __asm__ volatile(""); return x + 1; }
__attribute__((noinline)) int outer(int x) { return inner(x) + inner(x + 1); }
int main(void) { return outer(1) - 5; }
END
${CC:-cc} -O1 -pg -o called prog.c && ${CC:-cc} -O1 -fpatchable-function-entry=5 -o padded prog.c || exit 1

# functions: of the program, that uftrace recorded.
functions() {
	uftrace report -d data 2>/dev/null | grep -cE ' (inner|outer|main)$'
}

for program in called padded; do
	rm -rf data
	run uftrace record --no-event -P . -d data ./$program
	[ "$(functions)" = 3 ] || { echo "SKIPPED: $program: uftrace alone does not record it here"; check; continue; }
	alone=$status
	for tracer in function function_graph; do
		rm -rf data
		run "$uft" record -p $tracer -o x.uft -- uftrace record --no-event -P . -d data ./$program
		expect_status "$alone"
		expect_equal "functions of $program that uftrace recorded under $tracer" "$(functions)" 3
		expect_err "$program is traced by "
	done
done
