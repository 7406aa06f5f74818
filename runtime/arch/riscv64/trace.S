/* SPDX-License-Identifier: MIT */
/*
 * trace.S - the handlers that armed sites reach, riscv64
 *
 * Register conventions: arch/riscv64/patch.h. Callers of a function keep nothing in t0-t6: where there are patchable
 * entries, which use t0, compilers do not look at what a callee really uses (-fipa-ra). Around unprepared code these
 * are kept. At the entry t2 may hold the static chain. Fast paths keep further values in the thread's line;
 * floating-point and vector state is never touched. There are no restartable sections here yet (rseq.h).
 *
 * Fast paths: theory in ring/thread_rings.c. From FIND_OWN until the key is restored a thread is inside the line.
 * Unusual cases go to C, which starts over from the registers as they came. Handlers of prepared code are here twice:
 * as copies, which programs normally reach, and as handlers for objects whose copies do not reach the data that they
 * need.
 *
 * Stack: fast paths use none, or SCRATCH_BYTES around unprepared code; C uses SAVE_BYTES and at most UFT_SLOW_STACK
 * more, probed before any state changes.
 */
#include "runtime/arch/function.h"
#include "runtime/ring/layout.h"
#include "runtime/trace/layout.h"

#define UFT_SLOW_STACK	2048
#define SAVE_BYTES	128
#define SAVE_A0		8	/* from here on arguments, or the result: for event.c */
#define SAVE_S0		112
#define SCRATCH_BYTES	48

	.macro HANDLER name
	.balign	64
	FUNCTION \name
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
	sd	s0, SAVE_S0(sp)
	.cfi_rel_offset s0, SAVE_S0
	sd	\site, 120(sp)
	addi	s0, sp, SAVE_BYTES
	lb	t5, -UFT_SLOW_STACK(sp)		/* reads only, because the memory there may be in use */
	.endm

	/* t3 and t4 stay. */
	.macro RESTORE_ALL site
	ALL_REGS ld
	ld	s0, SAVE_S0(sp)
	ld	\site, 120(sp)
	addi	sp, sp, SAVE_BYTES
	.cfi_adjust_cfa_offset -SAVE_BYTES
	.cfi_restore ra
	.cfi_restore s0
	.endm

	/* The upper half of a record's first word. \at: the return address, t3: K. */
	.macro TEXT_ID to, at
	srli	\to, \at, 2
	subw	\to, \to, t3
	.endm

	/* The upper half of an ENTRY; t3: K before, the result after. t1: stub + 4. */
	.macro STUB_ID tmp
	srli	\tmp, t1, 4
	subw	t3, \tmp, t3
	.endm

	/* In copies: arch_make_copy() fills in its address of K. */
	.macro LOAD_K
	auipc	t3, 0
	ld	t3, 0(t3)
	.endm

	/*
	 * Goes inside the thread's line: t4 = the line, t5 = its key. Uses t6. \from tells how the thread's number and
	 * its struct ring_tls are found: in copies by offsets that arch_make_copy() fills in, behind a thunk with the
	 * number in t5, for unprepared code by neither.
	 */
	.macro FIND_OWN slow, from
	.ifc	\from, copy
	lw	t5, 0(tp)
	ld	t6, OT_WORD(tp)
	ld	t4, OT_LINE(tp)
	.else
	ld	t4, uft_rt + RT_TLS
	add	t4, t4, tp
	.ifc	\from, plain
	ld	t5, OT_NUMBER(t4)
	add	t5, t5, tp
	lw	t5, (t5)
	.endif
	ld	t6, OT_WORD(t4)
	ld	t4, OT_LINE(t4)
	.endif
	ld	t6, (t6)
	add	t5, t5, t6
	ld	t6, RO_KEY(t4)
	bne	t6, t5, \slow
	sd	zero, RO_KEY(t4)
	.endm

	/* \clock = the clock, t6 = where to write, if the clock is below the limit and there is room; else to \no. */
	.macro FIND_ROOM clock, tmp, no
	rdtime	\clock
	ld	t6, RO_LIMIT(t4)
	bgeu	\clock, t6, \no
	ld	t6, RO_AT(t4)
	ld	\tmp, RO_END(t4)
	bgeu	t6, \tmp, \no
	.endm

	/* Commits the words before t6: a store that releases, in one instruction instead of two. */
	.macro COMMIT position, ring
	.if R_COMMIT
	.error "the ring begins with its commit"
	.endif
	ld	\position, RO_BIAS(t4)
	ld	\ring, RO_RING(t4)
	sub	\position, t6, \position
	amoswap.d.rl zero, \position, (\ring)
	.endm

	/* Leaves the line. */
	.macro LEAVE_OWN
	ld	t5, RO_AGAIN(t4)
	sd	t5, RO_KEY(t4)
	.endm

	/*
	 * Unprepared code: saves registers that fast paths use and the slot has not saved. The slot's own saved values
	 * are then at SCRATCH_BYTES(sp).
	 */
	.macro SCRATCH_SAVE
	addi	sp, sp, -SCRATCH_BYTES
	.cfi_adjust_cfa_offset SCRATCH_BYTES
	sd	t0, 0(sp)
	sd	t1, 8(sp)
	sd	t2, 16(sp)
	sd	t5, 24(sp)
	sd	t6, 32(sp)
	.endm

	.macro SCRATCH_RESTORE
	ld	t0, 0(sp)
	ld	t1, 8(sp)
	ld	t2, 16(sp)
	ld	t5, 24(sp)
	ld	t6, 32(sp)
	addi	sp, sp, SCRATCH_BYTES
	.cfi_adjust_cfa_offset -SCRATCH_BYTES
	.endm

	/*
	 * A whole graph entry, then straight on; or at \p_slow with nothing done, and t3 the upper half of the word. t1
	 * = stub + 4, t3 = K, \name = sp at the function's entry, which is the frame's name; the parent is ra or, if
	 * the name is not sp, at SCRATCH_BYTES(sp). \x is ra; copies, which load K late, use t3 for it, and keep the
	 * parent in ra until it is on the shadow stack.
	 *
	 *	\x clock, then what is needed	t3 upper half of the word	t4 line		t5 top		t6 at
	 */
	.macro GRAPH_ENTER p, name, from, x=ra
	.ifnc	\from, copy
	STUB_ID	t4
	.endif
	FIND_OWN .L\p\()_slow, \from
	.ifc	\from, thunk
	sd	ra, RO_SAVE(t4)
	.cfi_undefined ra
	.endif
	FIND_ROOM \x, t5, .L\p\()_inside
	sw	\x, 0(t6)
	ld	t5, RO_THREAD(t4)
	lr.d	t5, (t5)		/* TH_TOP */
	sd	\x, E_CLOCK(t5)
	.ifc	\from, copy
	LOAD_K
	sub	t3, t1, t3
	srli	t3, t3, 4
	.endif
	sw	t3, 4(t6)
	sw	t3, E_WORD + 4(t5)
	ld	\x, E_SLOT - E_BYTES(t5)
	bgeu	\name, \x, .L\p\()_odd
.L\p\()_deeper:
	ld	\x, E_WHERE(t5)
	bnez	\x, .L\p\()_inside
	PARENT	\from
	sd	ra, E_PARENT(t5)
	sd	\name, E_SLOT(t5)
	addi	\x, t1, 4		/* stub + 8 */
	sd	\x, E_RET(t5)		/* the flags of a free entry are 0 */
	ld	\x, RO_THREAD(t4)
	addi	t5, t5, E_BYTES
	addi	t6, t6, 8
	sd	t5, RO_INTENT(t4)
	sd	t6, RO_AT(t4)
	sc.d	\x, t5, (\x)
	bnez	\x, .L\p\()_again
	COMMIT	t3, ra
	LEAVE_OWN
	.endm

	.macro PARENT from
	.ifc	\from, thunk
	ld	ra, RO_SAVE(t4)
	.endif
	.ifc	\from, plain
	ld	ra, SCRATCH_BYTES(sp)
	.endif
	.endm

	/* The stack pointer is the same: a tail call if the parent is the hook of its caller. */
	.macro GRAPH_ENTER_ODD p, name, from, x=ra
.L\p\()_odd:
	bne	\name, \x, .L\p\()_inside
	PARENT	\from
	ld	t6, E_RET - E_BYTES(t5)
	bne	ra, t6, .L\p\()_inside
	ld	t6, RO_AT(t4)
	j	.L\p\()_deeper
.L\p\()_again:
	addi	t6, t6, -8
	sd	t6, RO_AT(t4)
.L\p\()_inside:
	PARENT	\from
	LEAVE_OWN
	.endm

	/*
	 * A whole graph exit; \below: from sp up to the frame's name. Ends with the parent in ra; or at \p_slow.
	 *
	 *	ra parent	t0 clock	t2 top		t3 thread	t4 line		t5 key		t6 at
	 */
	.macro GRAPH_EXIT p, from, below=0
	FIND_OWN .L\p\()_slow, \from
	FIND_ROOM t0, t1, .L\p\()_inside
	ld	t3, RO_THREAD(t4)
	lr.d	t2, (t3)		/* TH_TOP */
	ld	t1, E_SLOT - E_BYTES(t2)
	lw	ra, E_FLAGS - E_BYTES(t2)
	.if	\below
	addi	t1, t1, -(\below)
	.endif
	bne	t1, sp, .L\p\()_inside
	bnez	ra, .L\p\()_inside
	lw	t1, E_WORD + 4 - E_BYTES(t2)
	lui	ra, (UFT_ASM_REC_EXIT - UFT_ASM_REC_ENTRY) << (28 - 12)
	addw	t1, t1, ra
	sw	t0, 0(t6)
	sw	t1, 4(t6)
	ld	ra, E_PARENT - E_BYTES(t2)
	addi	t2, t2, -E_BYTES
	addi	t6, t6, 8
	sd	t2, RO_INTENT(t4)
	sd	t6, RO_AT(t4)
	sc.d	t1, t2, (t3)
	bnez	t1, .L\p\()_again
	COMMIT	t1, t3
	sd	t5, RO_KEY(t4)
	.endm

	.macro GRAPH_EXIT_ODD p
.L\p\()_again:
	addi	t6, t6, -8
	sd	t6, RO_AT(t4)
.L\p\()_inside:
	sd	t5, RO_KEY(t4)
.L\p\()_slow:
	.endm

	/* A whole function event, back to the site; or at \p_slow with everything as it came, except K. */
	.macro FUNC_EVENT p, from
	FIND_OWN .L\p\()_slow, \from
	ld	t6, RO_AT(t4)
	ld	t1, RO_END(t4)
	bgeu	t6, t1, .L\p\()_inside
	TEXT_ID	t1, t0
	sw	t1, 4(t6)
	rdtime	t1
	sw	t1, 0(t6)
	sd	ra, 8(t6)
	ld	t3, RO_LIMIT(t4)
	bgeu	t1, t3, .L\p\()_late
	addi	t6, t6, 16
	sd	t6, RO_AT(t4)
	COMMIT	t1, t3
	sd	t5, RO_KEY(t4)
	jr	t0			/* pairs with the site's jalr */
.L\p\()_late:
	lw	t3, 4(t6)		/* K again: the shifted address minus the id */
	srli	t1, t0, 2
	subw	t3, t1, t3
.L\p\()_inside:
	sd	t5, RO_KEY(t4)
	.endm

	.text

/*
 * Entry sites: t0 = site + 8, ra = parent, t3 = K, t5 = the thread's number (not in copies).
 *
 *	t1 upper half of the word, then clock	t4 line		t5 key		t6 at
 */
	HANDLER uft_asm_func
	FUNC_EVENT func, thunk
.Lfunc_slow:
	SAVE_ALL t0
	TEXT_ID	a0, t0
	slli	a0, a0, 32
	mv	a1, ra
	call	uft_func_slow
	RESTORE_ALL t0
	jr	t0			/* pairs with the site's jalr */
	FUNCTION_END uft_asm_func

/*
 * Behind the prologue: ra = site's end, t1 = stub + 4, the parent is mcount's argument (a0) or below the
 * function's s0 (frame.h), t3 = K.
 */
	HANDLER uft_asm_mcount_func
	SAVE_ALL ra
	mv	a1, a0
	lw	a0, 0(t1)		/* its sign bit is ARCH_FRAME_BARE */
	bgez	a0, 1f
	ld	a1, SAVE_S0(sp)
	ld	a1, -8(a1)
1:
	TEXT_ID	a0, ra
	slli	a0, a0, 32
	call	uft_func_slow
	RESTORE_ALL ra
	ret
	FUNCTION_END uft_asm_mcount_func

/*
 * Graph, entry sites: t0 = site + 8, t1 = stub + 4, ra = parent, t3 = K, t5 = the number, sp as at the entry: it names
 * the frame. If the call is accepted, control returns to the stub, whose jalr makes stub + 8 the body's return address.
 * If it is declined, the body is entered from here.
 */
	HANDLER uft_asm_graph_enter
	GRAPH_ENTER enter, sp, thunk
	jr	t1
	GRAPH_ENTER_ODD enter, sp, thunk
	.cfi_restore ra
	j	.Lenter_slow
	.globl	uft_asm_graph_enter_slow
	.hidden	uft_asm_graph_enter_slow
uft_asm_graph_enter_slow:
	STUB_ID	t4
.Lenter_slow:
	SAVE_ALL t0
	mv	a0, t3
	addi	a1, sp, SAVE_BYTES
	addi	a2, t1, -4		/* the stub */
	mv	a3, ra
	addi	a4, sp, SAVE_A0
	call	uft_enter_slow
	mv	t4, a0
	RESTORE_ALL t0
	beqz	t4, 1f
	jr	t1
1:	jr	t0			/* pairs with the site's jalr */
	FUNCTION_END uft_asm_graph_enter

/* The body has returned to the stub: results live, sp as at the entry; ra and t0-t6 are free. */
	HANDLER uft_asm_graph_exit
	GRAPH_EXIT exit, thunk
	ret				/* pairs with the caller's jal */
	GRAPH_EXIT_ODD exit
	.globl	uft_asm_graph_exit_slow
	.hidden	uft_asm_graph_exit_slow
uft_asm_graph_exit_slow:
	SAVE_ALL ra
	addi	a0, sp, SAVE_BYTES
	addi	a1, sp, SAVE_A0
	call	uft_exit_named
	mv	t4, a0
	RESTORE_ALL ra
	mv	ra, t4
	ret				/* pairs with the caller's jal */
	FUNCTION_END uft_asm_graph_exit

/*
 * Graph, calls behind a prologue: ra = site's end, t1 = stub + 4, a0 = parent, t3 = K. C writes stub + 8 to where the
 * prologue has stored the parent (frame.h), or leaves it; the body's return then comes to the exit as if from an entry
 * site's stub.
 */
	HANDLER uft_asm_mcount_graph
	SAVE_ALL ra
	mv	a3, a0
	srli	a0, t1, 4
	subw	a0, a0, t3
	addi	a1, t1, -4		/* the stub */
	addi	a2, sp, SAVE_BYTES
	lw	a4, 0(t1)		/* its sign bit is ARCH_FRAME_BARE */
	bgez	a4, 1f
	ld	a2, SAVE_S0(sp)
1:	call	uft_mcount_enter_named
	RESTORE_ALL ra
	ret				/* pairs with the site's jal */
	FUNCTION_END uft_asm_mcount_graph

/*
 * Unprepared code: callers and function may rely on every register. The slot has moved sp down and saved there the
 * registers that its way here uses:
 *	0(sp)	parent	t3	t4	where the slot is (graph)	func: ra = behind the slot's call; enter: ra = stub + 4; t3 = K
 *	0(sp)	t3	t4					exit: ra is of no use any more, results live
 */
	HANDLER uft_asm_code_func
	SCRATCH_SAVE
	FIND_OWN .Lcode_func_slow, plain
	FIND_ROOM t1, t5, .Lcode_func_inside
	srli	t5, ra, 7		/* slots are 128 bytes apart */
	subw	t5, t5, t3
	sw	t1, 0(t6)
	sw	t5, 4(t6)
	ld	t5, SCRATCH_BYTES(sp)
	sd	t5, 8(t6)
	addi	t6, t6, 16
	sd	t6, RO_AT(t4)
	COMMIT	t1, t3
	LEAVE_OWN
	SCRATCH_RESTORE
	ret				/* pairs with the slot's jal */
	.cfi_adjust_cfa_offset SCRATCH_BYTES
.Lcode_func_inside:
	LEAVE_OWN
.Lcode_func_slow:
	SCRATCH_RESTORE
	SAVE_ALL t0
	srli	a0, ra, 7
	subw	a0, a0, t3
	slli	a0, a0, 32
	ld	a1, SAVE_BYTES(sp)
	call	uft_func_slow
	RESTORE_ALL t0
	ret				/* pairs with the slot's jal */
	FUNCTION_END uft_asm_code_func

	HANDLER uft_asm_code_enter
	SCRATCH_SAVE
	mv	t1, ra
	addi	t0, sp, SCRATCH_BYTES + 32
	GRAPH_ENTER code, t0, plain
	mv	ra, t1
	SCRATCH_RESTORE
	ld	t3, 8(sp)
	ld	t4, 16(sp)
	addi	sp, sp, 32
	ret				/* pairs with the stub's first jal */
	.cfi_adjust_cfa_offset SCRATCH_BYTES
	GRAPH_ENTER_ODD code, t0, plain
.Lcode_slow:
	STUB_ID	t4			/* K again */
	mv	ra, t1
	SCRATCH_RESTORE
	.globl	uft_asm_code_enter_slow
	.hidden	uft_asm_code_enter_slow
uft_asm_code_enter_slow:
	SAVE_ALL t0
	srli	a0, ra, 4
	subw	a0, a0, t3
	addi	a1, sp, SAVE_BYTES + 32
	addi	a2, ra, -4		/* the stub */
	ld	a3, SAVE_BYTES(sp)
	addi	a4, sp, SAVE_A0
	call	uft_enter_slow
	mv	t4, a0
	RESTORE_ALL t0
	beqz	t4, 1f
	ld	t3, 8(sp)
	ld	t4, 16(sp)
	addi	sp, sp, 32
	ret				/* pairs with the stub's first jal */
1:	ld	t3, 24(sp)		/* slot's graph + 16: goes on where the function handler returns to */
	jr	-36(t3)
	FUNCTION_END uft_asm_code_enter

	HANDLER uft_asm_code_exit
	SCRATCH_SAVE
	GRAPH_EXIT code_exit, plain, SCRATCH_BYTES + 16
	SCRATCH_RESTORE
	ld	t3, 0(sp)
	ld	t4, 8(sp)
	addi	sp, sp, 16
	ret				/* pairs with the caller's call */
	.cfi_adjust_cfa_offset SCRATCH_BYTES
	GRAPH_EXIT_ODD code_exit
	SCRATCH_RESTORE
	.globl	uft_asm_code_exit_slow
	.hidden	uft_asm_code_exit_slow
uft_asm_code_exit_slow:
	SAVE_ALL t0
	addi	a0, sp, SAVE_BYTES + 16
	addi	a1, sp, SAVE_A0
	call	uft_exit_named
	sd	a0, 0(sp)		/* ra's place */
	RESTORE_ALL t0
	ld	t3, 0(sp)
	ld	t4, 8(sp)
	addi	sp, sp, 16
	ret				/* pairs with the caller's call */
	FUNCTION_END uft_asm_code_exit

/*
 * arch_make_copy() (patch.h) writes these beside an object's thunks, with the value that LOAD_K loads and the offsets
 * from tp filled in. Nothing here is executed in place, and nothing refers to memory outside of the copy; at its end a
 * copy goes on in the thunk.
 */
	.macro COPY name
	.balign	4
	.globl	\name
	.hidden	\name
\name:
	.endm

	.option	push
	.option	norvc
	COPY uft_asm_copy_func
	.cfi_startproc
	LOAD_K
	FUNC_EVENT copy_func, copy
.Lcopy_func_slow:
	.cfi_endproc
	COPY uft_asm_copy_enter
	.cfi_startproc
	GRAPH_ENTER copy_enter, sp, copy, t3
	jr	t1
	GRAPH_ENTER_ODD copy_enter, sp, copy, t3
.Lcopy_enter_slow:
	.cfi_endproc
	COPY uft_asm_copy_exit
	.cfi_startproc
	GRAPH_EXIT copy_exit, copy
	ret				/* pairs with the caller's jal */
	GRAPH_EXIT_ODD copy_exit
	.cfi_endproc
	COPY uft_asm_copy_end
	.option	pop

	.section .note.GNU-stack, "", %progbits
