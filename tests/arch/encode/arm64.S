/* SPDX-License-Identifier: MIT */
/* arm64.S - arm64.c's cases as the assembler writes them, a word each */
	.arch	armv8.5-a
	.text
origin:
	nop
	bti	c
	bti	j
	bti	jc
	paciasp
	pacibsp
	mov	x9, x30
	b	origin
	bl	origin
	b	. + 0x7fffffc
	bl	. - 0x8000000
	ldr	x16, origin
	ldr	x16, . + 0xffffc
	br	x16
	br	x30
	adr	x5, origin
	adr	x30, . + 0xfffff
	adrp	x3, origin
	add	x3, x3, #0x123
	mov	x16, x30
	/* A slot of unprepared code, from the call of the function handler on. */
	autiasp
	stp	x9, x10, [sp, #-64]!
	stp	x11, x12, [sp, #16]
	stp	x13, x14, [sp, #32]
	str	x15, [sp, #48]
	mov	x9, x30
	ldr	x17, . + 40
	bl	origin
	ldr	x15, [sp, #48]
	ldp	x13, x14, [sp, #32]
	ldp	x11, x12, [sp, #16]
	ldp	x9, x10, [sp], #64
	b	. - 72
	autiasp
	str	x30, [sp, #-16]!
	b	origin
	.quad	0x123456789abcdef0
	/* Read, not written: reads[] of arm64.c. */
	b.eq	. + 0xffffc
	b.hs	. - 0x100000
	cbz	x3, . + 8
	cbnz	w4, . - 4
	tbz	w5, #3, . + 0x7ffc
	tbnz	x6, #40, . - 0x8000
	b	. - 4
	bl	. + 0x100
	nop
	br	x16
	ret
	ldr	x16, . + 8
