#!/bin/sh
# SPDX-License-Identifier: MIT
#
# instructions.sh MACHINE FUNCTION GRAPH PLAIN-FUNCTION PLAIN-GRAPH - events go by the fast paths: at most so many instructions an event, all of
# it counted but what the program executes without uft
. "$(dirname "$0")/../../lib/common.sh"
need "$1-linux-gnu-gcc" "qemu-$1"
sh "$top/bench/instructions.sh" "$uft" "$1 $1:plain" >said 2>err || fail "instructions.sh: $(cat said err)"
for limit in "$1 function: $2" "$1 function_graph: $3" "$1:plain function: $4" "$1:plain function_graph: $5"; do
	n=$(sed -n "s/^${limit% *} .*call, \([0-9]*\) without.*/\1/p" said)
	check
	[ -n "$n" ] && [ "$n" -gt 20 ] && [ "$n" -le "${limit##* }" ] || fail "more than $limit: $(cat said err)"
done
