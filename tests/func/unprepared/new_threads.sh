#!/bin/sh
# SPDX-License-Identifier: MIT
# new_threads.sh - the first events of new threads cost no other thread a record
. "$(dirname "$0")/../../lib/common.sh"

need_libc "${CC:-cc}"
must_build "${CC:-cc}" -O2 -pthread "$top/tests/func/unprepared/new_threads.c" -o young
run "$uft" record -q -b 512M -p function -o y.uft -l step -l '*:mod:libc.so*' ./young
expect_status 0
made=$(cat out)
run "$uft" report y.uft
seen=$(grep -c ': step' out)
lost=$("$uft" stat y.uft | sed -n 's/^lost: //p')
expect_equal "calls of step, recorded and lost ($lost)" "$((seen + lost))" "$made"
