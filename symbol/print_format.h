/* SPDX-License-Identifier: MIT */
/* print_format.h - the text of an event, as its `print fmt` says. Theory: print_format.c. */
#ifndef UFT_SYMBOL_PRINT_FORMAT_H
#define UFT_SYMBOL_PRINT_FORMAT_H

#include "symbol/event_type.h"

struct uft_print_input {
	const uint8_t *payload;		/* the record behind its common fields */
	size_t bytes;
	uint32_t tid, kernel_id;
	/*
	 * Writes the name of a code address at @to, like "main" or with @has_offset "main+0x4/0x20"; returns
	 * bytes, 0: not known. Or NULL.
	 */
	size_t (*name)(void *arg, uint64_t addr, int has_offset, char *to, size_t room);
	void *arg;
};

struct uft_print *uft_print_compile(const struct uft_event_type *type);	/* NULL: no memory, or it is not understood */
void uft_print_free(struct uft_print *p);
size_t uft_print_bytes(const struct uft_print *p);	/* of memory */
int uft_print_has_lines(const struct uft_print *p);	/* its text has several lines, of a stack */
/* At most @room bytes, what does not fit is cut. Returns their number; no 0 byte is added. */
size_t uft_print_event(const struct uft_print *p, const struct uft_print_input *in, char *to, size_t room);

#endif
