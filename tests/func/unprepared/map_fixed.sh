#!/bin/bash
# SPDX-License-Identifier: MIT
# map_fixed.sh - a program at a low address maps a sanitizer's shadow by MAP_FIXED while it runs: no mapping of uft is in the way
. "$(dirname "$0")/../../lib/common.sh"

need gcc

here=$top/tests/func/unprepared
gcc -O1 -Wall -Wextra -no-pie -o fixed "$here/map_fixed.c" || exit 1
gcc -O1 -Wall -Wextra -no-pie -DLOW -Wl,--section-start=.low=0x12000 -o fixed-low "$here/map_fixed.c" || exit 1
run "$uft" sites -S -l high fixed
expect_out "code-pun"

# The place of a jump that ends in bytes of the program; and all that is near its code, with no room below.
for program in fixed fixed-low; do
	for tracer in function function_graph; do
		run timeout 120 "$uft" record -q -p $tracer -l main -l high -o x.uft ./$program
		expect_status 0
		expect_out "420"
		"$uft" report --no-pager x.uft >text
		check
		grep -q main text || fail "$program, $tracer: main is not in the recording"
		expect_equal "$program, $tracer: calls of high" "$(grep -c high text)" 0
		[ "$(stat_value x.uft counter_site_taken)" -ge 1 ] || fail "$program, $tracer: its place is not counted as taken"
	done
done
