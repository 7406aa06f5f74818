/* SPDX-License-Identifier: MIT */
/*
 * text_file.h - the end of a text that is written through open_memstream()
 *
 * Without memory for the whole text fclose() of glibc returns 0 and leaves NULL in place of it.
 */
#ifndef UFT_SYMBOL_TEXT_FILE_H
#define UFT_SYMBOL_TEXT_FILE_H

#include <errno.h>
#include <stdio.h>

/* Closes @f, whose text *@text is then the caller's to free. 0 or -ENOMEM. */
static inline int text_file_close(FILE *f, char *const *text)
{
	return fclose(f) || !*text ? -ENOMEM : 0;
}

#endif
