#!/bin/sh
# SPDX-License-Identifier: MIT
# clean_pages.sh PROGRAM - code pages without a selected site stay the file's: not copied, not dirty
program=$(realpath "$1")
. "$(dirname "$0")/../../lib/common.sh"
get() { sed -n "s/^$1 *//p" "$2"; }
assert() {	# WHAT GOT WANTED
	checks_done=$((checks_done + 1))
	[ "$2" = "$3" ] || fail "$1: $2, expected $3"
}

"$program" 1003 >bare || fail "the program itself"
assert "copied pages of an untraced program" "$(get dirty bare)" ""
assert "private dirty memory of an untraced program" "$(get private_dirty_kb bare)" 0

# Three functions on three pages, under both tracers; they were traced, so their pages must show.
for tracer in function function_graph; do
	"$uft" record -q -p $tracer -l f1003 -l f3100 -l f8777 -o three.uft "$program" 1003 3100 8777 >three 2>err || { cat err; fail "$tracer"; }
	assert "$tracer: copied pages" "$(get dirty three)" "$(get site three)"
	assert "$tracer: private dirty KB" "$(get private_dirty_kb three)" 12
	assert "$tracer: calls" "$("$uft" stat three.uft | sed -n 's/^functions_called: //p;s/^calls: //p' | head -n 1)" 3
done

# A whole page of functions is one page; and everything is what it takes, not more than the text.
"$uft" record -q -p function -l 'f1[0]*' -o page.uft "$program" >page 2>err || fail "one page"
assert "pages of 64 functions that share one or two" "$([ "$(get dirty page | wc -w)" -le 2 ] && echo few)" few
"$uft" record -q -p function -o all.uft "$program" >all 2>err || fail "all"
assert "all functions dirty their 64 pages, no less" "$([ "$(get dirty all | wc -w)" -ge 64 ] && echo all)" all
assert "and nothing beside" "$([ "$(get dirty all | wc -w)" -le 66 ] && echo all)" all
