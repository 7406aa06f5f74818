/* SPDX-License-Identifier: MIT */
/*
 * trace.S - the handlers that armed sites reach, x86_64; trace_exit.S has those that graph calls return to
 *
 * Stack pictures and register conventions: arch.h. Every register that is touched is saved (callers may rely on the
 * callee's register use, -fipa-ra); flags are dead at a function's entry and return; vector state is never touched; no
 * memory below the stack pointer is relied upon except in uft_asm_mcount_return (last lines).
 *
 * A fast path is one rseq critical section. It is left without an effect
 *   - to .L*_slow in an unusual case: the ring's context is another thread's or clock half's, sub-buffer
 *     full, recording off, shadow stack not as expected;
 *   - by the kernel to .L*_abort, the same place, on preemption, migration or a signal.
 * The slow path is C (tracers/function.c, tracers/graph.c) and starts over from the registers saved here, so between
 * the section's start and its commit nothing that the slow path needs may change. All code of a section lies between
 * the two, because the kernel restarts no code outside of them.
 *
 * Where the clock is read. Intel's CPUs begin rdtsc when everything before it is done, and start no instruction behind
 * it for 29 cycles (Granite Rapids); AMD's let it overlap. So a call's chain of loads (CPU, its line, ring, position)
 * must not lie between two clocks as one piece: rdtsc is in its middle, where both halves are equally long. The rest of
 * the cost is the number of instructions, six per cycle. (One of them must stay: the mask bounds the stores, whatever
 * other programs with the arena have done to `commit`.)
 *
 * Stack: the fast paths use 64 bytes, the slow ones at most UFT_SLOW_STACK more (signal-free C frames, measured
 * by tests/unit/ring; they probe the end of it first, so that a stack overflow faults before any state has
 * changed and with the program's signal mask).
 */
#include "runtime/arch/function.h"
#include "runtime/ring/layout.h"
#include "runtime/trace/layout.h"
#include "runtime/arch/x86_64/fast_path.h"

	.text

/*
 * uft_asm_func, uft_asm_mcount_func - function event: one FUNC record, 16 bytes
 *
 *	(rsp) = rax	8(rsp) = site + len	16(rsp) = parent (mcount: 8(rbp))	eax = K
 *
 *	rsi id and kind		rcx ring_cpu, then offset in the ring	rdx the ring
 *
 * Beside the graph or the profile a parent may be the hook of the caller of a tail call, the top's: C handles that.
 */
	.macro FUNC_SAVE
	SAVE	%rcx
	SAVE	%rdx
	SAVE	%rsi
	mov	32(%rsp), %rsi
	shr	$2, %rsi
	sub	%eax, %esi
	.endm

	.macro FUNC_HANDLER name, is_mcount, parent, slow_parent, counts=0, fits=RF_GEN, is_beside=0
	.balign	64
	.globl	\name, \name\()_start, \name\()_end
	.hidden	\name, \name\()_start, \name\()_end
	.type	\name, @function
\name:
	.cfi_startproc
	.cfi_def_cfa_offset 16
	.cfi_offset %rax, -16
	FUNC_SAVE
	BEGIN .Lcs_\name, \is_mcount, .Lnorseq_\name
\name\()_start:
.Lstart_\name:
	FIND_CPU %rcx, .Lslow_\name, %rdx, \counts, \fits
	.if \is_beside
	mov	RC_THREAD(%rcx), %rdx
	mov	TH_TOP(%rdx), %rdx
	mov	E_RET-E_BYTES(%rdx), %rdx
	cmp	\parent, %rdx
	je	.Lslow_\name /* GUARD(func_of_hook) */
	.endif
	mov	RC_RING(%rcx), %rdx
	ROOM 2, %rdx, %rcx, .Lslow_\name
	mov	%eax, R_DATA(%rdx,%rcx)
	prefetchw R_DATA+RING_AHEAD(%rdx,%rcx)
	mov	%esi, R_DATA+4(%rdx,%rcx)
	mov	\parent, %rax
	mov	%rax, R_DATA+8(%rdx,%rcx)
	addq	$16, R_COMMIT(%rdx)
.Lcommit_\name:
\name\()_end:
	END
.Lout_\name:
	UNSAVE	%rsi
	UNSAVE	%rdx /* GUARD(func_rdx, lea 8(%rsp), %rsp) */
	UNSAVE	%rcx
	UNSAVE	%rax
	ret
	.cfi_adjust_cfa_offset 32
	RSEQ_ABORT .Labort_\name
.Lslow_\name:
	END
.Lnorseq_\name:
	SLOW_SAVE
	mov	%rsi, %rdi
	shl	$32, %rdi
	mov	\slow_parent, %rsi
	CALL_C	uft_func_slow
	SLOW_RESTORE
	jmp	.Lout_\name
	.ifc	\name, uft_asm_func
uft_asm_func_slow:
	.cfi_def_cfa_offset 16
	FUNC_SAVE
	jmp	.Lnorseq_\name
	.endif
	.cfi_endproc
	.size	\name, . - \name
	RSEQ_CS_DESC .Lcs_\name, .Lstart_\name, .Lcommit_\name, .Labort_\name
	.endm

	.globl	uft_asm_func_slow
	.hidden	uft_asm_func_slow
	FUNC_HANDLER uft_asm_func, 0, 40(%rsp), 72(%rsp)
	FUNC_HANDLER uft_asm_mcount_func, 1, 8(%rbp), 8(%rbp)
	FUNC_HANDLER uft_asm_func_counts, 0, 40(%rsp), 72(%rsp), 1, RF_COUNTS
	FUNC_HANDLER uft_asm_mcount_func_counts, 1, 8(%rbp), 8(%rbp), 1, RF_COUNTS
	FUNC_HANDLER uft_asm_func_beside, 0, 40(%rsp), 72(%rsp), 0, RF_BESIDE, 1
	FUNC_HANDLER uft_asm_mcount_func_beside, 1, 8(%rbp), 8(%rbp), 0, RF_BESIDE, 1

/*
 * void uft_asm_event_write(uint32_t high, const uint64_t *words, uint64_t bytes) - an event of a tracepoint, from C
 *
 * It writes the record's first word, of which @high is the upper half, and @bytes of words behind it. Its caller jumps
 * here at its end, and this jumps to the general writer if that has to write: none of the three saves a register for
 * it.
 *
 *	rcx ring_cpu, then where the record goes	r8 ring		r9 rseq area	r10 bytes	r11 end of the record
 */
	.globl	uft_asm_event_write_start, uft_asm_event_write_end
	.hidden	uft_asm_event_write_start, uft_asm_event_write_end
	.balign	64
	FUNCTION uft_asm_event_write
	mov	uft_ring_fast+RF_RSEQ(%rip), %r9
	mov	%rdx, %r10
	test	%r9, %r9
	jz	.Levent_none
	RSEQ_ARM .Levent_cs, %r9, %rax
uft_asm_event_write_start:
.Levent_start:
	CPU_LINE %r9, .Levent_slow
	mov	uft_ring_fast+RF_GEN(%rip), %r8
	or	%fs:0, %r8
	rdtsc
	cmp	RC_EVENT_KEY(%rcx), %r8
	jne	.Levent_slow
	mov	RC_RING(%rcx), %r8
	cmp	R_CTX_HI(%r8), %edx
	jne	.Levent_slow
	mov	R_COMMIT(%r8), %r11
	mov	uft_ring_fast+RF_MASK(%rip), %rcx
	and	%r11, %rcx
	lea	8(%r11,%r10), %r11
	cmp	R_SUB_END(%r8), %r11
	ja	.Levent_slow
	lea	R_DATA(%r8,%rcx), %rcx
	prefetchw RING_AHEAD(%rcx)
	mov	%eax, (%rcx)
	mov	%edi, 4(%rcx)
	xor	%eax, %eax
1:	mov	(%rsi,%rax), %rdx
	mov	%rdx, 8(%rcx,%rax)
	add	$8, %rax
	cmp	%r10, %rax
	jb	1b
	mov	%r11, R_COMMIT(%r8)
.Levent_commit:
uft_asm_event_write_end:
	movq	$0, %fs:RSEQ_CS(%r9)
	ret
	RSEQ_ABORT .Levent_abort
.Levent_slow:
	movq	$0, %fs:RSEQ_CS(%r9)
.Levent_none:
	mov	%r10, %rdx
	mov	%rsp, %rcx
	mov	%rbp, %r8
	jmp	tracepoint_write_slowly
	FUNCTION_END uft_asm_event_write
	RSEQ_CS_DESC .Levent_cs, .Levent_start, .Levent_commit, .Levent_abort

/*
 * uft_asm_graph_enter, uft_asm_mcount_graph - graph call begins: one ENTRY record and one shadow entry
 *
 *	stub:   (rsp) = rax	8(rsp) = stub + 5	16(rsp) = parent		eax = K
 *	mcount: (rsp) = rax	8(rsp) = stub + 5	16(rsp) = site + len		parent at 8(rbp)
 *
 * The push comes before the commit, both inside the section. If the section is aborted between them the entry
 * stays, with E_WHERE naming a word that was never committed: trace/tracers/graph.c sees that and starts over.
 *
 *	rsi id and kind, high half	rcx ring_cpu	r8 thread, slot, ring	r10 free entry	rdx E_WHERE
 *	beside FUNC: rsi then the ENTRY
 *
 * There are four modes, to which thunks lead (patch/thunk.h): plain; with a depth limit, where a call that is too deep
 * is passed by before the clock is read; with a threshold, where the call is pushed and nothing is written before its
 * end; and the profile's, which pushes the call and then counts it. The last two, and a call that is passed by, find
 * the shadow stack by a key of its own (RC_STACK_KEY), because a ring that they seldom write tells nothing of it.
 *
 * Where two tracers want calls (GRAPH_FUNC, GRAPH_SUMS, PROFILE_FUNC) the number in the site's stub selects the mode: a
 * handler takes the calls of one number and passes others to the next handler, at last to C. Each call has one entry,
 * one clock and one commit, whatever it is for. FUNC comes before the ENTRY of its call, so E_WHERE and E_WORD are
 * those of FUNC until the commit; with the profile's entry FUNC is the only record. Keys have RING_KEY_BESIDE then,
 * which fits these handlers only.
 */
	.macro ENTER_SAVE
	SAVE	%rcx
	SAVE	%rdx
	SAVE	%rsi
	SAVE	%r8
	SAVE	%r10
	mov	48(%rsp), %rsi
	shr	$4, %rsi
	sub	%eax, %esi
	shl	$32, %rsi
	.endm
	.macro ENTER_RESTORE
	UNSAVE	%r10 /* GUARD(enter_r10, lea 8(%rsp), %rsp) */
	UNSAVE	%r8 /* GUARD(enter_r8, lea 8(%rsp), %rsp) */
	UNSAVE	%rsi
	UNSAVE	%rdx
	UNSAVE	%rcx
	UNSAVE	%rax
	.endm
	/* The parent stays; goes on at the target of the stub's second call: stub + 5: e8 rel32. */
	.macro DECLINE
	mov	48(%rsp), %rax
	movslq	1(%rax), %rcx
	lea	5(%rax,%rcx), %rax
	mov	%rax, 48(%rsp)
	ENTER_RESTORE
	ret
	.cfi_adjust_cfa_offset 48
	.endm
	.macro ENTER_SLOW_SAVE
	UNSAVE	%r10
	UNSAVE	%r8
	SLOW_SAVE
	.endm
	.macro ENTER_SLOW_RESTORE
	SLOW_RESTORE
	SAVE	%r8
	SAVE	%r10
	.endm

	/* Does the key tell that the ring is this thread's (1), or only its shadow stack (0)? */
	.set	KNOWS_RING_plain, 1
	.set	KNOWS_RING_counts, 1
	.set	KNOWS_RING_depth, 0
	.set	KNOWS_RING_thresh, 0
	.set	KNOWS_RING_profile, 0
	.set	KNOWS_RING_func, 1
	.set	KNOWS_RING_nofunc, 1
	.set	KNOWS_RING_sums, 1
	.set	KNOWS_RING_pass, 1
	.set	KNOWS_RING_profile_func, 1
	/* Does the mode count instead of reading the clock? */
	.set	COUNTS_plain, 0
	.set	COUNTS_counts, 2
	.set	COUNTS_depth, 0
	.set	COUNTS_thresh, 0
	.set	COUNTS_profile, 0
	.set	COUNTS_func, 0
	.set	COUNTS_nofunc, 0
	.set	COUNTS_sums, 0
	.set	COUNTS_pass, 0
	.set	COUNTS_profile_func, 0
	/* The keys that fit, for modes that know the ring. */
	.set	FITS_plain, RF_GEN
	.set	FITS_counts, RF_COUNTS
	.set	FITS_func, RF_BESIDE
	.set	FITS_nofunc, RF_BESIDE
	.set	FITS_sums, RF_BESIDE
	.set	FITS_pass, RF_BESIDE
	.set	FITS_profile_func, RF_BESIDE
	/* Where calls of mcount's sites return. */
	.set	RETURN_plain, uft_asm_mcount_return
	.set	RETURN_counts, uft_asm_mcount_return_counts
	.set	RETURN_depth, uft_asm_mcount_return
	.set	RETURN_thresh, uft_asm_mcount_return
	/* Flags of the entries that are pushed; without FG_SILENT there is a record. */
	.set	PUSHES_plain, 0
	.set	PUSHES_counts, 0
	.set	PUSHES_depth, 0
	.set	PUSHES_thresh, FG_CALL | FG_SILENT
	.set	PUSHES_profile, FG_PROFILE | FG_SILENT
	.set	PUSHES_func, 0
	.set	PUSHES_nofunc, 0
	.set	PUSHES_sums, FG_PROFILE
	.set	PUSHES_pass, FG_PASS
	.set	PUSHES_profile_func, FG_PROFILE | FG_SILENT
	/* Does the mode write a FUNC? */
	.set	HAS_FUNC_plain, 0
	.set	HAS_FUNC_counts, 0
	.set	HAS_FUNC_depth, 0
	.set	HAS_FUNC_thresh, 0
	.set	HAS_FUNC_profile, 0
	.set	HAS_FUNC_func, 1
	.set	HAS_FUNC_nofunc, 0
	.set	HAS_FUNC_sums, 0
	.set	HAS_FUNC_pass, 0
	.set	HAS_FUNC_profile_func, 1

	/*
	 * The slot is the same as the top's: a tail call if the parent is the hook of its caller. This code lies before
	 * the handler because it is part of the section, which begins here: until rseq_cs is set that has no effect.
	 * The same holds for the code that finds rax, the parent that FUNC gets, for a tail call: the true address to
	 * which its callers return, by the entries of this slot.
	 */
	.macro ENTER_SAME name, slot, parent, is_first=1, has_func=0
	.cfi_startproc
	.cfi_def_cfa_offset 16
	.cfi_offset %rax, -16
	.if \is_first
	.cfi_remember_state
	.endif
	.irp	reg, %rcx, %rdx, %rsi, %r8, %r10
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset \reg, 0
	.endr
.Lstart_\name:
\name\()_start:
	.type	\name\()_same, @function
\name\()_same:
.Lsame_\name:
	jne	.Lslow_\name
	mov	\parent, %r8
	cmp	%r8, E_RET-E_BYTES(%r10)
	jne	.Lslow_\name /* GUARD(exit_of_its_return) */
	lea	\slot, %r8
	jmp	.Ldeeper_\name
	.size	\name\()_same, . - \name\()_same
	.if \has_func
	.type	\name\()_tail, @function
\name\()_tail:
.Ltail_\name:
	mov	E_SLOT(%r10), %rdx
	mov	%r10, %r8
1:	sub	$E_BYTES, %r8
	cmp	%rdx, E_SLOT(%r8)
	jne	2f
	cmp	%rax, E_RET(%r8)
	jne	2f
	mov	E_PARENT(%r8), %rax /* GUARD(func_of_tail_call, mov E_PARENT(%r10), %rax) */
	jmp	1b
2:	mov	E_WHERE(%r10), %rdx
	mov	RC_RING(%rcx), %r8
	jmp	.Lparent_\name
	.size	\name\()_tail, . - \name\()_tail
	.endif
	.if \is_first
	.cfi_restore_state
	.endif
	.balign	64
	.endm

	.macro ENTER_FAST name, is_mcount, slot, parent, mode=plain
	BEGIN .Lcs_\name, \is_mcount, .Lnorseq_\name
	.if KNOWS_RING_\mode
	FIND_CPU %rcx, .Lslow_\name, %r8, COUNTS_\mode, FITS_\mode
	mov	RC_THREAD(%rcx), %r8
	mov	TH_TOP(%r8), %r10
	.else
	FIND_STACK %rcx, .Lslow_\name, %r8
	.endif
	cmp	TH_LIMIT(%r8), %r10
	jae	.Lslow_\name
	.if !KNOWS_RING_\mode
	mov	uft_graph_limits+GL_DEPTH(%rip), %rdx
	add	TH_BASE(%r8), %rdx
	.endif
	lea	\slot, %r8
	cmp	%r8, E_SLOT-E_BYTES(%r10)
	jbe	.Lsame_\name
.Ldeeper_\name:
	.if !KNOWS_RING_\mode
	cmp	%rdx, %r10
	jae	.Ldeep_\name
	.endif
	.ifc	\mode, depth
	cmp	RC_KEY(%rcx), %rax
	jne	.Lslow_\name
	.endif
	.if !KNOWS_RING_\mode
	rdtsc
	.endif
	mov	%r8, E_SLOT(%r10)
	.ifc	\mode, depth
	cmp	RC_CTX_HI(%rcx), %edx
	jne	.Lslow_\name
	.endif
	.if COUNTS_\mode
	mov	%rax, E_CLOCK(%r10)
	mov	%eax, %eax
	.else
	mov	%eax, E_CLOCK(%r10)
	mov	%edx, E_CLOCK+4(%r10)
	.endif
	.ifc	\mode, profile
	mov	%rsi, %rdx
	shl	$4, %rdx		/* without the kind */
	shr	$36 - PR_BYTES_SHIFT, %rdx
	cmp	uft_ring_fast+RF_PROFILE_BYTES(%rip), %rdx
	jae	.Lslow_\name
	.endif
	.if PUSHES_\mode & (FG_PROFILE | FG_PASS)
	movq	$0, E_CHILD(%r10)
	.endif
	.if HAS_FUNC_\mode
	or	%rsi, %rax
	mov	RC_RING(%rcx), %r8
	.if PUSHES_\mode & FG_SILENT
	ROOM 2, %r8, %rdx, .Lslow_\name
	lea	R_DATA(%r8,%rdx), %rdx
	.else
	ROOM 3, %r8, %rdx, .Lslow_\name
	lea	R_DATA-16(%r8,%rdx), %rdx
	mov	%rax, 16(%rdx)
	mov	%rax, %rsi
	.endif
	btc	$60, %rax		/* makes a FUNC's word of an ENTRY's */
	.if UFT_ASM_REC_ENTRY - UFT_ASM_REC_FUNC - 1
	.error	"their kinds differ by bit 60"
	.endif
	mov	%rax, (%rdx)
	prefetchw RING_AHEAD(%rdx)
	mov	%rax, E_WORD(%r10)
	mov	%rdx, E_WHERE(%r10)
	.elseif PUSHES_\mode & FG_SILENT
	mov	%rsi, E_WORD(%r10)
	movq	$0, E_WHERE(%r10)
	.else
	or	%rsi, %rax
	mov	RC_RING(%rcx), %r8
	ROOM 1, %r8, %rdx, .Lslow_\name
	lea	R_DATA(%r8,%rdx), %rdx
	mov	%rax, (%rdx)
	prefetchw RING_AHEAD(%rdx)	/* for the exit as well: one of eight words in a line is an entry's */
	mov	%rax, E_WORD(%r10)
	mov	%rdx, E_WHERE(%r10)
	.endif
	mov	\parent, %rax
	mov	%rax, E_PARENT(%r10)
	.if HAS_FUNC_\mode
	cmp	%rax, E_RET-E_BYTES(%r10)
	je	.Ltail_\name
.Lparent_\name:
	mov	%rax, 8(%rdx)
	.endif
	.if \is_mcount
	lea	RETURN_\mode(%rip), %rax
	.else
	mov	48(%rsp), %rax
	add	$5, %rax
	.endif
	mov	%rax, E_RET(%r10) /* GUARD(tail_call_parent) */
	movq	$PUSHES_\mode, E_FLAGS(%r10)
	add	$E_BYTES, %r10
	.if KNOWS_RING_\mode
	mov	RC_THREAD(%rcx), %rax
	.else
	mov	RC_STACK_THREAD(%rcx), %rax
	.endif
	mov	%r10, TH_TOP(%rax)
	.if KNOWS_RING_\mode || !(PUSHES_\mode & FG_SILENT)
	addq	$8 * !(PUSHES_\mode & FG_SILENT) + 16 * HAS_FUNC_\mode, R_COMMIT(%r8)
	.endif
.Lcommit_\name:
\name\()_end:
	.if PUSHES_\mode & FG_PROFILE
	.if KNOWS_RING_\mode
	movq	$0, E_WHERE-E_BYTES(%r10)
	mov	%rsi, %rdx
	shl	$4, %rdx
	shr	$36 - PR_BYTES_SHIFT, %rdx
	cmp	uft_ring_fast+RF_PROFILE_BYTES(%rip), %rdx
	mov	uft_ring_fast+RF_RSEQ(%rip), %r10
	jae	.Lcounted_\name
	.else
	mov	uft_ring_fast+RF_RSEQ(%rip), %r10
	.endif
	PROFILE_ADD \name\()_hits, %rdx, PR_HITS, $1
.Lcounted_\name:
	movq	$0, %fs:RSEQ_CS(%r10)
	.else
	END
	.if !(PUSHES_\mode & FG_SILENT)
	movq	$0, E_WHERE-E_BYTES(%r10)	/* committed: E_FLAGS counts now */
	.endif
	.if HAS_FUNC_\mode
	mov	%rsi, E_WORD-E_BYTES(%r10) /* GUARD(func_is_settled) */	/* an exit makes an EXIT of it */
	.endif
	.endif
	.if \is_mcount
	lea	RETURN_\mode(%rip), %rax
	mov	%rax, \slot
	ENTER_RESTORE
	ret
	.else
	ENTER_RESTORE
	ret	$8			/* to stub + 5; the stub's next call fills the parent's slot */
	.endif
	.cfi_adjust_cfa_offset 48
	.if !KNOWS_RING_\mode
.Ldeep_\name:
	END
	.if \is_mcount
	ENTER_RESTORE
	ret
	.cfi_adjust_cfa_offset 48
	.else
	DECLINE
	.endif
	.endif
	.if PUSHES_\mode & FG_PROFILE
	PROFILE_ADD_ABORT \name\()_hits, is_hit=1
	.endif
	RSEQ_ABORT .Labort_\name
	.endm

	.balign	64
	.globl	uft_asm_graph_enter, uft_asm_graph_enter_start, uft_asm_graph_enter_end, uft_asm_graph_enter_slow
	.hidden	uft_asm_graph_enter, uft_asm_graph_enter_start, uft_asm_graph_enter_end, uft_asm_graph_enter_slow
	.type	uft_asm_graph_enter, @function
	ENTER_SAME uft_asm_graph_enter, 56(%rsp), 56(%rsp)
uft_asm_graph_enter:
	ENTER_SAVE
	ENTER_FAST uft_asm_graph_enter, 0, 56(%rsp), 56(%rsp)
.Lslow_uft_asm_graph_enter:
	END
.Lenter_slow:
	ENTER_SLOW_SAVE
	shr	$32, %rsi
	mov	%esi, %edi
	lea	72(%rsp), %rsi
	mov	64(%rsp), %rdx
	sub	$5, %rdx
	CALL_C	uft_enter_slow
	ENTER_SLOW_RESTORE
	test	%eax, %eax
	jz	1f
	ENTER_RESTORE
	ret	$8
	.cfi_adjust_cfa_offset 48
1:	DECLINE
uft_asm_graph_enter_slow:
	.cfi_def_cfa_offset 16
	ENTER_SAVE
	jmp	.Lenter_slow
	FUNCTION_END uft_asm_graph_enter
	RSEQ_CS_DESC .Lcs_uft_asm_graph_enter, .Lstart_uft_asm_graph_enter, .Lcommit_uft_asm_graph_enter, \
		.Labort_uft_asm_graph_enter

	/*
	 * With @action: calls of other actions are passed to \other, which is entered behind ENTER_SAVE unless it is
	 * the first.
	 */
	.macro ENTER_LIMITED name, mode, action, other, is_first=1
	.set	.Lslow_\name, .Lslow_uft_asm_graph_enter
	.balign	64
	.globl	\name, \name\()_start, \name\()_end
	.hidden	\name, \name\()_start, \name\()_end
	.type	\name, @function
	ENTER_SAME \name, 56(%rsp), 56(%rsp), \is_first, HAS_FUNC_\mode
\name:
	.if \is_first
	ENTER_SAVE
	.endif
	.ifnb	\action
	mov	48(%rsp), %rcx
	cmpb	$\action, STUB_ACTION - 5(%rcx)
	jne	\other
	.endif
	ENTER_FAST \name, 0, 56(%rsp), 56(%rsp), \mode
	jmp	.Lslow_uft_asm_graph_enter
	.cfi_endproc
	.size	\name, . - \name
	RSEQ_CS_DESC .Lcs_\name, .Lstart_\name, .Lcommit_\name, .Labort_\name
	.endm

	ENTER_LIMITED uft_asm_graph_enter_counts, counts
	ENTER_LIMITED uft_asm_graph_enter_depth, depth
	ENTER_LIMITED uft_asm_graph_enter_thresh, thresh
	ENTER_LIMITED uft_asm_graph_enter_profile, profile
	ENTER_LIMITED uft_asm_graph_enter_func, func, ACT_FUNC, uft_asm_graph_enter_nofunc
	ENTER_LIMITED uft_asm_graph_enter_nofunc, nofunc, 0, .Lenter_slow, 0
	ENTER_LIMITED uft_asm_graph_enter_sums, sums, ACT_PROFILE, uft_asm_graph_enter_pass
	ENTER_LIMITED uft_asm_graph_enter_pass, pass, 0, .Lenter_slow, 0
	ENTER_LIMITED uft_asm_profile_enter_func, profile_func, ACT_FUNC, uft_asm_profile_enter_nofunc
	ENTER_LIMITED uft_asm_profile_enter_nofunc, profile, 0, .Lenter_slow, 0

	.macro ENTER_MCOUNT name, mode
	.balign	64
	.globl	\name, \name\()_start, \name\()_end
	.hidden	\name, \name\()_start, \name\()_end
	.type	\name, @function
	ENTER_SAME \name, 8(%rbp), 8(%rbp)
\name:
	ENTER_SAVE
	ENTER_FAST \name, 1, 8(%rbp), 8(%rbp), \mode
.Lslow_\name:
	END
.Lnorseq_\name:
	ENTER_SLOW_SAVE
	shr	$32, %rsi
	mov	%esi, %edi
	lea	8(%rbp), %rsi
	mov	64(%rsp), %rdx
	sub	$5, %rdx
	CALL_C	uft_mcount_enter_slow
	ENTER_SLOW_RESTORE
	test	%eax, %eax
	jz	1f
	lea	uft_asm_mcount_return(%rip), %rax
	mov	%rax, 8(%rbp)
1:	ENTER_RESTORE
	ret
	.cfi_endproc
	.size	\name, . - \name
	RSEQ_CS_DESC .Lcs_\name, .Lstart_\name, .Lcommit_\name, .Labort_\name
	.endm

	ENTER_MCOUNT uft_asm_mcount_graph, plain
	ENTER_MCOUNT uft_asm_mcount_graph_counts, counts
	ENTER_MCOUNT uft_asm_mcount_graph_depth, depth
	ENTER_MCOUNT uft_asm_mcount_graph_thresh, thresh

	.section .note.GNU-stack, "", @progbits
