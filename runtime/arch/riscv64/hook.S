/* SPDX-License-Identifier: MIT */
/*
 * hook.S - from the loader's call of r_brk, which leads here instead (patch/word_hook.c), into C and back, riscv64
 *
 * The function that it called is empty, and a compiler that knows it may keep something in any register (-fipa-ra): all are as they
 * were. The compiler has no use for floating-point registers in the runtime (tests/arch/words).
 *
 *	sp + 0		a0 - a7, t0 - t6
 *	sp + 128	s0, ra		frame record: the loader's call
 */
#define SAVE_BYTES	144

	.macro ALL_REGS op
	\op	a0, 0(sp)
	\op	a1, 8(sp)
	\op	a2, 16(sp)
	\op	a3, 24(sp)
	\op	a4, 32(sp)
	\op	a5, 40(sp)
	\op	a6, 48(sp)
	\op	a7, 56(sp)
	\op	t0, 64(sp)
	\op	t1, 72(sp)
	\op	t2, 80(sp)
	\op	t3, 88(sp)
	\op	t4, 96(sp)
	\op	t5, 104(sp)
	\op	t6, 112(sp)
	\op	s0, 128(sp)
	\op	ra, 136(sp)
	.endm

	.text
	.globl	uft_asm_hook_rbrk
	.hidden	uft_asm_hook_rbrk
	.type	uft_asm_hook_rbrk, %function
uft_asm_hook_rbrk:
	.cfi_startproc
	addi	sp, sp, -SAVE_BYTES
	.cfi_adjust_cfa_offset SAVE_BYTES
	ALL_REGS sd
	.cfi_rel_offset s0, 128
	.cfi_rel_offset ra, 136
	addi	s0, sp, SAVE_BYTES
	call	trace_hook_rbrk
	ALL_REGS ld
	addi	sp, sp, SAVE_BYTES
	.cfi_adjust_cfa_offset -SAVE_BYTES
	.cfi_restore s0
	.cfi_restore ra
	ret
	.cfi_endproc
	.size	uft_asm_hook_rbrk, . - uft_asm_hook_rbrk

	.section .note.GNU-stack, "", %progbits
