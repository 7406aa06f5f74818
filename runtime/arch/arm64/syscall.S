/* SPDX-License-Identifier: MIT */
/* syscall.S - code that makes system calls by itself, beside entry.S: for hosts that have them, arm64 */
#include "runtime/arch/function.h"
	.text

	.globl	uft_asm_sigreturn
	.hidden	uft_asm_sigreturn

/*
 * uft_asm_on_fault is the handler (SA_SIGINFO: x1 = siginfo, x2 = ucontext) of the task that calls uft_asm_swap8; pc is
 * at 440 in its ucontext. A fault elsewhere ends the task; a signal that was sent (si_code <= 0) is ignored.
 */
	FUNCTION uft_asm_on_fault
	ldr	w3, [x1, #8]
	cmp	w3, #0
	b.le	1f
	ldr	x3, [x2, #440]
	adr	x4, uft_asm_swap_begin
	cmp	x3, x4
	b.lo	2f
	adr	x4, uft_asm_swap_end
	cmp	x3, x4
	b.hs	2f
	adr	x4, uft_asm_swap_fault
	str	x4, [x2, #440]
1:	ret
2:	mov	x0, #139
	mov	x8, #93			/* exit */
	svc	#0
	brk	#0
	FUNCTION_END uft_asm_on_fault

	.type	uft_asm_sigreturn, %function
uft_asm_sigreturn:
	mov	x8, #139		/* rt_sigreturn */
	svc	#0
	brk	#0
	.size	uft_asm_sigreturn, . - uft_asm_sigreturn

/*
 * Makes the system call whose registers from x0 on are saved at x0; all other registers stay. It may return twice
 * (hook.S).
 */
	FUNCTION uft_asm_saved_call
	ldr	x8, [x0, #64]
	ldp	x4, x5, [x0, #32]
	ldp	x2, x3, [x0, #16]
	ldp	x0, x1, [x0]
	svc	#0
	ret
	FUNCTION_END uft_asm_saved_call

	.section .note.GNU-stack, "", %progbits
