/* SPDX-License-Identifier: MIT */
/*
 * stack.c - callers of a function: return addresses from a function's entry outwards
 *
 * Basis. Programs have no frame pointers, so the session makes of each object's .eh_frame a table that this context can
 * use (struct uft_stack_row), as the kernel does for itself, and sends it before stacks are wanted. For code without a
 * table (made at run time, objects without .eh_frame) frame pointers are tried. Return addresses that are a stub's
 * stand for the true ones, which are on the shadow stack.
 *
 * The walk never faults: the kernel reads each word (process_vm_readv on this process, a piece of a page at a time), so
 * a wild frame pointer or a table that does not fit only ends the walk. It always ends: frames lie ever higher, except
 * for one step from a signal handler to the interrupted code, and there are UFT_STACK_MAX at most.
 *
 * Tables. One slot per object, written by the agent alone, read by any thread without locks: `sequence` is odd while a
 * slot changes, and a row counts only if `sequence` was the same before and after. Rows are never unmapped; the next
 * object of a slot gets its memory if that is enough. A fork child has a copy; a slot that was being written then is
 * written again when its own agent gets the command.
 *
 * Not seen: functions that tail-called; callers of code that a signal interrupted inside the runtime.
 *
 * Context: probe, except for trace_rows*(): control.
 */
#include "runtime/trace/tracers/tracers.h"

#define WINDOW_WORDS	32
#define FP_REACH	(64u << 10)	/* without a table: a frame is at most as large */
#define TABLE_BYTES	(UFT_MAX_OBJECTS * sizeof(struct stack_object))

struct stack_object {
	uint64_t text_start, text_end, bias;
	struct uft_stack_row *row;
	uint32_t n, room;
	uint32_t object;	/* the session's index + 1; 0: free */
	uint32_t sequence;
};

static struct stack_object *stack_objects;	/* UFT_MAX_OBJECTS; set once, by the agent */
static uint32_t stack_nobjects;			/* slots ever used; only grows */

/* ---- Tables ------------------------------------------------------------------------------- */

static struct stack_object *slot_of(uint32_t object)
{
	for (uint32_t i = 0; i < stack_nobjects; i++)
		if (stack_objects[i].object == object + 1)
			return &stack_objects[i];
	return NULL;
}

static void slot_change(struct stack_object *o)
{
	uft_store(&o->sequence, o->sequence | 1u);
	uft_fence();		/* before any field changes; partner: find_row() */
}

static void slot_close(struct stack_object *o)
{
	uft_store_release(&o->sequence, (o->sequence | 1u) + 1);
}

/* Takes a free slot, with room for @total rows if there is such a slot. NULL: no memory. */
static struct stack_object *slot_new(uint32_t total)
{
	struct stack_object *best = NULL;
	void *map;

	if (!stack_objects) {
		map = plat_map_sparse(TABLE_BYTES);
		if (!map)
			return NULL;
		uft_store_release(&stack_objects, map);
	}
	for (uint32_t i = 0; i < stack_nobjects; i++) {
		struct stack_object *o = &stack_objects[i];

		if (!o->object && o->room >= total && (!best || o->room < best->room))
			best = o;
	}
	if (best)
		return best;
	if (stack_nobjects == UFT_MAX_OBJECTS)
		return NULL;
	best = &stack_objects[stack_nobjects];
	map = plat_map_sparse((uint64_t)total * sizeof(struct uft_stack_row) + UFT_PAGE);
	if (!map)
		return NULL;
	best->row = map;
	best->room = total;
	uft_store_release(&stack_nobjects, stack_nobjects + 1);
	return best;
}

int trace_rows(uint32_t object, const struct uft_cmd_rows *c, uint32_t n)
{
	const struct uft_stack_row *from = (const struct uft_stack_row *)(c + 1);
	uint32_t first = uft_load(&c->first), total = uft_load(&c->total);
	struct stack_object *o = slot_of(object);
	uint64_t bias = uft_load(&c->bias);

	if (first > total || n > total - first)
		return -EINVAL;
	if (!first) {
		if (o && !(o->sequence & 1) && o->bias == bias && o->n == total)
			return 1;
		trace_rows_gone(object);
		o = slot_new(total);
		if (!o)
			return -ENOMEM;
		slot_change(o);
		o->object = object + 1;
		o->bias = bias;
		o->text_start = uft_load(&c->text_start);
		o->text_end = uft_load(&c->text_end);
		o->n = 0;
	}
	if (!o || o->n != first || total > o->room)
		return -EINVAL;
	for (uint32_t i = 0; i < n; i++)
		o->row[first + i] = from[i];
	o->n = first + n;
	if (o->n == total)
		slot_close(o);
	return 0;
}

void trace_rows_gone(uint32_t object)
{
	struct stack_object *o = slot_of(object);

	if (!o)
		return;
	slot_change(o);
	o->object = 0;
	o->text_start = o->text_end = 0;
	o->n = 0;
	slot_close(o);
}

/* The unwind row for the code at @pc; UFT_RULE_NONE: there is none. */
static struct uft_stack_row find_row(uint64_t pc)
{
	const struct stack_object *all = uft_load_acquire(&stack_objects);
	uint32_t n = uft_load_acquire(&stack_nobjects);
	struct uft_stack_row found = { .rule = UFT_RULE_NONE };

	for (uint32_t i = 0; all && i < n; i++) {
		const struct stack_object *o = &all[i];
		uint32_t sequence = uft_load_acquire(&o->sequence), low = 0, high = uft_load(&o->n),
			 room = uft_load(&o->room);
		uint64_t start = uft_load(&o->text_start), at = pc - uft_load(&o->bias);

		if (sequence & 1 || pc - start >= uft_load(&o->text_end) - start)
			continue;
		if (high > room || at > UINT32_MAX)
			break;
		while (low < high) {		/* finds the first row that begins behind @at */
			uint32_t middle = low + (high - low) / 2;

			if (o->row[middle].start <= at)
				low = middle + 1;
			else
				high = middle;
		}
		if (low)
			found = o->row[low - 1];
		uft_fence();			/* partner: slot_change() */
		if (uft_load(&o->sequence) != sequence)
			found.rule = UFT_RULE_NONE;
		break;
	}
	return found;
}

/* ---- The walk ----------------------------------------------------------------------------- */

struct walk {
	const struct trace_task *t;
	const struct fg_entry *at;	/* slots above this entry are done */
	uint64_t slot, fp;		/* where the next return address is, and its frame's caller's frame pointer */
	uint64_t sp, pc;		/* of the frame found last: behind its call */
	int is_signal;			/* that frame was interrupted */
	int is_end;			/* that frame has no caller (it is not only unknown) */
	uint64_t base;			/* begin of the window */
	uint32_t nwindow;
	uint64_t window[WINDOW_WORDS];
};

/* Reads a word; 0: it cannot be read. */
static int walk_read(struct walk *w, uint64_t at, uint64_t *to)
{
	uint64_t i = (at - w->base) / 8, left = (UFT_PAGE - at % UFT_PAGE) / 8;

	if (at % 8)
		return -EFAULT;
	if (at < w->base || i >= w->nwindow) {
		w->base = at;
		w->nwindow = left < WINDOW_WORDS ? (uint32_t)left : WINDOW_WORDS;
		if (plat_peek((const void *)at, w->window, w->nwindow * 8)) {
			w->nwindow = 0;
			return -EFAULT;
		}
		i = 0;
	}
	*to = w->window[i];
	return 0;
}

/* The true address for @pc at @slot, if @pc is a hook; for a tail call it is its caller's, below it. */
static uint64_t walk_true(struct walk *w, uint64_t slot, uint64_t pc)
{
	const struct uft_thread *th = w->t->th;

	if (th->flags & TH_ALT)		/* the entries are in no order */
		w->at = th->top;
	for (; w->at > th->base; w->at--) {
		const struct fg_entry *e = w->at - 1;

		if (e->slot == slot && e->ret == pc)
			pc = e->parent; /* GUARD(walk_true_parent) */
		else if (e->slot > slot && !(th->flags & TH_ALT))
			break;
	}
	return pc;
}

/* From w->pc, w->sp, w->fp to the slot and frame pointer of its caller. 0: it has no caller, or that is not known. */
static int walk_out(struct walk *w, uint64_t pc)
{
	struct uft_stack_row row = find_row(pc);
	uint64_t cfa, fp = w->fp;

	switch (row.rule) {
	case UFT_RULE_SP:
		cfa = w->sp + 8 * (int64_t)row.cfa;
		break;
	case UFT_RULE_FP:
		cfa = w->fp + 8 * (int64_t)row.cfa;
		break;
	case UFT_RULE_MEMORY:
		if (walk_read(w, w->fp + 8 * (int64_t)row.cfa, &cfa) || walk_read(w, w->fp, &fp))
			return 0;
		break;
	case UFT_RULE_NONE:
		w->is_end = !w->fp;
		if (w->fp < w->sp || w->fp - w->sp > FP_REACH || walk_read(w, w->fp, &fp))
			return 0;
		cfa = w->fp + 16;
		break;
	default:
		w->is_end = 1;
		return 0;
	}
	if (row.fp && walk_read(w, cfa + 8 * (int64_t)row.fp, &fp))
		return 0;
	if (cfa <= w->sp)
		return 0;
	w->slot = cfa - 8;
	w->fp = fp;
	return 1;
}

/* The next frame outwards into w->pc and w->sp. 0: none. */
static int walk_next(struct walk *w)
{
	uint64_t pc;

	w->is_signal = 0;
	if (w->pc) {
		/* The row of the call instruction: the code behind it may be another function's. */
		struct uft_stack_row row = find_row(w->pc - 1);

		if (row.rule == UFT_RULE_SIGNAL) { /* GUARD(walk_next_row) */
			if (walk_read(w, w->sp + ARCH_SIGNAL_PC, &pc) || walk_read(w, w->sp + ARCH_SIGNAL_FP, &w->fp) ||
			    walk_read(w, w->sp + ARCH_SIGNAL_SP, &w->sp) || !pc)
				return 0;
			w->at = w->t->th->top;
			w->is_signal = 1;
			w->pc = pc + 1;	/* no call was made there: its own row */
			return 1;
		}
		if (!walk_out(w, w->pc - 1))
			return 0;
	}
	if (walk_read(w, w->slot, &pc))
		return 0;
	w->pc = walk_true(w, w->slot, pc);
	w->sp = w->slot + 8;
	w->is_end = w->pc <= UFT_PAGE;
	return !w->is_end;
}

int stack_is_wanted(const struct uft_tracer_params *p, uint32_t id)
{
	uint32_t low = 0, high = p->stacks & UFT_STACKS_SOME ? p->nstack_ids : 0;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (p->stack_ids[middle] == id)
			return 1;
		if (p->stack_ids[middle] < id)
			low = middle + 1;
		else
			high = middle;
	}
	return 0;
}

static void write_callers(struct trace_task *t, uint64_t first, struct walk *w)
{
	uint64_t words[1 + UFT_STACK_MAX];
	struct ring_op op = { .word1 = first, .more = words + 1 };
	uint32_t n = 1;

	words[0] = first;
	while (n <= UFT_STACK_MAX && walk_next(w))
		words[n++] = w->pc;
	op.word0 = UFT_REC_WORD(UFT_REC_EVENT, UFT_EVENT_VALUE(UFT_EVENT_STACK, n), 0);
	op.bytes = 8 + 8 * n;
	task_write(t, &op);
}

void stack_write(struct trace_task *t, uint32_t id, uint64_t slot, uint64_t fp)
{
	struct walk w = { .t = t, .at = t->th->top, .slot = slot, .fp = fp };

	write_callers(t, id, &w);
}

void stack_write_tracepoint(struct trace_task *t, uint64_t slot, uint64_t fp)
{
	struct walk w = { .t = t, .at = t->th->top, .slot = slot, .fp = fp };

	if (walk_next(&w))
		write_callers(t, w.pc | UFT_STACK_ADDRESS | UFT_STACK_TRACEPOINT, &w);
}

/* ---- The deepest stack -------------------------------------------------------------------- */

/*
 * A thread's stack begins where its outermost frame does, which one long walk finds. From then on a position that is
 * less deep than the deepest seen is on the same stack. A position a little deeper is on it if a walk from there
 * reaches the known part, mostly in a step or two, because stacks of coroutines may lie side by side. From any other
 * position (a signal stack, another coroutine's) the walk goes to its end.
 */
#define TOP_WALK	4096		/* frames */
#define SAME_STACK	(64u << 10)	/* bytes below the lowest position seen */
/* a larger distance between a handler and the interrupted code means two stacks */
#define SIGNAL_FRAME	(32u << 10)

/* The begin of the stack that @slot is on; 0: not known, or it continues on another stack. */
static uint64_t stack_top(struct trace_task *t, uint64_t slot, uint64_t fp)
{
	struct walk w = { .t = t, .at = t->th->top, .slot = slot, .fp = fp };
	uint64_t sp = slot;
	uint32_t n = 0;

	for (; n < TOP_WALK && walk_next(&w); n++, sp = w.sp)
		if (w.sp < sp || (w.is_signal && w.sp - sp > SIGNAL_FRAME))
			return 0;
	return n && n < TOP_WALK ? sp : 0;
}

/* Is @slot on the known stack of @t's thread? */
static int is_same_stack(struct trace_task *t, uint64_t slot, uint64_t fp)
{
	struct walk w = { .t = t, .at = t->th->top, .slot = slot, .fp = fp };
	const uint64_t low = t->th->stack_low;
	uint64_t sp = slot;

	if (slot >= low || slot + SAME_STACK <= low)
		return slot >= low && slot < t->th->stack_top;
	for (uint32_t n = 0; n < TOP_WALK && walk_next(&w); n++, sp = w.sp) {
		if (w.sp < sp || (w.is_signal && w.sp - sp > SIGNAL_FRAME))
			return 0;
		if (w.sp > low)
			return 1;
	}
	return !w.is_end;
}

static __attribute__((noinline)) void stack_keep(struct trace_task *t, struct uft_stack_max *m, uint32_t id,
						 uint64_t top, uint64_t slot, uint64_t fp)
{
	struct walk w = { .t = t, .at = t->th->top, .slot = slot, .fp = fp };
	/* with the return address that the site's own call has pushed, as in the kernel */
	uint64_t depth = top - slot + 8;
	uint32_t seq = uft_load(&m->seq), n = 1;
	int block = !t->blocked;

	if (block)		/* a handler that jumps away would leave it locked */
		task_block(t);
	if (!(seq & 1) && uft_cas(&m->seq, seq, seq + 1)) {
		if (depth > uft_load(&m->depth)) { /* GUARD(stack_deeper, 1) */
			m->frame[0].addr = id;
			m->frame[0].depth = depth;
			for (; n <= UFT_STACK_MAX && walk_next(&w); n++) {
				m->frame[n].addr = w.pc;
				m->frame[n].depth = top - w.sp + 8;
			}
			uft_store(&m->n, n);
			uft_store(&m->depth, depth);
		}
		uft_store_release(&m->seq, seq + 2);
	}
	if (block)
		task_unblock(t);
}

void stack_measure(struct trace_task *t, uint32_t id, uint64_t slot, uint64_t fp)
{
	struct uft_stack_max *m = &uft_rt.slice->stack;
	struct uft_thread *th = t->th;
	int is_same = is_same_stack(t, slot, fp);
	uint64_t top = is_same ? th->stack_top : stack_top(t, slot, fp);

	if (top <= slot)
		return;
	if (!is_same || slot < th->stack_low)
		th->stack_low = slot;
	th->stack_top = top;
	if (top - slot + 8 > uft_load(&m->depth)) /* GUARD(stack_measure_top) GUARD(stack_deeper, 1) */
		stack_keep(t, m, id, top, slot, fp);
}
