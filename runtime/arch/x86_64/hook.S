/* SPDX-License-Identifier: MIT */
/*
 * hook.S - from a hook's stub into C and back with every register and flag as it was, x86_64
 *
 * Hooks lie in the middle of unprepared code, so flags are kept too. The stub skips the red zone (arch.h). Vector state
 * is not touched: the runtime is built for general registers only.
 */
#include "runtime/arch/x86_64/rseq.h"

	/* 11 words below the return address; the system call's arguments lie at 0..40(rsp) in order. */
	.macro HOOK_ENTER
	.cfi_startproc
	pushfq
	.cfi_adjust_cfa_offset 8
	SAVE	%rax
	SAVE	%rcx
	SAVE	%r11
	SAVE	%rbp
	SAVE	%r9 /* GUARD(hook_saves_r9, lea -8(%rsp), %rsp) */
	SAVE	%r8
	SAVE	%r10
	SAVE	%rdx
	SAVE	%rsi
	SAVE	%rdi
	mov	%rsp, %rbp
	.cfi_def_cfa_register %rbp
	.endm

	.macro HOOK_RESTORE
	mov	%rbp, %rsp
	.cfi_def_cfa_register %rsp
	UNSAVE	%rdi
	UNSAVE	%rsi
	UNSAVE	%rdx
	UNSAVE	%r10
	UNSAVE	%r8
	UNSAVE	%r9
	UNSAVE	%rbp
	UNSAVE	%r11
	UNSAVE	%rcx
	UNSAVE	%rax /* GUARD(hook_rax, lea 8(%rsp), %rsp) */
	popfq
	.cfi_adjust_cfa_offset -8
	.endm

	.macro HOOK_LEAVE
	HOOK_RESTORE
	ret
	.cfi_endproc
	.endm

	.macro HOOK_CALL fn
	and	$-16, %rsp
	cld
	call	\fn
	.endm

	.text
	.globl	uft_asm_hook_syscall_pre, uft_asm_hook_syscall_post, uft_asm_hook_unwind, uft_asm_hook_rbrk
	.globl	uft_asm_hook_find_fde
	.hidden	uft_asm_hook_syscall_pre, uft_asm_hook_syscall_post, uft_asm_hook_unwind, uft_asm_hook_rbrk
	.hidden	uft_asm_hook_find_fde

/*
 * eax = system call number, rdi rsi rdx r10 r8 r9 = arguments. trace/hooks/hook.c has the distance from them up to the
 * hooked code's stack pointer: HOOK_FRAME_BYTES = 11 words here, the return address, the 128 bytes that the stub
 * skipped.
 */
	.type	uft_asm_hook_syscall_pre, @function
uft_asm_hook_syscall_pre:
	HOOK_ENTER
	mov	%eax, %edi
	mov	%rsp, %rsi
	HOOK_CALL trace_hook_syscall_pre
	or	%rax, 80(%rbp)		/* into the carry flag, which some stubs test */
	HOOK_LEAVE

/* rax = result, the arguments where they were. Only the exec hooks have this one: an exec returns only if it failed. */
	.type	uft_asm_hook_syscall_post, @function
uft_asm_hook_syscall_post:
	HOOK_ENTER
	mov	$59, %edi
	mov	%rax, %rsi
	mov	%rsp, %rdx
	HOOK_CALL trace_hook_syscall_post
	HOOK_LEAVE

/* rax = result, in the process that forked and in its child. */
	.globl	uft_asm_hook_fork_post
	.hidden	uft_asm_hook_fork_post
	.type	uft_asm_hook_fork_post, @function
uft_asm_hook_fork_post:
	HOOK_ENTER
	mov	%rax, %rdi
	HOOK_CALL trace_hook_fork_post
	HOOK_LEAVE

/* A stub that was jumped to calls this first: above the return address here lies the unwinder's own. */
	.type	uft_asm_hook_unwind, @function
uft_asm_hook_unwind:
	HOOK_ENTER
	lea	88+8(%rsp), %rdi
	xor	%esi, %esi
	HOOK_CALL trace_hook_unwind
	HOOK_LEAVE

/*
 * _Unwind_Find_FDE(pc, bases). For a pc in the runtime's memory it answers in place of libgcc, and returns to the
 * caller of _Unwind_Find_FDE.
 */
	.type	uft_asm_hook_find_fde, @function
uft_asm_hook_find_fde:
	HOOK_ENTER
	HOOK_CALL frames_find_fde
	test	%rax, %rax
	jz	1f
	mov	%rax, 72(%rbp)
	.cfi_remember_state
	HOOK_RESTORE
	lea	8(%rsp), %rsp
	.cfi_adjust_cfa_offset -8
	ret
1:	.cfi_restore_state
	HOOK_LEAVE

	.type	uft_asm_hook_rbrk, @function
uft_asm_hook_rbrk:
	HOOK_ENTER
	HOOK_CALL trace_hook_rbrk
	HOOK_LEAVE

	.section .note.GNU-stack, "", @progbits
