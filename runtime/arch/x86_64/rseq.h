/* SPDX-License-Identifier: MIT */
/*
 * rseq.h - macros for rseq critical sections and register saving in our .S files (assembler only)
 */
#ifndef UFT_X86_64_RSEQ_H
#define UFT_X86_64_RSEQ_H

#define UFT_ASM_REC_CONTEXT	1	/* enum uft_rec_kind; asserted in ring.c */
#define UFT_ASM_REC_FUNC	2
#define UFT_ASM_REC_ENTRY	3
#define UFT_ASM_REC_EXIT	4
#define UFT_ASM_REC_LOST	8

	/* Descriptor of a section (struct rseq_cs); the only relocations are relative ones. */
	.macro RSEQ_CS_DESC name, start, commit, abort
	.pushsection .data.rel.ro, "aw", @progbits
	.balign	32
\name:
	.long	0, 0
	.quad	\start, \commit - \start, \abort
	.popsection
	.endm

	/* The section begins at the instruction after this one. */
	.macro RSEQ_ARM desc, area, scratch
	lea	\desc(%rip), \scratch
	mov	\scratch, %fs:RSEQ_CS(\area)
	.endm

	/* An abort address and the signature that the kernel looks for before it (an undefined ud1 operand). */
	.macro RSEQ_ABORT name
	.byte	0x0f, 0xb9, 0x3d
	.long	UFT_RSEQ_SIG
\name:
	.endm

	.macro PUSH reg
	push	\reg
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset \reg, 0
	.endm

	.macro POP reg
	pop	\reg
	.cfi_adjust_cfa_offset -8
	.cfi_restore \reg
	.endm

#endif
