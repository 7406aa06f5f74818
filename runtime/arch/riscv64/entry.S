/* SPDX-License-Identifier: MIT */
/* entry.S - where the session enters the blob, and the clone that makes the agent, riscv64 */
#include "runtime/arch/function.h"
	.text

/* Jumped to by ptrace, sp 16-aligned below the program's stack. Ends at the breakpoint that the session waits for. */
	FUNCTION uft_blob_start
	.cfi_undefined ra		/* the outermost frame */
	li	s0, 0
	li	ra, 0
	call	agent_boot
	ebreak
	FUNCTION_END uft_blob_start

/* Jumped to by ptrace with a7 and the argument registers of clone(2); only the new task goes on. */
	FUNCTION uft_blob_attach
	.cfi_undefined ra
	ecall
	beqz	a0, 2f
1:	j	1b
2:	li	s0, 0
	li	ra, 0
	call	agent_attach
	li	a0, 0
	li	a7, 93			/* exit */
	ecall
	ebreak
	FUNCTION_END uft_blob_attach

/* Jumped to by ptrace, on the stack of an agent that does not exist. */
	FUNCTION uft_blob_rejoin
	.cfi_undefined ra
	li	s0, 0
	li	ra, 0
	call	agent_rejoin
1:	j	1b
	FUNCTION_END uft_blob_rejoin

/*
 * long uft_asm_clone(unsigned long flags, void *stack_top, void (*fn)(void))
 * Returns the child's tid or -errno; the child calls fn on the new stack and ends when it returns.
 *
 *	stack_top, 16-aligned: nothing is on it at the start; fn is kept in t0, which the child inherits.
 */
	FUNCTION uft_asm_clone
	mv	t0, a2
	li	a2, 0			/* parent_tid */
	li	a3, 0			/* tls: the caller's stays, and the child never uses it */
	li	a4, 0			/* child_tid */
	li	a7, 220			/* clone */
	ecall
	beqz	a0, 1f
	ret
1:
	.cfi_undefined ra
	li	s0, 0
	li	ra, 0
	jalr	t0
	li	a0, 0
	li	a7, 93			/* exit */
	ecall
	ebreak
	FUNCTION_END uft_asm_clone

	.section .note.GNU-stack, "", %progbits
