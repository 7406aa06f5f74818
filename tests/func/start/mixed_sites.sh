#!/bin/sh
# SPDX-License-Identifier: MIT
# mixed_sites.sh PROGRAM NOWX - many sites of one kind, armed by one order, and other sites beside them: each call is recorded once, also with a
# filter that selects most sites, and where text cannot be made writable and no site is armed by orders
program=$(realpath "$1") nowx=$(realpath "$2")
. "$(dirname "$0")/../../lib/common.sh"

# record HOW CALLS PATCHED COMMAND...
record() {
	how=$1 calls=$2 patched=$3
	shift 3
	checks_done=$((checks_done + 1))
	"$uft" record -q -o mixed.uft "$@" >out 2>err || { cat err; fail "$how"; return; }
	[ "$(cat out)" = "$n" ] || fail "$how: the program printed $(cat out)"
	"$uft" stat mixed.uft >stat
	for want in "calls: $calls" "lost: 0" "counter_patched: $patched" "counter_site_refused: 0"; do
		grep -qx "$want" stat || { cat stat; fail "$how: not $want"; }
	done
}

n=$("$program") || fail "the program itself"
[ "$n" = 640 ] || fail "the program has $n functions"
for tracer in function function_graph profile; do
	record $tracer 640 640 -p $tracer -- "$program"
	record "$tracer, filter" 455 455 -p $tracer -l 'f1*' -n 'f1[0-7]0*' -l 'f202[0-6]' -- "$program"
done
record "no writable text, and its main()" 641 641 -p function -- "$nowx" "$program"
