/* SPDX-License-Identifier: MIT */
/* riscv64.S - riscv64.c's cases as the assembler writes them, a word each */
	.option norvc
	.option norelax
	.text
origin:
	nop
	.option rvc
	c.nop
	c.nop
	.option norvc
	auipc	t0, 0x12345
	auipc	ra, 0xfffff
	jalr	t0, -2048(t0)
	jalr	t0, 2047(t0)
	jalr	ra, 16(ra)
	jalr	ra, 0(t0)
	jr	t4
	ld	t4, -8(t4)
	jal	ra, origin
	j	. + 0xffffe
	jal	t1, . - 0x100000
	jal	t1, . + 0x800
	lw	t5, -1680(tp)
	lw	t5, 2047(tp)
	li	t5, 0
	ld	t5, -2048(tp)
	ld	t5, 2047(tp)
	sd	t5, -92(tp)
	sd	t5, 2047(tp)
	/* Read, not written: reads[] of riscv64.c. A compressed one has a nop behind it. */
	beq	a0, a1, . + 0xffe
	bgeu	a0, a1, . - 0x1000
	bne	s0, t6, . + 0x7fe
	blt	a0, a1, . - 2
	jal	zero, . - 0x100000
	jal	ra, . + 0xffffe
	nop
	jr	t4
	.option rvc
	c.j	. + 2046
	c.nop
	c.j	. - 2048
	c.nop
	c.j	. + 0x2aa
	c.nop
	c.beqz	a0, . + 254
	c.nop
	c.bnez	a5, . - 256
	c.nop
	c.beqz	a1, . + 0xaa
	c.nop
	c.nop
	c.nop
