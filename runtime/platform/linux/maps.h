/* SPDX-License-Identifier: MIT */
/* maps.h - walk the address space of the calling task, one /proc/self/maps line at a time */
#ifndef UFT_LINUX_MAPS_H
#define UFT_LINUX_MAPS_H

#include <stdint.h>

struct linux_map {
	uintptr_t lo, hi;
	int prot;		/* enum plat_prot */
	int is_stack;		/* grows down: keep a distance */
};

/* Calls @fn for each mapping, ascending, until it returns non-zero. -errno when the file cannot be read. */
int linux_maps_walk(int (*fn)(void *arg, const struct linux_map *m), void *arg);

#endif
