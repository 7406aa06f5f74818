/* SPDX-License-Identifier: MIT */
/*
 * event.c - what a call brings and what it returns, beside its ENTRY and EXIT
 *
 * For few functions, which the session chooses (UFT_SITE_ARGS, UFT_SITE_STATE), and only while has_events keeps every call
 * off the fast paths: those know nothing of it. The words are those that trace.S saved, so nothing of the program is read,
 * and nothing can fault. An event belongs to the call that is innermost when it is written: behind the ENTRY, before the
 * EXIT, and only if the ENTRY is in a ring. Whoever reads needs no more to join them.
 *
 * The state (blocked signals, scheduling policy) is asked of the kernel at the return, so that calls that failed, and what
 * others did meanwhile, need no thought.
 *
 * Context: probe.
 */
#include "runtime/base/sys.h"
#include "runtime/trace/trace.h"

uint32_t event_flags(const struct uft_tracer_params *p, unsigned site)
{
	if (!p->has_events || site & UFT_SITE_ROOT || !(site & (UFT_SITE_ARGS | UFT_SITE_STATE)))
		return 0;
	return FG_EVENT | (site & UFT_SITE_STATE ? FG_STATE : 0);
}

static int event_write(struct trace_task *t, const struct fg_entry *e, enum uft_event_id id, const uint64_t *words, uint32_t n)
{
	struct ring_op op = {
		.word0 = UFT_REC_WORD(UFT_REC_EVENT, UFT_EVENT_VALUE(id, n), 0), .word1 = words[0], .more = words + 1,
		.bytes = 8 + 8 * n, .guard = (const uint64_t *)&t->th->top, .expect = (uint64_t)(e + 1),
	};

	return task_write(t, &op);
}

/* Policy, and the priority as the kernel counts: 99 - rt_priority, or 120 + nice. */
static uint64_t state_of_task(void)
{
	uint32_t policy = (uint32_t)sys_call3(__NR_sched_getscheduler, 0, 0, 0), rt = 0;
	uint64_t priority;

	if (policy == 1 /* FIFO */ || policy == 2 /* RR */) {
		sys_call3(__NR_sched_getparam, 0, &rt, 0);
		priority = 99 - rt;
	} else {
		priority = 140 - (uint64_t)sys_call3(__NR_getpriority, 0 /* PRIO_PROCESS */, 0, 0);
	}
	return policy | priority << 32;
}

int event_call(struct trace_task *t, const struct fg_entry *e, const uint64_t *args)
{
	return event_write(t, e, UFT_EVENT_CALL, args, 4);
}

int event_return(struct trace_task *t, const struct fg_entry *e, const uint64_t *result)
{
	uint64_t words[3] = { *result, t->mask, 0 };

	if (!(e->flags & FG_STATE))
		return event_write(t, e, UFT_EVENT_RETURN, words, 1);
	if (!t->blocked)
		sys_sigprocmask(SIG_BLOCK, NULL, &words[1]);
	words[2] = state_of_task();
	return event_write(t, e, UFT_EVENT_RETURN, words, 3);
}
