/* SPDX-License-Identifier: MIT */
/*
 * before.S - functions with all of their 16 nops before the entry, as by -fpatchable-function-entry=16,16: a start expects as many
 * prepared ones (command_foretell()), but is told of plain code, under other numbers
 */
#define N	17000

	.text
	.type functions, @function
	.set at, 0
functions:
	.rept N
	.quad 0x9090909090909090, 0x9090909090909090
	.cfi_startproc
	lea 1(%rdi), %rax
	add $3, %rax
	ret
	.cfi_endproc
	.byte 0xcc,0xcc,0xcc,0xcc,0xcc,0xcc,0xcc
	.pushsection __patchable_function_entries, "awo", @progbits, .text
	.quad functions + at
	.popsection
	.set at, at + 32
	.endr
	.size functions, . - functions

	.globl first, nfunctions
	.section .data.rel.ro, "aw", @progbits
	.balign 8
first:	.quad functions+16
nfunctions: .long N
	.section .note.GNU-stack, "", @progbits
