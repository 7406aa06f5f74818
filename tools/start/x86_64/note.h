/* SPDX-License-Identifier: MIT */
/*
 * note.h - the archive's mark in a file, which survives strip
 *
 * One ELF note for each function that only returns: owner "uft", a type that says which one, 4 bytes: the distance
 * from those bytes to the function. A stripped object has no other sign that a call is one of these.
 */
#ifndef UFT_START_NOTE_H
#define UFT_START_NOTE_H

#define UFT_START_NOTE_FENTRY	1
#define UFT_START_NOTE_MCOUNT	2

.macro uft_start_note type, function
	.pushsection .note.uft, "a", @note
	.balign 4
	.long 4, 4, \type
	.asciz "uft"
	.long \function - .
	.popsection
.endm

#endif
