/* SPDX-License-Identifier: MIT */
/*
 * trace.S - the handlers that armed sites reach, riscv64
 *
 * Register conventions: arch/riscv64/patch.h. Callers of a function keep nothing in t0-t6, but handlers save them all the
 * same, t0 and the thunk's t1, t3 and t4 excepted; floating-point and vector state is never touched. Everything goes by C and
 * an exchange ring: no restartable sections here yet (rseq.h).
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

/* Entry sites: t0 = site + 8, ra = parent, t3 = K. */
	HANDLER uft_asm_func
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
