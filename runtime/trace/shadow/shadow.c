/* SPDX-License-Identifier: MIT */
/*
 * shadow.c - entries of the shadow stack: settle a receipt, find an entry, set aside frames that were left
 *
 * Theory in tracers/graph.c, which pushes and pops them.
 */
#include "runtime/trace/shadow/shadow.h"

/* Is this entry a leftover of an enter handler that was interrupted before its ENTRY, or FUNC, was written? */
static int fg_is_half(const struct fg_entry *e)
{
	const uint64_t word = e->receipt.word;

	return e->receipt.where && !ring_is_committed(&e->receipt) &&
	       UFT_REC_KIND(word) != UFT_REC_EXIT /* GUARD(half_func, UFT_REC_KIND(word) == UFT_REC_ENTRY) */;
}

/* Resolves a pending receipt into FG_SILENT. If FUNC and ENTRY had one commit, the receipt is of FUNC, the first. */
void fg_settle(struct fg_entry *e)
{
	int is_exit = UFT_REC_KIND(e->receipt.word) == UFT_REC_EXIT;

	if (!e->receipt.where)
		return;
	/* EXIT written, or ENTRY not written */
	if (is_exit == ring_is_committed(&e->receipt)) /* GUARD(silent_exit, is_exit) GUARD(silent_exit_at_all) */
		e->flags |= FG_SILENT;
	uft_barrier();
	e->receipt.where = 0;
}

static int fg_in_alt(const struct uft_thread *th, uint64_t slot)
{
	return slot - th->alt_low < th->alt_high - th->alt_low;
}

/* Entries of the other kind (guest or owner) end a walk, because this task must not judge them. */
int fg_is_ours(const struct trace_task *t, const struct fg_entry *e)
{
	return e >= t->th->base && !!(e->flags & FG_GUEST) == t->guest;
}

/*
 * Finds how much of the array below @top is still below a call at @slot. Returns the first entry that was left, which
 * becomes the new top. @parent: the content of the slot, or 0 for an exit (then the slot's own entry is not kept).
 */
struct fg_entry *fg_keep(const struct trace_task *t, struct fg_entry *top, uint64_t slot, uint64_t parent)
{
	const struct uft_thread *th = t->th;
	struct fg_entry *e = top - 1;

	if (th->flags & TH_ALT && !fg_in_alt(th, slot)) { /* GUARD(fg_keep_flags) */
		struct fg_entry *alt = e;

		/* The signal stack was left, by longjmp: all of its entries are, wherever it lies. */
		while (alt >= th->base && !(alt->flags & FG_ALT))
			alt--;
		if (alt >= th->base)
			e = alt - 1;
	}
	for (; fg_is_ours(t, e); e--) {
		if (e->slot > slot) /* GUARD(left_frames, e->slot) */
			break;
		if (e->slot == slot /* GUARD(tail_call_slot, 0) */ && parent && parent == e->ret &&
		    !fg_is_half(e) /* GUARD(half_entry) */)
			break;
	}
	return e + 1;
}

/*
 * The key for records that no fast path writes: they go into the thread's own ring all the same, so that they come
 * before the ENTRY that follows within one tick.
 */
uint64_t fg_own_key(const struct trace_task *t)
{
	return ARCH_HAS_OWN && trace_graph_is_fast() ? t->key : 0;
}

/* All entries from @keep up were left: writes that to the ring, sets them aside. Under the lock. */
void fg_leave_locked(struct trace_task *t, struct fg_entry *keep)
{
	struct uft_thread *th = t->th;
	struct fg_entry *top = th->top;
	const struct fg_entry *root = NULL;
	uint32_t open = 0, scratch = 0;

	for (struct fg_entry *e = keep; e < top; e++) {
		/* Its body never ran, so it has no return. */
		if (fg_is_half(e))
			e->slot = FG_NO_SLOT;
		fg_settle(e);
		open += (uint32_t)fg_is_recorded(e->flags);
		scratch += fg_is_recorded(e->flags) && e->flags & FG_SCRATCH;
		if (e->flags & FG_KEEP)
			root = e;
		if (e->flags & FG_ALT)
			arch_local_clear32(&th->flags, TH_ALT);
	}
	open -= scratch;
	if (scratch)
		keep_unwind(t, scratch);
	if (root)
		keep_end(t, root);
	if (open && !t->mute && trace_is_recording()) {
		struct ring_op op = { .word0 = UFT_REC_WORD(UFT_REC_UNWIND, open, 0), .bytes = 8,
			.key = fg_own_key(t) };

		task_write(t, &op);
	}
	for (struct fg_entry *e = keep; e < top; e++) {
		if (e->slot != FG_NO_SLOT && !(e->flags & (FG_GUEST | FG_RESTORED)))
			/* entries without a hook do not return through us */
			aside_put(e); /* GUARD(left_are_set_aside) */
		fg_free(e);
	}
	uft_store(&th->top, keep);
}

/*
 * Slots decrease from an array's first entry to its last: can one of them be @slot? Not for code that may have
 * interrupted the thread while it was entering or leaving a signal stack.
 */
static int fg_may_have(const struct uft_thread *th, uint64_t slot)
{
	uint64_t first = uft_load(&th->base->slot);

	return th->flags & TH_ALT || slot <= first || first == FG_NO_SLOT;
}

struct fg_age fg_age(const struct fg_entry *e)
{
	for (const struct uft_thread *th = thread_first(); th; th = th->next)
		if (fg_is_on_array(th, e))
			return (struct fg_age){ e->clock, (uint64_t)(e - th->base) };
	return aside_age(e);
}

struct fg_entry *fg_find(uint64_t slot, uint64_t ret, struct fg_age before, const struct fg_entry *from)
{
	struct fg_entry *newest = aside_find(slot, ret, before);
	struct fg_age its_age = { 0, 0 };	/* age of the newest */

	if (newest)
		its_age = aside_age(newest);

	for (struct uft_thread *th = thread_first(); th; th = th->next) {
		struct fg_entry *e =
			from && fg_is_on_array(th, from) ? (struct fg_entry *)from + 1 : uft_load_acquire(&th->top);

		if (from && !fg_may_have(th, slot))
			continue;
		while (e-- > th->base) {
			struct fg_age age = { e->clock, (uint64_t)(e - th->base) };
			uint64_t its = uft_load(&e->slot);

			if (from && its > slot && !(th->flags & TH_ALT))
				break;
			if (its != slot /* GUARD(aside_slot, 1) */ || (ret && e->ret != ret) ||
			    !fg_is_older(age, before))
				continue;
			/*
			 * Of the same age: an entry that is just being set aside, or a tail call that replaced the
			 * other.
			 */
			if (!newest || !fg_is_older(age, its_age) /* GUARD(newest_of_slot) */) {
				newest = e;
				its_age = age;
			}
		}
	}
	return newest;
}

/*
 * A tail call's parent is its caller's hook. Functions that call each other so, f g f g, have many entries for the slot
 * with the same hooks: the clock tells which of them is next.
 */
uint64_t fg_true_parent(uint64_t slot, uint64_t ret, const struct fg_entry *from)
{
	const struct fg_entry *e;
	struct fg_age before = FG_AGE_ANY;

	while ((e = fg_find(slot, ret, before, from))) {
		ret = e->parent;
		before = fg_age(e); /* GUARD(tail_call_ages, (struct fg_age){ 0, 0 }) */
	}
	return ret;
}
