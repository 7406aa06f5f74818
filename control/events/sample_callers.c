// SPDX-License-Identifier: MIT
/*
 * sample_callers.c - find the callers in a sample: registers and a part of the stack, copied by the kernel
 *
 * It uses the same tables (unwind_rows.c) and the same rules as the runtime's walk in a program
 * (runtime/trace/tracers/stack.c). But the first frame was interrupted, anywhere in its function, and only the copy can
 * be read: the walk ends where the copy does. The table of an object is made when it is first needed.
 */
#include "control/events/sample_callers.h"

#include <string.h>

#define FP_REACH	(64u << 10)	/* without a table: a frame is at most as large */

/*
 * Offsets of the registers that a signal interrupted, from the stack pointer of its frame on: struct ucontext of
 * x86-64.
 */
enum { SIGNAL_FP = 120, SIGNAL_SP = 160, SIGNAL_PC = 168 };

struct walk {
	struct space *space;
	const struct perf_record *from;
	uint64_t pc, sp, fp;
};

static int read_word(const struct walk *w, uint64_t at, uint64_t *to)
{
	uint64_t offset = at - w->from->sp;

	if (at % 8 || w->from->stack_bytes < 8 || offset > w->from->stack_bytes - 8)
		return -1;
	memcpy(to, w->from->stack + offset, 8);
	return 0;
}

static struct uft_stack_row find_row(const struct walk *w, uint64_t pc)
{
	const struct uft_stack_row none = { .rule = UFT_RULE_NONE };
	const struct uft_image *img = w->space->img;
	const struct space_obj *o;
	uint64_t at;
	uint32_t i = img->nobj, low = 0, high;

	while (i && (img->obj[i - 1].to_clock ||
		     pc - img->obj[i - 1].text_start >= img->obj[i - 1].text_end - img->obj[i - 1].text_start))
		i--;
	if (!i || stacks_make(w->space, i - 1))
		return none;
	o = &w->space->obj[i - 1];
	at = pc - img->obj[i - 1].bias;
	high = o->nrow;
	while (low < high) {		/* finds the first row that begins behind @at */
		uint32_t middle = low + (high - low) / 2;

		if (o->row[middle].start <= at)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? o->row[low - 1] : none;
}

/* From the frame of a signal to the frame that the signal interrupted. */
static int leave_signal(struct walk *w)
{
	uint64_t pc, sp, fp;

	if (read_word(w, w->sp + SIGNAL_PC, &pc) || read_word(w, w->sp + SIGNAL_SP, &sp) ||
	    read_word(w, w->sp + SIGNAL_FP, &fp))
		return 0;
	w->pc = pc;
	w->sp = sp;
	w->fp = fp;
	return pc > UFT_PAGE;
}

/*
 * From the frame at w->pc, w->sp, w->fp to its caller. @row: of the instruction. 0: it has no caller, or that is not
 * known.
 */
static int leave_frame(struct walk *w, struct uft_stack_row row)
{
	uint64_t cfa, fp = w->fp, pc;

	switch (row.rule) {
	case UFT_RULE_SP:
		cfa = w->sp + 8 * (uint64_t)(int64_t)row.cfa;
		break;
	case UFT_RULE_FP:
		cfa = w->fp + 8 * (uint64_t)(int64_t)row.cfa;
		break;
	case UFT_RULE_MEMORY:
		if (read_word(w, w->fp + 8 * (uint64_t)(int64_t)row.cfa, &cfa) || read_word(w, w->fp, &fp))
			return 0;
		break;
	case UFT_RULE_NONE:
		if (w->fp < w->sp || w->fp - w->sp > FP_REACH || read_word(w, w->fp, &fp))
			return 0;
		cfa = w->fp + 16;
		break;
	default:
		return 0;
	}
	if (row.fp && read_word(w, cfa + 8 * (uint64_t)(int64_t)row.fp, &fp))
		return 0;
	if (cfa <= w->sp || read_word(w, cfa - 8, &pc))
		return 0;
	w->pc = pc;
	w->sp = cfa;
	w->fp = fp;
	return pc > UFT_PAGE;
}

static int is_code(const struct walk *w, uint64_t addr)
{
	return addr > UFT_PAGE && uft_image_at(w->space->img, addr - 1, UINT64_MAX) < UINT32_MAX;
}

/*
 * From a system call in code without a row: libc's clone() and clone3() have none there, because it would be wrong in
 * the child. They have pushed nothing; vfork() has taken its return address from the stack.
 */
static int leave_call(struct walk *w)
{
	uint64_t pc = w->from->kept;

	if (!(w->from->call & WALK_VFORK)) {
		if (read_word(w, w->sp, &pc) || !is_code(w, pc))
			return 0;
		w->sp += 8;
	}
	w->pc = pc;
	return is_code(w, pc);
}

uint32_t walk_callers(struct space *space, const struct perf_record *r, uint64_t *callers, uint32_t max)
{
	struct walk w = { .space = space, .from = r, .pc = r->pc, .sp = r->sp, .fp = r->fp };
	int is_call = 0;		/* w.pc is behind a call; else a frame was interrupted there */
	uint32_t n = 0;

	while (n < max) {
		/* The row of the call instruction: the code behind it may be another function's. */
		struct uft_stack_row row = find_row(&w, w.pc - (uint64_t)is_call);

		if (!n && r->kind == PERF_CALL && (row.rule == UFT_RULE_NONE || r->call & WALK_VFORK) &&
		    leave_call(&w)) {
			callers[n++] = w.pc;
			is_call = 1;
			continue;
		}
		is_call = row.rule != UFT_RULE_SIGNAL;
		if (is_call ? !leave_frame(&w, row) : !leave_signal(&w))
			break;
		callers[n++] = w.pc + !is_call;		/* readers take it for an address behind a call */
	}
	return n;
}
