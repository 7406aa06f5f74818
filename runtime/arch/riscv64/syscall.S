/* SPDX-License-Identifier: MIT */
/* syscall.S - code that makes system calls by itself, beside entry.S: for hosts that have them, riscv64 */
#include "runtime/arch/function.h"
	.text

	.globl	uft_asm_sigreturn
	.hidden	uft_asm_sigreturn

/*
 * uft_asm_on_fault is the handler (SA_SIGINFO: a1 = siginfo, a2 = ucontext) of the task that calls uft_asm_swap8; pc is
 * at 176 in its ucontext. A fault elsewhere ends the task; a signal that was sent (si_code <= 0) is ignored.
 */
	FUNCTION uft_asm_on_fault
	lw	a3, 8(a1)
	blez	a3, 1f
	ld	a3, 176(a2)
	lla	a4, uft_asm_swap_begin
	bltu	a3, a4, 2f
	lla	a4, uft_asm_swap_end
	bgeu	a3, a4, 2f
	lla	a4, uft_asm_swap_fault
	sd	a4, 176(a2)
1:	ret
2:	li	a0, 139
	li	a7, 93			/* exit */
	ecall
	ebreak
	FUNCTION_END uft_asm_on_fault

/* Unused: the kernel brings its own restorer (SA_RESTORER is unknown here). */
	.type	uft_asm_sigreturn, %function
uft_asm_sigreturn:
	li	a7, 139			/* rt_sigreturn */
	ecall
	ebreak
	.size	uft_asm_sigreturn, . - uft_asm_sigreturn

/*
 * Makes the system call whose registers from a0 on are saved at a0; all other registers stay. It may return twice
 * (hook.S).
 */
	FUNCTION uft_asm_saved_call
	ld	a7, 56(a0)
	ld	a5, 40(a0)
	ld	a4, 32(a0)
	ld	a3, 24(a0)
	ld	a2, 16(a0)
	ld	a1, 8(a0)
	ld	a0, 0(a0)
	ecall
	ret
	FUNCTION_END uft_asm_saved_call

	.section .note.GNU-stack, "", %progbits
