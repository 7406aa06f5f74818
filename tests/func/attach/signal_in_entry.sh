#!/bin/sh
# SPDX-License-Identifier: MIT
# signal_in_entry.sh PROGRAM - attach while a signal handler will return between the instructions of faults()
#
# faults() is left as it is, and counted. All other functions that run there at every moment are rewritten, and the program notices nothing.
program=$(realpath "$1")
. "$(dirname "$0")/../../lib/common.sh"
. "$top/tests/func/attach/lib.sh"

# between WHAT WANT ARGS...: a recording, in the midst of which the handler returns. WANT: sites that are left.
between() {
	what=$1
	want=$2
	shift 2
	hold_up "$program" "$@"
	for tracer in function function_graph; do
		rm -f $tracer.uft
		# What cannot be changed is tried again for a fifth of a second.
		attach_until "has_calls 10 $tracer.uft nops stores work && has_armed" -p $tracer -l faults -l nops -l stores -l work -b 1M -o $tracer.uft $held
		for f in nops stores work; do
			check
			"$uft" report $tracer.uft 2>/dev/null | grep -q "\\<$f\\>" || { fail "$what, $tracer: no call of $f"; cat said; }
		done
		expect_equal "$what, $tracer: left alone" "$(stat_value $tracer.uft counter_site_live)" "$want"
	done
	let_go
	expect_equal "$what: status" $status 0
	expect_equal "$what: output" "$(tail -n 1 held)" "42 0"
}

between "in a handler" 1 0
between "in a handler on its own stack" 1 0 alternate
between "in handlers of handlers" 1 3 alternate
between "in handlers of handlers, on the stack" 1 3
