/* SPDX-License-Identifier: MIT */
/*
 * hook.S - from hooks (patch/words/hook.c) into C and back, riscv64
 *
 * The loader's call of r_brk leads here instead. The function that it called is empty, and a compiler that knows it may
 * keep values in any register (-fipa-ra): so all registers are as they were. The compiler does not use floating-point
 * registers in the runtime (tests/arch/words). The entry of an unwinder's function leads here through its stub, which
 * t6 names; t5 and t6 are free there.
 *
 *	sp + 0		a0 - a7, t0 - t6
 *	sp + 128	s0, ra		frame record: the loader's call, or the unwinder's caller
 */
#include "runtime/arch/function.h"
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

	.macro HOOK name
	FUNCTION \name
	addi	sp, sp, -SAVE_BYTES
	.cfi_adjust_cfa_offset SAVE_BYTES
	ALL_REGS sd
	.cfi_rel_offset s0, 128
	.cfi_rel_offset ra, 136
	addi	s0, sp, SAVE_BYTES
	.endm

	.macro HOOK_END
	ALL_REGS ld
	addi	sp, sp, SAVE_BYTES
	.cfi_adjust_cfa_offset -SAVE_BYTES
	.cfi_restore s0
	.cfi_restore ra
	.endm

	.text
	HOOK	uft_asm_hook_rbrk
	call	trace_hook_rbrk
	HOOK_END
	ret
	FUNCTION_END uft_asm_hook_rbrk

	/* C may change the return address where it is saved. */
	HOOK	uft_asm_hook_unwind
	addi	a0, sp, SAVE_BYTES
	addi	a1, sp, 128
	call	trace_hook_unwind
	HOOK_END
	jr	t6
	FUNCTION_END uft_asm_hook_unwind

	/*
	 * From the stub of a fork, a7 the call's number. Returns to ra or, if the call was made here, ARCH_FORK_MADE
	 * bytes further (patch.h). The child has a copy of the stack.
	 */
	HOOK	uft_asm_hook_fork
	mv	a0, a7
	mv	a1, sp
	call	trace_hook_fork_pre
	beqz	a0, 1f
	mv	a0, sp
	call	uft_asm_saved_call
	sd	a0, 0(sp)
	call	trace_hook_fork_post
	ld	t0, 136(sp)
	addi	t0, t0, 24
	sd	t0, 136(sp)
1:	HOOK_END
	ret
	FUNCTION_END uft_asm_hook_fork

	.section .note.GNU-stack, "", %progbits
