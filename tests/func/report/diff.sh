#!/bin/sh
# SPDX-License-Identifier: MIT
# diff.sh - uft diff: two builds of a program by call path, noise by repeated runs, conditions for CI
. "$(dirname "$0")/../../lib/common.sh"

cat >prog.c <<'END'
#define FN __attribute__((noinline, noclone))
FN void leaf(void) { for (int i = 0; i < WORK; i++) __asm__ volatile("" ::: "memory"); }
FN void old(void) { leaf(); }
FN void fresh(void) { leaf(); leaf(); }
FN void same(void) { leaf(); }
int main(void)
{
	for (int i = 0; i < 50; i++) {
		CHANGED();
		same();
	}
	return 0;
}
END
build_traced prog -DWORK=100 -DCHANGED=old
mv prog before
build_traced prog -DWORK=100000 -DCHANGED=fresh
mv prog after
for i in 1 2; do
	run "$uft" record -q -o before$i.uft ./before
	run "$uft" record -q -o after$i.uft ./after
done
run "$uft" diff --csv before1.uft after1.uft
expect_status 0
expect_no_err
row() { awk -F, -v p="$1" '$13 == p { print $1, $7, $8 }' out; }
expect_equal "a path that is new" "$(row 'main;fresh;leaf')" "new 0 100"
expect_equal "one that is gone" "$(row 'main;old;leaf')" "gone 50 0"
expect_equal "one of both" "$(row 'main;same;leaf')" "slower 50 50"
expect_equal "changes add up" "$(awk -F, 'NR > 1 { n += $2 } END { print n }' out)" "$(awk -F, '$13 == "main" { print $12 - $11 }' out)"
expect_equal "the largest first" "$(awk -F, 'NR > 1 { v = $2 < 0 ? -$2 : $2; if (NR > 2 && v > last) print; last = v }' out)" ""
expect_equal "shares" "$(awk -F, 'NR > 1 { n += $3 } END { printf "%.3f", n }' out)" 1.000
run "$uft" diff before1.uft after1.uft before2.uft after2.uft
expect_out "# A: before1.uft"
expect_out "% slower ("
expect_out "Means of 2 and 2 recordings"
check
! grep -q 'noise is not known' out || fail "noise of two pairs"
run "$uft" diff --limit 1 before1.uft after1.uft
expect_out "noise is not known of one pair"
expect_equal "what is beyond the limit" "$(sed -n 's/^# \([0-9]*\) more paths* [a-z]* not shown (--limit 1;.*/\1/p' out)" \
	"$(($("$uft" diff --csv before1.uft after1.uft | wc -l) - 2))"
run "$uft" diff before1.uft after1.uft before2.uft after2.uft
expect_out "new "
run "$uft" diff --csv --min 0 before1.uft before1.uft before1.uft before1.uft
expect_equal "the same is noise or the same" "$(awk -F, 'NR > 1 && ($1 != "noise" || $2 != 0 || $4 != 0)' out)" ""
run "$uft" diff after1.uft before1.uft
expect_out "% faster ("

# A condition holds: 3. One that does not: 0. None at all: 2. One of nothing: 1.
run "$uft" diff --fail-if 'calls(leaf) > 1.1x' before1.uft after1.uft
expect_status 3
expect_out "FAIL: calls(leaf) is 150 in B, 100 in A (1.50x)"
run "$uft" diff --fail-if 'calls(leaf) > 150' --fail-if 'calls(sa*) >= 2x' --fail-if 'p99(same) > 100s' before1.uft after1.uft
expect_status 0
expect_out "ok: calls(leaf) is 150 in B"
run "$uft" diff --fail-if 'p99(fresh) > 1.1x' before1.uft after1.uft
expect_status 3
for wrong in 'p98(leaf) > 1x' 'leaf > 1x' 'p99(leaf) = 1x' 'p99(leaf) > 10' 'calls(leaf) > 10ms' 'p99() > 1x' 'p99(leaf) > x' 'p99(leaf) > 1xx'; do
	run "$uft" diff --fail-if "$wrong" before1.uft after1.uft
	expect_status 2
	expect_err "is no condition"
	expect_no_out
done
run "$uft" diff --fail-if 'p99(nosuch) > 1.1x' before1.uft after1.uft
expect_status 1
run "$uft" diff before1.uft
expect_status 2
run "$uft" diff before1.uft nosuch.uft
expect_status 1
if command -v python3 >/dev/null; then
	run "$uft" diff --wide --min 0 before1.uft after1.uft
	expect_out " p99 A  p99 B total A total B  path"
	expect_equal "a column more each" "$(grep -v '^#' out | awk '{ print NF }' | sort -u)" 13
	run "$uft" diff --json before1.uft after1.uft
	python3 -c 'import json; r = json.load(open("out")); assert r["report"] == "diff" and len(r["rows"]) == 7, r' || fail "JSON"
fi
