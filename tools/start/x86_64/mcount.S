/* SPDX-License-Identifier: MIT */
/*
 * mcount.S - mcount that only returns
 *
 * Called after the prologue: (rsp) = after the call in the function, 8(rbp) = the function's caller. Every
 * register, the flags and the stack stay as they are. endbr64: without relaxation the call is indirect.
 */
#include <cet.h>

#include "note.h"

	.text
	.balign 16
	.globl mcount, _mcount, uft_start_mcount
	.hidden mcount, _mcount, uft_start_mcount
	.type mcount, @function
	.type _mcount, @function
	.type uft_start_mcount, @function
mcount:
_mcount:
uft_start_mcount:
	.cfi_startproc
	endbr64
	ret
	.cfi_endproc
	.size mcount, . - mcount
	.size _mcount, . - _mcount
	.size uft_start_mcount, . - uft_start_mcount
	.reloc mcount, R_X86_64_NONE, uft_start_archive	/* links start.o */
	uft_start_note UFT_START_NOTE_MCOUNT, uft_start_mcount

	.section .note.GNU-stack, "", @progbits
