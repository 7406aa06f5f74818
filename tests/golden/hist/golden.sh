#!/bin/sh
# SPDX-License-Identifier: MIT
# golden.sh TARGET - histograms, triggers and synthetic events: what each of cases/ prints here is what it printed in a kernel 6.12
# (kernel/, made by capture.sh of tests/golden/tree with CASES=tests/golden/hist/cases)
. "$(dirname "$0")/../../lib/common.sh"
. "$(dirname "$0")/../../lib/shell.sh"
[ "$(uname -m)" = x86_64 ] || skip "tracepoints are recorded on x86_64 only"
here=$top/tests/golden/hist
export T="$1" LIB="$here/lib.sh"

for case in "$here"/cases/*; do
	name=${case##*/}
	if [ "$name" = fork ] && ! "$uft" record -q -e sched -o may.uft true 2>may; then
		echo "not run: fork: $(cat may)"
		continue
	fi
	in_shell "cd /sys/kernel/tracing; . $case" </dev/null
	check
	sed -i 's/^\(# traceon .* hist\) graph$/\1/' out	# the one trigger that the kernel has not
	if [ -f "$here/differs/$name" ]; then sed -f "$here/differs/$name" "$here/kernel/$name"; else cat "$here/kernel/$name"; fi >expected
	diff expected out >differ || { fail "$name: (< kernel, > here)"; head -n 60 differ; }
done

# The functions of a stack, where the kernel has its own
in_shell "cd /sys/kernel/tracing; . $LIB; echo stacktrace >\$R/trigger; echo hist:keys=common_stacktrace >>\$R/trigger; traffic; cat trace \$R/hist" </dev/null
expect_equal "functions" "$(sed -n 's/^ => \([a-z]*\)$/\1/p' out | sed '/^fire$/d; /^main$/q' | tr '\n' ' ')" "req main "
expect_equal "functions of a key" "$(sed -n 's/^         \([a-z]*\)+0x[0-9a-f]*\/0x[0-9a-f]*$/\1/p' out | sed '/^fire$/d; /^main$/q' | tr '\n' ' ')" "req main "

# What a kernel takes and we do not: the program that called is gone
in_shell "cd /sys/kernel/tracing; . $LIB; try events/sched/sched_process_exec/trigger stacktrace; try events/sched/sched_process_exec/trigger hist:keys=common_stacktrace; show events/sched/sched_process_exec/trigger" </dev/null
expect_equal "refused" "$(grep -c "^Operation not supported" out) $(grep -c "error: An exec has no stack: the program that made it is gone" out) $(grep -c "^# Available" out)" "2 2 1"
