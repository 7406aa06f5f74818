/* SPDX-License-Identifier: MIT */
/*
 * frames.S - unwind information for code that is made at run time: patch/bytes/frames.c gives it to unwinders, x86_64
 *
 * Made code is not described place by place. For a pc in it the answer is one of these frames, which tell where the
 * same registers would be without the runtime:
 *
 *	RETURN, RETURN_RAX, HELD	the return address lies at (rsp), behind a saved rax, or just below rsp:
 *					where the balanced stub is about to overwrite it, or has taken it back
 *	all others		the caller is the program's own code at the place for which the pc stands, with every
 *				register as it is. The unwind information of that code, which is right, does the rest.
 *
 * That place is computed by the unwinder, by an expression that reads the pc (column 16) and a word which the code
 * carries, so the tables are constant. They give the address behind the first byte: unwinders take one off a return
 * address, and with a signal frame's in its place two frames would look the same to them.
 *
 * Each is one FDE, for any pc, in UFT_FRAME_BYTES.
 */
#include "runtime/arch/x86_64/frames.h"

#define CFA_DEF_CFA	0x0c
#define CFA_VAL_EXPR	0x16
#define CFA_OFFSET_RIP	0x90
#define RSP		7
#define RIP		16
#define OP_PC		0x80, 0		/* breg16 0 */
#define OP_ALIGN(n)	0x09, -(n), 0x1a /* const1s, and */
#define OP_ADD(n)	0x23, n
#define OP_BACK(n)	0x09, -(n), 0x22	/* const1s, plus */
#define OP_DEREF	0x06
#define OP_DUP		0x12
#define OP_PLUS		0x22
#define OP_SIGNED32	0x94, 4, 0x0c, 0, 0, 0, 0x80, 0x27, 0x0c, 0, 0, 0, 0x80, 0x1c	/* deref 4, extend */

	.section .rodata
	.balign	8
.Lcie:	.long	2f - 1f
1:	.long	0
	.byte	1
	.asciz	"zR"
	.byte	1, 0x78, RIP, 1, 0	/* units 1 and -8; absolute addresses */
	.byte	CFA_OFFSET_RIP, 1	/* below the CFA */
	.balign	8, 0
2:

	/*
	 * A frame whose CFA is rsp + \cfa, for any pc; \expr: address of its caller, if that is not the CFA's return
	 * address.
	 */
	.macro FRAME cfa, expr:vararg
	.balign	UFT_FRAME_BYTES
	.long	3f - 2f
2:	.long	2b - .Lcie
	.quad	1, -2
	.byte	0, CFA_DEF_CFA, RSP
	.uleb128 \cfa
	.ifnb	\expr
	.byte	CFA_VAL_EXPR, RIP, 5f - 4f
4:	.byte	\expr
5:
	.endif
	.balign	8, 0
3:
	.endm

	.globl	uft_asm_frames
	.hidden	uft_asm_frames
	.balign	UFT_FRAME_BYTES
uft_asm_frames:				/* enum in frames.h */
	FRAME	8
	FRAME	16
	FRAME	0
	/* stub: call enter; call rel32 ... */
	FRAME	0, OP_PC, OP_ALIGN(16), OP_DUP, OP_ADD(6), OP_SIGNED32, OP_PLUS, OP_ADD(10)
	FRAME	0, OP_PC, OP_ALIGN(16), OP_DUP, OP_ADD(6), OP_SIGNED32, OP_PLUS, OP_ADD(10 + UFT_FRAME_CODE_ADDR), \
		OP_DEREF, OP_ADD(1)
	FRAME	0, OP_PC, OP_DUP, OP_ADD(1), OP_SIGNED32, OP_PLUS, OP_ADD(5), OP_BACK(8), OP_DEREF, OP_ADD(1)
	FRAME	0, OP_PC, OP_ADD(6), OP_DEREF, OP_BACK(UFT_FRAME_CODE_SLOT - UFT_FRAME_CODE_ADDR), OP_DEREF, OP_ADD(1)
	FRAME	128, OP_PC, OP_ALIGN(64), OP_ADD(UFT_FRAME_HOOK_ADDR), OP_DEREF, OP_ADD(1)
	.set	place, 1
	.rept	UFT_FRAME_PLACES
	FRAME	0, OP_PC, OP_ALIGN(64), OP_ADD(UFT_FRAME_HOOK_ADDR), OP_DEREF, OP_ADD(place)
	.set	place, place + 1
	.endr
	.set	place, 1
	.rept	UFT_FRAME_PLACES
	FRAME	0, OP_PC, OP_ALIGN(128), OP_ADD(UFT_FRAME_CODE_ADDR), OP_DEREF, OP_ADD(place)
	.set	place, place + 1
	.endr

	.section .note.GNU-stack, "", @progbits
