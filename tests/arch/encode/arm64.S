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
	movz	w17, #0x1234
	movk	w17, #0xfedc, lsl #16
	ldr	x16, origin
	ldr	x16, . + 0xffffc
	br	x16
	br	x30
