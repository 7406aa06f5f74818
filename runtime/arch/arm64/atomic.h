/* SPDX-License-Identifier: MIT */
/*
 * atomic.h - the clock, and stores that running code may see half way
 *
 * Ordered accesses (arch/order.h) are made by -mno-outline-atomics with exclusive loads and stores, on CPUs
 * with LSE as on those without. Copies: arch/words.h. Context: any.
 */
#ifndef UFT_ARCH_ATOMIC_H
#define UFT_ARCH_ATOMIC_H

#include <stddef.h>
#include <stdint.h>

#include "runtime/arch/order.h"
#include "runtime/arch/words.h"

static inline void arch_cpu_relax(void)
{
	__asm__ volatile("yield" ::: "memory");
}

/* The trace clock, raw: the virtual counter, the same on all CPUs. */
static inline uint64_t arch_clock(void)
{
	uint64_t v;

	__asm__ volatile("mrs %0, cntvct_el0" : "=r"(v));
	return v;
}

/*
 * The same, but not read before the preceding instructions are done: for code that has just taken a task over from
 * another CPU.
 */
static inline uint64_t arch_clock_after(void)
{
	__asm__ volatile("isb" ::: "memory");
	return arch_clock();
}

/* Ticks of the clock per second; 0: it has to be measured. */
static inline uint64_t arch_clock_hz(void)
{
	uint64_t v;

	__asm__ volatile("mrs %0, cntfrq_el0" : "=r"(v));
	return v;
}

/* The thread's identity. */
static inline uint64_t arch_thread_pointer(void)
{
	uint64_t tp;

	__asm__ volatile("mrs %0, tpidr_el0" : "=r"(tp));
	return tp;
}

static inline uint32_t arch_text_load4(const void *at)
{
	return *(const uint32_t *)at;
}

/* One store, never split: a CPU that fetches the word has the old instruction or the new (B2.2.5). */
static inline void arch_text_store4(void *at, uint32_t v)
{
	__asm__ volatile("str %w1, %0" : "=m"(*(uint32_t *)at) : "r"(v) : "memory");
}

/*
 * Makes CPUs fetch the instructions stored to [at, at + bytes): this CPU now and, at the next context synchronisation
 * (plat_sync_cores()), the others.
 */
static inline void arch_text_flush(const void *at, size_t bytes)
{
	uintptr_t p, end = (uintptr_t)at + bytes;
	uint64_t ctr, dline, iline;

	__asm__ volatile("mrs %0, ctr_el0" : "=r"(ctr));
	dline = 4ull << (ctr >> 16 & 15);
	iline = 4ull << (ctr & 15);
	for (p = (uintptr_t)at & ~(dline - 1); p < end; p += dline)
		__asm__ volatile("dc cvau, %0" : : "r"(p) : "memory");
	__asm__ volatile("dsb ish" ::: "memory");
	for (p = (uintptr_t)at & ~(iline - 1); p < end; p += iline)
		__asm__ volatile("ic ivau, %0" : : "r"(p) : "memory");
	__asm__ volatile("dsb ish; isb" ::: "memory");
}

/* plat_sync_cores() alone is enough. */
static inline int arch_sync_cores(void)
{
	return 0;
}

#endif
