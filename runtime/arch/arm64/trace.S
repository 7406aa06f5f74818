/* SPDX-License-Identifier: MIT */
/*
 * trace.S - the handlers that armed sites reach, arm64
 *
 * Register conventions: arch/arm64/patch.h. Callers of a function keep nothing in x9-x17, but handlers save them all the
 * same, x9 and the thunk's x16 and x17 excepted; flags are dead at entry and return; vector state is never touched.
 * A function event goes by a ring of the thread's own, all else by C; no restartable sections here yet (rseq.h).
 *
 * Pointer authentication: at an entry site the return address is not signed yet, at a function's return it is not signed
 * any more, so entry sites never see a signature. Behind a prologue (mcount) the frame record may hold a signed one: it
 * is stripped for the record. Branch target identification: we leave by ret, which may lead anywhere.
 *
 * Stack: SAVE_BYTES and at most UFT_SLOW_STACK more, probed before any state changes.
 */
#include "runtime/ring/layout.h"

#define UFT_SLOW_STACK	2048
#define SAVE_BYTES	176
#define BTI_C		hint #34
#define XPACLRI		hint #7		/* strips x30; a nop where there is no such thing */

	.macro HANDLER name
	.balign	64
	.globl	\name
	.hidden	\name
	.type	\name, %function
\name:
	.cfi_startproc
	BTI_C
	.endm

	.macro HANDLER_END name
	.cfi_endproc
	.size	\name, . - \name
	.endm

	/* The registers that SAVE_ALL keeps beside the frame record. */
	.macro ALL_REGS op, op1
	\op	x0, x1, [sp, #16]
	\op	x2, x3, [sp, #32]
	\op	x4, x5, [sp, #48]
	\op	x6, x7, [sp, #64]
	\op	x8, x9, [sp, #80]
	\op	x10, x11, [sp, #96]
	\op	x12, x13, [sp, #112]
	\op	x14, x15, [sp, #128]
	\op1	x18, [sp, #160]
	.endm

/*
 *	sp + 0		x29 x30		frame record: what called us
 *	sp + 16		x0 - x18
 */
	.macro SAVE_ALL
	stp	x29, x30, [sp, #-SAVE_BYTES]!
	.cfi_adjust_cfa_offset SAVE_BYTES
	.cfi_rel_offset x29, 0
	.cfi_rel_offset x30, 8
	ALL_REGS stp, str
	stp	x16, x17, [sp, #144]	/* not restored */
	sub	x10, sp, #UFT_SLOW_STACK
	ldrb	w10, [x10]		/* reads only: the memory there may be somebody's */
	.endm

	.macro RESTORE_ALL
	ALL_REGS ldp, ldr
	ldp	x29, x30, [sp], #SAVE_BYTES
	.cfi_adjust_cfa_offset -SAVE_BYTES
	.cfi_restore x29
	.cfi_restore x30
	.endm

	/* x0: a record's first word. x30: the site's end, w17: K. */
	.macro TEXT_ID
	lsr	x0, x30, #2
	sub	w0, w0, w17
	lsl	x0, x0, #32
	.endm

	.text

/*
 * Entry sites: x30 = site + 8, x9 = parent, w17 = K. The fast path: theory in ring/own.c.
 *
 *	x0 key		x2 line		x3 ring		x1 clock, first word	x4 id, end of the record	x5 where
 */
	.macro LEAVE_FAST
	ldp	x4, x5, [sp, #32]
	ldp	x2, x3, [sp, #16]
	ldp	x0, x1, [sp], #48
	.cfi_adjust_cfa_offset -48
	.endm
	HANDLER uft_asm_func
	stp	x0, x1, [sp, #-48]!
	.cfi_adjust_cfa_offset 48
	stp	x2, x3, [sp, #16]
	stp	x4, x5, [sp, #32]
	adr	x1, uft_ring_fast
	mrs	x0, tpidr_el0
	ldp	x4, x2, [x1, #RF_ON_CPUS]
	ldr	x3, [x1, #RF_HASH]
	ldr	x1, [x1, #RF_GEN]
	mul	x3, x0, x3
	lsr	x3, x3, #64 - RO_BITS
	add	x2, x2, x3, lsl #RO_SHIFT
	orr	x0, x0, x1
	ldp	x1, x3, [x2]
	cmp	x1, x0
	b.ne	.Lfunc_slow
	str	xzr, [x2]
	ldp	x1, x5, [x2, #RO_TID_AT]
	ldr	w1, [x1]
	cmp	w1, w5
	b.ne	.Lfunc_inside
	ldr	w4, [x4]
	cbz	w4, .Lfunc_inside
	mrs	x1, cntvct_el0
	ldr	w4, [x3, #R_CTX_HI]
	cmp	x4, x1, lsr #32
	b.ne	.Lfunc_inside
	ldr	x4, [x3, #R_COMMIT]
	ldr	x16, [x3, #R_SUB_END]
	ldr	x5, [x2, #RO_MASK]
	and	x5, x5, x4
	add	x5, x5, x3
	add	x4, x4, #16
	cmp	x4, x16
	b.hi	.Lfunc_inside
	str	x1, [x3, #R_LAST]
	lsr	x16, x30, #2
	sub	w16, w16, w17
	bfi	x1, x16, #32, #32
	str	x1, [x5, #R_DATA]
	str	x9, [x5, #R_DATA + 8]
	stlr	x4, [x3]
	str	x0, [x2]
	LEAVE_FAST
	mov	x16, x30
	mov	x30, x9			/* the parent, as at the entry */
	ret	x16			/* pairs with the site's bl */
	.cfi_adjust_cfa_offset 48
.Lfunc_inside:
	str	x0, [x2]
.Lfunc_slow:
	LEAVE_FAST
	SAVE_ALL
	TEXT_ID
	mov	x1, x9
	mov	x29, sp
	bl	uft_func_slow
	RESTORE_ALL
	mov	x16, x30
	mov	x30, x9			/* the parent, as at the entry */
	ret	x16			/* pairs with the site's bl */
	HANDLER_END uft_asm_func

/* Behind the prologue: x30 = site + 4, the parent in the frame record that x29 names, w17 = K. */
	HANDLER uft_asm_mcount_func
	SAVE_ALL
	TEXT_ID
	ldr	x30, [x29, #8]
	XPACLRI
	mov	x1, x30
	mov	x29, sp
	bl	uft_func_slow
	RESTORE_ALL
	ret
	HANDLER_END uft_asm_mcount_func

/*
 * Graph, entry sites: x30 = stub + 4, x9 = parent, w17 = K, sp as at the entry: it names the frame. Accepted, we go back
 * to the stub, whose bl makes stub + 8 the body's return address before the body can sign it. Declined, the
 * parent stays and the body, where the stub's second bl leads, is entered from here.
 */
	.globl	uft_asm_graph_enter_slow
	.hidden	uft_asm_graph_enter_slow
	HANDLER uft_asm_graph_enter
uft_asm_graph_enter_slow:
	SAVE_ALL
	sub	x2, x30, #4		/* the stub */
	lsr	x0, x2, #4
	sub	w0, w0, w17
	add	x1, sp, #SAVE_BYTES
	mov	x3, x9
	mov	x29, sp
	bl	uft_enter_slow
	mov	w16, w0
	RESTORE_ALL
	cbz	w16, 1f
	ret				/* pairs with the stub's first bl */
1:	ldr	w17, [x30]
	sbfiz	x17, x17, #2, #26
	add	x16, x30, x17
	mov	x30, x9
	ret	x16
	HANDLER_END uft_asm_graph_enter

/* The body has returned to the stub: results live, sp as at the entry. */
	.globl	uft_asm_graph_exit_slow
	.hidden	uft_asm_graph_exit_slow
	HANDLER uft_asm_graph_exit
uft_asm_graph_exit_slow:
	SAVE_ALL
	add	x0, sp, #SAVE_BYTES
	mov	x29, sp
	bl	uft_exit_named
	mov	x16, x0
	RESTORE_ALL
	mov	x30, x16
	ret				/* pairs with the caller's bl */
	HANDLER_END uft_asm_graph_exit

/* The graph of calls behind a prologue: there is none yet (patch/word.c). */
	.globl	uft_asm_mcount_graph
	.hidden	uft_asm_mcount_graph
uft_asm_mcount_graph:
	brk	#0

	.section .note.GNU-stack, "", %progbits
