#!/bin/sh
# SPDX-License-Identifier: MIT
#
# tracepoints.sh MACHINE CC EMULATOR - events that another machine's program declares: off, recorded, filtered in the program, in a library that it
# loads
. "$(dirname "$0")/../../lib/common.sh"
cc=$2 emulator=$3
from=$top/tests/func/observe/tracepoints
# shellcheck disable=SC2086
need $cc ${emulator%% *}
# shellcheck disable=SC2086
need_libc $cc
compile() { out=$1; shift; $cc -Wall -Wextra -I"$top/include" -I"$top/include/uft/kernel" -I"$from" -o "$out" "$from/program.c" "$@" >compiled 2>&1 || { cat compiled; fail "cannot build $out"; }; }
body() { sed -n 's/^.*: \(sample_[a-z]*: .*\)$/\1/p' "$1"; }
recorded() { run timeout 60 "$uft" record "--emulator=$emulator" -o rec.uft "$@"; expect_status 0; "$uft" report --no-pager rec.uft >text; }

# shellcheck disable=SC2086
$emulator ./need_libc || skip "the emulator does not run a program"

compile prog -O2 -fPIE -pie
expect_equal "no warning" "$(cat compiled)" ""
# shellcheck disable=SC2086
expect_equal "off" "$($emulator ./prog 4)" "evaluated 0 enabled 0"

# ---- Each way to build it: in text that moves, that does not, with calls at any place
for way in "-O2 -fPIE -pie" "-O0" "-O2 -flto" "-O2 -s -no-pie"; do
	rm -f prog
	# shellcheck disable=SC2086
	compile prog $way
	recorded -q -e 'uft_sample:*' ./prog 4
	expect_equal "$way: what is said" "$(cat err)" \
		"uft record: warning: 1 event was not recorded: its fields have more than 2040 bytes (give the event shorter fields)"
	expect_equal "$way: on" "$(cat out)" "evaluated 4 enabled 1"
	expect_equal "$way: text" "$(body text | diff "$from/wanted" -)" ""
done
expect_equal "too large: counted" "$("$uft" stat rec.uft | grep -c 'event_too_large.*1')" 1

# ---- Beside functions, and with other options of events
recorded -q -p function -e uft_sample:sample_one ./prog 4
expect_equal "beside a tracer" "$(body text | tr '\n' ' ')" "sample_one: a=0 sample_one: a=1 sample_one: a=2 sample_one: a=3 "

# ---- Filters are asked in the program: what they reject is never a record
recorded -e uft_sample:sample_one -f 'a == 3 || a == 70' ./prog 400
expect_equal "filtered" "$(body text | tr '\n' ' ')" "sample_one: a=3 sample_one: a=70 "
expect_err "uft: 2 events in"
recorded -e uft_sample:sample_request -f 'what ~ "h*o" && id & 1 && tag == "tag"' -e uft_sample:sample_two -f 'a > 2' ./prog 4
expect_equal "two filters" "$(body text | sed 's/ tag.*//' | tr '\n' ' ')" "sample_request: id=1 sample_request: id=3 sample_two: two=0x03 "
expect_err "uft: 3 events in"

# ---- A library that is loaded while the program runs
compile lib.so -O2 -fPIC -shared -DIS_LIBRARY
compile loader -O2 -DNO_TRACEPOINTS -ldl
recorded -q -e uft_sample:sample_odd ./loader 4 ./lib.so
expect_equal "only one is on" "$(cat out)" "evaluated 0 enabled 0"
expect_equal "of a library" "$(body text | tr '\n' ' ')" "sample_odd: a=1 sample_odd: a=3 "
