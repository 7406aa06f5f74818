/* SPDX-License-Identifier: MIT */
/*
 * floor.S - the hardware's floor of a timed function event: call; rdtsc; shl; or; ret and nothing else
 *
 * calls.c built with -pg -mfentry calls this at every entry. Its functions are called through the ABI (noipa),
 * where rax and rdx are dead at the entry of a function that takes one integer argument.
 */
	.text
	.globl	__fentry__
	.type	__fentry__, @function
__fentry__:
	rdtsc
	shl	$32, %rdx
	or	%rdx, %rax
	ret
	.size	__fentry__, . - __fentry__
	.section .note.GNU-stack, "", @progbits
