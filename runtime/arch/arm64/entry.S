/* SPDX-License-Identifier: MIT */
/* entry.S - where the session enters the blob, and the clone that makes the agent, arm64 */
#include "runtime/arch/function.h"
	.text

/* Jumped to by ptrace, sp 16-aligned below the program's stack. Ends at the breakpoint that the session waits for. */
	FUNCTION uft_blob_start
	.cfi_undefined x30		/* the outermost frame */
	mov	x29, xzr
	mov	x30, xzr
	bl	agent_boot
	brk	#0
	FUNCTION_END uft_blob_start

/* Jumped to by ptrace with x8 and the argument registers of clone(2); only the new task goes on. */
	FUNCTION uft_blob_attach
	.cfi_undefined x30
	svc	#0
	cbz	x0, 2f
1:	yield
	b	1b
2:	mov	x29, xzr
	mov	x30, xzr
	bl	agent_attach
	mov	x0, xzr
	mov	x8, #93			/* exit */
	svc	#0
	brk	#0
	FUNCTION_END uft_blob_attach

/* Jumped to by ptrace, on the stack of an agent that does not exist. */
	FUNCTION uft_blob_rejoin
	.cfi_undefined x30
	mov	x29, xzr
	mov	x30, xzr
	bl	agent_rejoin
1:	yield
	b	1b
	FUNCTION_END uft_blob_rejoin

/*
 * long uft_asm_clone(unsigned long flags, void *stack_top, void (*fn)(void))
 * Returns the child's tid or -errno; the child calls fn on the new stack and ends when it returns.
 *
 *	stack_top, 16-aligned: nothing is on it at the start; fn is kept in x9, which the child inherits.
 */
	FUNCTION uft_asm_clone
	mov	x9, x2
	mov	x2, xzr			/* parent_tid */
	mov	x3, xzr			/* tls: the caller's stays, and the child never uses it */
	mov	x4, xzr			/* child_tid */
	mov	x8, #220		/* clone */
	svc	#0
	cbz	x0, 1f
	ret
1:
	.cfi_undefined x30
	mov	x29, xzr
	mov	x30, xzr
	blr	x9
	mov	x0, xzr
	mov	x8, #93			/* exit */
	svc	#0
	brk	#0
	FUNCTION_END uft_asm_clone

	.section .note.GNU-stack, "", %progbits
