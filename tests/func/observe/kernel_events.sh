#!/bin/sh
# SPDX-License-Identifier: MIT
# kernel_events.sh SOURCE CC... - event headers of a kernel, as in Debian's linux-headers-*-common-rt, compile unchanged into a program
. "$(dirname "$0")/lib.sh"

[ "$(uname -m)" = x86_64 ] || skip "the golden texts are of x86_64"
source=$1
shift
here=$source/tests/func/observe/tracepoints
events=
for dir in ${UFT_KERNEL_HEADERS:-/usr/src/linux-headers-6.*-common* /usr/src/linux-source-6.*}; do
	[ -f "$dir/include/trace/events/sched.h" ] && events=$dir/include/trace/events
done
[ -n "$events" ] || skip "no event headers of a kernel (Debian: linux-headers-6.12*-common-rt; UFT_KERNEL_HEADERS=DIR)"
grep -q 'sched_prepare_exec' "$events/sched.h" || skip "the headers in $events are older than a kernel 6.12"

# What these headers include of the rest of a kernel: kernel.h has it
for header in linux/kthread linux/sched/numa_balancing linux/binfmts linux/hrtimer linux/timer linux/signal linux/sched linux/blktrace_api \
	linux/blkdev linux/buffer_head uapi/linux/ioprio; do
	mkdir -p "stub/$(dirname $header)"
	echo '#include "kernel.h"' >stub/$header.h
done
mkdir -p stub/trace
ln -s "$events" stub/trace/events
"$@" -O2 -Wall -funsigned-char -Istub -I"$here" -I"$source/include" -I"$source/include/uft/kernel" -o prog "$here/kernel.c" >compiled 2>&1 ||
	{ cat compiled; fail "cannot build"; }
expect_equal "no warning" "$(cat compiled)" ""

run "$uft" list -e --full ./prog
describe() { awk -v name="$1" '/^name: / { is_it = $2 == name } is_it && (/^.field/ && !/common_/ || /^print/) { print name ": " $0 }' out | sed 's/\t/ /g; s/;  *$/;/'; }
for name in irq_handler_entry softirq_entry signal_generate signal_deliver sched_wakeup; do describe $name; done >got
sed '/^#/d' "$here/kernel.format" >wanted
expect_equal "formats as a kernel 6.12 has them" "$(diff wanted got)" ""

run "$uft" record -q -e 'irq:*' -e 'signal:*' -e 'timer:*' -e 'sched:*' -e 'block:*' -o rec.uft ./prog
expect_status 0
run "$uft" report --no-pager rec.uft
expect_equal "text" "$(sed -n 's/^[^:]*: \([a-z]*_[a-z_]*: .*\)/\1/p' out | grep -v '^hrtimer\|^block\|^sched_process')" "irq_handler_entry: irq=11 name=keyboard
irq_handler_exit: irq=11 ret=handled
softirq_entry: vec=7 [action=SCHED]
signal_generate: sig=9 errno=2 code=-1 comm=next pid=8 grp=1 res=1
signal_generate: sig=9 errno=0 code=128 comm=next pid=8 grp=0 res=0
sched_switch: prev_comm=prev prev_pid=7 prev_prio=120 prev_state=S ==> next_comm=next next_pid=8 next_prio=98
sched_wakeup: comm=next pid=8 prio=98 target_cpu=001"
expect_equal "of the others" "$(grep -c ': hrtimer_cancel: \|: block_rq_issue: ' out)" 2
