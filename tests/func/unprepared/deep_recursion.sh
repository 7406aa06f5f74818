#!/bin/sh
# SPDX-License-Identifier: MIT
# deep_recursion.sh - a recursion deeper than the shadow stack: calls that are not followed count as lost, also in the summary
. "$(dirname "$0")/../../lib/common.sh"

cat >deep.c <<'EOF'
#include <stdlib.h>
__attribute__((noinline)) long down(long n)
{
	return n ? down(n - 1) + (n & 1) : 0;
}
int main(int argc, char **argv)
{
	return down(atol(argv[1])) != atol(argv[1]) / 2;
}
EOF
${CC:-cc} -O1 -fno-optimize-sibling-calls deep.c -o deep || exit 1
run "$uft" record -p function_graph -b 64M -l down -o x.uft ./deep 200000
expect_status 0
missing=$("$uft" stat x.uft | sed -n 's/^counter_shadow_full: //p')
expect_equal "summary" "$(sed -n 's/^uft: .*, \([0-9,]*\) lost$/\1/p' err | tr -d ,)" "$missing"
expect_equal "all calls" $(($("$uft" report --profile x.uft | awk '$NF == "down" { print $1 }') + missing)) 200001
run "$uft" record -p function_graph -b 64M -l down -o x.uft ./deep 1000
expect_err ", 0 lost"
