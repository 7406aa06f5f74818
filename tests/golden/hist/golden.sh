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
	in_shell "cd /sys/kernel/tracing; . $case" </dev/null
	check
	if [ -f "$here/differs/$name" ]; then sed -f "$here/differs/$name" "$here/kernel/$name"; else cat "$here/kernel/$name"; fi >expected
	diff expected out >differ || { fail "$name: (< kernel, > here)"; head -n 60 differ; }
done

# What a kernel takes and we do not
in_shell "cd /sys/kernel/tracing; . $LIB; try events/app/req/trigger stacktrace; try events/app/req/trigger hist:keys=common_stacktrace; show events/app/req/trigger" </dev/null
expect_equal "refused" "$(grep -c "^Operation not supported" out) $(grep -c "error: Stacks of events are not recorded for triggers" out) $(grep -c "^# Available" out)" "2 2 1"
