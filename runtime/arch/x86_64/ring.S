/* SPDX-License-Identifier: MIT */
/*
 * ring.S - the general record writer and the shadow stack push, x86_64
 *
 * Both are rseq critical sections: a preemption, migration or signal inside sends the task to the abort address, from
 * where the caller starts over. So each store before the last instruction of a section must be harmless if it stays
 * behind, and is made again next time; and all code of a section, the unlikely parts too, lies between its start and
 * its commit. See ring/ring.c.
 */
#include "runtime/arch/function.h"
#include "runtime/ring/layout.h"
#include "runtime/trace/layout.h"
#include "runtime/arch/x86_64/rseq.h"

	.text

/*
 * int uft_asm_ring_write(struct ring_op *op) - append one record to this CPU's ring
 *
 * Section 1 writes [CONTEXT] record, or PAD, sub-buffer header, [LOST], record, and commits.
 * Section 2 then sets the key for the fast paths of this CPU (RC_KEY), unless another writer came in between.
 *
 *	rdi op		rbx this CPU's struct ring_cpu	r8  clock	r11 bytes of context to write
 *	r15 rseq area	r12 ring			r9  commit	r13 end of the sub-buffer
 *	rsi where the next word goes			r10 bytes	r14 commit to be
 */
	.globl	uft_asm_ring_write_start, uft_asm_ring_write_end
	.hidden	uft_asm_ring_write_start, uft_asm_ring_write_end
	FUNCTION uft_asm_ring_write
	SAVE	%rbx
	SAVE	%rbp
	SAVE	%r12
	SAVE	%r13
	SAVE	%r14
	SAVE	%r15
	mov	uft_ring_fast+RF_RSEQ(%rip), %r15
	RSEQ_ARM .Lwrite_cs, %r15, %rax
uft_asm_ring_write_start:
.Lwrite_start:
	mov	%fs:RSEQ_CPU_ID(%r15), %eax
	cmp	uft_ring_fast+RF_NCPUS(%rip), %eax
	jae	.Lwrite_none
	shl	$RC_SHIFT, %rax
	add	uft_ring_fast+RF_CPU(%rip), %rax
	mov	%rax, %rbx
	mov	RC_RING(%rbx), %r12
	test	%r12, %r12
	jz	.Lwrite_none
	mov	OP_GUARD(%rdi), %rax
	mov	(%rax), %rax
	cmp	OP_EXPECT(%rdi), %rax
	jne	.Lwrite_guard
	mov	OP_COUNTED(%rdi), %rax
	mov	(%rax), %rax
	test	%rax, %rax
	jz	1f
	cmp	%rbx, %rax
	jne	.Lwrite_counts /* GUARD(counts_on_one_cpu) */
1:	testb	$RING_KEY_COUNTS, RC_KEY(%rbx)
	jz	1f
	movq	$0, RC_KEY(%rbx) /* GUARD(counts_end_with_a_clock) */
1:

	rdtsc				/* inside: time never runs backwards in a ring */
	shl	$32, %rdx
	or	%rdx, %rax
	mov	%rax, %r8
	mov	R_COMMIT(%r12), %r9
	mov	OP_BYTES(%rdi), %r10

	xor	%r11d, %r11d		/* is the ring's context ours, and really in the ring? */
	mov	OP_TASK+4(%rdi), %eax
	cmp	R_CTX_TID(%r12), %eax
	jne	1f
	mov	%r8, %rax
	shr	$32, %rax
	cmp	R_CTX_HI(%r12), %eax
	jne	1f
	cmp	%r9, R_CTX_POS(%r12)
	jb	2f /* GUARD(context_below_commit, jmp 2f) */
1:	mov	$24, %r11d
2:
	mov	uft_ring_fast+RF_SUB_MASK(%rip), %rcx
	lea	(%r9,%rcx), %r13	/* end = commit rounded up; a full or first sub-buffer has no room */
	mov	%rcx, %rax
	not	%rax
	and	%rax, %r13
	lea	(%r9,%r10), %r14
	add	%r11, %r14
	cmp	%r13, %r14
	jbe	.Lwrite_fits

	/* The sub-buffer from r13 on; r14 its end; rcx = sub-buffer mask. Overwrite mode: give up the oldest. */
	mov	uft_ring_fast+RF_MASK(%rip), %rdx
	mov	uft_ring_fast+RF_FLAGS(%rip), %rax
	testl	$RINGF_OVERWRITE, (%rax)
	jnz	5f
	/* Discard mode: where the sub-buffer begins (abi.h, how a ring grows). rsi = its turn. */
	lea	1(%rdx), %rax
	xor	%esi, %esi
	test	%rax, %r13
	setnz	%sil
	shl	$RT_SHIFT, %esi
	lea	R_TURN(%r12,%rsi), %rsi
	cmp	%r13, RT_GAP(%rsi)
	je	8f
	cmp	%r12, OP_GAP_RING(%rdi)
	jne	9f /* GUARD(gap_of_ring) */
	cmp	%r13, OP_GAP(%rdi) /* GUARD(gap_asked, cmp %r13, %rdi) */
	jne	9f
	movq	$0, RT_SKIP(%rsi)
	mov	OP_GAP_TO(%rdi), %rax
	mov	%rax, RT_GAP_TO(%rsi)
	mov	%r13, RT_GAP(%rsi)	/* behind where it leads */
8:	mov	RT_GAP_TO(%rsi), %r13
	jmp	10f
9:	mov	%r13, %rax		/* behind the usual part: can the next turn begin? */
	and	%rdx, %rax
	mov	uft_ring_fast+RF_USUAL(%rip), %ebp
	cmp	%rbp, %rax
	jb	9f
	mov	%r13, %rbp
	or	%rdx, %rbp
	lea	1(%rbp,%rcx), %rax
	sub	%rdx, %rax
	sub	R_READ(%r12), %rax
	jg	9f
	mov	%r13, RT_SKIP(%rsi)
	lea	1(%rbp), %r13
	jmp	10f
9:	lea	(%r13,%rcx), %rax	/* are the data here read? */
	sub	%rdx, %rax
	sub	R_READ(%r12), %rax
	jle	10f
	xor	$1 << RT_SHIFT, %rsi	/* or has the turn before left it out? */
	mov	RT_SKIP(%rsi), %rbp
	test	%rbp, %rbp
	jz	.Lwrite_lost
	lea	-1(%r13), %rax
	sub	%rdx, %rax
	cmp	%rbp, %rax
	jb	.Lwrite_lost
	xor	%rbp, %rax
	cmp	%rdx, %rax
	ja	.Lwrite_lost
10:	lea	1(%r13,%rcx), %r14
	jmp	6f
5:	lea	1(%r13,%rcx), %r14
	lea	-1(%r14), %rax
	sub	%rdx, %rax		/* everything below this position is overwritten */
	mov	%rax, %rdx
	sub	R_OLDEST(%r12), %rax
	jle	6f
	/* before the first store into it (TSO); partner: the reader's re-read */
	mov	%rdx, R_OLDEST(%r12) /* GUARD(oldest_given_up) */
6:	lea	SH_BYTES+16(%r13,%r10), %rax
	cmp	R_BACKED(%r12), %rax
	ja	.Lwrite_unbacked
	test	%rcx, %r9		/* is the last one full? */
	jz	7f
	mov	%r9, %rsi
	and	uft_ring_fast+RF_MASK(%rip), %rsi
	movq	$0, R_DATA(%r12,%rsi)	/* PAD */
7:	movq	$0, RC_KEY(%rbx)
	movq	$0, RC_EVENT_KEY(%rbx)
	mov	%r13, R_CTX_POS(%r12)
	mov	OP_TASK+4(%rdi), %eax
	mov	%eax, R_CTX_TID(%r12)
	mov	%r8, %rax
	shr	$32, %rax
	mov	%eax, R_CTX_HI(%r12)

	mov	%r13, %rsi
	and	uft_ring_fast+RF_MASK(%rip), %rsi
	lea	R_DATA(%r12,%rsi), %rsi
	mov	%r13, SH_POSITION(%rsi)
	mov	R_LOST(%r12), %rbp
	mov	%rbp, SH_LOST(%rsi)
	mov	%r8, SH_CLOCK(%rsi)
	mov	OP_TASK(%rdi), %rax
	mov	%rax, SH_TASK(%rsi)
	add	$SH_BYTES, %rsi
	lea	SH_BYTES(%r13,%r10), %r14

	/*
	 * LOST: the number lost since the header before. That header is intact, because it is not given up before this
	 * one.
	 */
	mov	%r9, %rax
	sub	$1, %rax
	jb	.Lwrite_record		/* the first sub-buffer */
	not	%rcx
	and	%rcx, %rax
	and	uft_ring_fast+RF_MASK(%rip), %rax
	sub	R_DATA+SH_LOST(%r12,%rax), %rbp /* GUARD(ring_lost_before, test %rbp, %rbp) */
	jz	.Lwrite_record
	mov	%r8d, %eax
	mov	$UFT_ASM_REC_LOST << 28, %edx
	shl	$32, %rdx
	or	%rdx, %rax
	mov	%rax, (%rsi)
	mov	%rbp, 8(%rsi)
	movl	$0, R_LOST_PENDING(%r12)
	add	$16, %rsi
	add	$16, %r14
	jmp	.Lwrite_record

.Lwrite_fits:
	mov	%r14, %rax
	cmp	R_BACKED(%r12), %rax
	ja	.Lwrite_unbacked
	mov	%r9, %rsi
	and	uft_ring_fast+RF_MASK(%rip), %rsi
	lea	R_DATA(%r12,%rsi), %rsi
	test	%r11d, %r11d
	jz	.Lwrite_record
	/* CONTEXT. The order matters: ctx_pos first makes the cached context invalid until the commit. */
	movq	$0, RC_KEY(%rbx) /* GUARD(context_key_cleared) */
	movq	$0, RC_EVENT_KEY(%rbx)
	mov	%r9, R_CTX_POS(%r12)
	mov	OP_TASK+4(%rdi), %eax
	mov	%eax, R_CTX_TID(%r12)
	mov	%r8, %rax
	shr	$32, %rax
	mov	%eax, R_CTX_HI(%r12)
	mov	%r8d, %eax
	mov	$UFT_ASM_REC_CONTEXT << 28, %edx
	shl	$32, %rdx
	or	%rdx, %rax
	mov	%rax, (%rsi)
	mov	%r8, 8(%rsi)
	mov	OP_TASK(%rdi), %rax
	mov	%rax, 16(%rsi)
	add	$24, %rsi

.Lwrite_record:
	mov	OP_WORD0(%rdi), %rax
	mov	%r8d, %edx
	or	%rdx, %rax
	mov	%rax, (%rsi)
	cmp	$8, %r10
	je	3f
	mov	OP_WORD1(%rdi), %rdx
	testb	$RING_OP_SINCE, OP_FLAGS(%rdi)
	jz	4f
	neg	%rdx
	add	%r8, %rdx
4:	mov	%rdx, 8(%rsi)
	cmp	$16, %r10
	je	3f
	mov	OP_MORE(%rdi), %rcx
	mov	$16, %ebp
9:	mov	-16(%rcx,%rbp), %rdx
	mov	%rdx, (%rsi,%rbp)
	add	$8, %ebp
	cmp	%r10, %rbp
	jb	9b
3:	mov	OP_CLOCK(%rdi), %rdx
	mov	%r8, (%rdx)
	mov	OP_RECEIPT(%rdi), %rdx	/* so that an observer can tell whether this was committed */
	mov	%rax, RR_WORD(%rdx)
	mov	%rsi, RR_WHERE(%rdx)
	mov	%r14, R_COMMIT(%r12)	/* TSO: everything above is visible first */
.Lwrite_commit:
uft_asm_ring_write_end:
	/* Section 2: from now on the fast paths of this task may write on this CPU. */
	mov	OP_KEY(%rdi), %rdx
	test	%rdx, %rdx
	jz	.Lwrite_done
	RSEQ_ARM .Lcache_cs, %r15, %rax
.Lcache_start:
	mov	%fs:RSEQ_CPU_ID(%r15), %eax
	cmp	uft_ring_fast+RF_NCPUS(%rip), %eax
	jae	.Lwrite_done
	shl	$RC_SHIFT, %rax
	add	uft_ring_fast+RF_CPU(%rip), %rax
	cmp	%rbx, %rax
	jne	.Lwrite_done
	cmp	%r14, R_COMMIT(%r12)	/* another writer wrote: its context counts */
	jne	.Lwrite_done
	cmp	%r14, R_CTX_POS(%r12)	/* another writer began to write and was aborted */
	jae	.Lwrite_done
	mov	OP_THREAD_FLAGS(%rdi), %rax
	cmpl	$0, (%rax)
	jne	.Lwrite_done
	mov	uft_ring_fast+RF_SUB_MASK(%rip), %rcx
	add	%rcx, %r14
	not	%rcx
	and	%rcx, %r14
	mov	R_BACKED(%r12), %rax	/* nor beyond the memory; bit 0 of R_BACKED is below a record's size */
	cmp	%rax, %r14
	cmova	%rax, %r14
	sub	$8, %r14
	and	$-8, %r14
	mov	%r14, R_SUB_END(%r12)
	mov	%r8, RC_CLOCK(%rbx)
	lea	RC_EVENT_KEY(%rbx), %rcx
	testb	$RING_OP_EVENT, OP_FLAGS(%rdi)
	jnz	1f
	mov	OP_THREAD(%rdi), %rax
	mov	%rax, RC_THREAD(%rbx)
	lea	RC_KEY(%rbx), %rcx
	testb	$RING_KEY_COUNTS, %dl
	jz	1f
	mov	%r8d, %eax
	add	$RING_COUNT_ROOM, %eax
	jc	.Lwrite_done
	mov	OP_COUNTED(%rdi), %rax
	mov	%rbx, (%rax)
1:	mov	%rdx, (%rcx)
.Lcache_commit:
.Lwrite_done:
	xor	%eax, %eax
.Lwrite_out:
	movq	$0, %fs:RSEQ_CS(%r15)
	.cfi_remember_state
	UNSAVE	%r15
	UNSAVE	%r14
	UNSAVE	%r13
	UNSAVE	%r12
	UNSAVE	%rbp
	UNSAVE	%rbx
	ret
	.cfi_restore_state

.Lwrite_lost:
	mov	%r12, OP_RING(%rdi)
	mov	%r13, OP_NEED(%rdi)
	mov	$RING_LOST, %eax
	jmp	.Lwrite_out
.Lwrite_counts:
	mov	$RING_COUNTS, %eax
	jmp	.Lwrite_out
.Lwrite_unbacked:
	mov	%r12, OP_RING(%rdi)
	mov	%rax, OP_NEED(%rdi)
	mov	$RING_UNBACKED, %eax
	jmp	.Lwrite_out
.Lwrite_none:
	mov	$RING_NONE, %eax
	jmp	.Lwrite_out
.Lwrite_guard:
	mov	$RING_GUARD, %eax
	jmp	.Lwrite_out
	RSEQ_ABORT .Lwrite_abort
	mov	$RING_RETRY, %eax
	jmp	.Lwrite_out
	RSEQ_ABORT .Lcache_abort
	jmp	.Lwrite_done
	FUNCTION_END uft_asm_ring_write
	RSEQ_CS_DESC .Lwrite_cs, .Lwrite_start, .Lwrite_commit, .Lwrite_abort
	RSEQ_CS_DESC .Lcache_cs, .Lcache_start, .Lcache_commit, .Lcache_abort

/*
 * int uft_asm_push(struct uft_thread *th, struct fg_entry *top, const struct fg_entry *e)
 *
 * Copies e to the free entry at top and makes it the top, unless th->top is not top any more or a signal
 * came: then the space above the top may have been used, and nothing is pushed. Returns 1 if pushed.
 */
	.globl	uft_asm_push_start, uft_asm_push_end
	.hidden	uft_asm_push_start, uft_asm_push_end
	FUNCTION uft_asm_push
	mov	uft_ring_fast+RF_RSEQ(%rip), %rcx
	RSEQ_ARM .Lpush_cs, %rcx, %rax
uft_asm_push_start:
.Lpush_start:
	cmp	%rsi, TH_TOP(%rdi) /* GUARD(push_compares, cmp %rsi, %rsi) */
	jne	.Lpush_failed
	.irp	offset, 0, 8, 16, 24, 32, 40, 48, 56
	mov	\offset(%rdx), %rax
	mov	%rax, \offset(%rsi)
	.endr
	add	$E_BYTES, %rsi
	mov	%rsi, TH_TOP(%rdi)
.Lpush_commit:
uft_asm_push_end:
	movq	$0, %fs:RSEQ_CS(%rcx)
	mov	$1, %eax
	ret
	RSEQ_ABORT .Lpush_abort
.Lpush_failed:
	movq	$0, %fs:RSEQ_CS(%rcx)
	xor	%eax, %eax
	ret
	FUNCTION_END uft_asm_push
	RSEQ_CS_DESC .Lpush_cs, .Lpush_start, .Lpush_commit, .Lpush_abort

/*
 * void uft_asm_know_stack(struct uft_thread *th, uint64_t key) - let the fast paths of limits follow on this CPU
 *
 * Not for a thread whose events are all slow. RC_STACK_THREAD is valid only with its own key, hence the order.
 */
	.globl	uft_asm_know_stack_start, uft_asm_know_stack_end
	.hidden	uft_asm_know_stack_start, uft_asm_know_stack_end
	FUNCTION uft_asm_know_stack
	mov	uft_ring_fast+RF_RSEQ(%rip), %rcx
	RSEQ_ARM .Lknow_cs, %rcx, %rax
uft_asm_know_stack_start:
.Lknow_start:
	mov	%fs:RSEQ_CPU_ID(%rcx), %eax
	cmp	uft_ring_fast+RF_NCPUS(%rip), %eax
	jae	.Lknow_out
	cmpl	$0, TH_FLAGS(%rdi)
	jne	.Lknow_out
	shl	$RC_SHIFT, %rax
	add	uft_ring_fast+RF_CPU(%rip), %rax
	movq	$0, RC_STACK_KEY(%rax)
	mov	%rdi, RC_STACK_THREAD(%rax)
	mov	%rsi, RC_STACK_KEY(%rax)
.Lknow_commit:
uft_asm_know_stack_end:
.Lknow_out:
	movq	$0, %fs:RSEQ_CS(%rcx)
	ret
	RSEQ_ABORT .Lknow_abort
	jmp	.Lknow_out
	FUNCTION_END uft_asm_know_stack
	RSEQ_CS_DESC .Lknow_cs, .Lknow_start, .Lknow_commit, .Lknow_abort

	.section .note.GNU-stack, "", @progbits
