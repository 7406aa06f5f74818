/* SPDX-License-Identifier: MIT */
/*
 * guess.S - prepared functions, 7 bytes apart and so in every place of a line: KNOWN with unwind entries, then UNKNOWN without
 *
 * What the unwind table has room for is what a start expects (command_foretell()); there are more than a quarter more here.
 */
#define KNOWN	17000
#define UNKNOWN	8000

	.text
	.type functions, @function
functions:
.macro prepared count, unwind
	.rept \count
	.if \unwind
	.cfi_startproc
	.endif
	.byte 0x90, 0x90, 0x90, 0x90, 0x90
	ret
	.byte 0xcc
	.pushsection __patchable_function_entries, "awo", @progbits, .text
	.quad functions + at
	.popsection
	.set at, at + 7
	.if \unwind
	.cfi_endproc
	.endif
	.endr
.endm
	.set at, 0
	prepared KNOWN, 1
	prepared UNKNOWN, 0
	.size functions, . - functions

	.globl first, nfunctions
	.section .data.rel.ro, "aw", @progbits
	.balign 8
first:	.quad functions
nfunctions: .long KNOWN + UNKNOWN
	.section .note.GNU-stack, "", @progbits
