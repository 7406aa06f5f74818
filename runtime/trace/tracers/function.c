/* SPDX-License-Identifier: MIT */
/*
 * function.c - slow path of function events
 */
#include "runtime/trace/tracers/tracers.h"

/*
 * Finds return address and frame pointer of the function that was entered, for @use. @frame: registers that CALL_C of
 * trace.S has saved. For a site behind a prologue that is the frame pointer of its frame. The slot and the frame are
 * compared with @parent to tell which it is. The slot of another site may have changed since the handler read it (a
 * detach, an unwinder): then the frame pointer is the program's own value, which may point anywhere.
 */
static __attribute__((noinline)) void func_stack(struct trace_task *t, uint64_t word0, uint64_t parent,
						 const uint64_t *frame,
						void (*use)(struct trace_task *t, uint32_t id, uint64_t slot,
							    uint64_t fp))
{
	const uint64_t *slot = frame - SAVED_FP;
	uint64_t fp = frame[0], saved[2];

	if (*slot != parent && !plat_peek((const void *)fp, saved, sizeof(saved)) && saved[1] == parent) {
		slot = (const uint64_t *)fp + 1;
		fp = saved[0];
	}
	use(t, UFT_REC_VALUE(word0), (uint64_t)slot, fp);
}

/*
 * The true parent of a tail call, whose parent is its caller's hook if the graph runs beside: the shadow stack tells.
 * @slot: of the call, whose callers' entries may lie below entries that were left, also of this slot: an aborted fast
 * path leaves the call's own. 0: the top's slot.
 */
static uint64_t true_parent(const struct uft_thread *th, uint64_t slot, uint64_t parent)
{
	const struct fg_entry *e = uft_load(&th->top) - 1;

	while (e >= th->base && e->slot < slot) /* GUARD(parent_below_left, 0) */
		e--;
	while (e >= th->base && e->slot == slot && e->ret != parent) /* GUARD(parent_below_own, 0) */
		e--;
	slot = e >= th->base ? e->slot : 0;
	for (; e >= th->base && e->slot == slot && e->ret == parent; e--)
		parent = e->parent;
	return parent;
}

/* Is FUNC written? Not if functions are only looked at for the deepest stack. */
static int func_is_written(const struct uft_tracer_params *p)
{
	return !(p->stacks & UFT_STACKS_MAX) || p->stacks & UFT_STACKS_MAX_FUNC;
}

static void func_record(struct trace_task *t, const struct uft_tracer_params *p, uint64_t word0, uint64_t parent,
			const uint64_t *frame)
{
	struct ring_op op = { .word0 = word0, .word1 = parent, .bytes = 16, .key = t->key };

	/* The event's own stack position, or a little below: enough to tell callers from frames that were left. */
	if (t->th->flags & TH_RESTORED)
		unwind_rehook(t, (uint64_t)__builtin_frame_address(0), 0);
	/* No fast path may follow. */
	if (p->stacks & ~(uint32_t)UFT_STACKS_TRACEPOINT || (p->has_events & UFT_EVENTS_FUNC && !trace_is_beside()))
		op.key = 0;
	if (p->has_events & UFT_EVENTS_FUNC)
		op.word1 = true_parent(t->th, 0, parent);
	if (task_write(t, &op) == RING_WRITTEN &&
	    (p->stacks & UFT_STACKS_FUNC /* GUARD(func_stacks, 0) */ || stack_is_wanted(p, UFT_REC_VALUE(word0))))
		func_stack(t, word0, parent, frame, stack_write);
}

void func_beside(struct trace_task *t, const struct uft_tracer_params *p, const struct fg_entry *e,
		 const uint64_t *args)
{
	struct ring_op op = { .word0 = UFT_REC_WORD(UFT_REC_FUNC, fg_id(e), 0),
		.word1 = true_parent(t->th, e->slot, e->parent), .bytes = 16, .key = trace_is_beside() ? t->key : 0 };

	if (p->stacks & UFT_STACKS_MAX && args && !t->guest)
		stack_measure(t, fg_id(e), e->slot, args[SAVED_FP - SAVED_ARGS]);
	if (!func_is_written(p))
		return;
	if (task_write(t, &op) == RING_WRITTEN && args && (p->stacks & UFT_STACKS_FUNC || stack_is_wanted(p, fg_id(e))))
		stack_write(t, fg_id(e), e->slot, args[SAVED_FP - SAVED_ARGS]);
}

/* Called by trace.S: word0 is the record's first word without the clock. Context: probe. */
void uft_func_slow(uint64_t word0, uint64_t parent);
void uft_func_slow(uint64_t word0, uint64_t parent)
{
	const struct uft_tracer_params *p;
	struct trace_task t;

	if (trace_is_out())
		return;
	task_begin(&t);
	p = trace_params();
	if (t.th && !t.mute && (p->tracer == UFT_TRACER_FUNCTION || p->has_events & UFT_EVENTS_FUNC) &&
	    trace_task_is_wanted(&t, p)) {
		const uint64_t *frame = *(const uint64_t **)__builtin_frame_address(0);

		if (p->stacks & UFT_STACKS_MAX && !t.guest)
			func_stack(&t, word0, parent, frame, stack_measure);
		if (func_is_written(p) && trace_is_recording())
			func_record(&t, p, word0, parent, frame);
	}
	task_end(&t);
}
