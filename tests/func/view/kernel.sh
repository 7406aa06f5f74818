#!/bin/sh
# SPDX-License-Identifier: MIT
# kernel.sh - a trace.dat of a kernel: tasks on CPUs, reasons of waits, flags of latency, names of addresses
. "$(dirname "$0")/common.sh"
need python3
here=$(dirname "$0")
python3 "$here/kernel_dat.py" kernel.dat
# states ROW: of its strip, a line each: from, length (ms), what
states() {
	python3 -c 'import json, sys
a = json.load(open("answer"))
for row in a["rows"]:
    for lane, v in row["lanes"]:
        for i in range(0, len(v), 5) if lane == int(sys.argv[1]) else ():
            print(v[i] / 1e6, v[i + 1] / 1e6, a["names"].get(str(v[i + 2]), v[i + 2]) if lane else v[i + 2], end="; ")' "$1"
}

run "$uft" report kernel.dat
expect_status 0
expect_out 'function=timer_ticks at=timer_ticks+0x4/0x100'

# Flags of the moment, as the kernel's text has them.
expect_out '[000] d.h1. '
expect_out '[000] .n.2. '
run "$uft" report -O latency-format kernel.dat
expect_status 0
expect_out '0d.h1. '

# The flags of functions and of graphs are those that trace-cmd report -l prints, record by record; they are in what is exported again, too.
told() { sed -n 's/.*-300  *1\([.a-zA-Z0-9]*\) .*/\1/p; s/^ 1)  \([.a-zA-Z0-9]*\) |.*/\1/p' | tr '\n' ' '; }
python3 "$here/kernel_dat.py" function.dat function
python3 "$here/kernel_dat.py" graph.dat graph
run "$uft" report -O latency-format function.dat
expect_equal "flags of functions" "$(told <out)" "..... d.... d..1. .N.2. ..h.1 ..s1. d.H3. d.H3. ..... "
run "$uft" report -O latency-format graph.dat
expect_equal "flags of a graph" "$(told <out)" "d.... ..... d.... d..1. d..3. .N.2. .N.2. ..h.1 ..s1. d.H3. d.H3. ..... .N.2. "
for what in function graph; do
	"$uft" report -O latency-format $what.dat >ours
	for form in trace.dat trace.dat-v6; do
		run "$uft" export -f $form -o again.dat $what.dat
		"$uft" report -O latency-format again.dat >again
		expect_equal "flags of $what, exported as $form" "$(grep -v '^#' again)" "$(grep -v '^#' ours)"
		command -v trace-cmd >/dev/null || continue
		for file in $what.dat again.dat; do
			expect_equal "flags of $what that trace-cmd tells of $file" "$(trace-cmd report -l $file 2>/dev/null | told)" "$(told <ours)"
		done
	done
done

serve kernel.dat
ask info
duration=$(field duration)
row_of() { grep -o "\"row\":[0-9]*,\"file\":0,\"pid\":$1," answer | grep -o '[0-9]*' | head -n 1; }
ask info; first=$(row_of 100)
second=$(row_of 200)
third=$(row_of 300)
for at in "$first" "$second" "$third"; do [ -n "$at" ] || { fail "a task has no row: $(head -c 2000 answer)"; exit 1; }; done
ask tiles from=0 to=$((duration + 1)) width=5000 rows="$first"
expect_equal "blocked, woken, running, preempted, ended" "$(states 65533)" \
	"5.0 20.0 blocked; 25.0 4.0 waits for a CPU; 29.0 6.0 runs; 35.0 10.0 waits for a CPU; 45.0 10.0 runs; "
ask tiles from=0 to=$((duration + 1)) width=5000 rows="$second"
expect_equal "one that was not seen before" "$(states 65533)" "5.0 24.0 runs; 29.0 6.0 blocked; 35.0 10.0 runs; 45.0 10.0 blocked; "
ask tiles from=0 to=$((duration + 1)) width=5000 rows="$third"
expect_equal "one that was woken before" "$(states 65533)" "14.0 1.0 waits for a CPU; 15.0 5.0 runs; 20.0 35.0 blocked; "
ask tiles from=0 to=$((duration + 1)) width=5000 rows=c0
expect_equal "whom CPU 0 had" "$(states 0)" "0.0 5.0 $first; 5.0 24.0 $second; 29.0 6.0 $first; 35.0 10.0 $second; 45.0 10.0 $first; "
ask tiles from=0 to=$((duration + 1)) width=5000 rows=c1
expect_equal "whom CPU 1 had" "$(states 0)" "15.0 5.0 $third; "
ask list first=0 count=8
expect_equal "flags of the latency format" "$(grep -o '"flags":"[^"]*"' answer | cut -d'"' -f4 | tr '\n' ' ')" \
	"d.h1. d..2. d..3. ...2. ...2. d..3. ...2. .n.2. "
end_server

# The same within calls: of self, and of the total of each call that is open; in uft report as in the tree of uft view.
python3 "$here/kernel_dat.py" waits.dat waits
run "$uft" report --tree --csv waits.dat
csv() { awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next } { print $at["function"], $at["self_blocked_ns"], $at["self_runnable_ns"], $at["blocked_ns"], $at["runnable_ns"] }'; }
expect_equal "parts of calls in a report" "$(csv <out)" "schedule 3000000 10000000 23000000 14000000
timer_ticks 20000000 4000000 20000000 4000000"
serve waits.dat
ask tree from=0 to=100000000
expect_equal "parts of calls in the tree" "$(python3 -c 'import json
for n in json.load(open("answer"))["nodes"]:
    print(n[1], *n[7:])')" "$(csv <out)"
end_server

# A host's thread that runs a guest.
python3 "$here/kernel_dat.py" kvm.dat kvm
serve kvm.dat
ask info
first=$(row_of 100)
duration=$(field duration)
ask tiles from=0 to=$((duration + 1)) width=5000 rows="$first"
expect_equal "where a thread runs its guest" "$(states 65533)" \
	"1.0 2.0 runs its guest; 3.0 1.0 runs; 4.0 1.0 runs its guest; 5.0 20.0 blocked; 25.0 4.0 waits for a CPU; 29.0 1.0 runs; 30.0 1.0 runs its guest; 31.0 4.0 runs; "
# Losses, and where.
ask tiles from=0 to=$((duration + 1)) width=5000 rows=c0,c1
python3 -c 'import json
for row in json.load(open("answer"))["rows"]:
    print([round(x / 1e6) if i % 5 < 2 else x for lane, v in row["lanes"] if lane == 65535 for i, x in enumerate(v) if i % 5 in (0, 3)])' >lost
expect_equal "losses of CPUs, where and how many" "$(tr '\n' ' ' <lost)" "[] [25, 7] "
ask list filter='' first=0 count=100
expect_equal "losses in the list" "$(grep -o '"event":"lost"[^}]*"lost":[0-9]*' answer | grep -o '[0-9]*$')" 7
ask info
check
grep -q '"missing":\["[^"]*7 ' answer || fail "losses are not told of: $(grep -o '"missing":[^]]*' answer)"
end_server

# A guest's clock is its host's, as trace-cmd measured it: on a line through two samples, or by steps; one sample stands for all times.
moments() { grep -o '\[00[01]\] .*' | awk '{ for (i = 2; i <= NF; i++) if ($i ~ /^[0-9]+\.[0-9]+:$/) { printf "%s%s ", substr($1, 4, 1), substr($i, 1, index($i, ".") + 6); break } }'; }
for what in host guest steps; do
	python3 "$here/kernel_dat.py" $what.dat $what
	"$uft" report $what.dat | moments >$what.times
done
expect_equal "times of a host" "$(cat host.times)" "05.005000 05.010000 15.019000 15.020000 15.025000 05.030000 05.034000 05.040000 05.050000 05.060000 "
expect_equal "times of its guest" "$(cat guest.times)" "06.005050 06.010100 16.019000 16.020000 16.025000 06.030300 06.034340 06.040400 06.050500 06.060600 "
expect_equal "times that are corrected by steps" "$(cat steps.times)" "15.019000 15.020000 15.025000 06.005000 06.010000 06.030200 06.034200 06.040200 06.050200 06.060200 "
! command -v trace-cmd >/dev/null ||
	expect_equal "times of a guest that trace-cmd tells" "$(trace-cmd report -t guest.dat 2>/dev/null | moments)" "$(cat guest.times)"
serve host.dat guest.dat
file=all
ask info
expect_equal "a host and its guest are on one clock" "$(field aligned)" 1
expect_equal "when the guest's file begins" "$(grep -o '"offset":[0-9]*' answer | tr '\n' ' ')" '"offset":0 "offset":1000050000 '
file=0
end_server
# A correction that says more than there is damages the file: no byte of it leads the reader elsewhere.
python3 - guest.dat <<'END'
import struct, sys
data = open(sys.argv[1], "rb").read()
at = data.index(struct.pack("<Q", 0x1122334455667788))
for name, where, value in ("cpus", 12, 5000), ("samples", 16, 1 << 31), ("fraction", 96, 64):
    open(name + ".dat", "wb").write(data[:at + where] + struct.pack("<I", value) + data[at + where + 4:])
END
for what in cpus samples fraction; do
	run "$uft" report $what.dat
	expect_status 1
	expect_err "$what.dat is damaged, or was cut"
done

# Once, not at each look: it may be large. Its copy has no name.
if command -v strace >/dev/null; then
	strace -f -o calls -e trace=openat,open "$uft" view --no-browser kernel.dat >address 2>serve.err &
	tracer=$!
	for _ in $(seq 600); do
		grep -q http address && break
		kill -0 "$tracer" 2>/dev/null || break
		sleep 0.1
	done
	url=$(cat address)
	ask info
	kill "$(cat "/proc/$tracer/task/$tracer/children")" 2>/dev/null || :
	wait "$tracer" || :
	expect_equal "copies that are made" "$(grep -c 'O_TMPFILE\|uft-dat-' calls)" 1
fi

# Ten thousand tasks.
python3 "$here/kernel_dat.py" many.dat 10000
serve many.dat
ask info
expect_equal "tasks" "$(grep -o '"tid"' answer | wc -l)" 10004
ask tiles from=0 to=$((duration + 1)) width=1000 rows="$(seq -s, 1 1000)"
expect_equal "rows of one picture" "$(grep -o '"row":' answer | wc -l)" 1000
end_server

# In the page: CPUs are there, though the idle task's row is closed.
serve kernel.dat many.dat kvm.dat
in_page kernel.mjs
end_server
