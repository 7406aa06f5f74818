#!/bin/sh
# SPDX-License-Identifier: MIT
# exec_loop.sh - attach to a process that executes one program after the other: uft attaches in one of them, or reports that it keeps executing; a
# state between two programs is no reason to refuse
. "$(dirname "$0")/../../lib/common.sh"

cat >again.sh <<'END'
[ -e stop ] || exec sh again.sh
END
sh again.sh & pid=$!
for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16; do
	run timeout --foreground -s INT 0.5 "$uft" attach -q -p nop -o rec.uft "$pid"
	check
	grep -e "$pid ended" -e "replaced" -e "cannot be put into" -e "no file is mapped" err && { fail "what is found between two programs"; show; }
done
touch stop
wait "$pid"
status=$?
expect_status 0
