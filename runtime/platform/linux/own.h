/* SPDX-License-Identifier: MIT */
/* own.h - the list of what is mapped and ours (own.c), for platform/linux/ and the agent */
#ifndef UFT_LINUX_OWN_H
#define UFT_LINUX_OWN_H

#include <stddef.h>
#include <stdint.h>

/*
 * Memory that is mapped for long goes through these: mmap(2) and munmap(2) that keep a list of what is ours.
 * Context: any. mem_own() lists what somebody else has mapped for us; -ENOMEM.
 */
long mem_map(uint64_t addr, size_t bytes, int prot, int flags, int fd);
/*
 * For large memory: where branches reach less far than what we map is long, it leaves room for code (plat_map_near())
 * below what is mapped already. The kernel would put it right below the libraries, and the gap above them may be the
 * stack's.
 */
long mem_map_apart(size_t bytes, int prot, int flags, int fd);
void mem_unmap(uint64_t at, size_t bytes);
int mem_own(uint64_t at, uint64_t bytes);
void mem_disown(uint64_t at);
uint64_t mem_owned_bytes(void);		/* of address space, in all */
/* The first of it that ends above @at and begins below *lo: 1, and its range; 0: none. */
int mem_next_owned(uintptr_t at, uintptr_t *lo, uintptr_t *hi);

/*
 * limit.c. The program's limit of address space: what is ours has changed; room for @bytes more of it, 0: there is
 * no limit that we know of; at the start; in a fork child, before it maps anything; the calling agent's own.
 */
struct uft_own_limit;
void limit_follow(void);
int limit_make_room(uint64_t bytes);
void limit_begin(struct uft_own_limit *shared, const uint64_t *agent_stack);
void limit_fork(void);
void limit_raise_agent(void);

#endif
