/* SPDX-License-Identifier: MIT */
/*
 * punned_jump.S - functions for punned_jump.sh: something leads behind the first byte, or the second to fourth, of each, so that the rest of a jump there is
 * what follows; no padding is near. one() to four() return their argument plus their number of bytes that may change.
 */
	.text
.macro func name
	.globl	\name
	.type	\name, @function
\name:
	.cfi_startproc
.endm
.macro end name
	.cfi_endproc
	.size	\name, . - \name
.endm
/* add $imm, %eax, whose bytes are a displacement 05 \a \b \c behind one byte */
.macro displacement a, b, c
	.byte	0x05, \a, \b, \c, 0
.endm

	.p2align 4
func far_before			/* what lies before it is out of reach */
	.fill	80, 2, 0xc031		/* xor %eax, %eax */
	ret
end far_before
func one			/* jumps by 0xda101005 */
	cld
1:	displacement 0x10, 0x10, 0xda
	lea	1(%rdi), %eax
	dec	%sil
	jnz	1b
	ret
end one
func one_more			/* leads to the same page, mostly */
	cld
1:	displacement 0x10, 0x10, 0xda
	lea	1(%rdi), %eax
	dec	%sil
	jnz	1b
	ret
end one_more
func one_taken			/* jumps by 0xd9101005 */
	cld
1:	displacement 0x10, 0x10, 0xd9
	lea	1(%rdi), %eax
	dec	%sil
	jnz	1b
	ret
end one_taken
func one_inside			/* by 5: into the program */
	cld
1:	displacement 0, 0, 0
	lea	1(%rdi), %eax
	dec	%sil
	jnz	1b
	ret
end one_inside
func two
	push	%r12
	.cfi_def_cfa_offset 16
1:	mov	%rdi, %r8
	dec	%sil
	jnz	1b
	lea	2(%r8), %eax
	pop	%r12
	.cfi_def_cfa_offset 8
	ret
end two
func three
	mov	%rdi, %rax
1:	mov	%rdi, %r8
	dec	%sil
	jnz	1b
	add	$3, %eax
	ret
end three
func four
	lea	4(%rdi), %rax
1:	mov	%rdi, %r8
	dec	%sil
	jnz	1b
	ret
end four
func far_behind
	.fill	80, 2, 0xc031		/* xor %eax, %eax */
	ret
end far_behind
	.section .note.GNU-stack, "", @progbits
