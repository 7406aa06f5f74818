/* SPDX-License-Identifier: MIT */
/*
 * ring.S - the general record writer and the shadow stack push, arm64
 *
 * Both are rseq critical sections: a preemption, migration or signal inside sends the task to the abort address, from
 * where the caller starts over. So each store before the last instruction of a section must be harmless if it stays
 * behind, and is made again next time; and all code of a section, the unlikely parts too, lies between its start and
 * its commit. See ring/ring.c.
 *
 * Order. The next writer on this CPU sees the stores up to an abort in program order, because taking the CPU from a
 * task puts its stores in order. Readers are on other CPUs: `oldest` is ordered before the data by a barrier, the data
 * before the commit by its release.
 *
 * Different from x86_64: fast paths write no ring of a CPU here, so no key is set for them (RC_KEY), and no code reads
 * the end of the sub-buffer (R_SUB_END). Only the registers that C keeps have to be kept, and none of them is used.
 */
#include "runtime/ring/layout.h"
#include "runtime/trace/layout.h"
#include "runtime/arch/arm64/rseq.h"
#include "runtime/arch/function.h"

	/* a section that is one function: from \name\()_start to \name\()_end */
	.macro SECTION_FUNCTION name
	.balign	16
	.globl	\name\()_start, \name\()_end
	.hidden	\name\()_start, \name\()_end
	FUNCTION \name
	.endm

	/* The ring has the writer's context, from \position on. Uses x12. */
	.macro SET_CONTEXT position
	str	\position, [x3, #R_CTX_POS]	/* first: from here to the commit the cached context is invalid */
	ldr	w12, [x0, #OP_TASK + 4]
	str	w12, [x3, #R_CTX_TID]
	lsr	x12, x4, #32
	str	w12, [x3, #R_CTX_HI]
	.endm

	/* The address of \position in the ring. */
	.macro PLACE to, position
	and	\to, \position, x14
	add	\to, \to, x3
	add	\to, \to, #R_DATA
	.endm

	/* A record's first word: its kind, and the rest is the clock. */
	.macro FIRST_WORD to, kind, scratch
	mov	w\to, w4
	movz	\scratch, #\kind << 12, lsl #48
	orr	x\to, x\to, \scratch
	.endm

	.text

/*
 * int uft_asm_ring_write(struct ring_op *op) - append one record to this CPU's ring
 *
 * Writes [CONTEXT] record, or PAD, sub-buffer header, [LOST], record, and commits.
 *
 *	x0 op		x2 this CPU's struct ring_cpu	x4 clock	x7  bytes of context to write
 *	x1 rseq area	x3 ring				x5 commit	x8  end of the sub-buffer
 *	x10 where the next word goes			x6 bytes	x9  commit to be
 *	x11 sub-buffer mask				x14 ring mask	x16 uft_ring_fast
 */
	SECTION_FUNCTION uft_asm_ring_write
	RSEQ_AREA x1, x12
	adrp	x16, uft_ring_fast
	add	x16, x16, :lo12:uft_ring_fast
	RSEQ_ARM .Lwrite_cs, x1, x12
uft_asm_ring_write_start:
	ldr	w12, [x1, #RSEQ_CPU_ID]
	ldr	w13, [x16, #RF_NCPUS]
	cmp	w12, w13
	b.hs	.Lwrite_none
	ldr	x13, [x16, #RF_CPU]
	add	x2, x13, x12, lsl #RC_SHIFT
	ldr	x3, [x2, #RC_RING]
	cbz	x3, .Lwrite_none
	ldr	x12, [x0, #OP_GUARD]
	ldr	x12, [x12]
	ldr	x13, [x0, #OP_EXPECT]
	cmp	x12, x13
	b.ne	.Lwrite_guard

	/*
	 * inside: time never runs backwards in a ring, because the task that takes the CPU reads the clock behind an
	 * exception
	 */
	mrs	x4, cntvct_el0
	ldr	x5, [x3, #R_COMMIT]
	ldr	x6, [x0, #OP_BYTES]
	ldr	x11, [x16, #RF_SUB_MASK]
	ldr	x14, [x16, #RF_MASK]

	mov	x7, #0			/* is the ring's context ours, and really in the ring? */
	ldr	w12, [x0, #OP_TASK + 4]
	ldr	w13, [x3, #R_CTX_TID]
	cmp	w12, w13
	b.ne	1f
	lsr	x12, x4, #32
	ldr	w13, [x3, #R_CTX_HI]
	cmp	w12, w13
	b.ne	1f
	ldr	x13, [x3, #R_CTX_POS]
	cmp	x13, x5
	b.lo	2f
1:	mov	x7, #24
2:
	add	x8, x5, x11		/* end = commit rounded up; a full or first sub-buffer has no room */
	bic	x8, x8, x11
	add	x9, x5, x6
	add	x9, x9, x7
	cmp	x9, x8
	b.ls	.Lwrite_fits

	/* The sub-buffer from x8 on. Overwrite mode: give up the oldest. */
	ldr	x13, [x16, #RF_FLAGS]
	ldr	w13, [x13]
	tst	w13, #RINGF_OVERWRITE
	b.ne	5f
	/*
	 * Discard mode: where the sub-buffer begins (abi.h, how a ring grows). x15 = its turn, x17 = the position up to
	 * which data are read.
	 */
	add	x17, x3, #R_READ
	ldar	x17, [x17]		/* partner: the reader's release, behind its copy */
	add	x12, x14, #1
	tst	x8, x12
	cset	x12, ne
	add	x15, x3, #R_TURN
	add	x15, x15, x12, lsl #RT_SHIFT
	ldr	x12, [x15, #RT_GAP]
	cmp	x12, x8
	b.eq	8f
	ldr	x12, [x0, #OP_GAP_RING]
	cmp	x12, x3
	b.ne	9f
	ldr	x12, [x0, #OP_GAP]
	cmp	x12, x8
	b.ne	9f
	str	xzr, [x15, #RT_SKIP]
	ldr	x12, [x0, #OP_GAP_TO]
	str	x12, [x15, #RT_GAP_TO]
	str	x8, [x15, #RT_GAP]	/* behind where it leads */
8:	ldr	x8, [x15, #RT_GAP_TO]
	b	6f
9:	and	x12, x8, x14		/* behind the usual part: can the next turn begin? */
	ldr	w13, [x16, #RF_USUAL]
	cmp	x12, x13
	b.lo	9f
	orr	x13, x8, x14
	add	x12, x13, x11
	sub	x12, x12, x14
	cmp	x12, x17
	b.ge	9f
	str	x8, [x15, #RT_SKIP]
	add	x8, x13, #1
	b	6f
9:	add	x12, x8, x11		/* are the data here read? */
	sub	x12, x12, x14
	cmp	x12, x17
	b.le	6f
	eor	x15, x15, #1 << RT_SHIFT	/* or has the turn before left it out? */
	ldr	x13, [x15, #RT_SKIP]
	cbz	x13, .Lwrite_lost
	sub	x12, x8, x14
	sub	x12, x12, #1
	cmp	x12, x13
	b.lo	.Lwrite_lost
	eor	x12, x12, x13
	cmp	x12, x14
	b.hi	.Lwrite_lost
	b	6f
5:	add	x12, x8, x11
	sub	x12, x12, x14		/* its end less the ring's size: everything below is overwritten */
	ldr	x13, [x3, #R_OLDEST]
	cmp	x12, x13
	b.le	6f
	str	x12, [x3, #R_OLDEST]
6:	add	x13, x8, x6
	add	x13, x13, #SH_BYTES + 16
	ldr	x12, [x3, #R_BACKED]
	cmp	x13, x12
	b.hi	.Lwrite_unbacked
	/*
	 * before the first store into it; partner: the reader's re-read. Also for a writer that was aborted behind it
	 */
	dmb	ishst
	tst	x5, x11			/* is the last one full? */
	b.eq	7f
	PLACE	x10, x5
	str	xzr, [x10]		/* PAD */
7:	SET_CONTEXT x8
	PLACE	x10, x8
	ldr	x15, [x3, #R_LOST]
	stp	x8, x15, [x10, #SH_POSITION]
	ldr	x12, [x0, #OP_TASK]
	stp	x4, x12, [x10, #SH_CLOCK]
	add	x10, x10, #SH_BYTES
	add	x9, x8, #SH_BYTES
	add	x9, x9, x6

	/*
	 * LOST: the number lost since the header before. That header is intact, because it is not given up before this
	 * one.
	 */
	cbz	x5, .Lwrite_record	/* the first sub-buffer */
	sub	x12, x5, #1
	bic	x12, x12, x11
	PLACE	x13, x12
	ldr	x13, [x13, #SH_LOST]
	subs	x15, x15, x13
	b.eq	.Lwrite_record
	FIRST_WORD 12, UFT_ASM_REC_LOST, x13
	stp	x12, x15, [x10], #16
	str	wzr, [x3, #R_LOST_PENDING]
	add	x9, x9, #16
	b	.Lwrite_record

.Lwrite_fits:
	mov	x13, x9
	ldr	x12, [x3, #R_BACKED]
	cmp	x13, x12
	b.hi	.Lwrite_unbacked
	PLACE	x10, x5
	cbz	x7, .Lwrite_record
	SET_CONTEXT x5
	FIRST_WORD 12, UFT_ASM_REC_CONTEXT, x13
	ldr	x13, [x0, #OP_TASK]
	stp	x12, x4, [x10], #16
	str	x13, [x10], #8

.Lwrite_record:
	ldr	x12, [x0, #OP_WORD0]
	mov	w13, w4
	orr	x12, x12, x13
	str	x12, [x10]
	cmp	x6, #8
	b.eq	3f
	ldr	x13, [x0, #OP_WORD1]
	ldr	w15, [x0, #OP_FLAGS]
	tst	w15, #RING_OP_SINCE
	b.eq	4f
	sub	x13, x4, x13
4:	str	x13, [x10, #8]
	cmp	x6, #16
	b.eq	3f
	ldr	x13, [x0, #OP_MORE]
	mov	x15, #16
9:	ldr	x17, [x13], #8
	str	x17, [x10, x15]
	add	x15, x15, #8
	cmp	x15, x6
	b.lo	9b
3:	ldr	x13, [x0, #OP_CLOCK]
	str	x4, [x13]
	ldr	x13, [x0, #OP_RECEIPT]	/* so that an observer can tell whether this was committed */
	str	x12, [x13, #RR_WORD]
	str	x10, [x13, #RR_WHERE]
	stlr	x9, [x3]		/* R_COMMIT; partner: the reader's acquire */
uft_asm_ring_write_end:
	mov	w0, #RING_WRITTEN
.Lwrite_out:
	str	xzr, [x1, #RSEQ_CS]
	ret

.Lwrite_lost:
	str	x3, [x0, #OP_RING]
	str	x8, [x0, #OP_NEED]
	mov	w0, #RING_LOST
	b	.Lwrite_out
.Lwrite_unbacked:
	str	x3, [x0, #OP_RING]
	str	x13, [x0, #OP_NEED]
	mov	w0, #RING_UNBACKED
	b	.Lwrite_out
.Lwrite_none:
	mov	w0, #RING_NONE
	b	.Lwrite_out
.Lwrite_guard:
	mov	w0, #RING_GUARD
	b	.Lwrite_out
	RSEQ_ABORT .Lwrite_abort
	mov	w0, #RING_RETRY
	b	.Lwrite_out
	FUNCTION_END uft_asm_ring_write
	RSEQ_CS_DESC .Lwrite_cs, uft_asm_ring_write_start, uft_asm_ring_write_end, .Lwrite_abort

/*
 * int uft_asm_push(struct uft_thread *th, struct fg_entry *top, const struct fg_entry *e)
 *
 * Copies e to the free entry at top and makes it the top, unless th->top is not top any more or a signal
 * came: then the space above the top may have been used, and nothing is pushed. Returns 1 if pushed.
 */
	SECTION_FUNCTION uft_asm_push
	RSEQ_AREA x3, x4
	RSEQ_ARM .Lpush_cs, x3, x4
uft_asm_push_start:
	ldr	x4, [x0]		/* TH_TOP */
	cmp	x4, x1
	b.ne	.Lpush_failed
	.irp	offset, 0, 16, 32, 48
	ldp	x4, x5, [x2, #\offset]
	stp	x4, x5, [x1, #\offset]
	.endr
	add	x1, x1, #E_BYTES
	stlr	x1, [x0]		/* others look at what lies below it (graph.c) */
uft_asm_push_end:
	str	xzr, [x3, #RSEQ_CS]
	mov	w0, #1
	ret
	RSEQ_ABORT .Lpush_abort
.Lpush_failed:
	str	xzr, [x3, #RSEQ_CS]
	mov	w0, #0
	ret
	FUNCTION_END uft_asm_push
	RSEQ_CS_DESC .Lpush_cs, uft_asm_push_start, uft_asm_push_end, .Lpush_abort

/*
 * A section in which no thread can be: a task's rseq_cs is set to it to find out whether the kernel knows the task
 * (thread/rseq_check.c). The kernel clears rseq_cs when it takes the CPU away.
 */
	.globl	uft_asm_nowhere_cs
	.hidden	uft_asm_nowhere_cs
.Lnowhere_start:
	brk	#0
.Lnowhere_end:
	RSEQ_ABORT .Lnowhere_abort
	brk	#0
	RSEQ_CS_DESC uft_asm_nowhere_cs, .Lnowhere_start, .Lnowhere_end, .Lnowhere_abort

	.section .note.GNU-stack, "", %progbits
