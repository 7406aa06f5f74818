/* SPDX-License-Identifier: MIT */
/*
 * rings.h - a ring of records as it lies in memory: its control page, how it grows, and how its runs are read
 *
 * Part of the contract between the runtime and the session (abi.h, which has the words `w:`, `s:`, `a:`). A writer is
 * aborted or killed anywhere, and a target may write anything: a reader reads `commit` first, copies the records, and
 * checks the copy. Records that it cannot use are counted as lost.
 */
#ifndef UFT_RINGS_H
#define UFT_RINGS_H

#include <stddef.h>
#include <stdint.h>

#define UFT_PAGE	4096u

enum uft_ring_flags {
	UFT_RING_ON		= 1,	/* s: records are wanted; off: they are dropped uncounted */
	UFT_RING_OVERWRITE	= 2,	/* s: recycle the oldest sub-buffer; else discard when full */
};

struct uft_ring_turn {		/* positions that the writer left out; values outside of the turn are old ones */
	uint64_t gap, gap_to;	/* w: from gap it went on at gap_to, in the same turn */
	uint64_t skip;		/* w: from here it went on with the next turn; 0: none */
	uint64_t pad;
};

/*
 * Control page of a ring; the data follows it at +UFT_PAGE. Writer protocol (rseq rings):
 *   1. read commit; if a record of n bytes would pass sub_end, or the context differs, slow path;
 *   2. write the words at data + (commit & (size - 1));
 *   3. store commit + n (release). Preemption, migration or a signal before 3 restarts at 1.
 * A cached context (ctx_*) is valid only while ctx_pos < commit: a section aborted between caching
 * and committing must not give later records a wrong thread or time.
 * New sub-buffer, overwrite mode: advance `oldest` first, then (store barrier) write data; readers
 * copy, (load barrier) re-read `oldest`, and drop what was overtaken, counted.
 */
struct uft_ring {
	uint64_t commit;	/* w: bytes committed since the start, monotonic */
	uint32_t ctx_tid;	/* w: task of the current context; 0 none */
	uint32_t ctx_hi;	/* w: high half of the clock of the current context */
	uint64_t ctx_pos;	/* w: ring position at which that context was written */
	/* w: position where the current sub-buffer ends, of CPUs' rings a word before; 0 before first use */
	uint64_t sub_end;
	uint64_t oldest;	/* w: position of the oldest sub-buffer not recycled (overwrite mode) */
	uint64_t lost;		/* w: records lost in discard mode */
	uint32_t owner;		/* a: exchange rings: 0 free, else tid of the writer inside */
	uint32_t lost_pending;	/* w: a LOST record is due */
	/* w: exchange rings: full clock of the last record that C wrote; an owner's fast paths leave it */
	uint64_t last;
	/* own cache line: the reader's */
	uint64_t read;		/* s: everything below is consumed (discard mode may reuse it) */
	uint64_t backed;	/* w: positions below this have memory */
	uint64_t made;		/* w: offsets of the area below this have memory */
	uint64_t pad1[5];
	struct uft_ring_turn turn[2];	/* of the turns with an even and an odd number: p / ring_bytes */
};
_Static_assert(sizeof(struct uft_ring) == 192, "abi");
/*
 * Memory of a ring. The writer's slow path asks the kernel for it before it writes there (runtime/ring/memory.c), a
 * step at a time. Where all of the area is usual, `backed` is UFT_RING_ALL once the writer has gone around.
 */
#define UFT_RING_ALL	(~7ull)

/*
 * How a ring grows. Position p lies at offset p % ring_bytes of the area; each ring_bytes of positions are a turn.
 *  - A sub-buffer that would begin behind the usual part begins the next turn instead, if the reader has read the
 *    beginning of the area (`skip`); until then the writer goes on behind the usual part. So a ring that is read in
 *    time touches only its usual part.
 *  - A writer that comes to an unread sub-buffer of the turn before goes on behind everything which that turn has
 *    written (`gap`): the rest of the area is free. A turn has at most one gap.
 * Nothing ever moves. Records are lost when the rest of the area is full.
 *
 * The writer stores both notes before the commit that makes them true. An aborted writer leaves a note that is still
 * right: the conditions of a skip stay, and the next writer at a noted gap takes that gap. A skip at the place of a gap
 * is void: the writer removes it, but a reader may see it.
 * A writer begins a turn when the reader has begun the one before: so [read, commit] lies in two turns.
 */
static inline struct uft_ring_turn *uft_ring_turn(const struct uft_ring *r, uint64_t position, uint64_t ring_bytes)
{
	return (struct uft_ring_turn *)((uintptr_t)r + offsetof(struct uft_ring, turn)) + (position / ring_bytes & 1);
}

/* A run of bytes from a position on, and where the next one begins. */
struct uft_ring_run { uint64_t end, next; };

/* For readers. @turn: that of @at, loaded after @commit. */
static inline struct uft_ring_run uft_ring_run(uint64_t at, uint64_t commit, struct uft_ring_turn turn,
					       uint64_t ring_bytes)
{
	struct uft_ring_run run = { (at | (ring_bytes - 1)) + 1, (at | (ring_bytes - 1)) + 1 };

	if (turn.skip /* GUARD(skip_of_zero) */ && at <= turn.skip && turn.skip < run.end && !(turn.skip & 7))
		run.end = turn.skip;
	if (at <= turn.gap && turn.gap <= run.end && turn.gap < turn.gap_to && turn.gap_to < run.next &&
	    !((turn.gap | turn.gap_to) & 7))
		run = (struct uft_ring_run){ turn.gap, turn.gap_to };
	return commit <= run.end || commit < run.next ? (struct uft_ring_run){ commit, commit } : run;
}

#endif
