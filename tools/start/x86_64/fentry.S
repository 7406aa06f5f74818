/* SPDX-License-Identifier: MIT */
/*
 * fentry.S - __fentry__ that only returns
 *
 * Called before the prologue: (rsp) = after the call in the function, 8(rsp) = the function's caller. Every
 * register, the flags and the stack stay as they are. endbr64: without relaxation the call is indirect.
 */
#include <cet.h>

#include "note.h"

	.text
	.balign 16
	.globl __fentry__, uft_start_fentry
	.hidden __fentry__, uft_start_fentry
	.type __fentry__, @function
	.type uft_start_fentry, @function
__fentry__:
uft_start_fentry:
	.cfi_startproc
	endbr64
	ret
	.cfi_endproc
	.size __fentry__, . - __fentry__
	.size uft_start_fentry, . - uft_start_fentry
	.reloc __fentry__, R_X86_64_NONE, uft_start_archive	/* links start.o */
	uft_start_note UFT_START_NOTE_FENTRY, uft_start_fentry

	.section .note.GNU-stack, "", @progbits
