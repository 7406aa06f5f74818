/* SPDX-License-Identifier: MIT */
/* odd_aarch64.S - functions for unprepared.sh: what callers may rely on, and what is to be left alone */
	.macro F name
	.globl \name
	.type \name, %function
\name:	.cfi_startproc
	.endm
	.macro E name
	.cfi_endproc
	.size \name, . - \name
	.endm
	F callee
	add x0, x0, #1
	ret
	E callee
	F kept				/* 0: x1 - x15 and sp are as they were */
	stp x29, x30, [sp, #-16]!
	.irp n, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
	mov x\n, #(0x100 + \n)
	.endr
	mov x0, #0
	mov x29, sp
	bl callee
	mov x17, #0
	.irp n, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
	sub x16, x\n, #(0x100 + \n)
	orr x17, x17, x16
	.endr
	mov x16, sp
	sub x16, x16, x29
	orr x17, x17, x16
	sub x0, x0, #1
	orr x0, x0, x17
	ldp x29, x30, [sp], #16
	ret
	E kept
	F spins
	sub x0, x0, #1
	cbnz x0, spins
	ret
	E spins
	F takes
	cset w0, eq
	ret
	E takes
	F resolves
	stp x1, x2, [sp, #-16]!
	ldp x1, x2, [sp], #16
	ret
	E resolves
	F pads
	nop
	str x1, [sp, #-16]!
	ldr x1, [sp], #16
	ret
	E pads
	F misc
	stp x29, x30, [sp, #-16]!
	bl takes
	bl resolves
	bl pads
	ldp x29, x30, [sp], #16
	ret
	E misc
	F asks
	svc #0
	ret
	E asks
	F whence
	mov x0, x30
	ret
	E whence
	F whence_too
	b whence
	E whence_too
	F nobody
	.4byte 0
	ret
	E nobody
	F below
	.4byte 0xd503233f		/* paciasp */
	stp x29, x30, [sp, #-16]!
	add x0, x0, #7
	ldp x29, x30, [sp], #16
	.4byte 0xd50323bf		/* autiasp */
	ret
	E below
	.section .note.GNU-stack, "", %progbits
