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
	lui	t3, 0x12346
	addiw	t3, t3, -1
