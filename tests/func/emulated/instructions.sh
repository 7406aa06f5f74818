#!/bin/sh
# SPDX-License-Identifier: MIT
#
# instructions.sh MACHINE FUNCTION GRAPH PLAIN-FUNCTION PLAIN-GRAPH TLS-GRAPH - events go by the fast paths: at most so many instructions an event, all of
# it counted but what the program executes without uft. A program with the library of C++ takes no more of a function event.
#
# An average of a thousand, to which each event that goes by C adds one or two: one more of those does where the clock's high half turns
# meanwhile. So what is too much once is counted again.
. "$(dirname "$0")/../../lib/common.sh"
need "$1-linux-gnu-gcc" "qemu-$1"

# within: all of them are; else what is not is in the file more
within() {
	cxx=$1:c++
	[ -e "/usr/$1-linux-gnu/lib/libstdc++.so.6" ] || cxx=
	sh "$top/bench/instructions.sh" "$uft" "$1 $1:plain $1:tls" >said 2>err || fail "instructions.sh: $(cat said err)"
	[ -z "$cxx" ] || sh "$top/bench/instructions.sh" "$uft" "$cxx" function >>said 2>err || fail "instructions.sh: $(cat said err)"
	: >more
	for limit in "$1 function: $2" "$1 function_graph: $3" "$1:plain function: $4" "$1:plain function_graph: $5" "$1:tls function_graph: $6" \
		${cxx:+"$cxx function: $2"}; do
		n=$(sed -n "s/^${limit% *} .*call, \([0-9]*\) without.*/\1/p" said)
		[ -n "$n" ] && [ "$n" -gt 20 ] && [ "$n" -le "${limit##* }" ] || echo "$n, more than $limit" >>more
	done
	[ ! -s more ]
}

check
within "$@" || within "$@" || within "$@" || fail "$(cat more said err)"
