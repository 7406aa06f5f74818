/* SPDX-License-Identifier: MIT */
/*
 * gmon.S - profiling that does not start
 *
 * A program linked with -pg gets gcrt1.o, which starts gprof's timer by __monstartup and registers _mcleanup to
 * write gmon.out. Who links this archive wants neither; found before libc's, these do nothing.
 */
#include <cet.h>

	.text
	.balign 16
	.globl __monstartup, _mcleanup
	.hidden __monstartup, _mcleanup
	.type __monstartup, @function
	.type _mcleanup, @function
__monstartup:
_mcleanup:
	.cfi_startproc
	endbr64
	ret
	.cfi_endproc
	.size __monstartup, . - __monstartup
	.size _mcleanup, . - _mcleanup

	.section .note.GNU-stack, "", @progbits
