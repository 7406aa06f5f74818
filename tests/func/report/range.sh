#!/bin/sh
# SPDX-License-Identifier: MIT
# range.sh - a part of a large recording is the same from the start, with its index, and with a damaged or another recording's index
. "$(dirname "$0")/../../lib/common.sh"

: "${SYNTH:?the program synth_make}"
"$SYNTH" big.uft 600000
"$uft" stat big.uft >stat
duration=$(sed -n 's/^duration_ns: *//p' stat)
check
[ "${duration:-0}" -gt 100000 ] || { fail "uft stat tells no duration"; cat stat; }
a=$((duration * 3 / 4)) b=$((duration * 3 / 4 + duration / 1000))

part() { # part FILE [A]: what lies between
	run "$uft" report --no-pager --range "${2-${a}ns}~${b}ns" big.uft
	expect_status 0
	cp out "$1"
}
same() { # same WHAT FILE: as the first one
	expect_equal "$1" "$(cmp first "$2" 2>&1)" ""
}

part whole "" # from the start, so without an index
check
[ ! -e big.uft.index ] || fail "a range from the start made an index"
part first
check
[ -s big.uft.index ] || fail "the first part made no index"
lines=$(grep -vc '^#' first)
check
[ "$lines" -gt 300 ] || fail "the part has $lines lines"
# A call that began before the part has its name behind its end.
grep -v '^#' whole | tail -n $((lines / 2)) | sed 's, /\*.*,,' >end
grep -v '^#' first | tail -n $((lines / 2)) | sed 's, /\*.*,,' >end_sought
expect_equal "the part and the same lines of all" "$(cmp end end_sought 2>&1)" ""

expect_equal "only the user may read the index" "$(stat -c %a big.uft.index)" 600
part again
same "the part by the index" again
printf x | dd of=big.uft.index bs=1 seek=3000 conv=notrunc 2>/dev/null
part damaged
same "the part by a damaged index" damaged
: >big.uft.index
part empty
same "the part by an empty index" empty
check
[ -s big.uft.index ] || fail "an index that is none was not made again"

# Another recording of the same name.
"$SYNTH" big.uft 650000 2
cp big.uft other.uft
part other
a=$((duration / 2)) b=$((duration / 2 + duration / 1000))
part first
mv other.uft big.uft
rm big.uft.index
part last
same "the part of another recording of that name" last
