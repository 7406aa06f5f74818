/* SPDX-License-Identifier: MIT */
/*
 * atomic.h - the clock, copies, and stores that running code may see half way
 *
 * Ordered accesses: arch/order.h. Context: any.
 */
#ifndef UFT_ARCH_ATOMIC_H
#define UFT_ARCH_ATOMIC_H

#include <stddef.h>
#include <stdint.h>

#include "runtime/arch/order.h"

static inline void arch_cpu_relax(void)
{
	__asm__ volatile("pause" ::: "memory");
}

/* The trace clock, raw. Not serialising: a fence would cost half as much again (doc/design/runtime.md). */
static inline uint64_t arch_clock(void)
{
	uint32_t lo, hi;

	__asm__ volatile("rdtsc" : "=a"(lo), "=d"(hi));
	return lo | (uint64_t)hi << 32;
}

/*
 * The same, but not read before the preceding instructions are done: for code that has just taken a task over from
 * another CPU.
 */
static inline uint64_t arch_clock_after(void)
{
	__asm__ volatile("lfence" : : : "memory");
	return arch_clock();
}

/* The thread pointer. By the ABI it points at its own value. */
static inline uint64_t arch_thread_pointer(void)
{
	uint64_t tp;

	__asm__ volatile("mov %%fs:0,%0" : "=r"(tp));
	return tp;
}

/*
 * One store instruction each, never split or merged by the compiler: a CPU that fetches the code sees all of
 * it or nothing, provided that it lies in one aligned 8-byte word (AMD64 volume 2, 7.6.1) or, for two bytes,
 * in one cache line.
 */
static inline void arch_text_store8(void *at, uint64_t v)
{
	__asm__ volatile("movq %1,%0" : "=m"(*(uint64_t *)at) : "r"(v) : "memory");
}

static inline void arch_text_store4(void *at, uint32_t v)
{
	__asm__ volatile("movl %1,%0" : "=m"(*(uint32_t *)at) : "r"(v) : "memory");
}

static inline void arch_text_store2(void *at, uint16_t v)
{
	__asm__ volatile("movw %1,%0" : "=m"(*(uint16_t *)at) : "r"(v) : "memory");
}

static inline void arch_text_store1(void *at, uint8_t v)
{
	__asm__ volatile("movb %1,%0" : "=m"(*(uint8_t *)at) : "q"(v) : "memory");
}

/*
 * Changes eight bytes at any address inside one aligned 16-byte block at once; 0: they were not `old`. A
 * locked access is atomic at any alignment, and no CPU fetches in units smaller than 16 bytes.
 */
static inline int arch_text_swap8(void *at, uint64_t old, uint64_t v)
{
	uint8_t done;

	__asm__ volatile("lock cmpxchgq %3,%1; sete %0"
			 : "=q"(done), "+m"(*(uint64_t *)at), "+a"(old) : "r"(v) : "memory", "cc");
	return done;
}

/* plat_sync_cores() alone is enough. */
static inline int arch_sync_cores(void)
{
	return 0;
}

/* Copies without vector registers. */
static inline void arch_copy(void *to, const void *from, size_t n)
{
	__asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(n) :: "memory");
}

static inline void arch_fill(void *to, int c, size_t n)
{
	__asm__ volatile("rep stosb" : "+D"(to), "+c"(n) : "a"(c) : "memory");
}

/* Ticks of the clock per second; 0: it has to be measured. */
static inline uint64_t arch_clock_hz(void)
{
	return 0;
}

#endif
