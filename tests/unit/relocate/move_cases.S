/* SPDX-License-Identifier: MIT */
/*
 * move_cases.S - instructions, and what the assembler makes of them elsewhere
 *
 * Each case is a function's start and, under another address, the code that move_code() must write for that address,
 * byte for byte. The assembler resolves both, so the displacements are its own.
 */
	/* CASE name, bytes that change, result, bytes moved */
	.macro CASE name, change, status, nmoved
	.section .rodata.str, "aMS", @progbits, 1
9:	.asciz	"\name"
	.section .data.rel.ro.cases, "aw"
	.quad	9b, from_\name, to_\name, end_\name
	.long	\change, \status, \nmoved, 0	/* read, with the last instruction */
	.text
	.endm
	.macro FROM name
	.text
	.p2align 4
from_\name:
	.endm
	.macro TO name
	.section .text.copies, "ax"
	.p2align 5
to_\name:
	.endm
	.macro END name
end_\name:
	.text
	.endm

	.section .data.rel.ro.cases, "aw"
	.globl	move_cases, move_cases_end
move_cases:
	.data
	.p2align 3
datum:	.quad	7
	.text
	.globl	far
	.skip	300		/* short branches of a case do not reach the copies */
far:	ret

	CASE plain, 5, 0, 8
FROM plain
	push	%rbp
	mov	%rsp, %rbp
	sub	$16, %rsp
	ret
TO plain
	push	%rbp
	mov	%rsp, %rbp
	sub	$16, %rsp
	{disp32} jmp from_plain + 8
END plain

	CASE load, 5, 0, 7
FROM load
	mov	datum(%rip), %rax
	ret
TO load
	mov	datum(%rip), %rax
	{disp32} jmp from_load + 7
END load

	/* an immediate lies behind the displacement */
	CASE imm8, 5, 0, 8
FROM imm8
	cmpq	$7, datum(%rip)
	ret
TO imm8
	cmpq	$7, datum(%rip)
	{disp32} jmp from_imm8 + 8
END imm8

	CASE imm32, 5, 0, 10
FROM imm32
	movl	$0x12345678, datum(%rip)
	ret
TO imm32
	movl	$0x12345678, datum(%rip)
	{disp32} jmp from_imm32 + 10
END imm32

	CASE vex, 5, 0, 8
FROM vex
	vmovdqu	datum(%rip), %ymm1
	ret
TO vex
	vmovdqu	datum(%rip), %ymm1
	{disp32} jmp from_vex + 8
END vex

	CASE getpc, 5, 0, 7
FROM getpc
	lea	from_getpc+7(%rip), %rax
	ret
TO getpc
	lea	from_getpc+7(%rip), %rax
	{disp32} jmp from_getpc + 7
END getpc

	CASE jcc8, 5, 0, 6
FROM jcc8
	test	%edi, %edi
	je	1f
	inc	%edi
1:	ret
	.equ	jcc8_to, 1b
TO jcc8
	test	%edi, %edi
	{disp32} je jcc8_to
	inc	%edi
	{disp32} jmp from_jcc8 + 6
END jcc8

	CASE jcc32, 5, 0, 6
FROM jcc32
	{disp32} jg	far
	ret
TO jcc32
	{disp32} jg	far
	{disp32} jmp from_jcc32 + 6
END jcc32

	CASE two_jcc, 5, 0, 6
FROM two_jcc
	cmp	%esi, %edi
	jb	far_near
	ja	far_near
	ret
far_near: ret
TO two_jcc
	cmp	%esi, %edi
	{disp32} jb	far_near
	{disp32} ja	far_near
	{disp32} jmp from_two_jcc + 6
END two_jcc

	CASE jmp8, 5, 0, 2
FROM jmp8
	jmp	1f
	.skip	8, 0x90
1:	ret
	.equ	jmp8_to, 1b
TO jmp8
	{disp32} jmp	jmp8_to
END jmp8

	CASE jmp32, 5, 0, 5
FROM jmp32
	{disp32} jmp	far
TO jmp32
	{disp32} jmp	far
END jmp32

	CASE jmp_mem, 5, 0, 6
FROM jmp_mem
	jmp	*datum(%rip)
TO jmp_mem
	jmp	*datum(%rip)
END jmp_mem

	CASE jmp_reg, 5, 0, 3
FROM jmp_reg
	notrack jmp *%rax
TO jmp_reg
	notrack jmp *%rax
END jmp_reg

	CASE jrcxz, 5, 0, 5
FROM jrcxz
	xor	%eax, %eax
	jrcxz	1f
	nop
	nop
1:	ret
	.equ	jrcxz_to, 1b
TO jrcxz
	xor	%eax, %eax
	.byte	0xe3, 2		/* jrcxz 1f */
	.byte	0xeb, 5		/* jmp 2f */
	{disp32} jmp jrcxz_to	/* 1: */
	nop			/* 2: */
	{disp32} jmp from_jrcxz + 5
END jrcxz

	CASE jecxz, 5, 0, 5
FROM jecxz
	xor	%eax, %eax
	jecxz	1f
	nop
1:	ret
	.equ	jecxz_to, 1b
TO jecxz
	xor	%eax, %eax
	.byte	0x67, 0xe3, 2
	.byte	0xeb, 5
	{disp32} jmp jecxz_to
	{disp32} jmp from_jecxz + 5
END jecxz

	CASE loop, 5, 0, 5
FROM loop
	mov	%edi, %ecx
	nop
	loop	1f
1:	ret
	.equ	loop_to, 1b
TO loop
	mov	%edi, %ecx
	nop
	.byte	0xe2, 2
	.byte	0xeb, 5
	{disp32} jmp loop_to
	{disp32} jmp from_loop + 5
END loop

	CASE call, 5, 0, 9
FROM call
	sub	$8, %rsp
	call	far
	ret
TO call
	sub	$8, %rsp
	push	8f(%rip)
	{disp32} jmp far
8:	.quad	from_call + 9
END call

	CASE call_next, 5, 0, 5
FROM call_next
	call	1f
1:	pop	%rax
	.equ	call_next_to, 1b
TO call_next
	push	8f(%rip)
	{disp32} jmp call_next_to
8:	.quad	from_call_next + 5
END call_next

	CASE call_mem, 5, 0, 6
FROM call_mem
	call	*datum(%rip)
	ret
TO call_mem
	push	8f(%rip)
	jmp	*datum(%rip)
8:	.quad	from_call_mem + 6
END call_mem

	CASE call_sib, 5, 0, 7
FROM call_sib
	sub	$8, %rsp
	call	*(%rax,%rcx,8)
	ret
TO call_sib
	sub	$8, %rsp
	push	8f(%rip)
	jmp	*(%rax,%rcx,8)
8:	.quad	from_call_sib + 7
END call_sib

	CASE call_r12, 5, 0, 8
FROM call_r12
	sub	$8, %rsp
	call	*(%r12)
	ret
TO call_r12
	sub	$8, %rsp
	push	8f(%rip)
	jmp	*(%r12)
8:	.quad	from_call_r12 + 8
END call_r12

	/* two bytes change: the call returns behind them */
	CASE call_reg2, 2, 0, 2
FROM call_reg2
	call	*%rax
	ret
TO call_reg2
	push	8f(%rip)
	jmp	*%rax
8:	.quad	from_call_reg2 + 2
END call_reg2

	CASE short_form, 2, 0, 3
FROM short_form
	mov	%rdi, %rax
	ret
TO short_form
	mov	%rdi, %rax
	{disp32} jmp from_short_form + 3
END short_form

	CASE leaf, 5, 0, 3
FROM leaf
	xor	%eax, %eax
	ret
TO leaf
	xor	%eax, %eax
	ret
END leaf

	CASE rep_ret, 5, 0, 2
FROM rep_ret
	rep ret
TO rep_ret
	rep ret
END rep_ret

	/* What cannot move; the copy is empty. */
	.macro REFUSED name, status, insn:vararg
	CASE \name, 5, \status, 0
FROM \name
	\insn
	.skip	8, 0x90
TO \name
END \name
	.endm
#define ENOTSUP	95
#define EINVAL	22
	REFUSED call_reg, -ENOTSUP, call *%rax
	REFUSED call_rsp, -ENOTSUP, call *128(%rsp)
	REFUSED call_rsp_sib, -ENOTSUP, call *128(%rsp, %rcx)
	REFUSED syscall, -ENOTSUP, syscall
	REFUSED ud2, -ENOTSUP, ud2
	REFUSED int3, -ENOTSUP, int3
	REFUSED hlt, -ENOTSUP, hlt
	REFUSED xbegin, -ENOTSUP, xbegin far
	REFUSED xend, -ENOTSUP, xend
	REFUSED lcall, -ENOTSUP, lcall *(%rax)
	REFUSED jmp16, -ENOTSUP, .byte 0x66, 0xe9, 0, 0
	REFUSED eip, -ENOTSUP, mov datum(%eip), %eax
	REFUSED bad, -EINVAL, .byte 0x06, 0x06

	.section .data.rel.ro.cases, "aw"
move_cases_end:
	.section .note.GNU-stack, "", @progbits
