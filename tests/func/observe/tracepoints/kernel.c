/* SPDX-License-Identifier: MIT */
/* kernel.c - calls tracepoints that headers of a kernel declare, with what kernel.h makes up */
#include "kernel.h"

#define CREATE_TRACE_POINTS
#include <trace/events/irq.h>
#include <trace/events/signal.h>
#include <trace/events/timer.h>
#include <trace/events/sched.h>
#include <trace/events/block.h>

int main(void)
{
	struct task_struct prev = { .comm = "prev", .pid = 7, .tgid = 7, .prio = 120, .__state = TASK_INTERRUPTIBLE };
	struct task_struct next = { .comm = "next", .pid = 8, .tgid = 7, .prio = 98 };
	struct irqaction action = { "keyboard" };
	struct kernel_siginfo info = { 2, -1 };
	struct hrtimer timer = { NULL, 123456789 };
	struct linux_binprm program = { "/bin/x", "/bin/sh" };
	struct gendisk disk = { 8 << 20 | 1 };
	struct request_queue queue = { &disk };
	struct request request = { .q = &queue };

	trace_irq_handler_entry(11, &action);
	trace_irq_handler_exit(11, &action, 1);
	trace_softirq_entry(SCHED_SOFTIRQ);
	trace_signal_generate(9, &info, &next, 1, TRACE_SIGNAL_IGNORED);
	trace_signal_generate(9, SEND_SIG_PRIV, &next, 0, 0);
	trace_hrtimer_cancel(&timer);
	trace_sched_switch(false, &prev, &next, TASK_INTERRUPTIBLE);
	trace_sched_wakeup(&next);
	trace_sched_process_exec(&next, 7, &program);
	trace_block_rq_issue(&request);
	return 0;
}
