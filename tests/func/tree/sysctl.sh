#!/bin/sh
# SPDX-License-Identifier: MIT
# sysctl.sh TARGET - in uft shell the sysctls of tracing and /proc/kallsyms are the session's own, all others the machine's
. "$(dirname "$0")/inside.sh"

values() { cat /proc/sys/kernel/ftrace_enabled /proc/sys/kernel/stack_tracer_enabled /proc/sys/kernel/ftrace_dump_on_oops /proc/sys/kernel/traceoff_on_warning /proc/sys/debug/kprobes-optimization 2>&1; }
values >before
names=$(ls /proc/sys/kernel | grep -vx stack_tracer_enabled | sort | tr '\n' ' ')

inside 'cd /proc/sys; for f in kernel/ftrace_enabled kernel/stack_tracer_enabled kernel/ftrace_dump_on_oops kernel/traceoff_on_warning debug/kprobes-optimization; do [ -e $f ] || { echo "$f none"; continue; }
	echo 1 >$f; cat $f; echo 0 >$f; cat $f; echo x 2>/dev/null >$f; echo "$f $?"; done >$TMP/seen 2>/dev/null
	ls kernel | grep -vx stack_tracer_enabled | sort | tr "\n" " "; cat kernel/hostname kernel/random/boot_id'
[ "$(id -u)" -eq 0 ] || ! grep -q none seen || skip "who is not root may not mount over /proc here"
for f in kernel/ftrace_enabled kernel/stack_tracer_enabled kernel/ftrace_dump_on_oops kernel/traceoff_on_warning; do
	expect_equal "$f" "$(grep -B 2 "^$f " seen | tr '\n' ' ')" "1 0 $f 1 "
done
expect_equal "all others" "$(cat out)" "$names$(cat /proc/sys/kernel/hostname)
$(cat /proc/sys/kernel/random/boot_id)"
values >after
expect_equal "the machine's own" "$(cat after)" "$(cat before)"

# ---- Under the names where the kernel's tools look
if has "trace-cmd stack" trace-cmd; then
	inside 'trace-cmd stack --start; $T 3; trace-cmd stack; trace-cmd stack --stop; cat stack_tracer_enabled' 2>err
	check
	grep -q 'Depth    Size   Location    ([0-9]* entries)' out && grep -q '^  0) .*+0x0/' out && [ "$(tail -n 1 out)" = 0 ] || { fail "trace-cmd stack"; show; }
fi
inside 'echo :mod:$(basename $T) >set_ftrace_filter; echo function >current_tracer; $T 3; take() { for c in per_cpu/cpu*; do dd if=$c/trace_pipe_raw bs=4096 iflag=nonblock; done >/dev/null 2>&1; grep -q "[[:space:]]inner" /proc/kallsyms; }
	soon take; grep -c "[[:space:]]inner" /proc/kallsyms'
expect_equal "a function in kallsyms" "$(tail -n 1 out)" 1
