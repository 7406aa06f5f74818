/* SPDX-License-Identifier: MIT */
/*
 * arm64.S - what arm64_move() is given (.from), and what it has to make of it at places near (.near) and far away (.far), as the
 * assembler writes it: blocks of 32 bytes, the first word of which is the instruction's offset in .from; a word of 0 ends them
 */
	.arch	armv8.5-a
	.macro	CASE insn:vararg
	.section .from, "ax", %progbits
1:	\insn
	EXPECT	.far
	.endm

	.macro	EXPECT section
	.section \section, "ax", %progbits
	.balign	32, 0
	.4byte	1b - from
	.endm

	.section .from, "ax", %progbits
from:	.quad	0, 0
	.equ	anchor, from + 0x4ffc		/* within 32 KiB, which is what tbz reaches */

	CASE	adr x5, anchor + 3
	adrp	x5, anchor + 3
	add	x5, x5, :lo12:anchor + 3
	b	1b + 4
	EXPECT	.near
	adr	x5, anchor + 3
	b	1b + 4
	CASE	adr x30, from
	adrp	x30, from
	add	x30, x30, :lo12:from
	b	1b + 4
	CASE	adr xzr, from
	nop
	b	1b + 4
	CASE	adrp x16, anchor
	adrp	x16, anchor
	b	1b + 4
	EXPECT	.near
	adrp	x16, anchor
	b	1b + 4
	CASE	adrp x0, from + 0x10000000
	adrp	x0, from + 0x10000000
	b	1b + 4

	CASE	ldr w3, anchor
	adrp	x3, anchor
	add	x3, x3, :lo12:anchor
	ldr	w3, [x3]
	b	1b + 4
	CASE	ldr x4, anchor
	adrp	x4, anchor
	add	x4, x4, :lo12:anchor
	ldr	x4, [x4]
	b	1b + 4
	EXPECT	.near
	adrp	x4, anchor
	add	x4, x4, :lo12:anchor
	ldr	x4, [x4]
	b	1b + 4
	CASE	ldrsw x5, anchor
	adrp	x5, anchor
	add	x5, x5, :lo12:anchor
	ldrsw	x5, [x5]
	b	1b + 4
	CASE	ldr xzr, anchor
	adrp	x16, anchor
	add	x16, x16, :lo12:anchor
	ldr	xzr, [x16]
	b	1b + 4
	CASE	prfm pldl1keep, anchor
	adrp	x16, anchor
	add	x16, x16, :lo12:anchor
	prfm	pldl1keep, [x16]
	b	1b + 4
	CASE	ldr s7, anchor
	adrp	x16, anchor
	add	x16, x16, :lo12:anchor
	ldr	s7, [x16]
	b	1b + 4
	CASE	ldr d31, anchor
	adrp	x16, anchor
	add	x16, x16, :lo12:anchor
	ldr	d31, [x16]
	b	1b + 4
	CASE	ldr q0, from
	adrp	x16, from
	add	x16, x16, :lo12:from
	ldr	q0, [x16]
	b	1b + 4

	CASE	b anchor
	b	anchor
	EXPECT	.near
	b	anchor
	CASE	bl anchor
	adrp	x30, 1b + 4
	add	x30, x30, :lo12:1b + 4
	b	anchor
	CASE	blr x3
	adrp	x30, 1b + 4
	add	x30, x30, :lo12:1b + 4
	br	x3
	CASE	blr x30
	mov	x16, x30
	adrp	x30, 1b + 4
	add	x30, x30, :lo12:1b + 4
	br	x16
	CASE	b.ne anchor
	b.ne	. + 8
	b	1b + 4
	b	anchor
	CASE	b.lo from
	b.lo	. + 8
	b	1b + 4
	b	from
	CASE	cbz w0, anchor
	cbz	w0, . + 8
	b	1b + 4
	b	anchor
	EXPECT	.near
	cbz	w0, . + 8
	b	1b + 4
	b	anchor
	CASE	cbnz x21, from
	cbnz	x21, . + 8
	b	1b + 4
	b	from
	CASE	tbz w1, #3, anchor
	tbz	w1, #3, . + 8
	b	1b + 4
	b	anchor
	CASE	tbnz x2, #63, from
	tbnz	x2, #63, . + 8
	b	1b + 4
	b	from

	CASE	ret
	ret
	CASE	ret x9
	ret	x9
	CASE	br x1
	br	x1
	CASE	retaa
	retaa
	CASE	retab
	retab
	CASE	braaz x3
	braaz	x3
	CASE	brab x3, sp
	brab	x3, sp

	CASE	paciasp
	paciasp
	b	1b + 4
	CASE	bti c
	bti	c
	b	1b + 4
	CASE	nop
	nop
	b	1b + 4
	CASE	stp x29, x30, [sp, #-32]!
	stp	x29, x30, [sp, #-32]!
	b	1b + 4
	CASE	sub sp, sp, #0x430
	sub	sp, sp, #0x430
	b	1b + 4
	CASE	mrs x0, tpidr_el0
	mrs	x0, tpidr_el0
	b	1b + 4
	CASE	movz x3, #0x1234, lsl #16
	movz	x3, #0x1234, lsl #16
	b	1b + 4
	CASE	ldr q1, [x0, #16]
	ldr	q1, [x0, #16]
	b	1b + 4
	CASE	ldaxr w2, [x0]
	ldaxr	w2, [x0]
	b	1b + 4

	/* What can only be where it is. */
	.section .bound, "ax", %progbits
	svc	#0
	hvc	#1
	brk	#1
	hlt	#0
	eret
	drps
	blraaz	x3
	blrab	x3, sp
	.4byte	0x19000440	/* cpyfp [x0]!, [x0]!, x2! */
	.4byte	0xf380001f	/* autiasppc . */
	.4byte	0x5500001f	/* retaasppc . */
	.4byte	0x74000020	/* cbgt w0, w0, . + 4 */
	.4byte	0xdac1a3fe	/* paciasppc */
	.4byte	0xd50324ff	/* pacm */

	/* Words that are no instruction. */
	.section .none, "ax", %progbits
	.4byte	0
	.4byte	1
	.4byte	0x00000fff	/* udf #4095 */
	.4byte	0x02345678
	.4byte	0x86000000
	.4byte	0xdc000000	/* a literal of no size */
