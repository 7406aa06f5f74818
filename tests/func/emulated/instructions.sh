#!/bin/sh
# SPDX-License-Identifier: MIT
#
# instructions.sh MACHINE PAD FUNCTION GRAPH - events go by the fast paths: at most so many instructions a call, those of the test's
# loop included (an average of a thousand, which starts that differ move by one)
. "$(dirname "$0")/../../lib/common.sh"
need "$1-linux-gnu-gcc" "qemu-$1"
sh "$top/bench/instructions.sh" "$uft" "$1:$2" >said 2>err || fail "instructions.sh: $(cat said err)"
for limit in "function $3" "function_graph $4"; do
	n=$(sed -n "s/^$1 ${limit% *}: \([0-9]*\) instructions.*/\1/p" said)
	check
	[ -n "$n" ] && [ "$n" -gt 20 ] && [ "$n" -le "${limit#* }" ] || fail "more than $limit: $(cat said err)"
done
