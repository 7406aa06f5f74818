/* SPDX-License-Identifier: MIT */
/*
 * run_riscv64.S - functions whose first instructions are moved, and run there: run_riscv64.c
 *
 * A function gets a0, returns by t6 and leaves in a0 whatever its first instructions did to it, to ra or memory. run_case() is a C
 * function of those two: address and argument.
 */
	.option	norelax
	.text
	.globl	run_case
run_case:
	addi	sp, sp, -16
	sd	ra, 8(sp)
	mv	t5, a0
	mv	a0, a1
	lla	t6, 1f
	li	ra, 7
	li	a1, 3
	jr	t5
1:	ld	ra, 8(sp)
	addi	sp, sp, 16
	ret

	.macro	CASE
	.pushsection .rodata.cases, "a"
	.balign	8
	.quad	2f
	.popsection
2:
	.endm

	.pushsection .rodata.cases, "a"
	.globl	run_cases
	.balign	8
run_cases:
	.popsection

	CASE
	auipc	a2, 0x12
	add	a0, a0, a2
	jr	t6
	CASE
	jal	ra, callee
	xor	a0, a0, ra
	jr	t6
	CASE
	jal	t0, callee_t0
	xor	a0, a0, t0
	jr	t6
	.irp	how, beq, bne, blt, bge, bltu, bgeu
	CASE
	.option	norvc
	\how	a0, a1, 5f
	.option	rvc
	addi	a0, a0, 100
5:	addi	a0, a0, 1
	jr	t6
	.endr
	CASE
	c.beqz	a0, 5f
	c.li	a0, 20
5:	addi	a0, a0, 1
	jr	t6
	CASE
	c.bnez	a0, 5f
	addi	a0, a0, 200
5:	addi	a0, a0, 1
	jr	t6
	CASE
	c.addi	a0, 1
	c.j	5f
	li	a0, 0
5:	jr	t6
	CASE
	c.jr	t6
	CASE
	jr	t6
	CASE
	c.addi16sp sp, -64
	c.sdsp	a0, 8(sp)
	ld	a0, 8(sp)
	addi	sp, sp, 64
	jr	t6
	CASE
	c.mv	a2, a0
	add	a0, a2, ra
	jr	t6
	CASE
	lui	a2, 0x12345
	add	a0, a0, a2
	jr	t6

	.pushsection .rodata.cases, "a"
	.quad	0
	.popsection

callee:	addi	a0, a0, 5
	ret
callee_t0: addi	a0, a0, 6
	jr	t0
	.section .note.GNU-stack, "", %progbits
