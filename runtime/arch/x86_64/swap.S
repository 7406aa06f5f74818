/* SPDX-License-Identifier: MIT */
/* swap.S - a store that may fault, and the handler that lets it, x86_64 */
	.text

/*
 * int uft_asm_swap8(uint64_t *at, uint64_t from, uint64_t to) - compare-and-swap of memory that may not be there: 0 then
 *
 * uft_asm_on_fault is the handler (SA_SIGINFO: rdx = ucontext) of the task that calls it, in whose ucontext rip stands at
 * 168. A fault elsewhere ends the task; a signal that somebody sent (si_code <= 0) is nothing.
 */
	.globl	uft_asm_swap8, uft_asm_on_fault, uft_asm_sigreturn
	.hidden	uft_asm_swap8, uft_asm_on_fault, uft_asm_sigreturn
	.type	uft_asm_swap8, @function
uft_asm_swap8:
	.cfi_startproc
	mov	%rsi, %rax
.Lswap:
	lock cmpxchg %rdx, (%rdi)
	sete	%al
	movzbl	%al, %eax
	ret
.Lswap_fault:
	xor	%eax, %eax
	ret
	.cfi_endproc
	.size	uft_asm_swap8, . - uft_asm_swap8

	.type	uft_asm_on_fault, @function
uft_asm_on_fault:
	.cfi_startproc
	cmpl	$0, 8(%rsi)
	jle	1f
	lea	.Lswap(%rip), %rax
	cmp	%rax, 168(%rdx)
	jne	2f
	lea	.Lswap_fault(%rip), %rax
	mov	%rax, 168(%rdx)
1:	ret
2:	mov	$139, %edi
	mov	$60, %eax		/* exit */
	syscall
	ud2
	.cfi_endproc
	.size	uft_asm_on_fault, . - uft_asm_on_fault

	.type	uft_asm_sigreturn, @function
uft_asm_sigreturn:
	mov	$15, %eax
	syscall
	ud2
	.size	uft_asm_sigreturn, . - uft_asm_sigreturn

	.section .note.GNU-stack, "", @progbits
