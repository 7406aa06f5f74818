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
