/* SPDX-License-Identifier: MIT */
/*
 * run_arm64.S - functions whose first instruction is moved, and run there: run_arm64.c
 *
 * A function gets x0 and its flags from `cmp x0, #3`, returns by x9 and leaves in x0 whatever its first instruction did to it, x30 or
 * memory. run_case() is a C function of those two: address and argument.
 */
	.text
	.globl	run_case
run_case:
	stp	x29, x30, [sp, #-16]!
	mov	x10, x0
	mov	x0, x1
	adr	x9, 1f
	mov	x30, #7
	cmp	x0, #3
	br	x10
1:	ldp	x29, x30, [sp], #16
	ret

	.macro	CASE insn:vararg
	.pushsection .rodata.cases, "a"
	.balign	8
	.quad	2f
	.popsection
2:	\insn
	.endm

	.pushsection .rodata.cases, "a"
	.globl	run_cases
	.balign	8
run_cases:
	.popsection

	CASE	adr x1, datum + 1
	add	x0, x0, x1
	ret	x9
	CASE	adrp x1, datum
	eor	x0, x0, x1
	ret	x9
	CASE	ldr w1, datum
	add	x0, x0, x1
	ret	x9
	CASE	ldr x1, datum
	add	x0, x0, x1
	ret	x9
	CASE	ldrsw x1, datum
	add	x0, x0, x1
	ret	x9
	CASE	prfm pldl1keep, datum
	ret	x9
	CASE	ldr s1, datum
	fmov	w0, s1
	ret	x9
	CASE	ldr d1, datum
	fmov	x0, d1
	ret	x9
	CASE	ldr q1, datum
	mov	x0, v1.d[1]
	ret	x9
	CASE	b 5f
	mov	x0, #1
5:	ret	x9
	CASE	bl callee
	eor	x0, x0, x30
	ret	x9
	CASE	b.eq 5f
	mov	x0, #100
5:	add	x0, x0, #1
	ret	x9
	CASE	b.hi 5f
	mov	x0, #100
5:	add	x0, x0, #1
	ret	x9
	CASE	cbz x0, 5f
	mov	x0, #100
5:	add	x0, x0, #1
	ret	x9
	CASE	cbnz w0, 5f
	mov	x0, #100
5:	add	x0, x0, #1
	ret	x9
	CASE	tbz x0, #1, 5f
	mov	x0, #100
5:	add	x0, x0, #1
	ret	x9
	CASE	tbnz x0, #63, 5f
	mov	x0, #100
5:	add	x0, x0, #1
	ret	x9
	CASE	br x9
	CASE	ret x9
	CASE	add x0, x0, x30
	ret	x9
	CASE	hint #25		/* paciasp */
	eor	x0, x0, x30
	ret	x9

	.pushsection .rodata.cases, "a"
	.quad	0
	.popsection

callee:	add	x0, x0, #5
	ret
	.balign	16
datum:	.quad	0xfedcba9887654321, 0x0123456789abcdef
	.section .note.GNU-stack, "", %progbits
