#!/bin/sh
# SPDX-License-Identifier: MIT
# hostile.sh - recordings made to harm their reader: no crash, and memory and time within what their size allows
. "$(dirname "$0")/../../lib/common.sh"
need python3

# limited CMD...: with at most 1 GiB of memory and $seconds of CPU time, for files of a few MB
seconds=60
limited() { run python3 -c 'import os, resource as r, sys
if "ASAN_OPTIONS" not in os.environ: r.setrlimit(r.RLIMIT_AS, (1 << 30, 1 << 30))	# its shadow has no room there
r.setrlimit(r.RLIMIT_CPU, (int(sys.argv[1]),) * 2); os.execv(sys.argv[2], sys.argv[2:])' "$seconds" "$@"; }
make() { python3 "$(dirname "$0")/hostile_uft.py" "$1" "$1.uft" || exit 1; }

# ---- The number of a ring is that of a CPU: arrays by CPU had no room for the last one that there is
make ring
for format in trace.dat trace.dat-v7 trace.dat-v6 folded chrome perfetto firefox speedscope; do
	limited "$uft" export -f $format -o "ring.$format" ring.uft
	expect_status 0
done
run "$uft" stat ring.uft
expect_equal "the ring that is none" "$(sed -n 's/^damaged_bytes: //p' out)" 112
expect_equal "the other one" "$(sed -n 's/^calls: //p' out)" 1

# ---- Each image had two tables of 64 KiB
make images
limited "$uft" report --flat images.uft
expect_status 0
expect_out 'id#5'

# ---- Names in which the end of each bracket was looked for to the end: 14 s, where 0.14 s are enough
make brackets
seconds=6
limited "$uft" report --flat --limit 3 brackets.uft
expect_status 0
seconds=60

# ---- Each task of a thread looked at all that was said of this thread
make tasks
limited "$uft" report --flat tasks.uft
expect_status 0
expect_out '9999'

# ---- Each object without names has its file opened, and read as a whole if others can change it
make files
python3 -c 'import sys
program = open(sys.argv[1], "rb").read(); open("files.uft.file", "wb").write(program + bytes((10 << 20) - len(program) % (10 << 20)))' "$uft"
chmod 666 files.uft.file
seconds=10
limited "$uft" report --flat files.uft
expect_status 0
limited "$uft" report --tree --lines --inlines files.uft
expect_status 0
seconds=60
