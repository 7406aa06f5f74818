/* SPDX-License-Identifier: MIT */
/* swap.S - a store that may fault, and the handler that lets it, riscv64 */
	.text

/*
 * int uft_asm_swap8(uint64_t *at, uint64_t from, uint64_t to) - compare-and-swap of memory that may not be there: 0 then
 *
 * uft_asm_on_fault is the handler (SA_SIGINFO: a1 = siginfo, a2 = ucontext) of the task that calls it, in whose ucontext
 * pc stands at 176. A fault elsewhere ends the task; a signal that somebody sent (si_code <= 0) is nothing.
 */
	.globl	uft_asm_swap8, uft_asm_on_fault, uft_asm_sigreturn
	.hidden	uft_asm_swap8, uft_asm_on_fault, uft_asm_sigreturn
	.type	uft_asm_swap8, %function
uft_asm_swap8:
	.cfi_startproc
	mv	a3, a0
.Lswap:
	lr.d.aq	a4, (a3)
	bne	a4, a1, .Lswap_fault
	sc.d.rl	a5, a2, (a3)
.Lswap_end:
	bnez	a5, .Lswap
	li	a0, 1
	ret
.Lswap_fault:
	li	a0, 0
	ret
	.cfi_endproc
	.size	uft_asm_swap8, . - uft_asm_swap8

	.type	uft_asm_on_fault, %function
uft_asm_on_fault:
	.cfi_startproc
	lw	a3, 8(a1)
	blez	a3, 1f
	ld	a3, 176(a2)
	lla	a4, .Lswap
	bltu	a3, a4, 2f
	lla	a4, .Lswap_end
	bgeu	a3, a4, 2f
	lla	a4, .Lswap_fault
	sd	a4, 176(a2)
1:	ret
2:	li	a0, 139
	li	a7, 93			/* exit */
	ecall
	ebreak
	.cfi_endproc
	.size	uft_asm_on_fault, . - uft_asm_on_fault

/* Unused: the kernel brings its own (SA_RESTORER is unknown here). */
	.type	uft_asm_sigreturn, %function
uft_asm_sigreturn:
	li	a7, 139			/* rt_sigreturn */
	ecall
	ebreak
	.size	uft_asm_sigreturn, . - uft_asm_sigreturn

	.section .note.GNU-stack, "", %progbits
