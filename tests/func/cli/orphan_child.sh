#!/bin/sh
# SPDX-License-Identifier: MIT
# orphan_child.sh - the first call of a child comes after its parent, the last process that the session knows, has ended: no call is missing
. "$(dirname "$0")/../../lib/common.sh"

cat >prog.c <<'END'
#include <unistd.h>
__attribute__((noinline)) void work(int n) { __asm__ volatile("" : : "r"(n)); }
int main(void)
{
	if (!fork())
		for (int i = 0; i < 1000; i++)
			work(i);
	_exit(0);
}
END
${CC:-cc} -O1 -fpatchable-function-entry=5 -o prog prog.c || exit 1
# The child must begin and end while the session looks for others: of sixteen runs one to five did.
for i in $(seq 16); do
	run "$uft" record -q -p function -l work -o prog.uft ./prog
	expect_status 0
	run "$uft" stat prog.uft
	expect_equal "calls of the child, run $i" "$(sed -n 's/^calls: //p' out)" 1000
done
