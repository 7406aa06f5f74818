/* SPDX-License-Identifier: MIT */
/*
 * heap.c - memory for starting fast
 *
 * The program that is to be traced waits while its functions are found, planned and written down: tables of
 * some megabytes each, used once. By default the allocator maps and unmaps each of them, and every page of
 * each is a fault. Here the heap begins large, what was freed is used again, and what is new comes by one
 * call a table (symbol/table.h). No large pages: they have to be found and cleared as a whole, which takes
 * longer than 512 small ones that were just in use, and ten times as long in a virtual machine whose host has
 * taken them back. Nothing here can fail in a way that matters.
 */
#include <malloc.h>
#include <stdlib.h>

#include "cmd/cmd.h"

#define HEAP_BYTES	(32 << 20)		/* address space; touched as it is used */

void cmd_heap_prepare(void)
{
	void *volatile room;		/* volatile, or the compiler removes the allocation */

	mallopt(M_ARENA_MAX, 1);		/* the thread that reads the program, too (symbol/prefetch.c) */
	mallopt(M_MMAP_THRESHOLD, HEAP_BYTES);
	mallopt(M_TRIM_THRESHOLD, 8 * HEAP_BYTES);
	mallopt(M_TOP_PAD, HEAP_BYTES);
	room = malloc(HEAP_BYTES / 4);
	free(room);
}
