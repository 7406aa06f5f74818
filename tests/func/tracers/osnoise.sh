#!/bin/sh
# SPDX-License-Identifier: MIT
# osnoise.sh - the tracer osnoise: results beside a thread that uses its CPU, its files, its outputs
. "$(dirname "$0")/../../lib/common.sh"
. "$(dirname "$0")/../../lib/shell.sh"

export TMP="$tmp"
first_cpus
ALL=$(possible_cpus)
export ALL
line='^ *osnoise\/[0-9]*-[0-9]* *\[[0-9]\{3\}\] \.\{5\} *[0-9]*\.[0-9]\{6\}: [0-9]* \{1,10\}[0-9]* *[0-9]*\.[0-9]\{5\} *[0-9]* *? *[0-9?]* *[0-9?]* *[0-9?]* *[0-9]*$'
cat >hog <<'end'
#!/bin/sh
exec timeout 300 sh -c "while :; do :; done"
end
chmod +x hog

in_shell 'cd /sys/kernel/tracing; D=osnoise; spinners() { cat /proc/$PPID/task/*/comm | grep -c "^osnoise/"; }
	become() { for i in $(seq 300); do [ "$(spinners)" -eq $1 ] && break; sleep 0.2; done; spinners; }
	lines() { grep -c "^ *osnoise/" trace; }
	cat $D/period_us $D/runtime_us $D/cpus; echo 40000 >$D/runtime_us; echo 80000 >$D/period_us; echo $CPU >$D/cpus; cat $D/runtime_us $D/period_us $D/cpus
	taskset -c $CPU $TMP/hog & HOG=$!
	echo osnoise >current_tracer; cat current_tracer; become 1
	for i in $(seq 300); do [ $(lines) -ge 5 ] && break; sleep 0.2; done; echo 0 >tracing_on; cat trace >$TMP/trace; become 0
	cat events/ftrace/osnoise/format >$TMP/format
	echo 1 >tracing_on; echo 60000000 >tracing_thresh; echo >trace; for i in $(seq 300); do [ $(lines) -ge 2 ] && break; sleep 0.2; done; cat trace >$TMP/none; echo 0 >tracing_thresh
	echo 0-$((ALL - 1)) >$D/cpus; cat $D/cpus; become $(nproc); timeout 60 head -n 1 trace_pipe >$TMP/pipe
	echo nop >current_tracer; spinners; kill $HOG; true'
expect_status 0
cpus=$([ "$ALL" -eq 1 ] && echo 0 || echo "0-$((ALL - 1))")
expect_equal "files and threads" "$(tr '\n' ' ' <out)" "1000000 1000000 $cpus 40000 80000 $CPU osnoise 1 0 $cpus $(nproc) 0 "
expect_equal "the tracer's name" "$(sed -n 1p trace)" "# tracer: osnoise"
expect_equal "the kernel's columns" "$(sed -n '3p;10p;11p' trace | cksum)" "$(cat <<'end' | cksum
#                                _-----=> irqs-off
#           TASK-PID      CPU# |||||   TIMESTAMP    IN US       IN US  AVAILABLE  IN US     HW    NMI    IRQ   SIRQ THREAD
#              | |         |   |||||      |           |             |    |            |      |      |      |      |      |
end
)"
grep -v '^#' trace >lines
check
[ "$(grep -c . lines)" -ge 5 ] || { fail "$(grep -c . lines) periods"; cat trace; }
expect_equal "lines of another form" "$(grep -v "$line" lines)" ""
expect_equal "of another CPU" "$(grep -v "\[$(printf %03d "$CPU")\]" lines)" ""
expect_equal "shorter than its runtime" "$(sed 's/.*[0-9]: //' lines | awk '$1 < 40000')" ""
expect_equal "the rest is available" "$(sed 's/.*[0-9]: //' lines | awk '{ d = 100 * ($1 - $2) / $1 - $3; if (d > 0.001 || d < -0.001) print }')" ""
expect_equal "more noise than in all" "$(sed 's/.*[0-9]: //' lines | awk '$4 > $2 || $2 > $1')" ""
check
[ "$(sed 's/.*[0-9]: //' lines | awk '$2 > 0 && $9 > 0' | grep -c .)" -ge 1 ] || { fail "no noise, and it had to leave its CPU to nobody"; cat trace; }
expect_equal "nothing is as long as the threshold" "$(grep -v '^#' none | sed 's/.*[0-9]: //' | awk '$2 || $3 != 100 || $4')" ""
check
[ "$(grep -vc '^#' none)" -ge 2 ] || fail "no periods with a threshold"
check
[ "$(grep -c "$line" pipe)" -eq 1 ] || { fail "trace_pipe has no line"; cat pipe; }
expect_equal "its layout" "$(grep -c 'field:' format)" 12

# ---- What is refused, and leaves things as they were
in_shell 'cd /sys/kernel/tracing/osnoise; for v in 0 1000001 x; do echo $v >runtime_us; echo status $?; done
	for v in 999999 0 x 99999999999999; do echo $v >period_us; echo status $?; done
	for v in x 1-0 0- , 0,,1 100000 0-100000 -1; do echo $v >cpus; echo status $?; done; cat runtime_us period_us cpus'
expect_equal "refused" "$(sort out | uniq -c | tr -s ' ' | tr '\n' ';')" " 1 $cpus; 2 1000000; 15 status 1;"

# ---- A recording, and as trace.dat
# A period is of a second; a machine may stand for more than one.
for s in 3 10 30; do
	run timeout 100 "$uft" record -q -p osnoise -o rec.uft sleep $s
	expect_status 0
	run timeout 60 "$uft" report --no-pager rec.uft
	expect_status 0
	! grep -q "$line" out || break
done
check
[ "$(grep -c "$line" out)" -ge 1 ] || { fail "the recording has no line"; show; }
found=$(grep -c "$line" out)
run "$uft" export -f trace.dat -o rec.dat rec.uft
expect_status 0
if command -v trace-cmd >/dev/null 2>&1; then
	run trace-cmd report rec.dat
	expect_equal "trace-cmd shows" "$(grep -c 'osnoise: .*noise:[0-9].*thread:[0-9]' out)" "$found"
fi
