#!/bin/sh
# SPDX-License-Identifier: MIT
# hwlat.sh - the tracer hwlat: results while other threads use its CPU, its files, its outputs
. "$(dirname "$0")/../../lib/common.sh"
. "$(dirname "$0")/../../lib/shell.sh"

export TMP="$tmp"
line='^ *hwlatd-[0-9]* *\[[0-9]\{3\}\] \.\{5\} *[0-9]*\.[0-9]\{6\}: #[0-9]* *inner/outer(us): *[0-9]*\/[0-9]* *ts:[0-9]*\.[0-9]\{9\} count:[0-9]*$'
# Processes that take the CPUs from it, for some minutes at most.
cat >hogs <<'end'
#!/bin/bash
trap 'kill $(jobs -p); exit' TERM
for i in $(seq $((2 * $(nproc)))); do timeout 300 bash -c "while :; do :; done" & done
wait
end
chmod +x hogs

in_shell 'cd /sys/kernel/tracing; D=hwlat_detector; spinners() { cat /proc/$PPID/task/*/comm | grep -c "^hwlatd\$"; }
	become() { for i in $(seq 300); do [ "$(spinners)" -eq $1 ] && break; sleep 0.2; done; spinners; }
	cpus() { grep hwlatd trace | cut -d[ -f2 | cut -d] -f1 | sort -u | grep -c .; }
	enough() { [ $(grep -c hwlatd trace) -ge 3 ] && { [ $(nproc) -eq 1 ] || [ $(cpus) -gt 1 ]; }; }
	$TMP/hogs & HOGS=$!
	cat $D/width $D/window $D/mode; echo 40000 >$D/width; echo 80000 >$D/window; cat $D/width $D/window
	date +%s >$TMP/begin; echo hwlat >current_tracer; cat current_tracer; become 1
	for i in $(seq 300); do enough && break; sleep 0.2; done; echo 0 >tracing_on
	cat trace >$TMP/trace; cat tracing_max_latency >$TMP/max; date +%s >$TMP/end; cat per_cpu/cpu*/stats >$TMP/stats
	become 0; sleep 0.3; cat trace >$TMP/still; echo 1 >tracing_on
	for i in $(seq 300); do cat trace >$TMP/again; [ $(grep -c hwlatd $TMP/again) -gt $(grep -c hwlatd $TMP/still) ] && break; sleep 0.2; done
	echo per-cpu >$D/mode; cat $D/mode; become $(nproc)
	echo none >$D/mode; cat $D/mode; become 1
	echo 30000000 >tracing_thresh; echo >trace; sleep 0.5; cat trace >$TMP/above; echo 0 >tracing_thresh
	timeout 60 head -n 1 trace_pipe >$TMP/pipe
	echo nop >current_tracer; spinners
	kill $HOGS; true'
expect_status 0
expect_equal "files and threads" "$(tr '\n' ' ' <out)" \
"500000 1000000 none [round-robin] per-cpu 40000 80000 hwlat 1 0 none round-robin [per-cpu] $(nproc) [none] round-robin per-cpu 1 0 "
expect_equal "the tracer's name" "$(sed -n 1p trace)" "# tracer: hwlat"
grep -v '^#' trace >lines
check
[ "$(grep -c . lines)" -ge 3 ] || { fail "$(grep -c . lines) windows with stolen time, though others wanted the CPU all the time"; cat trace; }
expect_equal "lines of another form" "$(grep -v "$line" lines)" ""
expect_equal "entries in the header" "$(sed -n 's/^# entries-in-buffer.*: \([0-9]*\)\/\([0-9]*\) .*/\1 \2/p' trace)" "$(grep -c . lines) $(grep -c . lines)"
expect_equal "entries of all cpus" "$(awk '/^entries/ { n += $2 } END { print n }' stats)" "$(grep -c . lines)"
expect_equal "windows are numbered" "$(sed 's/.*: #\([0-9]*\) .*/\1/' lines | tr '\n' ' ')" "$(seq -s ' ' "$(grep -c . lines)") "
expect_equal "one below the threshold" "$(sed 's/.*(us): *\([0-9]*\)\/\([0-9]*\) .*/\1 \2/' lines | awk '$1 < 10 && $2 < 10')" ""
expect_equal "the longest" "$(cat max)" "$(sed 's/.*(us): *\([0-9]*\)\/\([0-9]*\) .*/\1\n\2/' lines | sort -n | tail -n 1)"
expect_equal "found at another time" "$(sed 's/.* ts:\([0-9]*\)\..*/\1/' lines | awk -v from="$(cat begin)" -v to="$(cat end)" '$1 < from || $1 > to')" ""
check
[ "$(nproc)" -eq 1 ] || [ "$(sed 's/.*\[\([0-9]*\)\].*/\1/' lines | sort -u | grep -c .)" -gt 1 ] || fail "it looked at one CPU only"
expect_equal "with tracing_on 0 nothing comes" "$(diff trace still)" ""
grep -v '^#' again >more
check
[ "$(grep -c . more)" -gt "$(grep -c . lines)" ] || fail "with tracing_on 1 nothing comes again"
expect_equal "windows are numbered on" "$(sed 's/.*: #\([0-9]*\) .*/\1/' more | tr '\n' ' ')" "$(seq -s ' ' "$(grep -c . more)") "
expect_equal "beyond the threshold" "$(grep -v '^#' above)" ""
check
[ "$(grep -c "$line" pipe)" -ge 1 ] || { fail "trace_pipe has no line"; cat pipe; }
check
[ "$(sed 's/.*: #\([0-9]*\) .*/\1/' pipe)" -gt "$(grep -c . more)" ] || { fail "other settings number the windows anew"; cat pipe; }

# ---- What is refused, and leaves things as they were
in_shell 'cd /sys/kernel/tracing/hwlat_detector; for v in 0 1000001 x; do echo $v >width; echo status $?; done
	for v in 499999 x 99999999999999; do echo $v >window; echo status $?; done; echo sometimes >mode; echo status $?; cat width window mode'
expect_equal "refused" "$(sort out | uniq -c | tr -s ' ' | tr '\n' ';')" " 1 1000000; 1 500000; 1 none [round-robin] per-cpu; 7 status 1;"

# ---- A recording, and as trace.dat
./hogs >/dev/null 2>&1 & hogs=$!
run timeout 60 "$uft" record -q -p hwlat -o rec.uft sleep 6
expect_status 0
run timeout 60 "$uft" record -q -p hwlat --thresh 100s -o none.uft sleep 1
expect_status 0
kill $hogs
run timeout 60 "$uft" report --no-pager rec.uft
expect_status 0
check
[ "$(grep -c "$line" out)" -ge 1 ] || { fail "the recording has no line"; show; }
found=$(grep -c "$line" out)
expect_equal "reported, in all" "$(grep -vc '^#' out)" "$found"
run timeout 60 "$uft" report --no-pager none.uft
expect_equal "a recording with a higher threshold" "$(grep -v '^#' out)" ""
run "$uft" export -f trace.dat -o rec.dat rec.uft
expect_status 0
if command -v trace-cmd >/dev/null 2>&1; then
	run trace-cmd report rec.dat
	expect_equal "trace-cmd shows" "$(grep -c 'hwlat: .*inner:[0-9].*outer:[0-9]' out)" "$found"
fi
run "$uft" record -p hwlat -l main true
expect_status 2
expect_err "--filter is for tracers of functions, not for hwlat"
