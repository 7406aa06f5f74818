#!/bin/sh
# SPDX-License-Identifier: MIT
# export.sh - exports for other tools: other readers read them, with the totals of uft report; never an incomplete file
. "$(dirname "$0")/../../lib/common.sh"

cp "$top/tests/func/report/exported.c" prog.c
build_traced prog -pthread
# A name that means something in each format.
objcopy --redefine-sym 'odd=odd;<&"name\' prog || skip "no objcopy"
run "$uft" record -q -o whole.uft ./prog
run "$uft" record -q -o killed.uft ./prog killed
for rec in whole killed; do
	for format in folded svg chrome speedscope; do
		run "$uft" export -f $format -o $rec.$format $rec.uft
		expect_status 0
		expect_no_err
	done
	"$uft" report --tree --csv $rec.uft >$rec.csv
	expect_equal "$rec: folded adds up to the outermost calls" "$(awk '{ n += $NF } END { printf "%.0f", n }' $rec.folded)" \
		"$(awk -F, '$11 == "0" { n += $1 } END { printf "%.0f", n }' $rec.csv)"
	expect_equal "$rec: a line a path" "$(wc -l <$rec.folded)" "$(tail -n +2 $rec.csv | wc -l)"
done
expect_equal "a name's semicolon" "$(grep -c '^main;odd:<&"name\\;leaf [0-9]*$' whole.folded)" 1
expect_equal "nothing else" "$(ls | grep -c part-)" 0
if command -v xmllint >/dev/null; then
	check
	xmllint --noout whole.svg killed.svg || fail "no XML"
else
	echo "SKIPPED: SVG: xmllint is not installed"
fi
if ! command -v python3 >/dev/null; then
	echo "SKIPPED: JSON: python3 is not installed"
	exit
fi
# Nested as brackets, in order of time; each function's time as in the report, to the nanosecond.
. "$top/tests/func/report/readers/look.sh"
for rec in whole killed; do
	for format in chrome speedscope; do
		look $format $rec $rec cat $rec.$format
	done
done

# Through a pipe; by the ending; a link stays one; an older file stays when the export fails.
check
"$uft" export -f folded -o /dev/stdout whole.uft | cmp -s - whole.folded || fail "through a pipe"
run "$uft" export -o x.speedscope.json whole.uft
check
cmp -s x.speedscope.json whole.speedscope || fail ".speedscope.json is speedscope"
echo old >older
ln -s older link
run "$uft" export -f folded -o link whole.uft
check
[ -L link ] && cmp -s older whole.folded || fail "a link is not followed"
echo old >older
for format in folded svg chrome speedscope; do
	(
		ulimit -f 1 || exit 0
		trap '' XFSZ
		"$uft" export -f $format -o older whole.uft 2>/dev/null
	) && [ "$format" != folded ] && [ "$format" != svg ] && fail "$format: 512 bytes are enough"
done
expect_equal "no half file is left" "$(ls | grep -c part-)" 0
run "$uft" record -q -l main -o one.uft ./prog
run "$uft" export -f speedscope -o one.speedscope one.uft
expect_equal "one call" "$(grep -c '^"exporter":"uft: 1 call, 0 open at the end, 0 returns without entry, 0 records lost, 0 events not shown",$' one.speedscope)" 1
run "$uft" record -q -p function -o hits.uft ./prog
run "$uft" export -f svg -o hits.svg hits.uft
expect_status 1
expect_err "the recording has no calls with a duration: record it with -p function_graph"
expect_no_file hits.svg
# Cut off: what is there.
head -c "$(($(wc -c <whole.uft) * 2 / 3))" whole.uft >cut.uft
for format in folded svg chrome speedscope; do
	run "$uft" export -f $format -o cut.$format cut.uft
	expect_status 0
done
run python3 -c 'import json; json.load(open("cut.chrome")); json.load(open("cut.speedscope"))'
expect_status 0
