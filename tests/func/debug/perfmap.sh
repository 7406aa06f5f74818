#!/bin/bash
# SPDX-License-Identifier: MIT
# perfmap.sh - --perf-map: a walk by frame pointers, and perf itself, name every traced caller
. "$(dirname "$0")/../../lib/common.sh"
need python3

# names MAP <ADDRESSES: what the map calls them; all lines of it must be sound.
cat >names.py <<'PY'
import bisect, sys
lines = [l.rstrip("\n").split(" ", 2) for l in open(sys.argv[1])]
table = sorted((int(a, 16), int(n, 16), name) for a, n, name in lines)
assert all(n > 0 and name for _, n, name in table), "an empty line"
assert all(x[0] + x[1] <= y[0] for x, y in zip(table, table[1:])), "lines overlap"
starts = [a for a, _, _ in table]
for line in sys.stdin:
    at = int(line, 16)
    i = bisect.bisect(starts, at) - 1
    print(table[i][2] if i >= 0 and at < table[i][0] + table[i][1] else "-")
PY

# recorded ARGS...: runs ./frames; $pid and $map are its.
recorded() {
	run timeout 60 "$uft" record -q --perf-map -o x.uft "$@"
	expect_status 0
	pid=$(head -n 1 out)
	map=/tmp/perf-$pid.map
}

for mode in "" -fpatchable-function-entry=5 "-pg -mfentry -no-pie"; do
	# shellcheck disable=SC2086
	gcc -O2 -fno-omit-frame-pointer -fno-optimize-sibling-calls $mode -o frames "$top/tests/func/debug/frames.c" || exit 1
	recorded ./frames
	expect_equal "callers by the map, built with '$mode'" "$(sed -n '2,6p' out | python3 names.py "$map" | tr '\n' ' ')" \
		"walk inner middle outer main "
	check
	grep -qE "^[0-9a-f]+ [0-9a-f]+ uft:runtime@[0-9]+$" "$map" || fail "the runtime has no name"
	rm -f "$map"
done

# Without the option there is no map, and without the map no name: else this tests nothing.
run timeout 60 "$uft" record -q -o x.uft ./frames
expect_no_file "/tmp/perf-$(head -n 1 out).map"

# One that the program wrote for itself is left alone.
recorded ./frames walk "7f0000000000 10 jitted
"
expect_err "was not written by uft: it is not changed"
expect_equal "the program's own map" "$(cat "$map")" "7f0000000000 10 jitted"
rm -f "$map"

# perf itself, where it works. It must come second: memory that was mapped earlier it finds in /proc/PID/maps.
if ! command -v perf >/dev/null || ! perf record -q -e cpu-clock -g -o p.data true 2>/dev/null; then
	echo "perf does not work here: not tried"
	exit 0
fi
gcc -O2 -fno-omit-frame-pointer -fno-optimize-sibling-calls -o frames "$top/tests/func/debug/frames.c" || exit 1
timeout 200 "$uft" record -q --perf-map -o x.uft ./frames spin >out &
eventually [ -s out ]
pid=$(head -n 1 out)
mkfifo ctl ack
timeout 200 perf record -q -e cpu-clock -F 200 -g -o p.data -D -1 --control fifo:ctl,ack -p "$pid" &
exec 3>ctl 4<ack
echo enable >&3
read -r _ <&4		# perf is there
touch go
wait
exec 3>&- 4<&-
timeout 60 perf script -i p.data -F ip,sym 2>/dev/null | awk '!NF { print s; s = "" } NF { s = s " " $2 } END { print s }' >stacks
check
grep -q "spin spin inner middle outer main" stacks || { fail "perf does not see the callers of spin"; sort stacks | uniq -c; }
rm -f "/tmp/perf-$pid.map"
