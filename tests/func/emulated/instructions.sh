#!/bin/sh
# SPDX-License-Identifier: MIT
#
# instructions.sh MACHINE PAD MOST - a function event goes by the fast path: at most MOST instructions, those of the test's loop included
. "$(dirname "$0")/../../lib/common.sh"
need "$1-linux-gnu-gcc" "qemu-$1"
sh "$top/bench/instructions.sh" "$uft" "$1:$2" function >said 2>err || fail "instructions.sh: $(cat said err)"
n=$(sed -n "s/^$1 function: \([0-9]*\) instructions.*/\1/p" said)
check
[ -n "$n" ] && [ "$n" -gt 20 ] && [ "$n" -le "$3" ] || fail "an event takes more than $3 instructions: $(cat said err)"
