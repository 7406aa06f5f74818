/* SPDX-License-Identifier: MIT */
/*
 * heap.c - memory for starting fast
 *
 * The program that is to be traced waits while its functions are found, planned and written down: tables of some
 * megabytes each, used once. By default the allocator maps and unmaps each of them, and every page of each is a fault.
 * Here the heap begins large, in large pages where the kernel has them, and what was freed is used again:
 * 100,000 functions cost 3.5 ms less. Nothing here can fail in a way that matters.
 */
#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cmd/cmd.h"

#define HEAP_BYTES	(32 << 20)		/* address space; touched as it is used */
#define HEAP_LARGE	((uintptr_t)2 << 20)

void cmd_heap_prepare(void)
{
	void *volatile room;		/* else the compiler sees that nobody needs it */
	uintptr_t lo, hi;

	mallopt(M_ARENA_MAX, 1);		/* the thread that reads the program, too (symbol/prefetch.c) */
	mallopt(M_MMAP_THRESHOLD, HEAP_BYTES);
	mallopt(M_TRIM_THRESHOLD, 8 * HEAP_BYTES);
	mallopt(M_TOP_PAD, HEAP_BYTES);
	lo = (uintptr_t)sbrk(0);
	room = malloc(HEAP_BYTES / 4);
	free(room);
	hi = (uintptr_t)sbrk(0);
	lo = (lo + HEAP_LARGE - 1) & ~(HEAP_LARGE - 1);
	hi &= ~(HEAP_LARGE - 1);
	if (lo < hi)
		madvise((void *)lo, hi - lo, MADV_HUGEPAGE);
}
