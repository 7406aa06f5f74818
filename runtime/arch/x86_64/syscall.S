/* SPDX-License-Identifier: MIT */
/* syscall.S - code that makes system calls by itself, beside entry.S: for hosts that have them, x86_64 */
#include "runtime/arch/function.h"
	.text

	.globl	uft_asm_sigreturn, uft_asm_hook_syscall_any
	.hidden	uft_asm_sigreturn, uft_asm_hook_syscall_any

/*
 * uft_asm_on_fault is the handler (SA_SIGINFO: rdx = ucontext) of the task that calls uft_asm_swap8; rip is at 168 in
 * its ucontext. A fault elsewhere ends the task; a signal that was sent (si_code <= 0) is ignored.
 */
	FUNCTION uft_asm_on_fault
	cmpl	$0, 8(%rsi)
	jle	1f
	lea	uft_asm_swap_begin(%rip), %rax
	cmp	%rax, 168(%rdx)
	jne	2f
	lea	uft_asm_swap_fault(%rip), %rax
	mov	%rax, 168(%rdx)
1:	ret
2:	mov	$139, %edi
	mov	$60, %eax		/* exit */
	syscall
	ud2
	FUNCTION_END uft_asm_on_fault

	.type	uft_asm_sigreturn, @function
uft_asm_sigreturn:
	mov	$15, %eax
	syscall
	ud2
	.size	uft_asm_sigreturn, . - uft_asm_sigreturn

/*
 * A call of any number, in eax; the runtime needs few of them. An exec is made here, and nowhere else, so that a
 * failure is known. A fork is made here if trace/hooks/hook.c says so (carry set): both processes go on here, on stacks
 * of their own. For the other calls the stack is as in uft_asm_hook_syscall_pre, as trace/hooks/hook.c expects it.
 */
	.type	uft_asm_hook_syscall_any, @function
uft_asm_hook_syscall_any:
	.cfi_startproc
	lea	-56(%rax), %ecx			/* clone, fork, vfork, execve */
	cmp	$2, %ecx
	jb	3f
	je	1f
	cmp	$3, %ecx
	je	2f /* GUARD(syscall_execve) */
	cmp	$322, %eax			/* execveat */
	je	2f
	cmp	$151, %eax /* GUARD(syscall_mlockall, cmp $-1, %eax) */	/* mlockall */
	je	1f
	cmp	$157, %eax			/* prctl */
	je	1f
	cmp	$97, %eax			/* getrlimit, setrlimit, prlimit64: pre may have made the call */
	je	1f
	cmp	$160, %eax
	je	1f
	cmp	$302, %eax
	je	1f
	cmp	$317, %eax			/* seccomp */
	je	1f
	cmp	$435, %eax			/* clone3 */
	je	3f
	clc
	ret
1:	clc					/* the other function keeps it */
	jmp	uft_asm_hook_syscall_pre
2:	call	uft_asm_hook_syscall_pre
	syscall
	call	uft_asm_hook_syscall_post
	stc
	ret
3:	clc
	call	uft_asm_hook_syscall_pre
	jnc	4f
	syscall
	call	uft_asm_hook_fork_post
	stc
4:	ret
	.cfi_endproc

	.section .note.GNU-stack, "", @progbits
