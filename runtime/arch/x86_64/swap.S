/* SPDX-License-Identifier: MIT */
/* swap.S - a store that may fault, x86_64 */
#include "runtime/arch/function.h"
	.text

/*
 * int uft_asm_swap8(uint64_t *at, uint64_t from, uint64_t to) - compare-and-swap of memory that may not be mapped: then
 * 0
 *
 * The handler of the fault continues it at uft_asm_swap_fault: where there are signals, uft_asm_on_fault (syscall.S).
 */
	.globl	uft_asm_swap_begin, uft_asm_swap_fault
	.hidden	uft_asm_swap_begin, uft_asm_swap_fault
	FUNCTION uft_asm_swap8
	mov	%rsi, %rax
uft_asm_swap_begin:
	lock cmpxchg %rdx, (%rdi)
	sete	%al
	movzbl	%al, %eax
	ret
uft_asm_swap_fault:
	xor	%eax, %eax
	ret
	FUNCTION_END uft_asm_swap8

	.section .note.GNU-stack, "", @progbits
