#!/bin/sh
# SPDX-License-Identifier: MIT
#
# golden.sh TARGET CASE... - commands of cases/ in our tracing directory, against what a 6.12 kernel printed for the same in its own
#
# kernel/CASE is what capture.sh brought from the kernel. differs/CASE, where there is one, is a sed script that turns it into
# what we say: each line of it stands below the reason, and must still change something. mask.awk then covers times, process ids
# and the like in both; all else has to be equal, column for column. `unmasked` is how many lines of each are compared as they are.
. "$(dirname "$0")/../../lib/common.sh"
. "$(dirname "$0")/../../lib/shell.sh"

here=$top/tests/golden/tree
target=$1
shift
export T="$target" TMP="$tmp"
first_cpus

# expected CASE: the kernel's text with our differences, in the file `want`
expected() {
	cp "$here/kernel/$1" want
	[ -e "$here/differs/$1" ] || return 0
	grep -v '^#' "$here/differs/$1" >edits
	while read -r edit; do
		sed -E "$edit" want >edited
		check
		cmp -s want edited && fail "$1: the kernel's text has nothing for differs/$1: $edit"
		mv edited want
	done <edits
}

compared=0
for name; do
	if grep -q '^[^#]*taskset' "$here/cases/$name" && [ "$CPU,$CPU2" != 0,1 ]; then
		echo "SKIPPED: $name: it is told for the CPUs 0 and 1"
		continue
	fi
	if grep -q '^[^#]*enable_event' "$here/cases/$name" && ! "$uft" record -q -e sched -o may.uft true 2>may; then
		echo "SKIPPED: $name: $(cat may)"
		continue
	fi
	run timeout 100 "$uft" shell -c "cd /sys/kernel/tracing; exec sh $here/cases/$name"
	mv out seen
	compared=$((compared + 1))
	expected "$name"
	awk -f "$here/mask.awk" <want >want.masked
	awk -f "$here/mask.awk" <seen >seen.masked
	check
	diff want.masked seen.masked >difference || { fail "$name: not the kernel's text (< kernel, > ours)"; cat difference; sed 's/^/  err: /' err; }
	expect_equal "$name: lines compared unmasked" "$(awk 'NR == FNR { line[NR] = $0; next } line[FNR] == $0 { n++ } END { print n + 0 }' want want.masked)" \
		"$(sed -n "s/^$name //p" "$here/unmasked")"
done
[ "$compared" -gt 0 ] || skip "none of the cases can be had here"
