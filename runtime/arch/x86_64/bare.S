/* SPDX-License-Identifier: MIT */
/* bare.S - replaces syscall.S on a host that has no system calls, x86_64 */
#include "runtime/arch/function.h"
	.text
/* The program executes such an instruction itself, whatever it does there. */
	FUNCTION uft_asm_hook_syscall_any
	clc
	ret
	FUNCTION_END uft_asm_hook_syscall_any

	.section .note.GNU-stack, "", @progbits
