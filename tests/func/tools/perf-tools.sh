#!/bin/sh
# SPDX-License-Identifier: MIT
# perf-tools.sh PROGRAM - funccount, functrace, funcgraph, funcslower and funccount of perf-tools, inside uft shell
. "$(dirname "$0")/inside.sh"
need funccount-perf functrace-perf funcgraph-perf funcslower-perf funccount-perf
[ "$(id -u)" -eq 0 ] || skip "perf-tools want to be root"
[ -e /var/tmp/.ftrace-lock ] && skip "perf-tools' lock is held: $(cat /var/tmp/.ftrace-lock)"

export T="$1"
bg='$T 100000 2000 & P=$!; sleep 0.3'

inside "$bg; funccount-perf -d 1 work; funccount-perf -d 1 -t 1 work; cat /sys/kernel/tracing/function_profile_enabled; kill \$P"
check
[ "$(sed -n 's/^work  *//p' out | head -n 1)" -gt 20 ] || { fail "funccount counts nothing"; show; }
expect_equal "funccount, what it leaves" "$(grep -v '^$' out | tail -n 1)" 0

inside "$bg; functrace-perf -d 1 work; kill \$P"
expect_out 'Tracing "work" for 1 seconds...'
check
[ "$(grep -c ': work <-main$' out)" -gt 20 ] || { fail "functrace shows no calls"; show; }
expect_equal "functrace, others" "$(grep ' <-' out | grep -vc ': work <-main$')" 0

inside "$bg; funcgraph-perf -d 1 -m 2 work; kill \$P"
check
[ "$(grep -c '|  work() {$' out)" -gt 20 ] || { fail "funcgraph shows no calls"; show; }
check
[ "$(grep -c '|    helper();$' out)" -gt 40 ] || { fail "funcgraph shows no callees"; show; }
expect_equal "funcgraph, too deep" "$(grep -c leaf out)" 0

inside "$bg; funcslower-perf -d 1 work 0; cat /sys/kernel/tracing/current_tracer /sys/kernel/tracing/tracing_thresh; kill \$P"
check
[ "$(grep -c 'us *|  work();$' out)" -gt 20 ] || { fail "funcslower shows no calls"; show; }
expect_equal "after it" "$(tail -n 2 out | tr '\n' ' ')" "nop 0 "
inside "$bg; funcslower-perf -d 1 work 900000; kill \$P"
expect_equal "none is that slow" "$(grep -c 'work()' out)" 0

inside "$bg; funccount-perf -d 1 work; cat /sys/kernel/tracing/function_profile_enabled; kill \$P"
expect_out 'Tracing "work" for 1 seconds...'
check
[ "$(awk '$1 == "work" { print $2 }' out)" -gt 20 ] || { fail "funccount shows no calls"; show; }
expect_equal "funccount: rows, and the profile after it" "$(grep -A99 '^FUNC' out | grep -cE '^[a-z_]+ +[0-9]+$') $(tail -n 1 out)" "1 0"
