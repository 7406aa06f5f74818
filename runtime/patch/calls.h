/* SPDX-License-Identifier: MIT */
/*
 * calls.h - lists of calls of tracepoints (tracepoint.c), and what writes them (bytes/tracepoint.c,
 * words/tracepoint.c)
 *
 * Context: control.
 */
#ifndef UFT_PATCH_CALLS_H
#define UFT_PATCH_CALLS_H

#include <stdint.h>

struct uft_call_switch;

struct call { uintptr_t addr, on; uint32_t is_on; };

struct call_block {
	struct call_block *next;
	uint32_t n;
	struct call v[];
};

uint32_t calls_disarm(void);		/* returns how many could not be changed */
void calls_forget(uintptr_t lo, uintptr_t hi);

/*
 * Brings each call to what is wanted, notes it and writes its status. @want: by call, or NULL: all off. Returns how
 * many could not be changed.
 */
uint32_t calls_write(struct call_block *b, struct uft_call_switch *want);

#endif
