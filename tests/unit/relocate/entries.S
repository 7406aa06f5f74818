/* SPDX-License-Identifier: MIT */
/*
 * entries.S - functions whose entries are hazards, as a library
 *
 * F name begins a function with unwind data, E ends it. What each must become is in plan_test.c, by name; those that
 * are called (long f(long, long)) return something that depends on both arguments.
 */
	.macro F name, align=16
	.text
	.balign	\align
	.globl	\name
	.type	\name, @function
\name:
	.cfi_startproc
	.endm
	.macro E name
	.cfi_endproc
	.size	\name, . - \name
	.endm

	.data
	.p2align 3
datum:	.quad	1234567
	.text

F frame
	endbr64
	push	%rbp
	.cfi_def_cfa_offset 16
	mov	%rsp, %rbp
	lea	(%rdi,%rsi,2), %rax
	pop	%rbp
	.cfi_def_cfa_offset 8
	ret
E frame

F load
	mov	datum(%rip), %rax
	add	%rdi, %rax
	xor	%rsi, %rax
	ret
E load

F jcc_first
	test	%rdi, %rdi
	jle	1f
	lea	(%rdi,%rsi), %rax
	ret
1:	lea	5(%rdi,%rsi,4), %rax
	ret
E jcc_first

F calls
	sub	$8, %rsp
	.cfi_def_cfa_offset 16
	call	load
	add	$8, %rsp
	.cfi_def_cfa_offset 8
	lea	1(%rax,%rdi), %rax
	ret
E calls

	/* what is called first sees its caller in here, not in a copy: returns the difference, 0 */
F calls_first
.Lcalls_first:
	call	return_address
	lea	.Lcalls_first+5(%rip), %rcx
	sub	%rcx, %rax
	add	%rdi, %rax
	ret
E calls_first

F return_address
	mov	(%rsp), %rax
	ret
E return_address

F tail
	jmp	load
E tail

F tail_short
	jmp	1f
	nop
1:	mov	%rdi, %rax
	add	%rsi, %rax
	ret
E tail_short

F tiny			/* two instructions, then padding */
	mov	%edi, %eax
	ret
E tiny

F one
	ret
E one

F runs_on		/* the next function is its second half */
	add	$3, %rdi
	nop
E runs_on
F second_half, 1
	lea	(%rdi,%rsi), %rax
	ret
E second_half

	/* 0 -> 3: a loop behind a first instruction of 3 bytes; the short form takes the padding */
F loop_inside
	mov	%rdi, %rax
1:	add	$3, %rax
	dec	%sil
	jne	1b
	ret
E loop_inside

	/* the same from far: another function jumps behind the first instruction */
F entered_far
	xor	%eax, %eax
entered_far_inside:
	lea	(%rax,%rdi), %rax
	ret
E entered_far
F enters_far
	mov	%rsi, %rax
	sub	$8, %rsp
	.cfi_def_cfa_offset 16
	add	$8, %rsp
	.cfi_def_cfa_offset 8
	.skip	200, 0x90
	{disp32} jmp entered_far_inside
E enters_far

	/* and where even the first byte's successor is entered: nothing can be done */
F entered_byte
	cld
1:	xor	%eax, %eax
	dec	%sil
	jne	1b
	mov	%rdi, %rax
	ret
E entered_byte

	/* a loop to the start itself */
F loop_start
	add	$7, %rdi
	dec	%sil
	jne	loop_start
	mov	%rdi, %rax
	ret
E loop_start

F loop_start_far
	add	$7, %rdi
	dec	%sil
	je	1f
	.skip	200, 0x90
	jmp	loop_start_far
1:	mov	%rdi, %rax
	ret
E loop_start_far

F loop_endbr		/* to the first byte that would change */
	endbr64
1:	add	$7, %rdi
	dec	%sil
	jne	1b
	mov	%rdi, %rax
	ret
E loop_endbr

	/* its cold part jumps back to the start */
F loop_cold
	add	$7, %rdi
	dec	%sil
	{disp32} jne loop_cold_part
	mov	%rdi, %rax
	ret
E loop_cold

F recursion		/* a call of itself is a call */
	sub	$8, %rsp
	.cfi_def_cfa_offset 16
	mov	%rdi, %rax
	dec	%sil
	jle	1f
	call	recursion
1:	inc	%rax
	add	$8, %rsp
	.cfi_def_cfa_offset 8
	ret
E recursion

	/* a jump table of 4-byte offsets leads to the second instruction */
F table
	mov	%rdi, %rax
table_1: add	$2, %rax
	ret
table_2: mov	%rsi, %rax
	ret
E table
F table_user
	lea	offsets(%rip), %rcx
	mov	%rdi, %rax
	and	$1, %edi
	movslq	(%rcx,%rdi,4), %rdx
	add	%rcx, %rdx
	jmp	*%rdx
E table_user

	/* a pointer in data does */
F pointed
	mov	%rdi, %rax
pointed_1: add	$2, %rax
	ret
E pointed

	/* an exception handler does */
F lands
	.cfi_lsda 0x1b, lsda
	mov	%rdi, %rax
lands_1: add	$2, %rax
	ret
E lands

	/* another symbol does */
F two_names
	mov	%rdi, %rax
	.globl	second_name
	.type	second_name, @function
second_name: add $2, %rax
	ret
E two_names

	/* no padding in reach: 600 bytes of functions without any around it */
F packed_1, 1
	xor	%eax, %eax
	.rept	150
	lea	(%rdi,%rsi,2), %rax
	.endr
	ret
E packed_1
	/* something leads behind the first instruction, of 2, 3 and 4 bytes, and in front of its second byte */
F pun_2, 1
	push	%r12
	.cfi_def_cfa_offset 16
1:	lea	(%rdi,%rsi,2), %rdi
	dec	%sil
	jne	1b
	mov	%rdi, %rax
	pop	%r12
	.cfi_def_cfa_offset 8
	ret
E pun_2
F pun_3, 1
	mov	%rdi, %rax
1:	lea	3(%rax,%rsi,2), %rax
	dec	%sil
	jne	1b
	ret
E pun_3
F pun_4, 1
	lea	7(%rdi), %rax
1:	lea	(%rax,%rsi,4), %rax
	dec	%sil
	jne	1b
	ret
E pun_4
F pun_prefix, 1
	.byte	0x3e
1:	lea	5(%rdi,%rsi,2), %rdi
	dec	%sil
	jne	1b
	mov	%rdi, %rax
	ret
E pun_prefix
	/* the same, but the jump could only lead into this file */
F pun_inside, 1
	cld
1:	mov	$0, %eax
	lea	(%rax,%rsi,2), %rdi
	dec	%sil
	jne	1b
	mov	%rdi, %rax
	ret
E pun_inside
F packed, 1
	mov	%edi, %eax
	ret
E packed
F packed_2, 1
	xor	%eax, %eax
	.rept	150
	lea	(%rdi,%rsi,4), %rax
	.endr
	ret
E packed_2

F call_reg		/* would return into what changes; 2 bytes do */
	call	*%rdx
	ret
	nop
	nop
	ret
E call_reg

F traps
	ud2
	.skip	8, 0x90
E traps

F makes_call
	xor	%eax, %eax
	syscall
	ret
E makes_call

	/* bytes that are no instruction where code should be; longer than its unwind entry */
F data
	.byte	0x06, 0x06, 0x06, 0x06, 0x06, 0x06, 0x06
E data
F cut
	.byte	0x48, 0xb8, 1, 2
E cut
	.byte	3, 4, 5, 6, 7, 8, 0xc3

	/* who reads the return address, through a frame or not, or keeps it */
F reads_framed
	push	%rbp
	.cfi_def_cfa_offset 16
	mov	%rsp, %rbp
	.cfi_def_cfa_register %rbp
	mov	8(%rbp), %rax
	xor	%rax, %rax
	pop	%rbp
	.cfi_def_cfa %rsp, 8
	ret
E reads_framed
F reads_later
	sub	$24, %rsp
	.cfi_def_cfa_offset 32
	mov	%rdi, 8(%rsp)
	mov	24(%rsp), %rsi
	add	$24, %rsp
	.cfi_def_cfa_offset 8
	mov	%rdi, %rax
	ret
E reads_later
F pops
	pop	%rdx
	.cfi_def_cfa_offset 0
	lea	1(%rdi), %rax
	push	%rdx
	.cfi_def_cfa_offset 8
	ret
E pops
F becomes_pops
	xor	%esi, %esi
	{disp32} jmp pops
E becomes_pops
F reads_argument	/* the 7th argument is no return address, nor is 8(%r12) */
	push	%r12
	.cfi_def_cfa_offset 16
	mov	16(%rsp), %rax
	mov	%rsp, %r12
	mov	8(%r12), %rax
	mov	%rdi, %rax
	pop	%r12
	.cfi_def_cfa_offset 8
	ret
E reads_argument

F reads_nothing		/* 48 8b 44 24 18, mov 24(%rsp),%rax, is there, but as a number */
	sub	$24, %rsp
	.cfi_def_cfa_offset 32
	movabs	$0x1824448b48, %rcx
	lea	(%rdi,%rcx), %rax
	add	$24, %rsp
	.cfi_def_cfa_offset 8
	ret
E reads_nothing

	/* flags are an argument: a carry, behind what does not change it; set first, they are not */
F takes_carry
	push	%rbx
	.cfi_def_cfa_offset 16
	mov	%rdi, %rax
	lea	1(%rsi), %rbx
	adc	%rbx, %rax
	pop	%rbx
	.cfi_def_cfa_offset 8
	ret
E takes_carry
F takes_carry_imm
	mov	%rdi, %rax
	adc	$0, %rax
	ret
E takes_carry_imm
F sets_carry
	push	%rbx
	.cfi_def_cfa_offset 16
	mov	%rdi, %rax
	add	%rsi, %rax
	adc	$0, %rax
	pop	%rbx
	.cfi_def_cfa_offset 8
	ret
E sets_carry

F hooked
	mov	%rdi, %rax
	add	%rsi, %rax
	ret
E hooked

	.text
	.globl	no_unwind
	.type	no_unwind, @function
	.p2align 4
no_unwind:
	mov	%rdi, %rax
	add	%rsi, %rax
	ret
	.size	no_unwind, . - no_unwind

	/* a part of a function begins with a frame that is there already */
	.p2align 4
loop_cold_part:
	.cfi_startproc
	.cfi_def_cfa_offset 16
	nop
	{disp32} jmp loop_cold
	.cfi_endproc
	.p2align 4
	.globl	outermost
	.type	outermost, @function
outermost:
	.cfi_startproc
	.cfi_undefined rip
	xor	%ebp, %ebp
	mov	%rsp, %rdi
	hlt
	.cfi_endproc

	/* its argument is on the stack, and it takes it off */
	.p2align 4
	.globl	returns_popping
	.type	returns_popping, @function
returns_popping:
	.cfi_startproc
	mov	8(%rsp), %rax
	ret	$8
	.cfi_endproc

	/* sections of their own: for code that is copied; and one that only groups functions */
	.section .stubs, "ax", @progbits
	.p2align 4
	.globl	copied
	.type	copied, @function
copied:
	.cfi_startproc
	mov	%rdi, %rax
	lea	7(%rax,%rsi), %rax
	ret
	.cfi_endproc
	.size	copied, . - copied

	.section grouped_code, "ax", @progbits
	.p2align 4
	.globl	grouped
	.type	grouped, @function
grouped:
	.cfi_startproc
	mov	%rdi, %rax
	lea	7(%rax,%rsi), %rax
	ret
	.cfi_endproc
	.size	grouped, . - grouped

	.section .rodata
	.p2align 2
offsets: .long	table_1 - offsets, table_2 - offsets
	.data
	.p2align 3
	.quad	pointed_1
	.section .gcc_except_table, "a"
lsda:	.byte	0xff, 0xff, 1		/* landing pads from the function's start, no types, LEB128 */
	.uleb128 2f - 1f
1:	.uleb128 0
	.uleb128 3
	.uleb128 lands_1 - lands
	.uleb128 0
2:
	.section .note.GNU-stack, "", @progbits
