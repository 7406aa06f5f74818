/* SPDX-License-Identifier: MIT */
/* cases.S - encode.c's cases as the assembler writes them, 16 bytes each; branches go to address 0 */
	.macro PAD
	.balign 16, 0xcc
	.endm

	.text
origin:
	nop
	PAD
	xchg	%ax, %ax
	PAD
	nopl	(%rax)
	PAD
	.irp	n, 4, 5, 6, 7, 8, 9, 10
	.nops	\n
	PAD
	.endr
	.irp	n, 1, 2, 3, 4, 5		/* 11 to 15: more prefixes, as .p2align writes them */
	.rept	\n
	.byte	0x66
	.endr
	.nops	10
	PAD
	.endr

	.byte	0xe8				/* call origin, without a relocation */
	.long	origin - (. + 4)
	PAD
	.byte	0xe9
	.long	origin - (. + 4)
	PAD
	jmp	1f
	.skip	3, 0xcc
1:	PAD
	jmp	. - 5
	PAD
	call	origin
	PAD
	.byte	0x67
	call	origin
	PAD
	call	*origin(%rip)
	PAD
	jmp	*origin(%rip)
	PAD
	push	origin(%rip)
	PAD
	endbr64
	PAD
	mov	$0x12345678, %eax
	PAD
	syscall
	PAD
	push	%rax
	PAD
	ret
	PAD
	lea	-128(%rsp), %rsp
	PAD
	lea	128(%rsp), %rsp
	PAD
	lea	8(%rsp), %rsp
	PAD
	clc
	PAD
	jc	1f
	.skip	3, 0xcc
1:	PAD
