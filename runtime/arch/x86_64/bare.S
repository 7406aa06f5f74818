/* SPDX-License-Identifier: MIT */
/* bare.S - in place of syscall.S on a host that has no system calls, x86_64 */
#include "runtime/arch/function.h"
	.text
/* Whatever such an instruction does there, the program does it itself. */
	FUNCTION uft_asm_hook_syscall_any
	clc
	ret
	FUNCTION_END uft_asm_hook_syscall_any

	.section .note.GNU-stack, "", @progbits
