/* SPDX-License-Identifier: MIT */
/* own.h - the list of the runtime's mappings (own.c), for platform/linux/ and the agent */
#ifndef UFT_LINUX_OWN_H
#define UFT_LINUX_OWN_H

#include <stddef.h>
#include <stdint.h>

/*
 * mmap(2) and munmap(2) for memory that is mapped for long: they keep a list of the runtime's mappings. Context: any.
 * mem_own() lists memory that another task has mapped for the runtime; -ENOMEM.
 */
long mem_map(uint64_t addr, size_t bytes, int prot, int flags, int fd);
/*
 * For large memory: where branches reach less far than the mapping is long, this leaves room for code (plat_map_near())
 * below the present mappings. The kernel would map it right below the libraries, and the gap above them may be the
 * stack's.
 */
long mem_map_apart(size_t bytes, int prot, int flags, int fd);
void mem_unmap(uint64_t at, size_t bytes);
int mem_own(uint64_t at, uint64_t bytes);
void mem_disown(uint64_t at);
uint64_t mem_owned_bytes(void);		/* of address space, in all */
/* The first listed memory that ends above @at and begins below *lo: 1, and its range; 0: none. */
int mem_next_owned(uintptr_t at, uintptr_t *lo, uintptr_t *hi);

/*
 * limit.c. The program's limit of address space. In this order: the runtime's memory has changed; the room for @bytes
 * more of it, 0: no limit is known; at the start; in a fork child, before it maps memory; the calling agent's own
 * limit.
 */
struct uft_own_limit;
void limit_follow(void);
int limit_make_room(uint64_t bytes);
void limit_begin(struct uft_own_limit *shared, const uint64_t *agent_stack);
void limit_fork(void);
void limit_raise_agent(void);

#endif
