/* SPDX-License-Identifier: MIT */
/* swap.S - a store that may fault, and the handler that lets it, arm64 */
	.text

/*
 * int uft_asm_swap8(uint64_t *at, uint64_t from, uint64_t to) - compare-and-swap of memory that may not be there: 0 then
 *
 * uft_asm_on_fault is the handler (SA_SIGINFO: x1 = siginfo, x2 = ucontext) of the task that calls it, in whose ucontext
 * pc stands at 440. A fault elsewhere ends the task; a signal that somebody sent (si_code <= 0) is nothing.
 */
	.globl	uft_asm_swap8, uft_asm_on_fault, uft_asm_sigreturn
	.hidden	uft_asm_swap8, uft_asm_on_fault, uft_asm_sigreturn
	.type	uft_asm_swap8, %function
uft_asm_swap8:
	.cfi_startproc
	mov	x3, x0
.Lswap:
	ldaxr	x4, [x3]
	cmp	x4, x1
	b.ne	.Lswap_fault
	stlxr	w5, x2, [x3]
.Lswap_end:
	cbnz	w5, .Lswap
	mov	w0, #1
	ret
.Lswap_fault:
	clrex
	mov	w0, #0
	ret
	.cfi_endproc
	.size	uft_asm_swap8, . - uft_asm_swap8

	.type	uft_asm_on_fault, %function
uft_asm_on_fault:
	.cfi_startproc
	ldr	w3, [x1, #8]
	cmp	w3, #0
	b.le	1f
	ldr	x3, [x2, #440]
	adr	x4, .Lswap
	cmp	x3, x4
	b.lo	2f
	adr	x4, .Lswap_end
	cmp	x3, x4
	b.hs	2f
	adr	x4, .Lswap_fault
	str	x4, [x2, #440]
1:	ret
2:	mov	x0, #139
	mov	x8, #93			/* exit */
	svc	#0
	brk	#0
	.cfi_endproc
	.size	uft_asm_on_fault, . - uft_asm_on_fault

	.type	uft_asm_sigreturn, %function
uft_asm_sigreturn:
	mov	x8, #139		/* rt_sigreturn */
	svc	#0
	brk	#0
	.size	uft_asm_sigreturn, . - uft_asm_sigreturn

	.section .note.GNU-stack, "", %progbits
