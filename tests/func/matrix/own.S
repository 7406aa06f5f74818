/* SPDX-License-Identifier: MIT */
/* own.S - a program's own mcount and __fentry__: each counts its calls and keeps every register */
	.text

.macro counter name
	.globl \name
	.type \name, @function
\name:
	.cfi_startproc
	endbr64
	incq own_mcount_calls(%rip)
	ret
	.cfi_endproc
	.size \name, . - \name
.endm

	counter mcount
	counter __fentry__

	.bss
	.globl own_mcount_calls
	.type own_mcount_calls, @object
	.size own_mcount_calls, 8
own_mcount_calls:
	.zero 8
	.section .note.GNU-stack, "", @progbits
