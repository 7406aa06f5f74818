/* SPDX-License-Identifier: MIT */
/*
 * trace.S - the handlers that armed sites reach, riscv64
 *
 * Register conventions: arch/riscv64/patch.h. Callers of a function keep nothing in t0-t6, but handlers save them all the
 * same, t0 and the thunk's t1, t3 and t4 excepted; floating-point and vector state is never touched. A function event goes
 * by a ring of the thread's own, all else by C and an exchange ring; no restartable sections here yet (rseq.h).
 *
 * Stack: SAVE_BYTES and at most UFT_SLOW_STACK more, probed before any state changes.
 */
#include "runtime/ring/layout.h"

#define UFT_SLOW_STACK	2048
#define SAVE_BYTES	128

	.macro HANDLER name
	.balign	64
	.globl	\name
	.hidden	\name
	.type	\name, %function
\name:
	.cfi_startproc
	.endm

	.macro HANDLER_END name
	.cfi_endproc
	.size	\name, . - \name
	.endm

	/* The registers that SAVE_ALL keeps beside the frame record. */
	.macro ALL_REGS op
	\op	ra, 0(sp)
	\op	a0, 8(sp)
	\op	a1, 16(sp)
	\op	a2, 24(sp)
	\op	a3, 32(sp)
	\op	a4, 40(sp)
	\op	a5, 48(sp)
	\op	a6, 56(sp)
	\op	a7, 64(sp)
	\op	t1, 72(sp)
	\op	t2, 80(sp)
	\op	t5, 88(sp)
	\op	t6, 96(sp)
	.endm

/*
 *	sp + 0		ra a0-a7 t1 t2 t5 t6
 *	sp + 112	s0, \site	frame record: what called us
 */
	.macro SAVE_ALL site
	addi	sp, sp, -SAVE_BYTES
	.cfi_adjust_cfa_offset SAVE_BYTES
	ALL_REGS sd
	.cfi_rel_offset ra, 0
	sd	s0, 112(sp)
	.cfi_rel_offset s0, 112
	sd	\site, 120(sp)
	addi	s0, sp, SAVE_BYTES
	lb	t5, -UFT_SLOW_STACK(sp)		/* reads only: the memory there may be somebody's */
	.endm

	/* t3 and t4 stay. */
	.macro RESTORE_ALL site
	ALL_REGS ld
	ld	s0, 112(sp)
	ld	\site, 120(sp)
	addi	sp, sp, SAVE_BYTES
	.cfi_adjust_cfa_offset -SAVE_BYTES
	.cfi_restore ra
	.cfi_restore s0
	.endm

	/* a0: a record's first word; \at: the return address, t3: K. */
	.macro TEXT_ID at
	srli	a0, \at, 2
	subw	a0, a0, t3
	slli	a0, a0, 32
	.endm

	.text

/*
 * Entry sites: t0 = site + 8, ra = parent, t3 = K; t1 and t4 are free. The fast path: theory in ring/own.c.
 *
 *	a0 line		a1 key		a2 ring		a3 end of the record	t1 clock, first word	t4 where
 */
	.macro LEAVE_FAST
	ld	a0, 0(sp)
	ld	a1, 8(sp)
	ld	a2, 16(sp)
	ld	a3, 24(sp)
	ld	a4, 32(sp)
	addi	sp, sp, 48
	.cfi_adjust_cfa_offset -48
	.endm
	HANDLER uft_asm_func
	addi	sp, sp, -48
	.cfi_adjust_cfa_offset 48
	sd	a0, 0(sp)
	sd	a1, 8(sp)
	sd	a2, 16(sp)
	sd	a3, 24(sp)
	sd	a4, 32(sp)
	lla	t1, uft_ring_fast
	ld	a0, RF_HASH(t1)
	ld	a1, RF_OWN(t1)
	mul	a0, a0, tp
	srli	a0, a0, 64 - RO_BITS
	slli	a0, a0, RO_SHIFT
	add	a0, a0, a1
	ld	a1, RF_GEN(t1)
	ld	a2, RO_KEY(a0)
	or	a1, a1, tp
	bne	a1, a2, .Lfunc_slow
	sd	zero, RO_KEY(a0)
	ld	a2, RO_TID_AT(a0)
	lw	a3, RO_TID(a0)
	lw	a2, (a2)
	bne	a2, a3, .Lfunc_inside
	ld	a2, RF_ON_CPUS(t1)
	lw	a2, (a2)
	beqz	a2, .Lfunc_inside
	ld	a2, RO_RING(a0)
	rdtime	t1
	lwu	a3, R_CTX_HI(a2)
	srli	t4, t1, 32
	bne	a3, t4, .Lfunc_inside
	ld	a3, R_COMMIT(a2)
	ld	t4, RO_MASK(a0)
	ld	a4, R_SUB_END(a2)
	and	t4, t4, a3
	addi	a3, a3, 16
	bltu	a4, a3, .Lfunc_inside
	lui	a4, R_DATA >> 12
	add	t4, t4, a2
	add	t4, t4, a4
	sd	t1, R_LAST(a2)
	srli	a4, t0, 2
	subw	a4, a4, t3
	slli	a4, a4, 32
	slli	t1, t1, 32
	srli	t1, t1, 32
	or	t1, t1, a4
	sd	t1, 0(t4)
	sd	ra, 8(t4)
	fence	rw, w
	sd	a3, R_COMMIT(a2)
	sd	a1, RO_KEY(a0)
	LEAVE_FAST
	jr	t0			/* pairs with the site's jalr */
	.cfi_adjust_cfa_offset 48
.Lfunc_inside:
	sd	a1, RO_KEY(a0)
.Lfunc_slow:
	LEAVE_FAST
	SAVE_ALL t0
	TEXT_ID	t0
	mv	a1, ra
	call	uft_func_slow
	RESTORE_ALL t0
	jr	t0			/* pairs with the site's jalr */
	HANDLER_END uft_asm_func

/* Behind the prologue: ra = site's end, the parent is mcount's argument (a0), t3 = K. */
	HANDLER uft_asm_mcount_func
	SAVE_ALL ra
	mv	a1, a0
	TEXT_ID	ra
	call	uft_func_slow
	RESTORE_ALL ra
	ret
	HANDLER_END uft_asm_mcount_func

/*
 * Graph, entry sites: t0 = site + 8, t1 = stub + 4, ra = parent, t3 = K, sp as at the entry: it names the frame. Accepted, we
 * go back to the stub, whose jalr makes stub + 8 the body's return address. Declined, the body is entered from here.
 */
	.globl	uft_asm_graph_enter_slow
	.hidden	uft_asm_graph_enter_slow
	HANDLER uft_asm_graph_enter
uft_asm_graph_enter_slow:
	SAVE_ALL t0
	addi	a2, t1, -4		/* the stub */
	srli	a0, a2, 4
	subw	a0, a0, t3
	addi	a1, sp, SAVE_BYTES
	mv	a3, ra
	call	uft_enter_slow
	mv	t4, a0
	RESTORE_ALL t0
	beqz	t4, 1f
	jr	t1
1:	jr	t0			/* pairs with the site's jalr */
	HANDLER_END uft_asm_graph_enter

/* The body has returned to the stub: results live, sp as at the entry. */
	.globl	uft_asm_graph_exit_slow
	.hidden	uft_asm_graph_exit_slow
	HANDLER uft_asm_graph_exit
uft_asm_graph_exit_slow:
	SAVE_ALL ra
	addi	a0, sp, SAVE_BYTES
	call	uft_exit_named
	mv	t4, a0
	RESTORE_ALL ra
	mv	ra, t4
	ret				/* pairs with the caller's jal */
	HANDLER_END uft_asm_graph_exit

/* The graph of calls behind a prologue: there is none yet (patch/word.c). */
	.globl	uft_asm_mcount_graph
	.hidden	uft_asm_mcount_graph
uft_asm_mcount_graph:
	ebreak

	.section .note.GNU-stack, "", %progbits
