/* SPDX-License-Identifier: MIT */
/* bare.S - in place of syscall.S on a host that has no system calls, x86_64 */
	.text
	.globl	uft_asm_hook_syscall_any
	.hidden	uft_asm_hook_syscall_any
/* Whatever such an instruction does there, the program does it itself. */
	.type	uft_asm_hook_syscall_any, @function
uft_asm_hook_syscall_any:
	.cfi_startproc
	clc
	ret
	.cfi_endproc
	.size	uft_asm_hook_syscall_any, . - uft_asm_hook_syscall_any

	.section .note.GNU-stack, "", @progbits
