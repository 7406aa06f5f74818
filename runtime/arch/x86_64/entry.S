/* SPDX-License-Identifier: MIT */
/*
 * entry.S - where the session enters the blob, and the clone that makes the agent, x86_64
 *
 * uft_blob_start is jumped to by ptrace: no return address, any register, rsp 16-aligned below the program's stack.
 * It ends at the breakpoint that the session waits for; no thread goes on behind it.
 */
#include "runtime/agent/layout.h"
#include "runtime/arch/function.h"
	.text

	FUNCTION uft_blob_start
	.cfi_undefined %rip		/* the outermost frame */
	xor	%ebp, %ebp
	cld
	call	agent_boot
	int3
	ud2
	FUNCTION_END uft_blob_start

/*
 * Jumped to by ptrace with rax and the argument registers of clone(2). The thread that makes the call stops at its
 * exit, and the session puts it back to where it was, or it goes there by itself (control/ptrace/escape_code.c). Only
 * the new task goes on, on a stack of its own.
 */
	FUNCTION uft_blob_attach
	.cfi_undefined %rip
	syscall
	test	%rax, %rax
	jz	2f
	mov	uft_boot+BOOT_RESUME(%rip), %rax	/* the session was killed */
	test	%rax, %rax
	jz	1f
	jmp	*%rax
1:	pause
	jmp	1b
2:	xor	%ebp, %ebp
	cld
	call	agent_attach
	xor	%edi, %edi
	mov	$60, %eax		/* exit */
	syscall
	ud2
	FUNCTION_END uft_blob_attach

/*
 * Jumped to by ptrace, on the stack of an agent that does not exist. The session stops the thread at the exit of the
 * last system call and puts it back to where it was. If the session was killed, the thread goes there by itself:
 * uft_boot.back.
 */
	FUNCTION uft_blob_rejoin
	.cfi_undefined %rip
	xor	%ebp, %ebp
	cld
	call	agent_rejoin
	movl	$0, uft_boot+BOOT_IS_REJOINING(%rip)
	mov	$14, %eax			/* rt_sigprocmask that changes nothing */
	mov	$0, %edi
	mov	$0, %esi
	mov	$0, %edx
	mov	$8, %r10d
	syscall
	pushq	uft_boot+BOOT_BACK_FLAGS(%rip)		/* flags; the following instructions leave them alone */
	popfq
	mov	uft_boot+BOOT_BACK+8*4(%rip), %rsp
	mov	$14, %eax
	mov	$2, %edi			/* SIG_SETMASK */
	lea	uft_boot+BOOT_BACK_MASK(%rip), %rsi
	syscall
	mov	uft_boot+BOOT_BACK+8*0(%rip), %rax
	mov	uft_boot+BOOT_BACK+8*1(%rip), %rcx
	mov	uft_boot+BOOT_BACK+8*2(%rip), %rdx
	mov	uft_boot+BOOT_BACK+8*3(%rip), %rbx
	mov	uft_boot+BOOT_BACK+8*5(%rip), %rbp
	mov	uft_boot+BOOT_BACK+8*6(%rip), %rsi
	mov	uft_boot+BOOT_BACK+8*7(%rip), %rdi
	mov	uft_boot+BOOT_BACK+8*8(%rip), %r8
	mov	uft_boot+BOOT_BACK+8*9(%rip), %r9
	mov	uft_boot+BOOT_BACK+8*10(%rip), %r10
	mov	uft_boot+BOOT_BACK+8*11(%rip), %r11
	mov	uft_boot+BOOT_BACK+8*12(%rip), %r12
	mov	uft_boot+BOOT_BACK+8*13(%rip), %r13
	mov	uft_boot+BOOT_BACK+8*14(%rip), %r14
	mov	uft_boot+BOOT_BACK+8*15(%rip), %r15
	jmp	*uft_boot+BOOT_BACK_PC(%rip)
	FUNCTION_END uft_blob_rejoin

/*
 * long uft_asm_clone(unsigned long flags, void *stack_top, void (*fn)(void))
 * Returns the child's tid or -errno; the child calls fn on the new stack and ends when it returns.
 *
 *	stack_top, 16-aligned: nothing is on it at the start; fn is kept in r12, which the child inherits.
 */
	FUNCTION uft_asm_clone
	push	%r12
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset %r12, 0
	mov	%rdx, %r12
	xor	%edx, %edx		/* parent_tid */
	xor	%r10d, %r10d		/* child_tid */
	xor	%r8d, %r8d		/* tls: the caller's stays in %fs, and the child never uses it */
	mov	$56, %eax		/* clone */
	syscall
	test	%rax, %rax
	jz	1f
	pop	%r12
	.cfi_adjust_cfa_offset -8
	.cfi_restore %r12
	ret
1:
	.cfi_undefined %rip
	xor	%ebp, %ebp
	call	*%r12
	xor	%edi, %edi
	mov	$60, %eax		/* exit */
	syscall
	ud2
	FUNCTION_END uft_asm_clone

	.section .note.GNU-stack, "", @progbits
