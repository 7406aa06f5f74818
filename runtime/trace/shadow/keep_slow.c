/* SPDX-License-Identifier: MIT */
/*
 * keep_slow.c - keep only slow calls: the graph below a root call waits until its duration is known
 *
 * A root with a limit (UFT_ACT_KEEP) opens its thread's scratch buffer, the memory behind the shadow stack; calls below
 * it go there instead of into a ring (FG_SCRATCH). When the root ends, by return or because it was left, and took the
 * limit or longer, its graph is copied to a ring (ring/scratch_flush.c); else it is dropped and counted
 * (UFT_CNT_NOT_KEPT). A root inside another root's call is an ordinary call of that one.
 *
 * A word of the buffer is a record of one word, as in a ring, or a CONTEXT word with the clock's high half where that
 * changes. A place is taken by one compare-and-swap of `nkept` after the clock was read, which fails if a signal
 * handler took one in between: so the words are in the order of their clocks. A place that a handler jumped away from
 * stays 0. Words from nkept on are 0. Receipts (graph.c) point at the place.
 *
 * If the buffer is full, further calls are not recorded but counted. The ends of recorded calls still have room, and
 * the graph that is kept tells how many calls are missing. The buffer's size times the number of threads bounds all
 * memory.
 *
 * Not covered: calls set aside below a root (coroutines) count as left for good; a fork child records nothing in the
 * roots that its parent began, and a vfork child nothing in its parent's.
 *
 * Concurrency: only the thread's own task. Signals are blocked at the end of a root.
 */
#include "runtime/trace/shadow/shadow.h"

#define KEEP_TRIES	1000	/* each repetition means that a signal handler came in between */
#define WORDS_PER_RECORD 2	/* at most: the clock's high half may change */

void keep_init(struct uft_thread *th, uint64_t *words, uint64_t bytes)
{
	/* as much as a ring can take at once, with new contexts in between */
	uint64_t most = uft_rt.arena->ring_usual / 8;

	th->kept = words;
	th->kept_max = (bytes < most ? bytes : most) / 8;
	th->kept_hi = ~0u;
}

/* Drops words that no call needs any more. Signals are blocked, or the thread does not run. */
void keep_reset(struct uft_thread *th)
{
	for (uint64_t i = 0; i < th->nkept; i++)
		th->kept[i] = 0;
	th->kept_hi = ~0u;
	th->kept_lost = 0;
	uft_store(&th->nkept, 0);
}

/*
 * Takes a place and writes a word, if @top still is the thread's top. @e: the entry whose receipt points there, or
 * NULL. @room: words that must stay free behind it. 1: done; 0: no room; -1: a handler left an entry on top.
 */
static int keep_put(struct uft_thread *th, uint64_t word0, struct fg_entry *top, struct fg_entry *e, uint64_t room)
{
	for (int i = 0; i < KEEP_TRIES; i++) {
		uint64_t n = uft_load(&th->nkept), clock = arch_clock(), word = word0 | (uint32_t)clock;
		uint64_t change = (uint32_t)(clock >> 32) != uft_load(&th->kept_hi);

		uft_barrier();
		/* The top is read after n: a handler that comes later changes n. */
		if (uft_load(&th->top) != top) /* GUARD(keep_on_top) */
			return -1;
		if (n + 1 + change + room > th->kept_max)
			break;
		/* GUARD(keep_compares, (uft_store(&th->nkept, n + 1 + change), 0)) */
		if (!arch_local_cas(&th->nkept, n, n + 1 + change))
			continue;
		if (change) {
			th->kept[n++] = UFT_REC_WORD(UFT_REC_CONTEXT, 0, clock >> 32);
			uft_barrier();
			uft_store(&th->kept_hi, (uint32_t)(clock >> 32));
		}
		if (e) {
			/*
			 * The receipt of a root keeps the word of the push, because a handler in between has written
			 * already.
			 */
			if (UFT_REC_KIND(word) == UFT_REC_ENTRY && !(e->flags & FG_KEEP))
				e->clock = clock;
			uft_store(&e->receipt.word, word);	/* before its address */
			uft_barrier();
			uft_store(&e->receipt.where, (uint64_t)&th->kept[n]);
			uft_barrier();
		}
		uft_store(&th->kept[n], word);
		return 1;
	}
	arch_local_add64(&th->kept_lost, 1);
	return 0;
}

int keep_entry(struct trace_task *t, struct fg_entry *e)
{
	/* The ends of the calls that are open on the array, and of this one. */
	uint64_t room = (uint64_t)(e + 2 - t->th->base) * WORDS_PER_RECORD;
	int ret = keep_put(t->th, e->receipt.word & ~0xffffffffull, e + 1, e, room);

	if (ret < 0)
		return 0;
	if (!ret)
		arch_local_or32(&e->flags, FG_SILENT);
	uft_barrier();
	e->receipt.where = 0;
	return 1;
}

int keep_exit(struct trace_task *t, struct fg_entry *e)
{
	return keep_put(t->th, UFT_REC_WORD(UFT_REC_EXIT, fg_id(e), 0), e + 1, e, 0) >= 0;
}

void keep_unwind(struct trace_task *t, uint32_t n)
{
	keep_put(t->th, UFT_REC_WORD(UFT_REC_UNWIND, n, 0), t->th->top, NULL, 0);
}

/* Ends a root. Context: signals blocked. */
void keep_end(struct trace_task *t, const struct fg_entry *root)
{
	struct uft_thread *th = t->th;
	struct ring_past p = {
		.pid = t->pid, .tid = t->tid, .begin = root->clock, .words = th->kept, .n = th->nkept,
		.lost = th->kept_lost,
	};

	if (t->mute || !trace_is_recording())
		;
	else if (arch_clock() - root->clock < root->child)
		trace_count(UFT_CNT_NOT_KEPT, 1);
	else if (ring_write_past(&p) == RING_NONE)
		trace_count(UFT_CNT_KEEP_NO_RING, p.n);
	keep_reset(th);
}

int keep_exit_root(struct trace_task *t, struct fg_entry *top, uint64_t *parent)
{
	struct fg_entry *e = top - 1;
	int block = !t->blocked;

	if (block)
		task_block(t);
	if (t->th->top == top) {
		fg_settle(e);
		if (fg_is_recorded(e->flags))
			keep_exit(t, e);
		keep_end(t, e);
		*parent = e->parent;
		if (e->flags & FG_ALT)
			arch_local_clear32(&t->th->flags, TH_ALT);
		uft_store(&t->th->top, e);
		fg_free(e);
		top = NULL;
	}
	if (block)
		task_unblock(t);
	return !top;
}
