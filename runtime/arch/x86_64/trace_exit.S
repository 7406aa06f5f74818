/* SPDX-License-Identifier: MIT */
/*
 * trace_exit.S - the handlers that graph calls return to, and the profile's sums, x86_64
 *
 * trace.S has the theory of all handlers: registers, fast and slow paths, where the clock is read, the stack. A return
 * differs in one point: its section pops the shadow entry behind the commit, and the profile adds to its sums behind
 * that, each addition a section of its own. An abort starts over as long as nothing is committed; else C does the rest.
 */
#include "runtime/arch/function.h"
#include "runtime/ring/layout.h"
#include "runtime/trace/layout.h"
#include "runtime/arch/x86_64/fast_path.h"

	.text

/*
 * uft_asm_graph_exit, uft_asm_mcount_return - graph call ends: one EXIT record, back to the parent
 *
 *	rsp = slot + 8, result registers live. The slot keeps the hook until the entry is found, and gets the parent
 *	before the entry is popped: so others (sweep, restore) know that the frame is alive. The slot lies in the red
 *	zone before the lea.
 *
 * The entry is popped after the commit, in the same section. An abort must know whether the commit was made, and the
 * ring tells only until other writers have filled it. So the commit is an addition: one instruction like a store, which
 * sets the flags "above" (no carry, not zero). The flags of the comparison before are not "above". rax is the new top
 * from just before the commit; earlier it is the address of a descriptor, half a clock, or an address in the ring. So
 * the last comparison has to be that of the entry's flags, which are equal; the mask's `and` would leave flags like the
 * addition's.
 *
 * E_WORD is an ENTRY here. After an abort behind its store C goes on and settles the entry. If a signal handler jumps
 * away instead, it leaves a frame that no thread returns from; a call in its place finds the slot taken, and C handles
 * it.
 *
 *	rsi EXIT word, parent	rcx ring_cpu, then thread	rdx slot, ring	r10 top	  rax E_WHERE, then the top to be
 */
	.macro EXIT_SAVE
	lea	-8(%rsp), %rsp
	.cfi_adjust_cfa_offset 8
	SAVE	%rax
	SAVE	%rcx
	SAVE	%rdx
	SAVE	%rsi
	SAVE	%r10
	.endm

	.globl	uft_asm_graph_exit_slow
	.hidden	uft_asm_graph_exit_slow
	/*
	 * With a threshold, if the call was shorter: the entry that uft_asm_graph_enter_thresh pushed is popped, which
	 * commits, and no record is written. Its slot has the parent before, as above.
	 */
	.macro EXIT_SHORT p, slow
	BEGIN .Lcs_\p
\p\()_start:
.Lstart_\p:
	FIND_STACK %rcx, \slow
	lea	40(%rsp), %rdx
	cmp	%rdx, E_SLOT-E_BYTES(%r10)
	jne	\slow
	cmpl	$FG_CALL | FG_SILENT, E_FLAGS-E_BYTES(%r10)
	jne	\slow
	rdtsc
	shl	$32, %rdx
	or	%rdx, %rax
	sub	E_CLOCK-E_BYTES(%r10), %rax
	cmp	uft_graph_limits+GL_THRESH(%rip), %rax
	jae	\slow
	mov	E_PARENT-E_BYTES(%r10), %rsi
	mov	%rsi, 40(%rsp)
	sub	$E_BYTES, %r10
	mov	RC_STACK_THREAD(%rcx), %rcx
	mov	%r10, TH_TOP(%rcx)
.Lpopped_\p:
\p\()_end:
	END
	.endm

	.macro EXIT_SHORT_CS p, abort
	.globl	\p\()_start, \p\()_end
	.hidden	\p\()_start, \p\()_end
	RSEQ_CS_DESC .Lcs_\p, .Lstart_\p, .Lpopped_\p, \abort
	.endm

	.macro EXIT_HANDLER name, is_mcount, counts=0, fits=RF_GEN
	.balign	64
	.globl	\name, \name\()_start, \name\()_end
	.hidden	\name, \name\()_start, \name\()_end
	.type	\name, @function
	/* The unwinder looks one byte before a return address. */
	nop
\name:
	.cfi_startproc
	.cfi_def_cfa_offset 0
	EXIT_SAVE
	BEGIN .Lcs_\name, \is_mcount, .Lfinish_\name
\name\()_start:
.Lstart_\name:
	FIND_CPU %rcx, .Lslow_\name, %rdx, \counts, \fits
	mov	RC_THREAD(%rcx), %r10
	mov	TH_TOP(%r10), %r10
	lea	40(%rsp), %rdx
	cmp	%rdx, E_SLOT-E_BYTES(%r10)
	jne	.Lslow_\name
	mov	E_WORD+4-E_BYTES(%r10), %esi
	xor	$(UFT_ASM_REC_EXIT ^ UFT_ASM_REC_ENTRY) << 28, %esi
	shl	$32, %rsi
	or	%rax, %rsi
	mov	RC_RING(%rcx), %rdx
	ROOM 1, %rdx, %rax, .Lslow_\name
	lea	R_DATA(%rdx,%rax), %rax
	cmpl	$0, E_FLAGS-E_BYTES(%r10)
	jne	.Lslow_\name
	mov	%rsi, (%rax)
	mov	%rsi, E_WORD-E_BYTES(%r10) /* GUARD(receipt_order) */	/* before E_WHERE, which makes it count */
	mov	%rax, E_WHERE-E_BYTES(%r10)
	mov	E_PARENT-E_BYTES(%r10), %rsi
	mov	RC_THREAD(%rcx), %rcx
	lea	-E_BYTES(%r10), %rax
	addq	$8, R_COMMIT(%rdx)	/* nothing since the comparison has changed flags */
	/* before the pop: a walk that begins now finds the parent in one place or the other */
	mov	%rsi, 40(%rsp)
	mov	%rax, TH_TOP(%rcx)
.Lpopped_\name:
\name\()_end:
	END
.Lout_\name:
	UNSAVE	%r10
	UNSAVE	%rsi
	UNSAVE	%rdx /* GUARD(exit_rdx, lea 8(%rsp), %rsp) */
	UNSAVE	%rcx
	UNSAVE	%rax
	.if \is_mcount
	/*
	 * No call pairs with this return, so a ret would unbalance the return predictor. The slot is now the first word
	 * of the red zone, which signal delivery respects.
	 */
	lea	8(%rsp), %rsp
	.cfi_adjust_cfa_offset -8
	jmp	*-8(%rsp)
	.cfi_adjust_cfa_offset 8
	.else
	ret
	.endif
	.cfi_adjust_cfa_offset 40
	RSEQ_ABORT .Labort_\name
	jbe	.Lslow_\name /* GUARD(abort_starts_over) */
	lea	-E_BYTES(%r10), %rdx
	cmp	%rdx, %rax
	jne	.Lslow_\name
	/* The record is written: only the pop again, which fails if a signal handler left entries above. */
	mov	E_PARENT-E_BYTES(%r10), %rsi
	mov	%r10, %rax
	mov	%rsi, 40(%rsp)
	cmpxchg	%rdx, TH_TOP(%rcx) /* GUARD(pop_compares, mov %rdx, TH_TOP(%rcx); cmp %r10, %r10) */
	je	.Lpopped_\name
.Lslow_\name:
	.ifc	\name, uft_asm_mcount_return	/* its slots lead to this handler, whatever the limits are */
	cmpq	$0, uft_graph_limits+GL_THRESH(%rip)
	je	.Lc_\name
	EXIT_SHORT uft_asm_mcount_short, .Lc_\name
	jmp	.Lout_\name
	RSEQ_ABORT .Lshort_abort_\name
.Lc_\name:
	EXIT_SHORT_CS uft_asm_mcount_short, .Lshort_abort_\name
	.endif
	END
.Lfinish_\name:
	SAVE	%rdi
	SAVE	%r8
	SAVE	%r9
	lea	64(%rsp), %rdi
	CALL_C	uft_exit_slow
	UNSAVE	%r9
	UNSAVE	%r8
	UNSAVE	%rdi
	jmp	.Lout_\name
	.ifc	\name, uft_asm_graph_exit
uft_asm_graph_exit_slow:
	.cfi_def_cfa_offset 0
	EXIT_SAVE
	jmp	.Lfinish_\name
	.endif
	.cfi_endproc
	.size	\name, . - \name
	RSEQ_CS_DESC .Lcs_\name, .Lstart_\name, .Lpopped_\name, .Labort_\name
	.endm

	EXIT_HANDLER uft_asm_graph_exit, 0
	EXIT_HANDLER uft_asm_mcount_return, 1
	EXIT_HANDLER uft_asm_graph_exit_counts, 0, 1, RF_COUNTS
	EXIT_HANDLER uft_asm_mcount_return_counts, 1, 1, RF_COUNTS
	EXIT_HANDLER uft_asm_graph_exit_func, 0, 0, RF_BESIDE

	.balign	64
	.globl	uft_asm_graph_exit_thresh
	.hidden	uft_asm_graph_exit_thresh
	.type	uft_asm_graph_exit_thresh, @function
	nop
uft_asm_graph_exit_thresh:
	.cfi_startproc
	.cfi_def_cfa_offset 0
	EXIT_SAVE
	EXIT_SHORT uft_asm_graph_short, .Lslow_uft_asm_graph_exit
	jmp	.Lout_uft_asm_graph_exit
	RSEQ_ABORT .Labort_uft_asm_graph_short
	jmp	.Lslow_uft_asm_graph_exit
	EXIT_SHORT_CS uft_asm_graph_short, .Labort_uft_asm_graph_short
	FUNCTION_END uft_asm_graph_exit_thresh

/*
 * uft_asm_graph_exit_profile - the call is popped, then its time is added to the sums
 *
 * The additions come behind the pop, because they must be made once: an abort of one never goes back before the pop.
 *
 *	rsi offset of the function's entry in a block	rax duration	r8 self, then ~duration		r10 popped entry, then rseq area
 */
	.balign	64
	.globl	uft_asm_graph_exit_profile, uft_asm_profile_pop_start, uft_asm_profile_pop_end
	.hidden	uft_asm_graph_exit_profile, uft_asm_profile_pop_start, uft_asm_profile_pop_end
	.type	uft_asm_graph_exit_profile, @function
	nop
uft_asm_graph_exit_profile:
	.cfi_startproc
	.cfi_def_cfa_offset 0
	EXIT_SAVE
	SAVE	%r8
	BEGIN .Lprofile_pop_cs
uft_asm_profile_pop_start:
.Lprofile_pop_start:
	FIND_STACK %rcx, .Lprofile_slow
	lea	48(%rsp), %r8
	cmp	%r8, E_SLOT-E_BYTES(%r10)
	jne	.Lprofile_slow
	cmpl	$FG_PROFILE | FG_SILENT, E_FLAGS-E_BYTES(%r10)
	jne	.Lprofile_slow
	mov	E_WORD-E_BYTES(%r10), %rsi
	shl	$4, %rsi
	shr	$36, %rsi
	shl	$PR_BYTES_SHIFT, %rsi
	cmp	uft_ring_fast+RF_PROFILE_BYTES(%rip), %rsi
	jae	.Lprofile_slow
	rdtsc
	shl	$32, %rdx
	or	%rdx, %rax
	sub	E_CLOCK-E_BYTES(%r10), %rax
	xor	%edx, %edx
	mov	%rax, %r8
	sub	E_CHILD-E_BYTES(%r10), %r8
	cmovb	%rdx, %r8
	mov	E_PARENT-E_BYTES(%r10), %rdx
	mov	%rdx, 48(%rsp)
	sub	$E_BYTES, %r10
	mov	RC_STACK_THREAD(%rcx), %rcx
	mov	%r10, TH_TOP(%rcx)
.Lprofile_popped:
uft_asm_profile_pop_end:
.Lprofile_sums:
	testl	$FG_PROFILE | FG_PASS, E_FLAGS-E_BYTES(%r10)
	jz	1f
	add	%rax, E_CHILD-E_BYTES(%r10)
1:	mov	uft_ring_fast+RF_RSEQ(%rip), %r10
	PROFILE_ADD uft_asm_profile_total, %rsi, PR_TOTAL, %rax
	PROFILE_ADD uft_asm_profile_self, %rsi, PR_SELF, %r8
	mov	%rax, %rdx
	shr	$UFT_ASM_PROFILE_SQ_SHIFT, %rdx
	imul	%rdx, %rdx
	mov	%rax, %r8
	not	%r8			/* as min is stored */
	PROFILE_ADD uft_asm_profile_squares, %rsi, PR_SQUARES, %rdx, .Lprofile_extreme
.Lprofile_out:
	movq	$0, %fs:RSEQ_CS(%r10)
	UNSAVE	%r8
	UNSAVE	%r10
	UNSAVE	%rsi
	UNSAVE	%rdx
	UNSAVE	%rcx
	UNSAVE	%rax
	ret
	.cfi_adjust_cfa_offset 48
.Lprofile_extreme:	/* the shortest or the longest so far: C notes it, then the addition is made again */
	movq	$0, %fs:RSEQ_CS(%r10)
	SAVE	%rdi
	SAVE	%r9
	.irp	reg, %rsi, %rax, %rdx, %r8, %r10
	push	\reg
	.cfi_adjust_cfa_offset 8
	.endr
	mov	%rsi, %rdi
	mov	%rax, %rsi
	CALL_C	uft_profile_extreme
	.irp	reg, %r10, %r8, %rdx, %rax, %rsi
	pop	\reg
	.cfi_adjust_cfa_offset -8
	.endr
	UNSAVE	%r9
	UNSAVE	%rdi
	jmp	.Larm_uft_asm_profile_squares
	RSEQ_ABORT .Lprofile_pop_abort
.Lprofile_slow:
	UNSAVE	%r8
	jmp	.Lslow_uft_asm_graph_exit
	.cfi_adjust_cfa_offset 8
	PROFILE_ADD_ABORT uft_asm_profile_total
	PROFILE_ADD_ABORT uft_asm_profile_self
	PROFILE_ADD_ABORT uft_asm_profile_squares
	FUNCTION_END uft_asm_graph_exit_profile
	RSEQ_CS_DESC .Lprofile_pop_cs, .Lprofile_pop_start, .Lprofile_popped, .Lprofile_pop_abort

/*
 * uft_asm_graph_exit_sums - the graph's call ends: one EXIT record, and its time is added to the sums
 *
 * Up to the pop it is as uft_asm_graph_exit, also for aborts; then as the profile's. The slot gets the parent before
 * the commit, too: it needs a register that is free by then. A call that only the graph wants passes the time of its
 * callees on.
 *
 *	rsi EXIT word	r8 duration, or what is handed on	r9 self; -1: nothing is added up
 *	rcx ring_cpu, then thread	rdx clock, ring	r10 top	rax E_WHERE, parent, then the top to be
 */
	.balign	64
	.globl	uft_asm_graph_exit_sums, uft_asm_graph_exit_sums_start, uft_asm_graph_exit_sums_end
	.hidden	uft_asm_graph_exit_sums, uft_asm_graph_exit_sums_start, uft_asm_graph_exit_sums_end
	.type	uft_asm_graph_exit_sums, @function
	.cfi_startproc
	.cfi_def_cfa_offset 0
	.cfi_remember_state
	.cfi_adjust_cfa_offset 8
	.irp	reg, %rax, %rcx, %rdx, %rsi, %r10, %r8, %r9
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset \reg, 0
	.endr
uft_asm_graph_exit_sums_start:
.Lsums_start:
	.type	uft_asm_graph_exit_pass, @function
uft_asm_graph_exit_pass:
	cmpl	$FG_PASS, E_FLAGS-E_BYTES(%r10)
	jne	.Lsums_slow
	mov	E_CHILD-E_BYTES(%r10), %r8
	mov	$-1, %r9
	jmp	.Lsums_write
	.size	uft_asm_graph_exit_pass, . - uft_asm_graph_exit_pass
	.cfi_restore_state
	.balign	64
	nop
uft_asm_graph_exit_sums:
	EXIT_SAVE
	SAVE	%r8
	SAVE	%r9
	BEGIN .Lsums_cs
	FIND_CPU %rcx, .Lsums_slow, %r8, 0, RF_BESIDE
	mov	RC_THREAD(%rcx), %r10
	mov	TH_TOP(%r10), %r10
	lea	56(%rsp), %r8
	cmp	%r8, E_SLOT-E_BYTES(%r10)
	jne	.Lsums_slow
	mov	E_WORD+4-E_BYTES(%r10), %esi
	xor	$(UFT_ASM_REC_EXIT ^ UFT_ASM_REC_ENTRY) << 28, %esi
	shl	$32, %rsi
	or	%rax, %rsi
	shl	$32, %rdx
	lea	(%rdx,%rax), %r8
	sub	E_CLOCK-E_BYTES(%r10), %r8
	xor	%eax, %eax
	mov	%r8, %r9
	sub	E_CHILD-E_BYTES(%r10), %r9
	cmovb	%rax, %r9
	mov	RC_RING(%rcx), %rdx
	ROOM 1, %rdx, %rax, .Lsums_slow
	lea	R_DATA(%rdx,%rax), %rax
	cmpl	$FG_PROFILE, E_FLAGS-E_BYTES(%r10)
	jne	uft_asm_graph_exit_pass
.Lsums_write:
	mov	%rsi, (%rax)
	mov	%rsi, E_WORD-E_BYTES(%r10)
	mov	%rax, E_WHERE-E_BYTES(%r10)
	mov	RC_THREAD(%rcx), %rcx
	mov	E_PARENT-E_BYTES(%r10), %rax
	mov	%rax, 56(%rsp)
	lea	-E_BYTES(%r10), %rax
	addq	$8, R_COMMIT(%rdx)	/* nothing since the comparison has changed flags */
	mov	%rax, TH_TOP(%rcx)
.Lsums_popped:
uft_asm_graph_exit_sums_end:
	sub	$E_BYTES, %r10
	mov	%r8, %rax
	mov	%r9, %r8
	UNSAVE	%r9
	shl	$4, %rsi
	shr	$36, %rsi
	shl	$PR_BYTES_SHIFT, %rsi
	test	%r8, %r8
	js	1f
	cmp	uft_ring_fast+RF_PROFILE_BYTES(%rip), %rsi
	jb	.Lprofile_sums
1:	testl	$FG_PROFILE | FG_PASS, E_FLAGS-E_BYTES(%r10)
	jz	2f
	add	%rax, E_CHILD-E_BYTES(%r10)
2:	mov	uft_ring_fast+RF_RSEQ(%rip), %r10
	jmp	.Lprofile_out
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset %r9, 0
	RSEQ_ABORT .Lsums_abort
	jbe	.Lsums_slow /* GUARD(abort_of_sums) */
	lea	-E_BYTES(%r10), %rdx
	cmp	%rdx, %rax
	jne	.Lsums_slow
	mov	%r10, %rax
	cmpxchg	%rdx, TH_TOP(%rcx) /* GUARD(pop_of_sums, mov %rdx, TH_TOP(%rcx); cmp %r10, %r10) */
	je	.Lsums_popped
.Lsums_slow:
	UNSAVE	%r9
	UNSAVE	%r8
	jmp	.Lslow_uft_asm_graph_exit
	.cfi_endproc
	.size	uft_asm_graph_exit_sums, . - uft_asm_graph_exit_sums
	RSEQ_CS_DESC .Lsums_cs, .Lsums_start, .Lsums_popped, .Lsums_abort

/* int uft_asm_profile_add(uint64_t offset, uint64_t v) - adds to the word of this CPU's block; 0: it has none */
	.balign	64
	FUNCTION uft_asm_profile_add
	mov	%rdi, %rdx
	mov	uft_ring_fast+RF_RSEQ(%rip), %r10
	xor	%eax, %eax
	PROFILE_ADD uft_asm_profile_word, %rdx, 0, %rsi, , .Lprofile_word_none
	inc	%eax
.Lprofile_word_none:
	movq	$0, %fs:RSEQ_CS(%r10)
	ret
	PROFILE_ADD_ABORT uft_asm_profile_word, can_open=0
	FUNCTION_END uft_asm_profile_add

	.section .note.GNU-stack, "", @progbits
