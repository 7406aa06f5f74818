/* SPDX-License-Identifier: MIT */
/*
 * riscv64.S - what riscv64_move() is given (.from), and what it has to make of it near (.near) and far away (.far), as the assembler
 * writes it: blocks of 64 bytes, the first word of which is the offset in .from; a halfword of 0 ends them
 */
	.option	norelax
	.option	norvc
	/* A compressed one, which nothing else becomes by itself. */
	.macro	C insn:vararg
	.option	rvc
	\insn
	.option	norvc
	.endm
	.macro	GIVEN
	.section .from, "ax", %progbits
1:
	.endm

	.macro	EXPECT section
	.section \section, "ax", %progbits
	.balign	64, 0
	.4byte	1b - from
	.endm

	.section .from, "ax", %progbits
from:	.quad	0, 0
	.equ	anchor, from + 0xf00		/* within 4 KiB, which is what branches reach */
	.equ	close, from + 0x80		/* compressed ones: 256 bytes */

	GIVEN
	C	c.beqz a0, close
	addi	a1, a1, 1
	EXPECT	.far
	bnez	a0, . + 8
	j	close
	addi	a1, a1, 1
	j	1b + 6
	GIVEN
	addi	a1, a1, 1
	EXPECT	.far
	addi	a1, a1, 1
	j	1b + 4
	GIVEN
	C	c.addi16sp  sp, -64
	C	c.sdsp s0, 8(sp)
	EXPECT	.far
	C	c.addi16sp  sp, -64
	C	c.sdsp s0, 8(sp)
	j	1b + 4
	EXPECT	.near
	C	c.addi16sp  sp, -64
	C	c.sdsp s0, 8(sp)
	j	1b + 4
	GIVEN
	C	c.bnez a5, close
	C	c.li a0, 1
	EXPECT	.far
	beqz	a5, . + 8
	j	close
	C	c.li a0, 1
	j	1b + 4
	GIVEN
	C	c.li a0, 1
	C	c.j close
	EXPECT	.far
	C	c.li a0, 1
	j	close
	GIVEN
	C	c.jr a5
	EXPECT	.far
	C	c.jr a5
	GIVEN
	C	c.jr ra
	EXPECT	.near
	C	c.jr ra
	GIVEN
	C	c.li a0, 1
	C	c.jalr a5
	EXPECT	.far
	C	c.li a0, 1
	lla	ra, 1b + 4
	jr	a5
	GIVEN
	auipc	a0, 0x12345
	EXPECT	.far
	lla	a0, 1b + 0x12345000
	j	1b + 4
	EXPECT	.near
	lla	a0, 1b + 0x12345000
	j	1b + 4
	GIVEN
	auipc	t1, 0xfff00
	EXPECT	.near
	lla	t1, 1b - 0x100000
	j	1b + 4
	GIVEN
	auipc	zero, 1
	EXPECT	.far
	nop
	j	1b + 4
	GIVEN
	j	anchor
	EXPECT	.far
	j	anchor
	GIVEN
	jal	ra, anchor
	EXPECT	.far
	lla	ra, 1b + 4
	j	anchor
	GIVEN
	jal	t0, anchor
	EXPECT	.near
	lla	t0, 1b + 4
	j	anchor
	GIVEN
	jalr	ra, 16(a5)
	EXPECT	.far
	lla	ra, 1b + 4
	jr	16(a5)
	GIVEN
	jr	-4(t1)
	EXPECT	.far
	jr	-4(t1)
	GIVEN
	beq	a0, a1, anchor
	EXPECT	.far
	bne	a0, a1, . + 8
	j	anchor
	j	1b + 4
	GIVEN
	bne	s0, t6, from
	EXPECT	.near
	beq	s0, t6, . + 8
	j	from
	j	1b + 4
	GIVEN
	blt	a0, a1, anchor
	EXPECT	.far
	bge	a0, a1, . + 8
	j	anchor
	j	1b + 4
	GIVEN
	bge	a0, zero, anchor
	EXPECT	.far
	blt	a0, zero, . + 8
	j	anchor
	j	1b + 4
	GIVEN
	bltu	a0, a1, anchor
	EXPECT	.far
	bgeu	a0, a1, . + 8
	j	anchor
	j	1b + 4
	GIVEN
	bgeu	a0, a1, anchor
	EXPECT	.far
	bltu	a0, a1, . + 8
	j	anchor
	j	1b + 4
	GIVEN
	rdtime	a0
	EXPECT	.far
	rdtime	a0
	j	1b + 4
	GIVEN
	lui	a0, 0x12345
	EXPECT	.far
	lui	a0, 0x12345
	j	1b + 4

	.balign	64, 0
	.section .near, "ax", %progbits
	.balign	64, 0
	.section .from, "ax", %progbits
	.balign	64, 0

	/* What can only be where it is: eight bytes each. */
	.section .bound, "ax", %progbits
	ecall
	nop
	ebreak
	nop
	mret
	nop
	jalr	ra, 0(ra)
	nop
	C	c.ebreak
	C	c.nop
	nop
	C	c.nop
	C	c.ebreak
	nop
	C	c.jalr ra
	C	c.nop
	nop

	/* Bytes that are no instruction: eight each. */
	.section .none, "ax", %progbits
	.4byte	0, 0
	.4byte	0xffffffff, 0
	.4byte	0x0000001f, 0
	.2byte	0x8002, 1, 1, 1		/* c.jr zero */
	.4byte	0x00002063, 0		/* no condition */
	.2byte	1, 0, 1, 1
