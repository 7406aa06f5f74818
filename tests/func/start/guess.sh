#!/bin/sh
# SPDX-License-Identifier: MIT
# guess.sh PROGRAM - more functions than the start of a program expects from the unwind table: each is traced, each call recorded
program=$(realpath "$1")
. "$(dirname "$0")/../../lib/common.sh"

n=$("$program") || fail "the program itself"
for tracer in function function_graph profile; do
	checks_done=$((checks_done + 1))
	"$uft" record -q -p $tracer -o guess.uft "$program" >out 2>err || { cat err; fail "$tracer"; }
	[ "$(cat out)" = "$n" ] || fail "$tracer: the program printed $(cat out)"
	"$uft" stat guess.uft >stat
	for want in "calls: $n" "lost: 0" "counter_patched: $n" "counter_site_refused: 0"; do
		grep -qx "$want" stat || { cat stat; fail "$tracer: not $want"; }
	done
done
