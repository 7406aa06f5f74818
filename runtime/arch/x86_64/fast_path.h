/* SPDX-License-Identifier: MIT */
/*
 * fast_path.h - macros for the handlers of trace.S: begin and end a section, find the CPU and room in the ring, add to
 * a sum of the profile, and call C
 *
 * Only for trace.S and trace_exit.S, which have the theory and include the layouts of rings and threads. Each macro
 * names the registers that it uses; they are free there. If a macro cannot go on, it jumps to the label that it was
 * given, and has changed nothing except these registers.
 */
#ifndef UFT_X86_64_FAST_PATH_H
#define UFT_X86_64_FAST_PATH_H

#include "runtime/arch/x86_64/rseq.h"

#define UFT_SLOW_STACK	2048
/* bytes: the lines of a large ring are not in the caches, and prefetchers end at pages */
#define RING_AHEAD	512

	/*
	 * The section \desc begins behind this; rcx = the rseq area. Uses rax. Thunks bypass fast paths while there is
	 * no area, but mcount's handlers have to test for it. No register keeps the area's address: END loads it again,
	 * which is one instruction; a register for it would have to be saved and restored.
	 */
	.macro BEGIN desc, is_mcount=0, none
	mov	uft_ring_fast+RF_RSEQ(%rip), %rcx
	.if \is_mcount
	test	%rcx, %rcx
	jz	\none
	.endif
	RSEQ_ARM \desc, %rcx, %rax
	.endm
	/*
	 * The section has ended, or was left. Uses rcx. A detach relies on it: outside of sections no thread's rseq_cs
	 * is set (detach.c).
	 */
	.macro END
	mov	uft_ring_fast+RF_RSEQ(%rip), %rcx
	movq	$0, %fs:RSEQ_CS(%rcx)
	.endm

	/*
	 * rcx = this CPU's struct ring_cpu. Uses rdx. One comparison tells that the CPU has a ring and that recording
	 * is on. The number is on the board and is trusted: a value that is too high would lead behind
	 * uft_ring_fast.cpu. A bound of our own would be one more comparison per event. Both values are in bytes of the
	 * table, so the values for "no CPU" (-1, -2) lie beyond the table, too.
	 */
	.macro CPU_LINE area, slow
	imul	$1 << RC_SHIFT, %fs:RSEQ_CPU_ID(\area), %ecx
	mov	uft_ring_fast+RF_ON_CPUS(%rip), %rdx
	cmp	(%rdx), %ecx
	jae	\slow
	add	uft_ring_fast+RF_CPU(%rip), %rcx
	.endm

	/*
	 * rcx as above, if its ring's context is this thread's, else to \slow; edx:eax = the clock, or with @counts eax
	 * = the number (2: rax). An abort afterwards leaves one number out. @fits: the field of struct ring_fast for
	 * the keys that fit. Uses \key.
	 */
	.macro FIND_CPU area, slow, key, counts=0, fits=RF_GEN
	CPU_LINE \area, \slow
	.if !\counts
	rdtsc
	cmp	RC_CTX_HI(%rcx), %edx
	jne	\slow
	.endif
	mov	uft_ring_fast+\fits(%rip), \key
	or	%fs:0, \key
	cmp	RC_KEY(%rcx), \key
	jne	\slow
	.if \counts
	incq	RC_CLOCK(%rcx)
	.if \counts == 2
	mov	RC_CLOCK(%rcx), %rax
	.else
	mov	RC_CLOCK(%rcx), %eax
	.endif
	.endif
	.endm

	/*
	 * rcx = this CPU's struct ring_cpu if the thread's shadow stack is known there, else to \slow; \thread = the
	 * thread, r10 = its top, rax = the key. Nothing is known of the ring: before a write to it RC_KEY has to fit as
	 * well.
	 */
	.macro FIND_STACK area, slow, thread=%r10
	CPU_LINE \area, \slow
	mov	uft_ring_fast+RF_GEN(%rip), %rax
	or	%fs:0, %rax
	cmp	RC_STACK_KEY(%rcx), %rax
	jne	\slow
	mov	RC_STACK_THREAD(%rcx), \thread
	mov	TH_TOP(\thread), %r10
	.endm

	/*
	 * \at = where a record of \words words goes in \ring, else to \slow; for 3 words, which are two records, where
	 * the third word goes. R_SUB_END lies a word before the end of the sub-buffer, so one bound serves all kinds.
	 * The commit then adds to the position, and no register has to keep a sum. The mask bounds the stores, see
	 * above.
	 */
	.macro ROOM words, ring, at, slow
	mov	R_COMMIT(\ring), \at
	.if \words == 3
	add	$16, \at
	.endif
	cmp	R_SUB_END(\ring), \at
	.if \words == 2
	jae	\slow
	.else
	ja	\slow
	.endif
	and	uft_ring_fast+RF_MASK(%rip), \at
	.endm

	/*
	 * PROFILE_ADD adds to a sum of the profile in this CPU's block (struct uft_profile), by a section of its own;
	 * r10 = the rseq area. Uses rcx. If there is no block, its memory is asked for (runtime/ring/memory.c). Nothing
	 * is added if there is no memory, or in a fork child that has no slice. An abort begins it again, perhaps on
	 * another CPU, so no other register may change inside. With @extreme, rax is the duration and r8 its
	 * complement: if one of them is beyond those so far, nothing is added and control goes to @extreme.
	 */
	.macro PROFILE_BLOCK none
	mov	%fs:RSEQ_CPU_ID(%r10), %ecx
	cmp	uft_ring_fast+RF_NCPUS(%rip), %ecx
	jae	\none
	shl	$RC_SHIFT, %rcx
	add	uft_ring_fast+RF_CPU(%rip), %rcx
	mov	RC_PROFILE(%rcx), %rcx
	test	%rcx, %rcx
	jz	\none
	.endm
	.macro PROFILE_ADD name, offset, field, value, extreme, none
.Larm_\name:
	RSEQ_ARM .Lcs_\name, %r10, %rcx
	.globl	\name\()_start, \name\()_end
	.hidden	\name\()_start, \name\()_end
\name\()_start:
.Lstart_\name:
	.ifb	\none
	PROFILE_BLOCK .Lopen_\name
	.else
	PROFILE_BLOCK \none
	.endif
	.ifnb	\extreme
	cmp	PR_MAX(%rcx,\offset), %rax
	ja	\extreme
	cmp	PR_MIN(%rcx,\offset), %r8
	ja	\extreme
	.endif
	addq	\value, \field(%rcx,\offset)
.Ladded_\name:
\name\()_end:
	.endm
	.macro PROFILE_ADD_ABORT name, is_hit=0, can_open=1
	RSEQ_ABORT .Labort_\name
	jmp	.Larm_\name /* GUARD(sum_starts_over, jmp .Ladded_\name) */
	.if \can_open
.Lopen_\name:
	movq	$0, %fs:RSEQ_CS(%r10)
	SAVE	%rdi
	SAVE	%rsi
	SAVE	%rax
	SAVE	%rdx
	SAVE	%r8
	SAVE	%r9
	SAVE	%r10
	mov	$\is_hit, %edi
	CALL_C	uft_profile_open
	mov	%eax, %ecx
	UNSAVE	%r10
	UNSAVE	%r9
	UNSAVE	%r8
	UNSAVE	%rdx
	UNSAVE	%rax
	UNSAVE	%rsi
	UNSAVE	%rdi
	test	%ecx, %ecx
	jnz	.Larm_\name
	jmp	.Ladded_\name
	.endif
	RSEQ_CS_DESC .Lcs_\name, .Lstart_\name, .Ladded_\name, .Labort_\name
	.endm

	/* The registers that fast paths have not saved, in the order of layout.h. */
	.macro SLOW_SAVE
	SAVE	%rdi
	SAVE	%r8
	SAVE	%r9
	SAVE	%r10
	.endm
	.macro SLOW_RESTORE
	UNSAVE	%r10
	UNSAVE	%r9
	UNSAVE	%r8
	UNSAVE	%rdi
	.endm

	/* Around a C call: the rest of the caller-saved registers and an aligned stack. */
	.macro CALL_C fn
	/* Reads only, because the memory there may be in use. */
	cmpb	$0, -UFT_SLOW_STACK(%rsp) /* GUARD(slow_stack_probe) */
	SAVE	%r11
	SAVE	%rbp
	mov	%rsp, %rbp
	.cfi_def_cfa_register %rbp
	and	$-16, %rsp
	cld
	call	\fn
	mov	%rbp, %rsp
	.cfi_def_cfa_register %rsp
	UNSAVE	%rbp
	UNSAVE	%r11
	.endm

#endif
