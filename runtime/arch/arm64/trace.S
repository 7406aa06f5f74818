/* SPDX-License-Identifier: MIT */
/*
 * trace.S - the handlers that armed sites reach, arm64
 *
 * Register conventions: arch/arm64/patch.h. Callers of a function keep nothing in x9-x17: where there are patchable
 * entries, whose first word uses x9 and which may lead through a veneer, compilers do not look at what a callee really
 * uses (-fipa-ra). Fast paths use no other register; C keeps the rest. Flags are dead at entry and return; vector state
 * is never touched. Around unprepared code x9-x15 are kept as well, and the same paths run in between.
 *
 * Fast paths: theory in ring/thread_rings.c. From FIND_OWN until the key is restored a thread is inside the line.
 * Unusual cases go to C, which starts over from the registers as they came.
 *
 * Pointer authentication: at an entry site the return address is not signed yet, and at a function's return it is not
 * signed any more, so entry sites never see a signature. Behind a prologue (mcount) the frame record may hold a signed
 * one, which is stripped for the record. Branch target identification: handlers end in ret, which may lead anywhere;
 * the runtime's code is not guarded.
 *
 * Stack: fast paths use none, or SCRATCH_BYTES around unprepared code; C uses SAVE_BYTES and at most UFT_SLOW_STACK
 * more, probed before any state changes.
 */
#include "runtime/arch/function.h"
#include "runtime/ring/layout.h"
#include "runtime/trace/layout.h"

#define UFT_SLOW_STACK	2048
#define SAVE_BYTES	176
#define SAVE_X0		16		/* from here on arguments, or the result: for event.c */
#define SCRATCH_BYTES	64
#define NZCV_C		2		/* the flags of not lo */
#define NZCV_NE		0
#define REC_ENTRY_TO_EXIT ((UFT_ASM_REC_ENTRY ^ UFT_ASM_REC_EXIT) << 60)
#define XPACLRI		hint #7		/* strips x30; a nop on CPUs without signatures */

	.macro HANDLER name
	.balign	64
	FUNCTION \name
	.endm

	/* The registers that SAVE_ALL keeps beside the frame record. */
	.macro ALL_REGS op, op1
	\op	x0, x1, [sp, #SAVE_X0]
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
	ldrb	w10, [x10]		/* reads only, because the memory there may be in use */
	.endm

	.macro RESTORE_ALL
	ALL_REGS ldp, ldr
	ldp	x29, x30, [sp], #SAVE_BYTES
	.cfi_adjust_cfa_offset -SAVE_BYTES
	.cfi_restore x29
	.cfi_restore x30
	.endm

	/* A record's first word without the clock. x30: the site's end, x17: ARCH_THUNK_K. */
	.macro TEXT_ID to
	add	\to, x17, x30, lsl #30
	.endm

	/* Goes inside the thread's line: x13 = the line, x11 = its key. Uses x12, x14, flags. */
	.macro FIND_OWN slow
	ldr	x13, uft_ring_fast + RF_OWN
	mrs	x11, tpidr_el0
	ldp	x12, x14, [x13, #RH_TID_OFFSET]
	ldr	w12, [x11, x12]
	ldr	x14, [x14]
	bfi	x13, x12, #RO_SHIFT, #RO_BITS
	add	x11, x11, x12, lsl #RO_TID_SHIFT
	add	x11, x11, x14
	ldr	x12, [x13, #RO_KEY]
	cmp	x12, x11
	b.ne	\slow
	str	xzr, [x13, #RO_KEY]
	.endm

	/*
	 * x10 = the clock, x12 = where to write, x16 = the thread; flags: lo if the clock is below the limit and there
	 * is room. Uses x14, x15.
	 */
	.macro FIND_ROOM
	mrs	x10, cntvct_el0
	ldp	x12, x14, [x13, #RO_AT]
	ldp	x15, x16, [x13, #RO_LIMIT]
	cmp	x10, x15
	ccmp	x12, x14, #NZCV_C, lo
	.endm

	/* Commits the words before x12. Uses x14-x16. */
	.macro COMMIT
	ldp	x15, x16, [x13, #RO_RING]
	sub	x14, x12, x16
	stlr	x14, [x15]
	.endm

	/* Leaves the line. Uses x12. */
	.macro LEAVE_OWN
	ldr	x12, [x13, #RO_AGAIN]
	str	x12, [x13, #RO_KEY]
	.endm

	/*
	 * Saves registers that unprepared code may rely on and fast paths use. The parent, if it lies at sp, is then at
	 * sp + SCRATCH_BYTES.
	 */
	.macro SCRATCH_SAVE
	stp	x9, x10, [sp, #-SCRATCH_BYTES]!
	.cfi_adjust_cfa_offset SCRATCH_BYTES
	stp	x11, x12, [sp, #16]
	stp	x13, x14, [sp, #32]
	str	x15, [sp, #48]
	.endm

	.macro SCRATCH_RESTORE
	ldr	x15, [sp, #48]
	ldp	x13, x14, [sp, #32]
	ldp	x11, x12, [sp, #16]
	ldp	x9, x10, [sp], #SCRATCH_BYTES
	.cfi_adjust_cfa_offset -SCRATCH_BYTES
	.endm

	/*
	 * A whole graph entry, then straight on; or at \p_slow with everything as it came, or at \p_by_c, where x17 has
	 * become the first word. x30 = stub + 4, x17 = ARCH_THUNK_K, \name = sp at the function's entry, which is the
	 * frame's name; the parent is x9 or, if x9 is \name, at sp + SCRATCH_BYTES.
	 *
	 *	x10 clock	x11 key		x12 at		x13 line	x15 top		x16 thread	x17 first word
	 */
	.macro GRAPH_ENTER p, name
	FIND_OWN .L\p\()_slow
	ldp	x14, x16, [x13, #RO_LIMIT]
	ldxr	x15, [x16]		/* TH_TOP */
	ldp	x12, x10, [x15, #E_SLOT - E_BYTES]	/* and the next word, E_WHERE */
	cmp	\name, x12
	ccmp	x10, #0, #NZCV_NE, lo
	mrs	x10, cntvct_el0
	ccmp	x10, x14, #NZCV_C, eq
	ldp	x12, x14, [x13, #RO_AT]
	ccmp	x12, x14, #NZCV_C, lo
	b.hs	.L\p\()_odd
.L\p\()_deeper:
	add	x17, x17, x30, lsl #28
	bfxil	x17, x10, #0, #32
	str	x17, [x12], #8
	.ifc	\name, sp
	mov	x14, sp
	stp	x9, x14, [x15, #E_PARENT]
	.else
	ldr	x14, [sp, #SCRATCH_BYTES]
	stp	x14, \name, [x15, #E_PARENT]
	.endif
	add	x14, x30, #4		/* stub + 8 */
	stp	x14, x10, [x15, #E_RET]
	/* and the flags: a push that was aborted leaves its own in a free entry */
	stp	x17, xzr, [x15, #E_WORD]
	add	x15, x15, #E_BYTES
	str	x15, [x13, #RO_INTENT]
	str	x12, [x13, #RO_AT]
	stxr	w14, x15, [x16]
	cbnz	w14, .L\p\()_again
	COMMIT
	str	x11, [x13, #RO_KEY]
	.endm

	/*
	 * The stack pointer is the same: a tail call if the parent is the hook of its caller. Or another condition of
	 * the entry failed.
	 */
	.macro GRAPH_ENTER_ODD p, name
.L\p\()_odd:
	ldp	x14, x12, [x15, #E_SLOT - E_BYTES]	/* and the next word, E_WHERE */
	cmp	\name, x14
	ldr	x14, [x15, #E_RET - E_BYTES]
	.ifc	\name, sp
	ccmp	x14, x9, #NZCV_NE, eq
	.else
	ldr	x16, [sp, #SCRATCH_BYTES]
	ccmp	x14, x16, #NZCV_NE, eq
	.endif
	ccmp	x12, #0, #NZCV_NE, eq
	b.ne	.L\p\()_inside
	ldp	x12, x14, [x13, #RO_AT]
	cmp	x12, x14
	ldp	x14, x16, [x13, #RO_LIMIT]
	ccmp	x10, x14, #NZCV_C, lo
	b.lo	.L\p\()_deeper
.L\p\()_inside:
	LEAVE_OWN
	b	.L\p\()_slow
.L\p\()_again:
	sub	x12, x12, #8
	str	x12, [x13, #RO_AT]
	LEAVE_OWN
	b	.L\p\()_by_c
	.endm

	/*
	 * A whole graph exit; \below: from sp up to the frame's name. Ends with the parent in x9; or at \p_slow.
	 *
	 *	x9 parent	x10 clock	x11 key		x12 at		x13 line	x16 thread	x17 top		x30 slot
	 */
	.macro GRAPH_EXIT p, below=0
	FIND_OWN .L\p\()_slow
	ldp	x15, x16, [x13, #RO_LIMIT]
	ldxr	x17, [x16]		/* TH_TOP */
	ldp	x9, x30, [x17, #E_PARENT - E_BYTES]
	mrs	x10, cntvct_el0
	.if	\below
	add	x12, sp, #\below
	cmp	x12, x30
	.else
	cmp	sp, x30
	.endif
	ldp	x12, x14, [x13, #RO_AT]
	ccmp	x10, x15, #NZCV_C, eq
	ccmp	x12, x14, #NZCV_C, lo
	ldp	x14, x15, [x17, #E_WORD - E_BYTES]
	ccmp	w15, #0, #NZCV_NE, lo
	b.ne	.L\p\()_inside
	eor	x14, x14, #REC_ENTRY_TO_EXIT
	bfxil	x14, x10, #0, #32
	str	x14, [x12], #8
	sub	x17, x17, #E_BYTES
	str	x17, [x13, #RO_INTENT]
	str	x12, [x13, #RO_AT]
	stxr	w15, x17, [x16]
	cbnz	w15, .L\p\()_again
	COMMIT
	str	x11, [x13, #RO_KEY]
	.endm

	.macro GRAPH_EXIT_ODD p
.L\p\()_again:
	sub	x12, x12, #8
	str	x12, [x13, #RO_AT]
.L\p\()_inside:
	mov	x30, xzr
	LEAVE_OWN
.L\p\()_slow:
	.endm

	.text

/*
 * Entry sites: x30 = site + 8, x9 = parent, x17 = ARCH_THUNK_K.
 *
 *	x10 clock	x11 key		x12 at		x13 line	x14 first word
 */
	HANDLER uft_asm_func
	FIND_OWN .Lfunc_slow
	FIND_ROOM
	b.hs	.Lfunc_inside
	TEXT_ID	x14
	bfxil	x14, x10, #0, #32
	stp	x14, x9, [x12], #16
	str	x12, [x13, #RO_AT]
	COMMIT
	str	x11, [x13, #RO_KEY]
	mov	x16, x30
	mov	x30, x9			/* the parent, as at the entry */
	ret	x16			/* pairs with the site's bl */
.Lfunc_inside:
	str	x11, [x13, #RO_KEY]
.Lfunc_slow:
	SAVE_ALL
	TEXT_ID	x0
	mov	x1, x9
	mov	x29, sp
	bl	uft_func_slow
	RESTORE_ALL
	mov	x16, x30
	mov	x30, x9			/* the parent, as at the entry */
	ret	x16			/* pairs with the site's bl */
	FUNCTION_END uft_asm_func

/* Behind the prologue: x30 = site + 4, the parent is in the frame record that x29 names, x17 = ARCH_THUNK_K. */
	HANDLER uft_asm_mcount_func
	SAVE_ALL
	TEXT_ID	x0
	ldr	x30, [x29, #8]
	XPACLRI
	mov	x1, x30
	mov	x29, sp
	bl	uft_func_slow
	RESTORE_ALL
	ret
	FUNCTION_END uft_asm_mcount_func

/*
 * Graph, entry sites: x30 = stub + 4, x9 = parent, x17 = ARCH_THUNK_K, sp as at the entry: it names the frame. If the
 * call is accepted, control returns to the stub, whose bl makes stub + 8 the body's return address before the body can
 * sign it. If it is declined, the parent stays, and the body, the target of the stub's second bl, is entered from here.
 */
	HANDLER uft_asm_graph_enter
	GRAPH_ENTER enter, sp
	ret				/* pairs with the stub's first bl */
	GRAPH_ENTER_ODD enter, sp
	.globl	uft_asm_graph_enter_slow
	.hidden	uft_asm_graph_enter_slow
uft_asm_graph_enter_slow:
.Lenter_slow:
	add	x17, x17, x30, lsl #28
.Lenter_by_c:
	SAVE_ALL
	lsr	x0, x17, #32
	add	x1, sp, #SAVE_BYTES
	sub	x2, x30, #4		/* the stub */
	mov	x3, x9
	add	x4, sp, #SAVE_X0
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
	FUNCTION_END uft_asm_graph_enter

/* The body has returned to the stub: results live, sp as at the entry; x30 is not needed any more. */
	HANDLER uft_asm_graph_exit
	GRAPH_EXIT exit
	ret	x9			/* pairs with the caller's bl */
	GRAPH_EXIT_ODD exit
	.globl	uft_asm_graph_exit_slow
	.hidden	uft_asm_graph_exit_slow
uft_asm_graph_exit_slow:
	SAVE_ALL
	add	x0, sp, #SAVE_BYTES
	add	x1, sp, #SAVE_X0
	mov	x29, sp
	bl	uft_exit_named
	mov	x16, x0
	RESTORE_ALL
	mov	x30, x16
	ret				/* pairs with the caller's bl */
	FUNCTION_END uft_asm_graph_exit

/*
 * Graph, unprepared code: [sp] = parent, 16 below sp at the entry; x30 = stub + 4, x17 = ARCH_THUNK_K. Callers and
 * function may rely on x9 - x15 here, at the exit as well.
 */
	HANDLER uft_asm_code_enter
	SCRATCH_SAVE
	add	x9, sp, #SCRATCH_BYTES + 16
	GRAPH_ENTER code, x9
	SCRATCH_RESTORE
	add	sp, sp, #16
	ret				/* pairs with the stub's first bl */
	.cfi_adjust_cfa_offset SCRATCH_BYTES
	GRAPH_ENTER_ODD code, x9
.Lcode_slow:
	SCRATCH_RESTORE
	.globl	uft_asm_code_enter_slow
	.hidden	uft_asm_code_enter_slow
uft_asm_code_enter_slow:
	add	x17, x17, x30, lsl #28
	SAVE_ALL
	lsr	x0, x17, #32
	add	x1, sp, #SAVE_BYTES + 16
	sub	x2, x30, #4		/* the stub */
	ldr	x3, [sp, #SAVE_BYTES]
	add	x4, sp, #SAVE_X0
	mov	x29, sp
	bl	uft_enter_slow
	mov	w16, w0
	RESTORE_ALL
	cbz	w16, 1f
	add	sp, sp, #16
	ret				/* pairs with the stub's first bl */
1:	ldr	w17, [x30]
	sbfiz	x17, x17, #2, #26
	add	x16, x30, x17
	ldr	x30, [sp], #16
	ret	x16
.Lcode_by_c:
	.cfi_adjust_cfa_offset SCRATCH_BYTES
	sub	x17, x17, x30, lsl #28	/* is added again */
	b	.Lcode_slow
	FUNCTION_END uft_asm_code_enter

	HANDLER uft_asm_code_exit
	SCRATCH_SAVE
	GRAPH_EXIT code_exit, SCRATCH_BYTES
	mov	x30, x9
	SCRATCH_RESTORE
	ret				/* pairs with the caller's bl */
	.cfi_adjust_cfa_offset SCRATCH_BYTES
	GRAPH_EXIT_ODD code_exit
	SCRATCH_RESTORE
	b	uft_asm_graph_exit_slow
	FUNCTION_END uft_asm_code_exit

/*
 * Graph, calls behind a prologue: x9 = site + 4, x30 = stub + 8, x0 = parent, x17 = ARCH_THUNK_K. C writes stub + 8 to
 * where the prologue has stored the parent, unsigned (frame.h), or leaves it; the body's return then comes to the exit
 * as if from an entry site's stub.
 */
	HANDLER uft_asm_mcount_graph
	mov	x16, x30
	mov	x30, x9
	SAVE_ALL
	mov	x3, x0
	add	x0, x17, x16, lsl #28
	lsr	x0, x0, #32
	sub	x1, x16, #8		/* the stub */
	mov	x2, x29
	mov	x29, sp
	bl	uft_mcount_enter_named
	RESTORE_ALL
	ret				/* pairs with the site's bl */
	FUNCTION_END uft_asm_mcount_graph

	.section .note.GNU-stack, "", %progbits
