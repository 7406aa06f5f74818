/* SPDX-License-Identifier: MIT */
/*
 * event.c - events of arguments and results, beside ENTRY and EXIT
 *
 * For few functions, which the session chooses (UFT_ACT_ARGS, UFT_ACT_MASK), or for all, and only while has_events
 * keeps every call off the fast paths, which do not write such events. The words are those that trace.S saved, so
 * nothing of the program is read, and nothing can fault. An event belongs to the call that is innermost when it is
 * written: behind the ENTRY, before the EXIT, and only if the ENTRY is in a ring. Readers need no more to join them.
 *
 * The state (blocked signals, scheduling policy) is asked from the kernel at the return, so it is also right after
 * calls that failed, and includes changes by others meanwhile. Programs do not make the calls for the policy, so a
 * seccomp filter may end the thread for them. They are made only while the session has set UFT_EVENTS_POLICY, which it
 * checks anew each time. The same holds for the call for the CPU time (UFT_EVENTS_CPU); that time is the clock's
 * without the time that the thread slept or waited for a CPU.
 *
 * Context: probe.
 */
#include "runtime/trace/tracers/tracers.h"

static int event_write(struct trace_task *t, const struct fg_entry *e, enum uft_event_id id, const uint64_t *words,
		       uint32_t n)
{
	struct ring_op op = {
		.word0 = UFT_REC_WORD(UFT_REC_EVENT, UFT_EVENT_VALUE(id, n), 0), .word1 = words[0], .more = words + 1,
		.bytes = 8 + 8 * n, .guard = (const uint64_t *)&t->th->top, .expect = (uint64_t)(e + 1),
	};

	return task_write(t, &op);
}

static int is_site_with_args(const struct uft_tracer_params *p, uint32_t ops)
{
	return p->has_events & UFT_EVENTS_SOME && ops & (UFT_ACT_ARGS | UFT_ACT_MASK);
}

uint32_t event_flags(const struct uft_tracer_params *p, uint32_t ops)
{
	int has_args = is_site_with_args(p, ops);

	return (has_args || p->has_events & UFT_EVENTS_RESULT ? FG_EVENT : 0) |
	       (has_args && ops & UFT_ACT_MASK ? FG_MASK : 0);
}

/* CPU time since the call began, on this thread. It is not measured for a call that began on another thread. */
static uint64_t cpu_ns_of(const struct trace_task *t, const struct fg_entry *e)
{
	uint64_t now = plat_cpu_ns(), then = t->th->cpu_ns[e - t->th->base];

	return now > then ? now - then : 0;
}

uint64_t event_duration(const struct trace_task *t, const struct fg_entry *e)
{
	uint64_t whole = arch_clock() - e->clock, on_cpu;

	if (!(e->flags & FG_CPU) || e < t->th->base || e >= t->th->limit)
		return whole;
	on_cpu = (uint64_t)((unsigned __int128)cpu_ns_of(t, e) * trace_params()->clocks_per_ns >> 32);
	return on_cpu < whole ? on_cpu : whole;
}

void event_enter(struct trace_task *t, const struct uft_tracer_params *p, const struct fg_entry *e, uint32_t ops,
		 const uint64_t *args, int is_handler)
{
	int is_site = args && is_site_with_args(p, ops);
	uint64_t word;

	if (args && (is_site || p->has_events & UFT_EVENTS_ARGS) &&
	    event_write(t, e, UFT_EVENT_CALL, args, 4) == RING_WRITTEN && is_site && p->stacks & UFT_STACKS_EVENT)
		stack_write(t, fg_id(e), e->slot, args[SAVED_FP - SAVED_ARGS]);
	if (p->has_events & UFT_EVENTS_PARENT || (is_site && p->has_events & UFT_EVENTS_SOME_PARENT))
		event_write(t, e, UFT_EVENT_PARENT, &e->parent, 1);
	if (is_handler) {
		word = args ? *args : 0;
		event_write(t, e, UFT_EVENT_HANDLER, &word, 1);
	}
}

static int event_return(struct trace_task *t, const struct fg_entry *e, const uint64_t *result)
{
	uint64_t words[3] = { *result, t->mask, 0 };
	uint32_t n = 1;

	if (e->flags & FG_MASK && (t->blocked || !plat_signals_get(&words[1])))
		n = 2;
	if (trace_params()->has_events & UFT_EVENTS_POLICY && (words[2] = plat_policy()))
		n = 3;
	return event_write(t, e, UFT_EVENT_RETURN, words, n);
}

/* Each flag is cleared when its event is written, in case the next write or the EXIT has to be tried again. */
int event_leave(struct trace_task *t, struct fg_entry *e, const uint64_t *result)
{
	if (e->flags & FG_CPU) {
		uint64_t ns = cpu_ns_of(t, e);

		if (event_write(t, e, UFT_EVENT_CPU, &ns, 1) == RING_GUARD)
			return 0;
		arch_local_clear32(&e->flags, FG_CPU);
	}
	if (e->flags & FG_OVERRUN) {
		uint64_t n = t->th->overruns;

		if (event_write(t, e, UFT_EVENT_OVERRUN, &n, 1) == RING_GUARD)
			return 0;
		arch_local_clear32(&e->flags, FG_OVERRUN);
	}
	if (result && e->flags & FG_EVENT) {
		if (event_return(t, e, result) == RING_GUARD)
			return 0;
		arch_local_clear32(&e->flags, FG_EVENT);
	}
	return 1;
}
