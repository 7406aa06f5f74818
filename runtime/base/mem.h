/* SPDX-License-Identifier: MIT */
/*
 * mem.h - bytes: what compilers call behind our back, strings, and memory that is never given back
 */
#ifndef UFT_MEM_H
#define UFT_MEM_H

#include <stddef.h>
#include <stdint.h>

/* gcc and clang emit calls of these four whatever the flags. Context: any. */
void *memcpy(void *restrict to, const void *restrict from, size_t n);
void *memmove(void *to, const void *from, size_t n);
void *memset(void *to, int c, size_t n);
int memcmp(const void *a, const void *b, size_t n);

size_t mem_strlen(const char *s);
/* Appends @s, then @v in decimal, at @at; both return the new end. The caller has the room. */
char *mem_put(char *at, const char *s);
char *mem_put_dec(char *at, uint64_t v);
/* Reads digits of @base (10 or 16) at *@s, advances it. */
uint64_t mem_get_number(const char **s, const char *end, unsigned base);

/**
 * mem_alloc - zeroed memory that lives as long as the process
 * @bytes: any size; the result is 16-byte aligned
 *
 * Returns NULL when the kernel has none. There is no free: what the runtime allocates describes objects and
 * hooks, and memory that code may still run through must not go away.
 * Context: control. Not re-entrant; one caller at a time (the agent, or init before there is one).
 */
void *mem_alloc(size_t bytes);

/*
 * Memory that is mapped for long goes through these (own.c): mmap(2) and munmap(2) that keep a list of what is ours.
 * Context: any. mem_own() lists what somebody else has mapped for us; -ENOMEM.
 */
long mem_map(uint64_t addr, size_t bytes, int prot, int flags, int fd);
void mem_unmap(uint64_t at, size_t bytes);
int mem_own(uint64_t at, uint64_t bytes);
void mem_disown(uint64_t at);
/* All of it, @max at most; returns how many there are. */
struct uft_owned;
uint32_t mem_list_owned(struct uft_owned *to, uint32_t max);
/* The first of it that ends above @at and begins below *lo: 1, and its range; 0: none. */
int mem_next_owned(uintptr_t at, uintptr_t *lo, uintptr_t *hi);

#endif
