/* SPDX-License-Identifier: MIT */
/* odd_riscv64.S - functions for unprepared.sh: what callers may rely on, and what is to be left alone */
	.option norelax
	.macro F name
	.globl \name
	.type \name, %function
\name:
	.endm
	.macro E name
	.size \name, . - \name
	.endm
	F callee
	addi a0, a0, 1
	nop
	ret
	E callee
	F kept				/* 0: a1 - a7, t0 - t6 and sp are as they were */
	addi sp, sp, -32
	sd ra, 24(sp)
	sd s0, 16(sp)
	sd s1, 8(sp)
	.irp r, a1, a2, a3, a4, a5, a6, a7, t0, t1, t2, t3, t4, t5, t6
	li \r, 0x123
	.endr
	li a0, 0
	mv s0, sp
	jal callee
	li s1, 0
	.irp r, a1, a2, a3, a4, a5, a6, a7, t0, t1, t2, t3, t4, t5, t6
	addi \r, \r, -0x123
	or s1, s1, \r
	.endr
	sub s0, s0, sp
	or s1, s1, s0
	addi a0, a0, -1
	or a0, a0, s1
	ld ra, 24(sp)
	ld s0, 16(sp)
	ld s1, 8(sp)
	addi sp, sp, 32
	ret
	E kept
	F spins
	addi a0, a0, -1
	bnez a0, spins
	ret
	E spins
	F loops
	c.li a1, 1
2:	c.addi a0, -1
	bgtz a0, 2b
	ret
	E loops
	F between
	c.li a0, 1
3:	c.addi a0, 1
	ret
	E between
	F tiny
	c.jr ra
	E tiny
	F saves			/* called by t0, as libgcc's __riscv_save */
	addi sp, sp, -16
	addi sp, sp, 16
	jr t0
	E saves
	F asks
	ecall
	ret
	E asks
	F whence
	mv a0, ra
	nop
	ret
	E whence
	F whence_too
	.option norvc
	j whence
	.option rvc
	E whence_too
	F nobody
	.4byte 0, 0
	E nobody
	F below
	addi sp, sp, -16
	sd ra, 8(sp)
	addi a0, a0, 7
	ld ra, 8(sp)
	addi sp, sp, 16
	ret
	E below
	F misc
	addi sp, sp, -16
	sd ra, 8(sp)
	jal t0, saves
	li a0, 1
	jal loops
	jal tiny
	jal 3b
	ld ra, 8(sp)
	addi sp, sp, 16
	ret
	E misc
	.section .note.GNU-stack, "", %progbits
