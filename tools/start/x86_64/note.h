/* SPDX-License-Identifier: MIT */
/*
 * note.h - the archive's mark in a file, which survives strip
 *
 * One ELF note for each function that only returns: owner "uft", type 1, 4 bytes: the distance from those
 * bytes to the function. Who reads an object can tell by it such a call from one of the program's own mcount.
 */
#ifndef UFT_START_NOTE_H
#define UFT_START_NOTE_H

#define UFT_START_NOTE_TYPE 1

.macro uft_start_note function
	.pushsection .note.uft, "a", @note
	.balign 4
	.long 4, 4, UFT_START_NOTE_TYPE
	.asciz "uft"
	.long \function - .
	.popsection
.endm

#endif
