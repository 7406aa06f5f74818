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
	 * Writes the name of a code address to @to, as "main", or with @has_offset as "main+0x4/0x20". Returns bytes;
	 * 0: unknown. May be NULL.
	 */
	size_t (*name)(void *arg, uint64_t addr, int has_offset, char *to, size_t room);
	void *arg;
};

/* 0 and *@out, NULL: the format is not accepted; or -ENOMEM. */
int uft_print_compile(const struct uft_event_type *type, struct uft_print **out);
void uft_print_free(struct uft_print *p);
size_t uft_print_bytes(const struct uft_print *p);	/* of memory that it takes */
int uft_print_has_lines(const struct uft_print *p);	/* 1: a stack makes its text several lines */
/* Writes the event's text, cut at @room bytes. Returns the bytes written, without a 0 byte. */
size_t uft_print_event(const struct uft_print *p, const struct uft_print_input *in, char *to, size_t room);

#endif
