/* SPDX-License-Identifier: MIT */
/*
 * mem.h - functions on bytes that compilers call by themselves, and strings
 */
#ifndef UFT_MEM_H
#define UFT_MEM_H

#include <stddef.h>
#include <stdint.h>

/* gcc and clang emit calls of these four whatever the flags are. Context: any. */
void *memcpy(void *restrict to, const void *restrict from, size_t n);
void *memmove(void *to, const void *from, size_t n);
void *memset(void *to, int c, size_t n);
int memcmp(const void *a, const void *b, size_t n);

size_t mem_strlen(const char *s);
/* Each appends at @at: @s, or @v in decimal; returns the new end. The caller has made sure that there is room. */
char *mem_put(char *at, const char *s);
char *mem_put_dec(char *at, uint64_t v);
/* Reads digits of @base (10 or 16) at *@s, and moves *@s behind them. */
uint64_t mem_get_number(const char **s, const char *end, unsigned base);

#endif
