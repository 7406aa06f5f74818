/* SPDX-License-Identifier: MIT */
/* function.h - for assembly: a function of the runtime, between FUNCTION name and FUNCTION_END name */
	.macro FUNCTION name
	.globl	\name
	.hidden	\name
	.type	\name, %function
\name:
	.cfi_startproc
	.endm

	.macro FUNCTION_END name
	.cfi_endproc
	.size	\name, . - \name
	.endm
