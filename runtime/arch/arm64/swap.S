/* SPDX-License-Identifier: MIT */
/* swap.S - a store that may fault, arm64 */
#include "runtime/arch/function.h"
	.text

/*
 * int uft_asm_swap8(uint64_t *at, uint64_t from, uint64_t to) - compare-and-swap of memory that may not be mapped: then
 * 0
 *
 * The handler of the fault continues it at uft_asm_swap_fault: where there are signals, uft_asm_on_fault (syscall.S).
 */
	.globl	uft_asm_swap_begin, uft_asm_swap_end, uft_asm_swap_fault
	.hidden	uft_asm_swap_begin, uft_asm_swap_end, uft_asm_swap_fault
	FUNCTION uft_asm_swap8
	mov	x3, x0
uft_asm_swap_begin:
	ldaxr	x4, [x3]
	cmp	x4, x1
	b.ne	uft_asm_swap_fault
	stlxr	w5, x2, [x3]
uft_asm_swap_end:
	cbnz	w5, uft_asm_swap_begin
	mov	w0, #1
	ret
uft_asm_swap_fault:
	clrex
	mov	w0, #0
	ret
	FUNCTION_END uft_asm_swap8

	.section .note.GNU-stack, "", %progbits
