#!/bin/sh
# SPDX-License-Identifier: MIT
# event_tasks.sh SOURCE CC... - tracepoints in a signal handler within another, in threads, fork, vfork and exec: each once
. "$(dirname "$0")/../../lib/common.sh"
[ "$(uname -m)" = x86_64 ] || skip "events of programs are recorded on x86_64 only"
source=$1
shift
"$@" -O2 -Wall -I"$source/include" -I"$source/include/uft/kernel" -I"$source/tests/func/observe/event_tasks" -o prog \
	"$source/tests/func/observe/event_tasks/program.c" -lpthread >compiled 2>&1 || { cat compiled; fail "cannot build prog"; exit 1; }

# seen FILE: how many turns had which events, and whether each has its own number
seen() {
	"$uft" report --no-pager "$1" | sed -n 's/^.*: tasks_plain: by=\([a-z]*\) n=\([0-9]*\)$/\1 \2/p; s/^.*: tasks_interrupted: n=\([0-9]*\) twice=\([0-9]*\)$/record \1 \2/p' |
		awk '{ n[$1]++; if (n[$1 " " $2]++ || ($1 == "record" && $3 != 2 * $2)) wrong++ } END { print n["record"], n["handler"], n["thread"], n["fork"], n["vfork"], n["exec"], wrong + 0 }'
}
for how in "" --preload; do
	# shellcheck disable=SC2086
	run "$uft" record -q $how -e 'uft_tasks:*' -o rec.uft ./prog 50
	expect_status 0
	expect_equal "record $how" "$(seen rec.uft)" "50 50 50 50 50 1 0"
	run "$uft" record -q $how -e uft_tasks:tasks_plain -f 'by ~ "*fork"' -o rec.uft ./prog 50
	expect_equal "filtered $how" "$(seen rec.uft | tr -s ' ')" " 50 50 0"
done
