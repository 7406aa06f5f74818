/* SPDX-License-Identifier: MIT */
/*
 * hook.S - from hooks (patch/words/hook.c) into C and back, arm64
 *
 * The loader's call of r_brk leads here instead. The function that it called is empty, and a compiler that knows it may
 * keep values in any register (-fipa-ra): so all registers are as they were, flags too. Vector state is not touched:
 * the runtime is built for general registers only. The entry of an unwinder's function leads here through its stub,
 * which x17 names; x16 and x17 are free there.
 *
 *	sp + 0		x29 x30		frame record: the loader's call, or the unwinder's caller
 *	sp + 16		x0 - x18, flags
 */
#include "runtime/arch/function.h"
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

	.macro HOOK name
	FUNCTION \name
	stp	x29, x30, [sp, #-SAVE_BYTES]!
	.cfi_adjust_cfa_offset SAVE_BYTES
	.cfi_rel_offset x29, 0
	.cfi_rel_offset x30, 8
	ALL_REGS stp, str
	mrs	x0, nzcv
	str	x0, [sp, #168]
	mov	x29, sp
	.endm

	.macro HOOK_END
	ldr	x0, [sp, #168]
	msr	nzcv, x0
	ALL_REGS ldp, ldr
	ldp	x29, x30, [sp], #SAVE_BYTES
	.cfi_adjust_cfa_offset -SAVE_BYTES
	.cfi_restore x29
	.cfi_restore x30
	.endm

	.text
	HOOK	uft_asm_hook_rbrk
	bl	trace_hook_rbrk
	HOOK_END
	ret
	FUNCTION_END uft_asm_hook_rbrk

	/* C may change the return address in the frame record. */
	HOOK	uft_asm_hook_unwind
	add	x0, sp, #SAVE_BYTES
	mov	x1, sp
	bl	trace_hook_unwind
	HOOK_END
	br	x17
	FUNCTION_END uft_asm_hook_unwind

	/*
	 * From the stub of a fork, x8 the call's number. Returns to x30 or, if the call was made here, ARCH_FORK_MADE
	 * bytes further (patch.h). The child has a copy of the stack.
	 */
	HOOK	uft_asm_hook_fork
	mov	w0, w8
	add	x1, sp, #16
	bl	trace_hook_fork_pre
	cbz	w0, 1f
	add	x0, sp, #16
	bl	uft_asm_saved_call
	str	x0, [sp, #16]
	bl	trace_hook_fork_post
	ldr	x9, [sp, #8]
	add	x9, x9, #12
	str	x9, [sp, #8]
1:	HOOK_END
	ret
	FUNCTION_END uft_asm_hook_fork

	.section .note.GNU-stack, "", %progbits
