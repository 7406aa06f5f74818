/* SPDX-License-Identifier: MIT */
/* swap.S - a store that may fault, riscv64 */
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
	mv	a3, a0
uft_asm_swap_begin:
	lr.d.aq	a4, (a3)
	bne	a4, a1, uft_asm_swap_fault
	sc.d.rl	a5, a2, (a3)
uft_asm_swap_end:
	bnez	a5, uft_asm_swap_begin
	li	a0, 1
	ret
uft_asm_swap_fault:
	li	a0, 0
	ret
	FUNCTION_END uft_asm_swap8

	.section .note.GNU-stack, "", %progbits
