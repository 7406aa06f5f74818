/* SPDX-License-Identifier: MIT */
/* ret.S - an entry that is called and does nothing: what a ret-only __fentry__ costs */
	.text
	.globl	__fentry__
	.type	__fentry__, @function
__fentry__:
	ret
	.size	__fentry__, . - __fentry__
	.section .note.GNU-stack, "", @progbits
