/* SPDX-License-Identifier: MIT */
/*
 * hook.S - from the loader's call of r_brk, which leads here instead (patch/word_hook.c), into C and back, arm64
 *
 * The function that it called is empty, and a compiler that knows it may keep something in any register (-fipa-ra): all are as they
 * were, flags too. Vector state is not touched: the runtime is built for general registers only.
 *
 *	sp + 0		x29 x30		frame record: the loader's call
 *	sp + 16		x0 - x18, flags
 */
#define SAVE_BYTES	176

	.macro ALL_REGS op, op1
	\op	x0, x1, [sp, #16]
	\op	x2, x3, [sp, #32]
	\op	x4, x5, [sp, #48]
	\op	x6, x7, [sp, #64]
	\op	x8, x9, [sp, #80]
	\op	x10, x11, [sp, #96]
	\op	x12, x13, [sp, #112]
	\op	x14, x15, [sp, #128]
	\op	x16, x17, [sp, #144]
	\op1	x18, [sp, #160]
	.endm

	.text
	.globl	uft_asm_hook_rbrk
	.hidden	uft_asm_hook_rbrk
	.type	uft_asm_hook_rbrk, %function
uft_asm_hook_rbrk:
	.cfi_startproc
	stp	x29, x30, [sp, #-SAVE_BYTES]!
	.cfi_adjust_cfa_offset SAVE_BYTES
	.cfi_rel_offset x29, 0
	.cfi_rel_offset x30, 8
	ALL_REGS stp, str
	mrs	x0, nzcv
	str	x0, [sp, #168]
	mov	x29, sp
	bl	trace_hook_rbrk
	ldr	x0, [sp, #168]
	msr	nzcv, x0
	ALL_REGS ldp, ldr
	ldp	x29, x30, [sp], #SAVE_BYTES
	.cfi_adjust_cfa_offset -SAVE_BYTES
	.cfi_restore x29
	.cfi_restore x30
	ret
	.cfi_endproc
	.size	uft_asm_hook_rbrk, . - uft_asm_hook_rbrk

	.section .note.GNU-stack, "", %progbits
