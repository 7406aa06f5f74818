/* SPDX-License-Identifier: MIT */
/*
 * heap.c - memory for starting fast
 *
 * A starting program waits while its functions are found, planned and recorded in tables of some megabytes, each used
 * once. By default the allocator maps and unmaps each table, with a fault for every page. Here the heap begins large,
 * freed memory is reused, and new memory comes by one call a table (symbol/table.h). Huge pages are not used: the
 * kernel must find and clear each as a whole, which takes longer than 512 small pages that were just in use, and ten
 * times as long in a virtual machine whose host has reclaimed them. A failure here only costs speed.
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
