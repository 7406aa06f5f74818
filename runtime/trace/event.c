/* SPDX-License-Identifier: MIT */
/*
 * event.c - what a call brings and what it returns, beside its ENTRY and EXIT
 *
 * For few functions, which the session chooses (UFT_SITE_ARGS, UFT_SITE_MASK), and only while has_events keeps every call
 * off the fast paths: those know nothing of it. The words are those that trace.S saved, so nothing of the program is read,
 * and nothing can fault. An event belongs to the call that is innermost when it is written: behind the ENTRY, before the
 * EXIT, and only if the ENTRY is in a ring. Whoever reads needs no more to join them.
 *
 * The state (blocked signals, scheduling policy) is asked of the kernel at the return, so that calls that failed, and what
 * others did meanwhile, need no thought. The calls for the policy are none that programs make: a seccomp filter may end the
 * thread for them. So they are made only while the session says that there is none (UFT_EVENTS_POLICY, asked anew each time).
 *
 * Context: probe.
 */
#include "runtime/base/sys.h"
#include "runtime/trace/trace.h"

uint32_t event_flags(const struct uft_tracer_params *p, unsigned site)
{
	if (!p->has_events || site & UFT_SITE_ROOT || !(site & (UFT_SITE_ARGS | UFT_SITE_MASK)))
		return 0;
	return FG_EVENT | (site & UFT_SITE_MASK ? FG_MASK : 0);
}

static int event_write(struct trace_task *t, const struct fg_entry *e, enum uft_event_id id, const uint64_t *words, uint32_t n)
{
	struct ring_op op = {
		.word0 = UFT_REC_WORD(UFT_REC_EVENT, UFT_EVENT_VALUE(id, n), 0), .word1 = words[0], .more = words + 1,
		.bytes = 8 + 8 * n, .guard = (const uint64_t *)&t->th->top, .expect = (uint64_t)(e + 1),
	};

	return task_write(t, &op);
}

/* Policy, and the priority as the kernel counts: 99 - rt_priority, or 120 + nice. 0: the kernel does not say. */
static uint64_t policy_of_task(void)
{
	int64_t policy = sys_call3(__NR_sched_getscheduler, 0, 0, 0), nice;
	uint32_t rt = 0;

	if (policy < 0)
		return 0;
	policy &= ~0x40000000ll;	/* SCHED_RESET_ON_FORK */
	if (policy == 1 /* FIFO */ || policy == 2 /* RR */)
		return sys_call3(__NR_sched_getparam, 0, &rt, 0) ? 0 : (uint64_t)policy | (uint64_t)(99 - rt) << 32;
	nice = 20 - sys_call3(__NR_getpriority, 0 /* PRIO_PROCESS */, 0, 0);
	return nice > 19 ? 0 : (uint64_t)policy | (uint64_t)(120 + nice) << 32;
}

int event_call(struct trace_task *t, const struct fg_entry *e, const uint64_t *args)
{
	int ret = event_write(t, e, UFT_EVENT_CALL, args, 4);

	if (ret == RING_WRITTEN && trace_params()->stacks & UFT_STACKS_EVENT)
		stack_write(t, fg_id(e), e->slot, args[SAVED_FP - SAVED_ARGS]);
	return ret;
}

int event_return(struct trace_task *t, const struct fg_entry *e, const uint64_t *result)
{
	uint64_t words[3] = { *result, t->mask, 0 };

	uint32_t n = 1;

	if (e->flags & FG_MASK && (t->blocked || !sys_sigprocmask(SIG_BLOCK, NULL, &words[1])))
		n = 2;
	if (trace_params()->has_events & UFT_EVENTS_POLICY && (words[2] = policy_of_task()))
		n = 3;
	return event_write(t, e, UFT_EVENT_RETURN, words, n);
}
