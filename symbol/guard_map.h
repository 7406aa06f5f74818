/* SPDX-License-Identifier: MIT */
/*
 * guard_map.h - files of others, mapped so that their owner cannot end us
 *
 * A page of a mapped file that the file no longer has (it was cut off, or overwritten in place by an
 * installer) is SIGBUS when it is read. Here it becomes a page of zeros: what parses the file takes any
 * bytes, and finds it damaged. The first mapping installs a handler of SIGBUS for the process; a fault
 * elsewhere goes to the one before. Context: control, any thread.
 */
#ifndef UFT_SYMBOL_GUARD_MAP_H
#define UFT_SYMBOL_GUARD_MAP_H

#include <stddef.h>

/* The whole of a file, read-only and private. NULL: errno. */
const void *guard_map(int fd, size_t size);
void guard_unmap(const void *p, size_t size);

#endif
